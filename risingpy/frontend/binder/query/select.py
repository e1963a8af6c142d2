"""One SELECT: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT, ORDER BY and LIMIT, in that order."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from sqlglot import exp

from risingpy.errors import AmbiguousColumn, FeatureNotSupported, GroupingError, SqlError, SyntaxError_, UndefinedColumn
from risingpy.frontend.binder.column_limits import check_targets
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import fields_of
from risingpy.frontend.binder.expressions.output_names import output_name
from risingpy.frontend.binder.functions.selected_sets import place_sets
from risingpy.frontend.binder.functions.window_calls import check_definitions, definitions_of
from risingpy.frontend.binder.plans import ONE_ROW, distinct, project
from risingpy.frontend.binder.query.determined_columns import with_determined
from risingpy.frontend.binder.query.from_clause import FromBinder, Queries
from risingpy.frontend.binder.query.grouping_sets import GroupKey, grouping_sets
from risingpy.frontend.binder.query.selected_rows import SelectedRows
from risingpy.frontend.binder.query.sorted_sets import reads_elements, sorted_below_sets
from risingpy.frontend.binder.scope.aggregates import AggregateCalls
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.stars import is_star
from risingpy.frontend.binder.scope.windows import WindowCalls, is_window, no_window
from risingpy.frontend.binder.trees import begin_of, name_of, number_of, position_of, refuse_unknown
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.functions.volatile import ADVISORY_CALLS, SEQUENCE_CALLS
from risingpy.plan.expression_trees import remapped, walk
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import Filter, Limit, LogicalPlan, Sort, SortKey, TopN
from risingpy.types import BIGINT, TypeKind

_PARTS = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_")
_EFFECTS = SEQUENCE_CALLS | ADVISORY_CALLS
_PART_NAMES = {
    "locks": "FOR UPDATE or FOR SHARE",
    "into": "SELECT INTO",
    "laterals": "LATERAL",
    "sample": "TABLESAMPLE",
}


@dataclass(frozen=True, slots=True)
class Item:
    """A column of the select list: its name, its expression over the FROM clause, the tree it came from."""

    name: str
    operand: Operand
    tree: exp.Expr


class SelectBinder:
    """Binds one SELECT. `queries` binds the queries inside its FROM clause."""

    def __init__(self, context: BindContext, queries: Queries) -> None:
        self._context = context
        self._queries = queries

    def bind(self, tree: exp.Select) -> LogicalPlan:
        """The plan; output columns that are bare unknown literals stay unknown, for the caller to type."""
        refuse_unknown(tree, (*_PARTS, "windows"), _PART_NAMES)
        plan, scope = self._from(tree)
        if self._context.scopes is not None:
            self._context.scopes[number_of(tree)] = scope
        where = tree.args.get("where")
        if where is not None:
            plan = Filter(plan, ExpressionBinder(self._context, scope, "WHERE").condition(where.this, "WHERE"))
        collected, windows = AggregateCalls(), WindowCalls(definitions_of(tree))
        binder = ExpressionBinder(self._context, scope, "SELECT", collected, windows)
        rows = SelectedRows(*place_sets(plan, binder, tree.expressions, _beside_list(tree)))
        items = self._items(tree, binder)
        having = tree.args.get("having")
        having_binder = ExpressionBinder(self._context, scope, "HAVING", collected)
        condition = None if having is None else having_binder.condition(having.this, "HAVING")
        check_definitions(binder, windows)
        sets = self._grouping_sets(tree.args.get("group"), binder, items, rows)
        sort_exprs, sort_keys = self._order(tree, binder, items)
        on = distinct_on(tree, binder, items, sort_exprs, sort_keys)
        exprs = [item.operand.expr for item in items]
        if sets is not None or condition is not None or collected.is_grouped:
            rows.group(with_determined([()] if sets is None else sets, scope, collected), collected)
            rows.check([*exprs, *sort_exprs])
            if condition is not None:
                rows.having(condition)
        rows.place_windows(windows)
        rows.expand([*exprs, *sort_exprs])
        exprs = [rows.item(i, expr) for i, expr in enumerate(exprs)]
        sort_exprs = [rows.over(expr) for expr in sort_exprs]
        return self._output(tree, rows.plan, rows.levels, scope, items, exprs, sort_exprs, sort_keys, on)

    # -- the clauses ----------------------------------------------------------------------------------------------

    def _from(self, tree: exp.Select) -> tuple[LogicalPlan, Scope]:
        from_ = tree.args.get("from_")
        if from_ is None:
            return ONE_ROW, Scope()
        return FromBinder(self._context, self._queries).bind(from_.this, tree.args.get("joins") or [])

    def _items(self, tree: exp.Select, binder: ExpressionBinder) -> list[Item]:
        items: list[Item] = []
        for column in tree.expressions:
            items += expand(column, binder)
        check_targets(len(items))
        return items

    def _grouping_sets(
        self, group: exp.Group | None, selected: ExpressionBinder, items: list[Item], rows: SelectedRows
    ) -> list[tuple[GroupKey, ...]] | None:
        if group is None:
            return None
        exprs = [rows.unified(item.operand.expr) for item in items]

        def key(tree: exp.Expr) -> GroupKey:
            expr, item = self._group_key(tree, selected, items)
            expr = rows.unified(expr)
            same = (i for i, each in enumerate(items) if (exprs[i] == expr if item is None else each is item))
            return GroupKey(expr, next(same, None))

        return grouping_sets(group, key)

    def _group_key(self, tree: exp.Expr, selected: ExpressionBinder, items: list[Item]) -> tuple[Expr, Item | None]:
        """An expression of GROUP BY, and the item of the select list that it names."""
        position = begin_of(tree)
        scope = selected.scope
        binder = ExpressionBinder(self._context, scope, "GROUP BY")
        binder.sets = selected.sets
        item = _by_ordinal(tree, items, "GROUP BY")
        if item is None and _is_bare_name(tree) and sum(c.name == name_of(tree.this) for c in scope.columns) != 1:
            # Of a name that several columns have, an item of the select list is meant, as in RisingWave.
            item = _by_name(name_of(tree.this), items, "GROUP BY", position)
        if item is None:
            expr = binder.settled(tree)
        else:
            expr = self._context.coercer.settled(item.operand)
            if any(is_window(e) for e in walk(expr)):
                raise no_window("GROUP BY", item.operand.position)
            if any(isinstance(e, InputRef) and e.index < 0 for e in walk(expr)):
                message = "aggregate functions are not allowed in GROUP BY"
                raise GroupingError(message, position=item.operand.position)
        return expr, item

    def _order(self, tree: exp.Select, binder: ExpressionBinder, items: list[Item]) -> tuple[list[Expr], list[SortKey]]:
        """Sort keys over the select list, and after it the expressions that only the order needs."""
        extra: list[Expr] = []
        keys: list[SortKey] = []
        for ordered in _ordered(tree):
            item = find_output(ordered.this, items, "ORDER BY")
            if item is not None:
                index = items.index(item)
            else:
                expr = binder.settled(ordered.this)
                exprs = [i.operand.expr for i in items] + extra
                if expr not in exprs:
                    if tree.args.get("distinct") and not tree.args["distinct"].args.get("on"):
                        message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
                        raise SqlError(message, sqlstate="42P10", position=begin_of(ordered))
                    extra.append(expr)
                    exprs.append(expr)
                index = exprs.index(expr)
            keys.append(_sort_key(ordered, index))
        return extra, keys

    def _output(
        self,
        tree: exp.Select,
        plan: LogicalPlan,
        levels: int,
        scope: Scope,
        items: list[Item],
        exprs: list[Expr],
        sort_exprs: list[Expr],
        sort_keys: list[SortKey],
        on: tuple[int, ...],
    ) -> LogicalPlan:
        names = [item.name for item in items]
        coercer = self._context.coercer
        later: dict[int, Expr] = {}
        ordered = bool(sort_keys or on)
        if tree.args.get("distinct") or ordered:
            settled = [coercer.settled(Operand(e, i.operand.position)) for e, i in zip(exprs, items, strict=True)]
        if tree.args.get("distinct") and not on:
            plan = distinct(project(plan, settled, names))
        elif ordered:
            below_sets = _ordered_below_sets(tree, plan, levels, [*settled, *sort_exprs], sort_keys, on)
            if below_sets is not None:
                expanded, over = below_sets
                plan = limited(self._context, tree, expanded, scope)
                return project(plan, [over(expr) for expr in settled], names)
            used = {key.index for key in sort_keys}.union(on)
            settled, more, later = evaluated_after_order(settled, sort_exprs, used)
            plan = project(plan, [*settled, *more], [*names, *(f"sort{i}" for i in range(len(more)))])
        else:
            plan = project(plan, exprs, names)
        if on:
            plan = TopN(plan, on, tuple(key for key in sort_keys if key.index not in on), limit=1)
        if sort_keys:
            plan = Sort(plan, tuple(sort_keys))
        plan = limited(self._context, tree, plan, scope)
        if later or len(plan.schema) > len(items):
            visible = [InputRef(i, f.type) for i, f in enumerate(plan.schema[: len(items)])]
            plan = project(plan, [later.get(i, column) for i, column in enumerate(visible)], names)
        return plan


def _ordered_below_sets(
    tree: exp.Select, plan: LogicalPlan, levels: int, exprs: list[Expr], keys: list[SortKey], on: tuple[int, ...]
) -> tuple[LogicalPlan, Callable[[Expr], Expr]] | None:
    """The rows in their order, and of each group of DISTINCT ON the first, before they are expanded.

    None where nothing is expanded, or the order is one of elements.
    """
    limit = tree.args.get("limit")
    with_ties = isinstance(limit, exp.Fetch) and _with_ties(tree, limit)
    if not levels or not keys or with_ties or reads_elements(plan, levels, exprs, keys, on):
        return None
    return sorted_below_sets(plan, levels, exprs, keys, on)


def evaluated_after_order(
    exprs: Sequence[Expr], sort_exprs: Sequence[Expr], used: Container[int]
) -> tuple[list[Expr], list[Expr], dict[int, Expr]]:
    """A select list below ORDER BY, what else is needed there, and by position what comes after ORDER BY and LIMIT.

    nextval numbers the rows in their order, and only those that LIMIT lets through, as in PostgreSQL; the same goes for
    locks that are taken. The columns that such an expression reads pass ORDER BY behind the others. `used`: the
    positions that the order itself needs.
    """
    below, more, later = list(exprs), list(sort_exprs), dict[int, Expr]()
    for i, expr in enumerate(exprs):
        if i in used or not any(isinstance(part, Call) and part.function in _EFFECTS for part in walk(expr)):
            continue
        places: dict[int, int] = {}
        for part in walk(expr):
            if isinstance(part, InputRef) and part.index not in places:
                places[part.index] = len(below) + len(more)
                more.append(part)
        later[i] = remapped(expr, places)
        below[i] = Literal(None, expr.type)
    return below, more, later


def distinct_on(
    tree: exp.Select, binder: ExpressionBinder, items: list[Item], extra: list[Expr], keys: list[SortKey]
) -> tuple[int, ...]:
    """DISTINCT ON's positions in the select list and `extra`, which is behind it and to which they may add."""
    distinct_ = tree.args.get("distinct")
    given = None if distinct_ is None else distinct_.args.get("on")
    if given is None:
        return ()
    positions: list[int] = []
    for part in given.expressions or [given.this]:
        item = find_output(part, items, "SELECT DISTINCT ON")
        expr = binder.settled(part) if item is None else item.operand.expr
        exprs = [i.operand.expr for i in items] + extra
        if expr not in exprs:
            extra.append(expr)
            exprs.append(expr)
        positions.append(items.index(item) if item is not None else exprs.index(expr))
    first_other = next((k for k, key in enumerate(keys) if key.index not in positions), len(keys))
    if first_other < len(keys) and not set(positions) <= {key.index for key in keys[:first_other]}:
        message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
        raise SqlError(message, sqlstate="42P10", position=begin_of(given))
    return tuple(dict.fromkeys(positions))


def _beside_list(tree: exp.Select) -> list[exp.Expr]:
    """The clauses that may have set-returning functions beside the select list."""
    distinct_ = tree.args.get("distinct")
    clauses = [tree.args.get("group"), None if distinct_ is None else distinct_.args.get("on")]
    return [*_ordered(tree), *(each for each in clauses if each is not None), *(tree.args.get("windows") or ())]


def expand(tree: exp.Expr, binder: ExpressionBinder) -> list[Item]:
    """The columns of one item of a select list: several for `*`."""
    position = position_of(tree)
    columns = binder.star(tree)
    if columns is None:
        if isinstance(tree, exp.Dot) and is_star(tree.expression):
            return [Item(name, Operand(expr, position), tree) for name, expr in fields_of(binder, tree)]
        bare = tree.this if isinstance(tree, exp.Alias) else tree
        operand = binder.bind(bare)
        return [Item(output_name(tree), operand, bare)]
    return [Item(name, Operand(expr, position), tree) for name, expr in columns]


def find_output(tree: exp.Expr, items: Sequence[Item], clause: str) -> Item | None:
    """The output column that an ordinal or a bare name means."""
    item = _by_ordinal(tree, items, clause)
    if item is None and _is_bare_name(tree):
        item = _by_name(name_of(tree.this), items, clause, begin_of(tree))
    return item


def _by_ordinal(tree: exp.Expr, items: Sequence[Item], clause: str) -> Item | None:
    if not isinstance(tree, exp.Literal):
        return None
    if tree.is_string or not str(tree.this).isdigit():
        raise SyntaxError_(f"non-integer constant in {clause}", position=begin_of(tree))
    ordinal = int(tree.this)
    if not 1 <= ordinal <= len(items):
        message = f"{clause} position {ordinal} is not in select list"
        raise SqlError(message, sqlstate="42P10", position=begin_of(tree))
    return items[ordinal - 1]


def _by_name(name: str, items: Sequence[Item], clause: str, position: int) -> Item | None:
    found = [item for item in items if item.name == name]
    if len({item.operand.expr for item in found}) > 1:
        raise AmbiguousColumn(f'{clause} "{name}" is ambiguous', position=position)
    return found[0] if found else None


def _is_bare_name(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Column) and tree.args.get("table") is None and isinstance(tree.this, exp.Identifier)


def _ordered(tree: exp.Expr) -> list[exp.Ordered]:
    order = tree.args.get("order")
    return [] if order is None else list(order.expressions)


def _sort_key(ordered: exp.Ordered, index: int) -> SortKey:
    """The key of an ORDER BY item on the column `index`. The parser has already said where NULLs go."""
    return SortKey(index, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")))


def sorted_by_output(tree: exp.Expr, plan: LogicalPlan, items: Sequence[Item]) -> LogicalPlan:
    """ORDER BY of a UNION, of VALUES or of a query in parentheses: output columns only."""
    keys = []
    for ordered in _ordered(tree):
        item = find_output(ordered.this, items, "ORDER BY")
        if item is None:
            if _is_bare_name(ordered.this):
                message = f'column "{name_of(ordered.this.this)}" does not exist'
                raise UndefinedColumn(message, position=begin_of(ordered))
            raise FeatureNotSupported(
                "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                position=begin_of(ordered),
                detail="Only result column names can be used, not expressions or functions.",
                hint="Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
            )
        keys.append(_sort_key(ordered, items.index(item)))
    return Sort(plan, tuple(keys)) if keys else plan


def limited(context: BindContext, tree: exp.Expr, plan: LogicalPlan, scope: Scope | None = None) -> LogicalPlan:
    """LIMIT, OFFSET and FETCH FIRST. Columns of `scope` are known there, to be refused."""
    binder = ExpressionBinder(context, scope or Scope(), "LIMIT")
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    count: exp.Expr | None = None
    with_ties = False
    if isinstance(limit, exp.Fetch):
        with_ties = _with_ties(tree, limit)
        count = limit.args.get("count") or exp.Literal.number(1)
    elif limit is not None:
        refuse_unknown(limit, ("expression",), {"expressions": "LIMIT … BY"})
        count = limit.expression
    if isinstance(count, exp.Var) and count.name.upper() == "ALL":
        count = None
    bounds = [
        None if count is None else _bound(binder, count, "LIMIT"),
        None if offset is None else _bound(binder, offset.expression, "OFFSET"),
    ]
    return plan if bounds == [None, None] else Limit(plan, bounds[0], bounds[1], with_ties)


def _with_ties(tree: exp.Expr, fetch: exp.Fetch) -> bool:
    options = fetch.args.get("limit_options")
    if options is None:
        return False
    if options.args.get("percent"):
        raise FeatureNotSupported("FETCH FIRST … PERCENT is not supported", position=begin_of(fetch))
    if options.args.get("with_ties") and not _ordered(tree):
        raise SyntaxError_("WITH TIES cannot be specified without ORDER BY clause")
    return bool(options.args.get("with_ties"))


def _bound(binder: ExpressionBinder, tree: exp.Expr, clause: str) -> Expr | None:
    operand = binder.bind(tree)
    column = next(iter(tree.find_all(exp.Column)), None)
    if column is not None and any(isinstance(part, InputRef) for part in walk(operand.expr)):
        message = f"argument of {clause} must not contain variables"
        raise SqlError(message, sqlstate="42P10", position=position_of(column))
    if not operand.type.is_numeric and operand.type.kind is not TypeKind.UNKNOWN:
        message = f"argument of {clause} must be type bigint, not type {operand.type.name}"
        raise SqlError(message, sqlstate="42804", position=operand.position)
    expr = binder.context.coercer.coerce(operand, BIGINT, Context.ASSIGNMENT)
    match expr:
        case Literal(None):
            return None  # LIMIT NULL is no limit
        case Literal(int(value)) if value < 0:
            sqlstate = "2201W" if clause == "LIMIT" else "2201X"
            raise SqlError(f"{clause} must not be negative", sqlstate=sqlstate)
    return expr
