"""COPY … FROM STDIN: which columns come from the client, and what stands in the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.errors import SqlError
from risingpy.frontend.binder.ddl.create import bind_default, visible_columns
from risingpy.frontend.binder.dml.target import (
    target_columns,
    target_relation,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import relation_scope
from risingpy.frontend.binder.scope.context import BindContext, SessionValues
from risingpy.frontend.binder.scope.uses import target_of
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.parser.ast import Copy, Expression
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Expr, Literal
from risingpy.plan.logical import Field


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """COPY … FROM: the columns at `columns` come from the client; `defaults` are the other visible columns'.

    `where` reads the visible columns, and chooses rows.
    """

    relation: Table
    columns: tuple[int, ...]
    defaults: tuple[tuple[int, Expr], ...]
    where: Expr | None = None


def bind_copy_target(
    statement: Copy, catalog: Catalog, search_path: Sequence[str], *, session: SessionValues | None = None
) -> CopyTarget:
    """The columns that COPY … FROM STDIN fills."""
    assert statement.table is not None
    context = make_context(catalog, search_path, (), session)
    relation = target_relation(context, statement.table, "copy to")
    columns = target_columns(relation, statement.columns, statement.table)
    generated = [relation.columns[i] for i in columns if relation.columns[i].generated is not None]
    if generated and statement.columns is not None:
        message = f'column "{generated[0].name}" is a generated column'
        raise SqlError(message, sqlstate="42P10", detail="Generated columns cannot be used in COPY.")
    columns = [i for i in columns if relation.columns[i].generated is None]
    target = target_of(context.uses)
    target.wanted |= Privilege.INSERT
    target.inserted |= {relation.columns[i].column_id for i in columns}
    context.check_uses()
    rest = [i for i in visible_columns(relation) if i not in columns]
    defaults = [(i, bind_default(relation.columns[i], catalog, session=session)) for i in rest]
    exprs = tuple((i, d if d is not None else Literal(None, relation.columns[i].type)) for i, d in defaults)
    where = None if statement.where is None else _condition(context, relation, statement.where)
    return CopyTarget(relation, tuple(columns), exprs, where)


def _condition(context: BindContext, relation: Table, where: Expression) -> Expr:
    visible = [relation.columns[i] for i in visible_columns(relation)]
    scope = relation_scope(relation.name, None, [Field(c.name, c.type) for c in visible], relation=relation.name)
    binder = ExpressionBinder(replace(context, subqueries=None), scope, "COPY FROM WHERE conditions")
    condition = binder.condition(where.tree, "WHERE")
    for place in sorted(columns_read(condition)):
        if visible[place].generated is not None:
            raise SqlError(
                "generated columns are not supported in COPY FROM WHERE conditions",
                sqlstate="42P10",
                detail=f'Column "{visible[place].name}" is a generated column.',
            )
    return condition
