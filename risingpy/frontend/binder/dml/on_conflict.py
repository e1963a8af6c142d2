"""INSERT … ON CONFLICT: what becomes of a row whose key another row has.

Only the primary key is unique here, so a conflict is always one of the primary key. Its values are computed over pairs:
all columns of the row that stands, then all columns of the row that was to be inserted, which the statement calls
`excluded`, in storage order.
"""

from __future__ import annotations

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
from risingpy.plan.catalog import Table
from risingpy.plan.catalog.acl import NOTHING, Privilege
from risingpy.plan.logical import Field, Filter, GivenRows, LogicalPlan
from risingpy.types import BIGINT


@dataclass(frozen=True, slots=True)
class OnConflict:
    """What ON CONFLICT does. `update` is None for DO NOTHING.

    `update` reads pairs, and after them each pair's number, a bigint (GivenRows). It gives the number of each pair that
    is to change, and all columns of the new row. `moves_keys`: the new row may have another key.
    """

    update: LogicalPlan | None
    moves_keys: bool = False


def bind_on_conflict(context: BindContext, statement: Insert, relation: Table) -> OnConflict | None:
    """None without ON CONFLICT. Raises SqlError (42P10) if the named columns are not the key."""
    action = statement.on_conflict
    if action is None:
        return None
    target = target_item(context, relation, statement.table, statement.alias)
    if action.target is not None:
        _check_target(context, action.target, relation, target[1], action.position)
    if action.assignments is None:
        return OnConflict(None)
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
    return OnConflict(project(plan, values, [f"c{index}" for index in range(len(values))]), moves_keys)


def _check_target(context: BindContext, target: ConflictTarget, relation: Table, scope: Scope, position: int) -> None:
    """Raises unless the target is the primary key, in any order."""
    if target.constraint is not None:
        _check_constraint(target.constraint, relation)
        for index in relation.primary_key:
            target_of(context.uses).read_column(relation.columns[index].column_id)
        return
    binder = ExpressionBinder(replace(context, subqueries=None), scope, "index expressions")
    named = {_key_column(binder, part, relation) for part in target.columns}
    if target.predicate is not None:
        binder.condition(target.predicate.tree, "WHERE")
    for key in named:
        if key is not None:
            target_of(context.uses).read_column(relation.columns[key].column_id)
    if not relation.primary_key or named != set(relation.primary_key):
        message = "there is no unique or exclusion constraint matching the ON CONFLICT specification"
        hint = "Only a table's primary key is unique." if relation.primary_key else "The table has no primary key."
        raise SqlError(message, sqlstate="42P10", position=position, hint=hint)


def _check_constraint(name: ColumnName, relation: Table) -> None:
    if not relation.primary_key or name.name != relation.key_constraint:
        message = f'constraint "{name.name}" for table "{relation.name}" does not exist'
        raise UndefinedObject(message, position=name.position)


def _key_column(binder: ExpressionBinder, part: Expression, relation: Table) -> int | None:
    """The position of a column that ON CONFLICT names; None for an expression, which no key has."""
    tree = part.tree.this if isinstance(part.tree, exp.Collate) else part.tree
    if not isinstance(tree, exp.Column) or tree.args.get("table") is not None:
        binder.bind(part.tree)
        return None
    name = name_of(tree.this)
    for index in visible_columns(relation):
        if relation.columns[index].name == name:
            return index
    raise UndefinedColumn(f'column "{name}" does not exist', position=part.position)
