"""RETURNING: what a write gives of each row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from risingpy.frontend.binder.column_limits import check_targets
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import project
from risingpy.frontend.binder.query.column_origins import Origin, column_origins
from risingpy.frontend.binder.query.joins import Item, joined, side_by_side
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.query.select import expand
from risingpy.frontend.binder.query.text_columns import with_texts
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.uses import target_of
from risingpy.frontend.parser.ast import Expression
from risingpy.plan.catalog import Table
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field, JoinKind
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class Returning:
    """RETURNING: expressions over one row of the relation, all its columns in storage order.

    `fields` are the columns, `shown_types` what clients hear of their types, which tells text from character varying,
    and `origins` the relations' columns that they are.

    After these stand the columns of the other side of UPDATE … FROM and DELETE … USING that the expressions read:
    those at `source_columns`, which are positions among all columns of that side.
    """

    expressions: tuple[Expr, ...]
    fields: tuple[Field, ...]
    shown_types: tuple[SqlType, ...]
    origins: tuple[Origin, ...]
    source_columns: tuple[int, ...] = ()


def bind_returning(
    context: BindContext,
    items: tuple[Expression, ...] | None,
    relation: Table,
    alias: str,
    source: Item | None = None,
) -> Returning | None:
    """The items over one row of the relation, which they may call `alias`, and one of `source`.

    None without RETURNING.
    """
    if items is None:
        return None
    schema = relation.schema_name if alias == relation.name else None
    target = scan(relation)
    scope = relation_scope(alias, schema, target.schema, relation=relation.name, use=target_of(context.uses))
    if source is not None:
        scope = side_by_side((target, scope), source)
    binder = ExpressionBinder(replace(context, subqueries=None), scope, "RETURNING")
    columns = [column for item in items for column in expand(item.tree, binder)]
    check_targets(len(columns))
    exprs = tuple(context.coercer.settled(column.operand) for column in columns)
    fields = tuple(Field(c.name, e.type) for c, e in zip(columns, exprs, strict=True))
    width = len(target.schema)
    read = target if source is None else joined(target, source[0], JoinKind.CROSS, None)
    answer = project(read, exprs, [field.name for field in fields])
    shown_types = with_texts(answer, fields, context.catalog)
    origins = column_origins(answer, context.catalog, context.views)
    others = sorted({index for expr in exprs for index in columns_read(expr) if index >= width})
    places = {index: index for index in range(width)} | {index: width + i for i, index in enumerate(others)}
    moved = tuple(remapped(expr, places) for expr in exprs)
    return Returning(moved, fields, shown_types, origins, tuple(index - width for index in others))
