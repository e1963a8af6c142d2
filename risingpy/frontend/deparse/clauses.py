"""DISTINCT, GROUP BY, ORDER BY and LIMIT as PostgreSQL 15's pg_get_viewdef prints them (its ruleutils.c)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.deparse.frames import QueryFrame
from risingpy.frontend.deparse.nodes import Node, Order
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.deparse.operands import as_type
from risingpy.types import BIGINT

if TYPE_CHECKING:
    from risingpy.frontend.deparse.query_writer import QueryWriter


class ClauseWriter:
    """Writes what stands around the select list and FROM of a query."""

    def __init__(self, queries: QueryWriter) -> None:
        self._queries = queries

    def distinct(self, tree: exp.Select, frame: QueryFrame) -> None:
        """DISTINCT, perhaps ON."""
        distinct = tree.args.get("distinct")
        if distinct is None:
            return
        on = distinct.args.get("on")
        self._queries.out.add(" DISTINCT")
        if on is not None:
            self._queries.out.add(" ON (")
            self._items([self._output(part, frame) for part in on.expressions or [on.this]])
            self._queries.out.add(")")

    # -- GROUP BY -------------------------------------------------------------------------------------------------

    def group_by(self, tree: exp.Select, frame: QueryFrame) -> None:
        """GROUP BY with its grouping sets."""
        group = tree.args.get("group")
        if group is None:
            return
        out = self._queries.out
        out.clause(" GROUP BY ", 1)
        out.add("DISTINCT " if group.args.get("all") is False else "")
        parts = [member for part in group.expressions for member in _unpacked(part)]
        for place, part in enumerate(parts):
            out.add(", " if place else "")
            self._grouping_set(part, frame, omits_parentheses=True)

    def _grouping_set(self, tree: exp.Expr, frame: QueryFrame, *, omits_parentheses: bool) -> None:
        """ROLLUP, CUBE and GROUPING SETS; else a set of expressions, one of which may go without parentheses."""
        words = _SETS.get(type(tree))
        out = self._queries.out
        if words is None:
            members = tree.expressions if isinstance(tree, exp.Tuple) else [tree]
            encloses = not omits_parentheses or len(members) != 1
            out.add("(" * encloses)
            self._items([self._group_key(member.unnest(), frame) for member in members])
            out.add(")" * encloses)
            return
        out.add(words)
        parts = _flat(tree) if isinstance(tree, exp.GroupingSets) else tree.expressions
        for place, part in enumerate(parts):
            out.add(", " if place else "")
            self._grouping_set(part, frame, omits_parentheses=not isinstance(tree, exp.GroupingSets))
        out.add(")")

    def _group_key(self, tree: exp.Expr, frame: QueryFrame) -> Node:
        bare = isinstance(tree, exp.Column) and tree.args.get("table") is None
        if bare and sum(column.name == name_of(tree.this) for column in frame.scope.columns) == 1:
            return self._queries.conversion.node(tree)
        return self._output(tree, frame)

    # -- ORDER BY and LIMIT ---------------------------------------------------------------------------------------

    def order_by(self, tree: exp.Select, frame: QueryFrame) -> None:
        """ORDER BY of a SELECT."""
        order = tree.args.get("order")
        if order is not None:
            self._queries.out.clause(" ORDER BY ", 1)
            self._queries.expressions.order_by([self._key(key, frame) for key in order.expressions])

    def _items(self, nodes: Sequence[Node]) -> None:
        for place, node in enumerate(nodes):
            self._queries.out.add(", " if place else "")
            self._queries.expressions.sort_group_item(node)

    def _output(self, tree: exp.Expr, frame: QueryFrame) -> Node:
        """What an ordinal, the name of an output column, or any other expression means in ORDER BY and its like."""
        if isinstance(tree, exp.Literal) and not tree.is_string:
            return frame.items[int(tree.this) - 1].operand.node
        if isinstance(tree, exp.Column) and tree.args.get("table") is None:
            found = [item for item in frame.items if item.name == name_of(tree.this)]
            if found:
                return found[0].operand.node
        return self._queries.conversion.node(tree)

    def _key(self, key: exp.Ordered, frame: QueryFrame) -> Order:
        return Order(self._output(key.this, frame), bool(key.args.get("desc")), bool(key.args.get("nulls_first")))

    def order_of_output(self, tree: exp.Expr, columns: Sequence[str]) -> None:
        """ORDER BY of a set operation or of VALUES, by the numbers of its columns, whose names are given."""
        if tree.args.get("order") is None:
            return
        out = self._queries.out
        out.clause(" ORDER BY ", 1)
        for place, key in enumerate(tree.args["order"].expressions):
            match key.this:
                case exp.Column() as column if name_of(column.this) in columns:
                    number = columns.index(name_of(column.this)) + 1
                case exp.Literal() as literal if not literal.is_string:
                    number = int(literal.this)
                case _:
                    raise Unprinted("ORDER BY of a set operation")
            out.add(f"{', ' if place else ''}{number}")
            descending, first = bool(key.args.get("desc")), bool(key.args.get("nulls_first"))
            out.add(" DESC" if descending else "")
            out.add("" if first == descending else " NULLS FIRST" if first else " NULLS LAST")

    def limits(self, tree: exp.Expr) -> None:
        """OFFSET, and LIMIT or FETCH FIRST … WITH TIES."""
        out = self._queries.out
        limit, offset = tree.args.get("limit"), tree.args.get("offset")
        if offset is not None:
            out.clause(" OFFSET ", 0)
            self._bound(offset.expression)
        if isinstance(limit, exp.Fetch):
            options = limit.args.get("limit_options")
            ties = options is not None and options.args.get("with_ties")
            out.clause(" FETCH FIRST " if ties else " LIMIT ", 0)
            out.add("(" if ties else "")
            self._bound(limit.args.get("count") or exp.Literal.number(1))
            out.add(") ROWS WITH TIES" if ties else "")
        elif limit is not None:
            out.clause(" LIMIT ", 0)
            self._bound(limit.expression)

    def _bound(self, tree: exp.Expr) -> None:
        if isinstance(tree, exp.Null | exp.Var):
            self._queries.out.add("ALL")
            return
        node = as_type(self._queries.conversion.typed(tree), BIGINT)
        self._queries.expressions.write(node, shows_implicit=False)


_SETS: dict[type[exp.Expr], str] = {exp.Rollup: "ROLLUP(", exp.Cube: "CUBE(", exp.GroupingSets: "GROUPING SETS ("}


def _unpacked(tree: exp.Expr) -> list[exp.Expr]:
    """`(a, b)` among the elements of GROUP BY is two of them; `()` stays, as the set of nothing."""
    return list(tree.expressions) or [tree] if isinstance(tree, exp.Tuple) else [tree]


def _flat(tree: exp.GroupingSets) -> list[exp.Expr]:
    """The sets, with those of GROUPING SETS in it in its place."""
    return [
        each for part in tree.expressions for each in (_flat(part) if isinstance(part, exp.GroupingSets) else [part])
    ]
