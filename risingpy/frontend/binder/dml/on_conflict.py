"""INSERT … ON CONFLICT: what becomes of a row whose key another row has.

A conflict is one of the primary key, or of the unique index that the statement names. Its values are computed over
pairs: all columns of the row that stands, then all columns of the row that was to be inserted, which the statement
calls `excluded`, in storage order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.errors import SqlError, SyntaxError_, UndefinedColumn, UndefinedObject
from risingpy.frontend.binder.ddl.create import visible_columns
from risingpy.frontend.binder.dml.rewrite import new_values, refuse_append_only, target_item
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import project, references
from risingpy.frontend.binder.query.joins import side_by_side
from risingpy.frontend.binder.scope.columns import Scope, relation_scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.uses import RelationUse, target_of
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.parser.ast import ColumnName, ConflictTarget, Expression, Insert
from risingpy.optimizer.implication import implies
from risingpy.plan.catalog import Index, Table
from risingpy.plan.catalog.acl import NOTHING, Privilege
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Field, Filter, GivenRows, LogicalPlan
from risingpy.types import BIGINT


@dataclass(frozen=True, slots=True)
class OnConflict:
    """What ON CONFLICT does. `update` is None for DO NOTHING.

    `update` reads pairs, and after them each pair's number, a bigint (GivenRows). It gives the number of each pair that
    is to change, and all columns of the new row. `moves_keys`: the new row may have another key. `arbiter` is the
    unique index that the statement names; None: the primary key, or with `any_key` whatever key there is.
    """

    update: LogicalPlan | None
    moves_keys: bool = False
    arbiter: Index | None = None
    any_key: bool = False


def bind_on_conflict(context: BindContext, statement: Insert, relation: Table) -> OnConflict | None:
    """None without ON CONFLICT. Raises SqlError (42P10) if the named columns are not the key."""
    action = statement.on_conflict
    if action is None:
        return None
    target = target_item(context, relation, statement.table, statement.alias)
    arbiter = None
    if action.target is not None:
        arbiter = _arbiter(context, action.target, relation, target[1], action.position)
    indexes = context.catalog.unique_indexes_of(relation.relation_id)
    _refuse_deferrable(indexes if action.target is None else [arbiter])
    if action.assignments is None:
        return OnConflict(None, arbiter=arbiter, any_key=action.target is None)
    if action.target is None:
        message = "ON CONFLICT DO UPDATE requires inference specification or constraint name"
        raise SyntaxError_(message, position=action.position, hint="For example, ON CONFLICT (column_name).")
    refuse_append_only(relation, statement.table.position)
    target_of(context.uses).wanted |= Privilege.UPDATE
    excluded = RelationUse(relation, NOTHING)  # as in PostgreSQL, what it reads of the row must be allowed, too
    context.uses.append(excluded)
    proposed = relation_scope("excluded", None, target[0].schema, use=excluded)
    scope = side_by_side(target, (target[0], proposed))
    schema = (*target[0].schema, *target[0].schema, Field("number", BIGINT))
    plan: LogicalPlan = GivenRows(schema)
    if action.where is not None:
        plan = Filter(plan, ExpressionBinder(context, scope, "WHERE").condition(action.where.tree, "WHERE"))
    new = new_values(context, relation, statement.table, scope, action.assignments)
    values = (references(schema)[-1], *new)
    moves_keys = any(new[index] != references(schema)[index] for index in relation.primary_key)
    return OnConflict(project(plan, values, [f"c{index}" for index in range(len(values))]), moves_keys, arbiter)


def _arbiter(
    context: BindContext, target: ConflictTarget, relation: Table, scope: Scope, position: int
) -> Index | None:
    """The unique index that the target names; None for the primary key. Raises SqlError (42P10) if it is neither."""
    indexes = context.catalog.unique_indexes_of(relation.relation_id)
    if target.constraint is not None:
        found = _named_constraint(target.constraint, relation, indexes)
        ids = {relation.columns[place].column_id for place in relation.primary_key}
        for column_id in ids if found is None else _columns_of(found):
            target_of(context.uses).read_column(column_id)
        return found
    binder = ExpressionBinder(replace(context, subqueries=None), scope, "index expressions")
    named = {_key(binder, part, relation) for part in target.columns}
    allowed = None if target.predicate is None else binder.condition(target.predicate.tree, "WHERE")
    for each in [*named, *([] if allowed is None else [allowed])]:
        for place in columns_read(each):
            target_of(context.uses).read_column(relation.columns[place].column_id)
    if relation.primary_key and named == {InputRef(i, relation.columns[i].type) for i in relation.primary_key}:
        return None
    places = {column.column_id: place for place, column in enumerate(relation.columns)}
    partial = None
    for index in indexes:
        if {remapped(key.expression, places) for key in index.index.keys} != named:
            continue
        predicate = index.index.predicate
        if predicate is None:
            return index
        if partial is None and allowed is not None and implies(allowed, remapped(predicate.expression, places)):
            partial = index
    if partial is not None:
        return partial
    message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
    hint = "Neither its primary key nor a unique index has these columns."
    raise SqlError(message, sqlstate="42P10", position=position, hint=hint)


def _refuse_deferrable(arbiters: Sequence[Index | None]) -> None:
    """As PostgreSQL does: a row that such a key refuses may be put off, so it decides nothing now."""
    if any(index is not None and index.deferrable for index in arbiters):
        message = "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters"
        raise SqlError(message, sqlstate="55000")


def _columns_of(index: Index) -> set[int]:
    """The ids of the columns that are the index's keys; none if it has an expression."""
    columns = [key.expression.index for key in index.index.keys if isinstance(key.expression, InputRef)]
    return set(columns) if len(columns) == len(index.index.keys) else set()


def _named_constraint(name: ColumnName, relation: Table, indexes: Sequence[Index]) -> Index | None:
    """The unique index of a constraint's name; None for the primary key's."""
    if relation.primary_key and name.name == relation.key_constraint:
        return None
    for index in indexes:
        rule = index.index.unique
        if index.name == name.name and rule is not None and rule.is_constraint:
            return index
    message = f'constraint "{name.name}" for table "{relation.name}" does not exist'
    raise UndefinedObject(message, position=name.position)


def _key(binder: ExpressionBinder, part: Expression, relation: Table) -> Expr:
    """The key that ON CONFLICT names: a column, or an expression."""
    tree = part.tree.this if isinstance(part.tree, exp.Collate) else part.tree
    if not isinstance(tree, exp.Column) or tree.args.get("table") is not None:
        return binder.settled(tree)
    name = name_of(tree.this)
    for index in visible_columns(relation):
        if relation.columns[index].name == name:
            return InputRef(index, relation.columns[index].type)
    raise UndefinedColumn(f'column "{name}" does not exist', position=part.position)
