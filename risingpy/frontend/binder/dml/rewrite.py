"""UPDATE and DELETE: plans that give, for each row that they touch, the old row and (UPDATE) the new one.

The columns are those of the relation in storage order, hidden ones too: first all old values, then all new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.errors import (
    FeatureNotSupported,
    SqlError,
    SyntaxError_,
)
from risingpy.frontend.binder.ddl.create import bind_default
from risingpy.frontend.binder.dml.returning import Returning, bind_returning
from risingpy.frontend.binder.dml.target import (
    assigned,
    column_index,
    generated_always,
    is_given,
    target_relation,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.subqueries import scalars
from risingpy.frontend.binder.plans import references
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.columns import Scope, relation_scope
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.parser.ast import Assignment, Delete, Expression, ObjectName, Update
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.expressions import Expr, Literal
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class BoundRewrite:
    """UPDATE or DELETE. `plan` gives the old rows, and beside them the new rows if `has_new`; see the module's text.

    `returning` reads the new row of an UPDATE, the old row of a DELETE.
    """

    relation: Table
    plan: LogicalPlan
    has_new: bool
    returning: Returning | None
    parameter_types: tuple[SqlType, ...]
    dependencies: tuple[int, ...]


@depth_limited
def bind_update(
    statement: Update,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
) -> BoundRewrite:
    """UPDATE: old and new rows of those that WHERE keeps. The primary key may change, too."""
    context = QueryBinder(make_context(catalog, search_path, parameter_types, session)).context
    relation = target_relation(context, statement.table, "update")
    _refuse_append_only(relation, statement.table)
    plan, scope = _matched(context, relation, statement.table, statement.alias, statement.where)
    old = references(plan.schema)
    new: list[Expr] = list(old)
    named: set[str] = set()
    for assignment in statement.assignments:
        index = column_index(relation, assignment.column, statement.table)
        if assignment.column.name in named:
            message = f'multiple assignments to same column "{assignment.column.name}"'
            raise SqlError(message, sqlstate="42601", position=assignment.column.position)
        named.add(assignment.column.name)
        column = relation.columns[index]
        if assignment.value is None:
            new[index] = bind_default(column, session=session) or Literal(None, column.type)
        elif not is_given(column):
            raise generated_always(f'column "{column.name}" can only be updated to DEFAULT', column)
        else:
            new[index] = assigned(context, _assignment(context, scope, assignment), relation, index)
    names = [column.name for column in relation.columns]
    plan = Project(plan, (*old, *new), tuple(Field(n, e.type) for n, e in zip(names * 2, (*old, *new), strict=True)))
    returning = bind_returning(context, statement.returning, relation, statement.alias or statement.table.name)
    return _rewrite(context, relation, plan, returning, has_new=True)


def _assignment(context: BindContext, scope: Scope, assignment: Assignment) -> Operand:
    assert assignment.value is not None
    binder = ExpressionBinder(context, scope, "UPDATE")
    if assignment.field is None:
        return binder.bind(assignment.value.tree)
    values = scalars(binder, assignment.value.tree)
    index, columns = assignment.field
    if len(values) != columns:
        message = "number of columns does not match number of values"
        raise SyntaxError_(message, position=assignment.value.position)
    return values[index]


@depth_limited
def bind_delete(
    statement: Delete,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
) -> BoundRewrite:
    """DELETE: the rows that WHERE keeps."""
    context = QueryBinder(make_context(catalog, search_path, parameter_types, session)).context
    relation = target_relation(context, statement.table, "delete from")
    _refuse_append_only(relation, statement.table)
    plan, _ = _matched(context, relation, statement.table, statement.alias, statement.where)
    returning = bind_returning(context, statement.returning, relation, statement.alias or statement.table.name)
    return _rewrite(context, relation, plan, returning, has_new=False)


def _refuse_append_only(relation: Table, name: ObjectName) -> None:
    if relation.append_only:
        raise FeatureNotSupported("append-only table does not support update or delete", position=name.position)


def _matched(
    context: BindContext, relation: Table, table: ObjectName, alias: str | None, where: Expression | None
) -> tuple[LogicalPlan, Scope]:
    plan: LogicalPlan = scan(relation)
    schema = relation.schema_name if alias is None else None
    scope = relation_scope(alias or table.name, schema, plan.schema, relation=relation.name)
    if where is not None:
        plan = Filter(plan, ExpressionBinder(context, scope, "WHERE").condition(where.tree, "WHERE"))
    return plan, scope


def _rewrite(
    context: BindContext, relation: Table, plan: LogicalPlan, returning: Returning | None, *, has_new: bool
) -> BoundRewrite:
    types, dependencies = context.parameters.types(), tuple(dict.fromkeys(context.dependencies))
    return BoundRewrite(relation, plan, has_new, returning, types, dependencies)
