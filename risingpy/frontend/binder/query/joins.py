"""Joins: two items of FROM become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from risingpy.errors import DuplicateColumn
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import marked
from risingpy.frontend.binder.scope.columns import (
    Scope,
    ScopeColumn,
    ScopeTable,
    check_names,
    common_column,
    mapped,
)
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.plan.catalog import Table
from risingpy.plan.expression_trees import shifted
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import Join, JoinKind, LogicalPlan
from risingpy.types import BOOLEAN

Item: TypeAlias = tuple[LogicalPlan, Scope]


def side_by_side(left: Item, right: Item) -> Scope:
    """The names of both, over rows of the left with rows of the right. Raises SqlError (42712)."""
    moved = mapped(right[1], lambda e: shifted(e, len(left[0].schema)))
    check_names(left[1], moved)
    return Scope(left[1].tables + moved.tables, left[1].columns + moved.columns)


def cross(left: Item, right: Item) -> Item:
    """Every row of the left with every row of the right."""
    return joined(left[0], right[0], JoinKind.CROSS, None), side_by_side(left, right)


def unconditional(left: Item, right: Item, kind: JoinKind) -> Item:
    """CROSS JOIN, a comma, and NATURAL JOIN without common columns; an outer one still gives every row."""
    if kind is JoinKind.INNER:
        return cross(left, right)
    return joined(left[0], right[0], kind, Literal(True, BOOLEAN)), side_by_side(left, right)


def joined(left: LogicalPlan, right: LogicalPlan, kind: JoinKind, condition: Expr | None) -> Join:
    """The join of two plans; without a condition, of all their rows."""
    return Join(left, right, kind, condition, left.schema + right.schema)


def join_condition(context: BindContext, scope: Scope, tree: exp.Expr) -> Expr:
    """What stands after ON."""
    return ExpressionBinder(context, scope, "JOIN conditions").condition(tree, "JOIN/ON")


def join_using(
    context: BindContext, left: Item, right: Item, kind: JoinKind, names: Sequence[str], position: int
) -> Item:
    """JOIN … USING (names): each of the names is one column of the result. Raises DuplicateColumn, UndefinedColumn."""
    both = side_by_side(left, right)
    moved = mapped(right[1], lambda e: shifted(e, len(left[0].schema)))
    binder = ExpressionBinder(context, both, "JOIN conditions")
    condition: Expr | None = None
    merged: list[ScopeColumn] = []
    for i, name in enumerate(names):
        if name in names[:i]:
            message = f'column name "{name}" appears more than once in USING clause'
            raise DuplicateColumn(message)
        a = common_column(left[1], name, "left")
        b = common_column(moved, name, "right")
        pair = [Operand(a.expr, position), Operand(b.expr, position)]
        equal = binder.calls.operator("=", pair, position)
        condition = equal if condition is None else Call("and", (condition, equal), BOOLEAN)
        merged.append(ScopeColumn(name, _merged(binder, kind, pair)))
    assert condition is not None
    rest = [c for c in (*left[1].columns, *moved.columns) if c.name not in names or c.hidden]
    return joined(left[0], right[0], kind, condition), replace(both, columns=(*merged, *rest))


def with_using_alias(scope: Scope, alias: str, count: int) -> Scope:
    """`USING (…) AS alias`: a name for the row of the `count` merged columns. Raises SqlError (42712)."""
    merged = Scope((ScopeTable(alias, None, scope.columns[:count]),))
    check_names(scope, merged)
    return replace(scope, tables=scope.tables + merged.tables)


def with_markers(left: Item, right: Item, side: str) -> tuple[Item, Item]:
    """The sides of an outer join (`side`: LEFT, RIGHT, FULL or none), so that a row all NULL is known from no row.

    Only a table whose key may be NULL has such rows.
    """
    left = _with_marker(left) if side in ("RIGHT", "FULL") else left
    return left, _with_marker(right) if side in ("LEFT", "FULL") else right


def _with_marker(item: Item) -> Item:
    plan, scope = item
    if not any(map(_may_be_all_null, scope.tables)):
        return item
    marker = ScopeColumn("", InputRef(len(plan.schema), BOOLEAN), hidden=True)
    tables = (
        replace(each, columns=(*each.columns, marker)) if _may_be_all_null(each) else each for each in scope.tables
    )
    return marked(plan), replace(scope, tables=tuple(tables))


def _may_be_all_null(item: ScopeTable) -> bool:
    relations = [column.use.relation for column in item.columns if column.use is not None]
    return any(isinstance(relation, Table) and relation.has_null_keys for relation in relations[:1])


def null_extended(scope: Scope, count: int, side: str) -> Scope:
    """The names of an outer join (`side`: LEFT, RIGHT, FULL or none), whose left side has the first `count` tables."""
    sides = (side in ("RIGHT", "FULL"), side in ("LEFT", "FULL"))
    if not any(sides):
        return scope
    tables = (replace(t, nullable=True) if sides[i >= count] else t for i, t in enumerate(scope.tables))
    return replace(scope, tables=tuple(tables))


def _merged(binder: ExpressionBinder, kind: JoinKind, pair: list[Operand]) -> Expr:
    """The one column of JOIN … USING: from the side that has it, from either in a full join."""
    if kind is JoinKind.FULL:
        return binder.calls.form("COALESCE", pair, "JOIN/USING")
    common, _ = binder.context.coercer.to_common_type(pair, "JOIN/USING")
    return common[1] if kind is JoinKind.RIGHT else common[0]
