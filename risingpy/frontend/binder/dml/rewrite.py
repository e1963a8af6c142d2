"""UPDATE and DELETE: plans that give, for each row that they touch, the old row and (UPDATE) the new one.

The columns are those of the relation in storage order, hidden ones too: first all old values, then all new ones. What
RETURNING reads of the other side of UPDATE … FROM and DELETE … USING stands at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.errors import (
    FeatureNotSupported,
    SqlError,
    SyntaxError_,
)
from risingpy.frontend.binder.dml.parts import ColumnPart
from risingpy.frontend.binder.dml.returning import Returning, bind_returning
from risingpy.frontend.binder.dml.target import (
    assigned,
    column_index,
    default_of,
    generated_always,
    is_given,
    target_relation,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.subqueries import scalars
from risingpy.frontend.binder.plans import references
from risingpy.frontend.binder.query.joins import Item as FromItem
from risingpy.frontend.binder.query.joins import cross
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.columns import Scope, relation_scope
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited
from risingpy.frontend.binder.scope.uses import target_of
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.parser.ast import Assignment, Delete, Expression, ObjectName, Update
from risingpy.optimizer.orderable import check_order
from risingpy.optimizer.plan_size import check_size
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field, Filter, LogicalPlan, Project
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class BoundRewrite:
    """UPDATE or DELETE. `plan` gives the old rows, and beside them the new rows if `has_new`; see the module's text.

    `returning` reads the new row of an UPDATE, the old row of a DELETE. If it `is_joined`, an old row may come several
    times, and the first time counts.
    """

    relation: Table
    plan: LogicalPlan
    has_new: bool
    is_joined: bool
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
    queries = QueryBinder(make_context(catalog, search_path, parameter_types, session)).knowing(statement.with_)
    context = queries.context
    relation = target_relation(context, statement.table, "update")
    refuse_append_only(relation, statement.table.position)
    source = None if statement.from_ is None else queries.from_items(statement.from_)
    target_of(context.uses).wanted |= Privilege.UPDATE
    plan, scope = _matched(context, relation, statement.table, statement.alias, source)
    plan = _filtered(context, plan, scope, statement.where)
    new = new_values(context, relation, statement.table, scope, statement.assignments)
    returning = bind_returning(context, statement.returning, relation, statement.alias or statement.table.name, source)
    return _rewrite(context, relation, plan, returning, new, is_joined=source is not None)


def new_values(
    context: BindContext, relation: Table, table: ObjectName, scope: Scope, assignments: Sequence[Assignment]
) -> list[Expr]:
    """The columns of a new row, over rows that begin with the old one; `scope` has the names of such rows.

    `table` is the relation as the statement names it.
    """
    new: list[Expr] = list(references(scan(relation).schema))
    named: dict[int, bool] = {}  # whether all of the column is assigned to
    for assignment in assignments:
        index = column_index(relation, assignment.column, table)
        is_whole = not assignment.column.steps
        if index in named and (is_whole or named[index]):
            message = f'multiple assignments to same column "{assignment.column.name}"'
            raise SqlError(message, sqlstate="42601", position=assignment.column.position)
        named[index] = is_whole
        column = relation.columns[index]
        target_of(context.uses).updated.add(column.column_id)
        if not is_whole and is_given(column):
            part = ColumnPart(ExpressionBinder(context, scope, "UPDATE"), assignment.column, column.type)
            if assignment.value is None:
                part.refuse_default()
            new[index] = part.put(new[index], part.assigned(_value(context, scope, assignment)))
        elif assignment.value is None and is_whole:
            new[index] = default_of(context, relation, index)
        elif not is_given(column):
            raise generated_always(f'column "{column.name}" can only be updated to DEFAULT', column)
        else:
            new[index] = assigned(context, _value(context, scope, assignment), relation, index)
    return new


def _value(context: BindContext, scope: Scope, assignment: Assignment) -> Operand:
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
    privilege: Privilege = Privilege.DELETE,
) -> BoundRewrite:
    """DELETE: the rows that WHERE keeps. `privilege` is what the session's role needs for it."""
    queries = QueryBinder(make_context(catalog, search_path, parameter_types, session)).knowing(statement.with_)
    context = queries.context
    relation = target_relation(context, statement.table, "delete from")
    refuse_append_only(relation, statement.table.position)
    source = None if statement.using is None else queries.from_items(statement.using)
    target_of(context.uses).wanted |= privilege
    plan, scope = _matched(context, relation, statement.table, statement.alias, source)
    plan = _filtered(context, plan, scope, statement.where)
    returning = bind_returning(context, statement.returning, relation, statement.alias or statement.table.name, source)
    return _rewrite(context, relation, plan, returning, None, is_joined=source is not None)


def refuse_append_only(relation: Table, position: int) -> None:
    """Raises FeatureNotSupported for a table whose rows never change."""
    if relation.append_only:
        raise FeatureNotSupported("append-only table does not support update or delete", position=position)


def target_item(context: BindContext, relation: Table, table: ObjectName, alias: str | None) -> FromItem:
    """All rows of the relation that the statement writes to, and their names in it."""
    plan = scan(relation)
    schema = relation.schema_name if alias is None else None
    use = target_of(context.uses)
    return plan, relation_scope(alias or table.name, schema, plan.schema, relation=relation.name, use=use)


def _matched(
    context: BindContext, relation: Table, table: ObjectName, alias: str | None, source: FromItem | None
) -> FromItem:
    """The relation's rows, with a `source` each beside every row of it."""
    target = target_item(context, relation, table, alias)
    if source is None:
        return target
    plan, scope = cross(target, source)
    check_size(plan)
    check_order(plan)
    return plan, scope


def _filtered(context: BindContext, plan: LogicalPlan, scope: Scope, where: Expression | None) -> LogicalPlan:
    if where is None:
        return plan
    return Filter(plan, ExpressionBinder(context, scope, "WHERE").condition(where.tree, "WHERE"))


def _rewrite(
    context: BindContext,
    relation: Table,
    plan: LogicalPlan,
    returning: Returning | None,
    new: Sequence[Expr] | None,
    *,
    is_joined: bool,
) -> BoundRewrite:
    """`plan` gives rows that begin with an old one; `new` are the columns of the new one over these."""
    context.check_uses()
    width = len(relation.columns)
    rows = references(plan.schema)
    read = () if returning is None else tuple(rows[width + index] for index in returning.source_columns)
    if new is not None or is_joined:
        values = (*rows[:width], *(new or ()), *read)
        plan = Project(plan, values, tuple(Field(f"c{i}", value.type) for i, value in enumerate(values)))
    types, dependencies = context.parameters.types(), tuple(dict.fromkeys(context.dependencies))
    return BoundRewrite(relation, plan, new is not None, is_joined, returning, types, dependencies)
