"""Common table expressions that read themselves: WITH RECURSIVE name AS (start UNION [ALL] step).

The rules of PostgreSQL: the start does not read the name, the step reads it once, in FROM, not in a subquery, in an
aggregation, or on the side of an outer join that may be missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, SqlError
from risingpy.frontend.binder.plans import renamed, settled
from risingpy.frontend.binder.query.search_and_cycle import carried_columns
from risingpy.frontend.binder.query.set_operations import with_common_types
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.functions.signatures import AGGREGATES
from risingpy.plan.expressions import Cast, InputRef
from risingpy.plan.logical import LogicalPlan, Project, Recursion, RecursiveScan
from risingpy.types import NUMERIC, SqlType, TypeKind

# Binds a query in which a name is a plan, or is not known.
BindKnowing = Callable[[exp.Expr, str, LogicalPlan | None], LogicalPlan]

_RECURSION_ERROR = "42P19"
_UNRESTRICTED = "WITH MUTUALLY RECURSIVE name (column type, …) AS (query) has no such restriction."
_CLAUSES = ("order", "limit", "offset", "with_")


def is_recursive(tree: exp.Expr, name: str) -> bool:
    """Whether the query of the common table expression `name` reads it."""
    return bool(_references(tree, name))


def with_column_names(plan: LogicalPlan, cte: exp.CTE, name: str) -> LogicalPlan:
    """The plan with the names that stand behind the common table expression's."""
    columns = cte.args["alias"].args.get("columns") or []
    if len(columns) > len(plan.schema):
        shown = f"{len(plan.schema)} columns available but {len(columns)} columns specified"
        message = f'WITH query "{name}" has {shown}'
        raise SqlError(message, sqlstate="42P10", position=begin_of(cte.args["alias"]))
    names = [name_of(c.this if isinstance(c, exp.ColumnDef) else c) for c in columns]
    return renamed(plan, names + [f.name for f in plan.schema[len(names) :]])


def _with_any_decimals(start: LogicalPlan) -> LogicalPlan:
    """The plan with numerics without declared digits as wide ones: the steps' may have other decimals."""
    types = [_of_any_decimals(f.type) for f in start.schema]
    if types == [f.type for f in start.schema]:
        return start
    columns = [InputRef(i, f.type) for i, f in enumerate(start.schema)]
    wide = [c if c.type == type_ else Cast(c, type_) for c, type_ in zip(columns, types, strict=True)]
    fields = tuple(replace(f, type=type_) for f, type_ in zip(start.schema, types, strict=True))
    return Project(start, tuple(wide), fields)


def _of_any_decimals(type_: SqlType) -> SqlType:
    """The type, with numerics within arrays and rows too."""
    if type_.kind is TypeKind.NUMERIC:
        return type_ if type_.declared else NUMERIC
    return replace(type_, items=tuple(map(_of_any_decimals, type_.items)))


def bound_recursion(cte: exp.CTE, name: str, context: BindContext, bind: BindKnowing) -> LogicalPlan:
    """The Recursion of a WITH item that reads itself."""
    tree = cte.this
    while isinstance(tree, exp.Subquery) and not any(tree.args.get(key) for key in _CLAUSES):
        tree = tree.this
    _check(tree, name)
    start = _with_any_decimals(with_column_names(settled(bind(tree.this, name, None), context.coercer), cte, name))
    carried, right, seen = carried_columns(cte, start.schema, context), tree.expression, start.schema
    if carried is not None:
        right = carried.step_tree(right, _references(right, name)[0], name)
        start, seen = carried.started(start), carried.scanned(start.schema)
    step = settled(bind(right, name, RecursiveScan(name, seen)), context.coercer)
    (first, others), fields = with_common_types(context, "UNION", [tree.this, tree.expression], [start, step])
    for i, (given, overall) in enumerate(zip(start.schema, fields, strict=True), 1):
        if given.type != overall.type:
            types = f"type {_shown(given.type, overall.type)} in non-recursive term but type"
            raise DatatypeMismatch(
                f'recursive query "{name}" column {i} has {types} {_shown(overall.type, given.type)} overall',
                position=begin_of(tree.this),
                hint="Cast the output of the non-recursive term to the correct type.",
            )
    if carried is not None:
        others = carried.stepped(others)
    return Recursion(first, others, name, bool(tree.args.get("distinct")), fields)


def _shown(type_: SqlType, other: SqlType) -> str:
    """A type by its name, with its length or precision where that makes the difference."""
    return str(type_) if type_.kind is other.kind else type_.kind.value


def in_order(with_: exp.With) -> list[exp.CTE]:
    """The items of a WITH RECURSIVE, each after those that it reads. Raises 0A000 where two read each other."""
    left = {name_of(cte.args["alias"].this): cte for cte in with_.expressions}
    reads = {
        name: {other for other in left if other != name and is_recursive(cte.this, other)} for name, cte in left.items()
    }
    ordered: list[exp.CTE] = []
    while left:
        free = next((name for name in left if not reads[name] & left.keys()), None)
        if free is None:
            position = begin_of(next(iter(left.values())).args["alias"])
            hint = "Write WITH MUTUALLY RECURSIVE name (column type, …) AS (query), …"
            message = "mutual recursion between WITH items is not implemented"
            raise FeatureNotSupported(message, position=position, hint=hint)
        ordered.append(left.pop(free))
    return ordered


def _references(tree: exp.Expr, name: str) -> list[exp.Table]:
    tables = tree.find_all(exp.Table)
    return [t for t in tables if name_of(t.this) == name and not t.args.get("db") and not _is_hidden(t, tree, name)]


def _is_hidden(table: exp.Expr, root: exp.Expr, name: str) -> bool:
    """Whether a WITH inside gives the name to something else."""
    node: exp.Expr | None = table
    while node is not None and node is not root.parent:
        with_ = node.args.get("with_")
        if with_ is not None and any(name_of(inner.args["alias"].this) == name for inner in with_.expressions):
            return True
        node = node.parent
    return False


def _check(tree: exp.Expr, name: str) -> None:
    if not isinstance(tree, exp.Union):
        message = f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] recursive-term'
        raise SqlError(message, sqlstate=_RECURSION_ERROR, position=begin_of(tree))
    for clause, shown in (("order", "ORDER BY"), ("offset", "OFFSET"), ("limit", "LIMIT")):
        if tree.args.get(clause):
            raise FeatureNotSupported(f"{shown} in a recursive query is not implemented", position=begin_of(tree))
    start = _references(tree.this, name)
    if start:
        raise _misplaced(name, start[0], "within its non-recursive term")
    step = _references(tree.expression, name)
    if not step:  # in the union's own WITH
        raise _misplaced(name, tree.args["with_"], "within a subquery")
    if len(step) > 1:
        raise _misplaced(name, step[1], "more than once")
    _check_place(step[0], tree.expression, name)


def _check_place(table: exp.Table, step: exp.Expr, name: str) -> None:
    node: exp.Expr = table
    while node is not step:
        parent = node.parent
        assert parent is not None
        if isinstance(parent, exp.Except | exp.Intersect):
            raise _misplaced(name, table, f"within {parent.key.upper()}")
        if isinstance(parent, exp.Exists | exp.In | exp.Any | exp.All | exp.Condition) and isinstance(node, exp.Query):
            raise _misplaced(name, table, "within a subquery")
        if isinstance(parent, exp.Join) and parent.args.get("side") in ("LEFT", "FULL"):
            raise _misplaced(name, table, "within an outer join")
        joins = (parent.args.get("joins") or ()) if isinstance(node, exp.From) else ()
        if any(join.args.get("side") in ("RIGHT", "FULL") for join in joins):
            raise _misplaced(name, table, "within an outer join")
        node = parent
    select = table.find_ancestor(exp.Select)
    calls = [] if select is None else [c for e in select.expressions for c in e.find_all(exp.Anonymous)]
    for call in calls:
        of_groups = name_of(call.this) in AGGREGATES and not _is_over_window(call)
        if of_groups and call.find_ancestor(exp.Select) is select:
            message = "aggregate functions are not allowed in a recursive query's recursive term"
            raise SqlError(message, sqlstate=_RECURSION_ERROR, position=begin_of(call), hint=_UNRESTRICTED)


def _is_over_window(call: exp.Expr) -> bool:
    outer = call.parent
    return isinstance(outer.parent if isinstance(outer, exp.Filter) else outer, exp.Window)


def _misplaced(name: str, table: exp.Expr, where: str) -> SqlError:
    message = f'recursive reference to query "{name}" must not appear {where}'
    return SqlError(message, sqlstate=_RECURSION_ERROR, position=begin_of(table), hint=_UNRESTRICTED)
