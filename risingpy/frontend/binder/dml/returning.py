"""RETURNING: what a write gives of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.query.select import expand
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.parser.ast import Expression
from risingpy.plan.catalog import Table
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field


@dataclass(frozen=True, slots=True)
class Returning:
    """RETURNING: expressions over one row of the relation, all its columns in storage order."""

    expressions: tuple[Expr, ...]
    fields: tuple[Field, ...]


def bind_returning(
    context: BindContext, items: tuple[Expression, ...] | None, relation: Table, alias: str
) -> Returning | None:
    """The items over one row of the relation, which they may call `alias`; None without RETURNING."""
    if items is None:
        return None
    schema = relation.schema_name if alias == relation.name else None
    scope = relation_scope(alias, schema, scan(relation).schema, relation=relation.name)
    binder = ExpressionBinder(replace(context, subqueries=None), scope, "RETURNING")
    columns = [column for item in items for column in expand(item.tree, binder)]
    exprs = tuple(context.coercer.settled(column.operand) for column in columns)
    return Returning(exprs, tuple(Field(c.name, e.type) for c, e in zip(columns, exprs, strict=True)))
