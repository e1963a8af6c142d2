"""MERGE: a plan that joins the table with the source, and says of each pair which clause decides and what it makes.

    MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.k, 1)
    =>  Project(old row, new row, clause; Filter(clause >= 0; Project(*, clause; t RIGHT JOIN s)))

The columns are those of the table in storage order, hidden ones too: first all old values (NULLs beside a source row
that matches nothing), then all new ones (NULLs of a row that goes), then the number of the clause, an integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import assert_never

from risingpy.errors import SyntaxError_
from risingpy.frontend.binder.dml.parts import parts_of
from risingpy.frontend.binder.dml.returning import Returning
from risingpy.frontend.binder.dml.rewrite import new_values, refuse_append_only, target_item
from risingpy.frontend.binder.dml.target import (
    assigned,
    check_width,
    default_of,
    target_columns,
    target_relation,
    with_given_numbers,
)
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import marked, project, references
from risingpy.frontend.binder.query.joins import Item, join_condition, joined, side_by_side
from risingpy.frontend.binder.query.query import QueryBinder
from risingpy.frontend.binder.scope.columns import Scope, mapped
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited
from risingpy.frontend.binder.scope.uses import target_of
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.parser.ast import Merge, MergeDelete, MergeInsert, MergeUpdate, MergeWhen, ObjectName
from risingpy.optimizer.orderable import check_order
from risingpy.optimizer.plan_size import check_size
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.catalog.acl import NOTHING, Privilege
from risingpy.plan.expression_trees import shifted
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import Filter, JoinKind, LogicalPlan
from risingpy.types import BOOLEAN, INTEGER, SqlType

_NO_CLAUSE = -1


class MergeAction(Enum):
    """What a clause does; the value is the word in SQL."""

    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"
    NOTHING = "DO NOTHING"


_NEEDED: Mapping[MergeAction, Privilege] = MappingProxyType(
    {
        MergeAction.UPDATE: Privilege.UPDATE,
        MergeAction.DELETE: Privilege.DELETE,
        MergeAction.INSERT: Privilege.INSERT,
        MergeAction.NOTHING: NOTHING,
    }
)


@dataclass(frozen=True, slots=True)
class BoundMerge:
    """MERGE. `plan` is described in the module's text; `actions` has what each clause does, by its number."""

    relation: Table
    plan: LogicalPlan
    actions: tuple[MergeAction, ...]
    parameter_types: tuple[SqlType, ...]
    dependencies: tuple[int, ...]
    returning: Returning | None = None  # PostgreSQL has it from version 17 on


@depth_limited
def bind_merge(
    statement: Merge,
    catalog: Catalog,
    search_path: Sequence[str],
    parameter_types: Sequence[SqlType] = (),
    *,
    session: SessionValues | None = None,
) -> BoundMerge:
    """The clauses of matches read both sides, those of rows without a match the source alone."""
    queries = QueryBinder(make_context(catalog, search_path, parameter_types, session)).knowing(statement.with_)
    context = queries.context
    relation = target_relation(context, statement.table, "merge into")
    actions = tuple(map(_action, statement.clauses))
    _check_reachable(statement.clauses)
    for action in actions:
        target_of(context.uses).wanted |= _NEEDED[action]
    if MergeAction.UPDATE in actions or MergeAction.DELETE in actions:
        refuse_append_only(relation, statement.table.position)
    pairs, scope, alone = _pairs(queries, statement, relation)
    clause = _clause(context, statement.clauses, _present(relation), scope, alone)
    columns = references(pairs.schema)
    plan: LogicalPlan = project(pairs, (*columns, clause), [f"c{i}" for i in range(len(columns) + 1)])
    chosen = InputRef(len(columns), INTEGER)
    plan = Filter(plan, Call("ge", (chosen, Literal(0, INTEGER)), BOOLEAN))
    width = len(relation.columns)
    made: dict[int, list[Expr]] = {}
    for number, each in enumerate(statement.clauses):
        match each.action:
            case MergeUpdate(assignments):
                made[number] = new_values(context, relation, statement.table, scope, assignments)
            case MergeInsert() as insert:
                made[number] = _inserted(context, insert, relation, alone, statement.table)
    new = [_by_clause(chosen, made, index, relation.columns[index].type) for index in range(width)]
    values = (*columns[:width], *new, chosen)
    plan = project(plan, values, [f"c{index}" for index in range(len(values))])
    context.check_uses()
    types, dependencies = context.parameters.types(), tuple(dict.fromkeys(context.dependencies))
    return BoundMerge(relation, plan, actions, types, dependencies)


def _pairs(queries: QueryBinder, statement: Merge, relation: Table) -> tuple[LogicalPlan, Scope, Scope]:
    """The rows of the table beside those of the source that match them, or beside a source row NULLs where none does.

    With the names of both, and those of the source alone. A row of a table that may have NULL as its key is marked.
    """
    target = target_item(queries.context, relation, statement.table, statement.alias)
    if relation.has_null_keys:
        target = marked(target[0]), target[1]
    source: Item = queries.from_items(statement.source)
    scope = side_by_side(target, source)
    condition = join_condition(queries.context, scope, statement.condition.tree)
    needs_all = any(not clause.matched and clause.action is not None for clause in statement.clauses)
    plan = joined(target[0], source[0], JoinKind.RIGHT if needs_all else JoinKind.INNER, condition)
    check_size(plan)
    check_order(plan)
    return plan, scope, mapped(source[1], lambda expr: shifted(expr, len(target[0].schema)))


def _action(clause: MergeWhen) -> MergeAction:
    match clause.action:
        case MergeUpdate():
            return MergeAction.UPDATE
        case MergeDelete():
            return MergeAction.DELETE
        case MergeInsert():
            return MergeAction.INSERT
        case None:
            return MergeAction.NOTHING
        case _:
            assert_never(clause.action)


def _check_reachable(clauses: Sequence[MergeWhen]) -> None:
    decided: set[bool] = set()
    for clause in clauses:
        if clause.matched in decided:
            message = "unreachable WHEN clause specified after unconditional WHEN clause"
            raise SyntaxError_(message, position=clause.position)
        if clause.condition is None:
            decided.add(clause.matched)


def _present(relation: Table) -> InputRef:
    """A column of the pairs that is NULL only where there is no row of the table."""
    if relation.has_null_keys:
        return InputRef(len(relation.columns), BOOLEAN)
    keys = [part.index for part in relation.table.key]
    place = next((each for each in keys if relation.refuses_null(each)), keys[0])  # else it is the row's number
    return InputRef(place, relation.columns[place].type)


def _clause(context: BindContext, clauses: Sequence[MergeWhen], present: InputRef, scope: Scope, alone: Scope) -> Expr:
    """The number of the clause that decides about a pair; -1 if none does, or one that does nothing."""
    is_alone = Call("is_null", (present,), BOOLEAN)
    # The conditions of one kind of pairs are not evaluated for the other kind: they might fail there.
    matched = _first_true(context, clauses, scope, matched=True)
    return Case(((is_alone, _first_true(context, clauses, alone, matched=False)),), matched, INTEGER)


def _first_true(context: BindContext, clauses: Sequence[MergeWhen], scope: Scope, *, matched: bool) -> Expr:
    branches: list[tuple[Expr, Expr]] = []
    for number, clause in enumerate(clauses):
        if clause.matched is not matched:
            continue
        result = Literal(_NO_CLAUSE if clause.action is None else number, INTEGER)
        condition: Expr = Literal(True, BOOLEAN)
        if clause.condition is not None:
            condition = ExpressionBinder(context, scope, "MERGE WHEN").condition(clause.condition.tree, "WHEN")
        branches.append((condition, result))
    otherwise = Literal(_NO_CLAUSE, INTEGER)
    return Case(tuple(branches), otherwise, INTEGER) if branches else otherwise


def _inserted(
    context: BindContext, insert: MergeInsert, relation: Table, scope: Scope, table: ObjectName
) -> list[Expr]:
    """The columns of a row that THEN INSERT makes. The session fills in hidden and generated ones."""
    values = [default_of(context, relation, index) for index in range(len(relation.columns))]
    targets = target_columns(relation, insert.columns, table)
    width = 0 if insert.values is None else len(insert.values)
    target_of(context.uses).inserted |= {relation.columns[i].column_id for i in targets[:width]}
    if insert.values is None:
        return values
    positions = [insert.position if value is None else value.position for value in insert.values]
    check_width(len(insert.values), targets, positions, insert.columns)
    given = relation if insert.overriding is None else with_given_numbers(relation)
    binder = ExpressionBinder(context, scope, "VALUES")
    parts = parts_of(binder, given, insert.columns, targets)
    begun: set[int] = set()  # columns of which a part has a value
    for index, part, value in zip(targets, parts, insert.values, strict=False):
        if part is not None:
            if value is None:
                part.refuse_default()
            old = values[index] if index in begun else Literal(None, relation.columns[index].type)
            begun.add(index)
            values[index] = part.put(old, part.assigned(binder.bind(value.tree)))
            continue
        if value is None:
            continue
        bound = assigned(context, binder.bind(value.tree), given, index)
        if insert.overriding != "USER" or relation.columns[index].identity is None:
            values[index] = bound
    return values


def _by_clause(chosen: Expr, made: dict[int, list[Expr]], index: int, type_: SqlType) -> Expr:
    """A column of the new row: what the chosen clause makes; NULL where it makes no row."""
    branches = tuple(
        (Call("eq", (chosen, Literal(number, INTEGER)), BOOLEAN), values[index]) for number, values in made.items()
    )
    return Case(branches, Literal(None, type_), type_) if branches else Literal(None, type_)
