"""Queries that find rows which a constraint does not allow: among a table's rows, or among those of a statement.

The rows of a statement are GivenRows, all columns of their table. Its writes are in the transaction already when such a
query runs, so a scan gives the table as it will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import distinct, project
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.plan.catalog import Catalog, CheckConstraint, ForeignKey, IndexDefinition, Table
from risingpy.plan.catalog.index_keys import key_expressions, predicate_of
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    Field,
    Filter,
    GivenRows,
    Join,
    JoinKind,
    LogicalPlan,
)
from risingpy.types import BIGINT, BOOLEAN


def given_rows(table: Table) -> GivenRows:
    """Rows that a statement hands to its query: all columns of a table."""
    return GivenRows(tuple(Field(f"c{i}", column.type) for i, column in enumerate(table.columns)))


def places_of(table: Table) -> dict[int, int]:
    """The positions of the table's columns by their ids."""
    return {column.column_id: place for place, column in enumerate(table.columns)}


def refused_by_check(check: CheckConstraint, rows: LogicalPlan, places: dict[int, int]) -> LogicalPlan:
    """The rows for which the check is false. `places` are those of the columns, by their ids."""
    return Filter(rows, Call("not", (remapped(check.expression, places),), BOOLEAN))


def indexed_rows(rows: LogicalPlan, definition: IndexDefinition, table: Table) -> LogicalPlan:
    """Those of the rows (all columns of the table) that a partial index has; all of them for another one."""
    is_there = predicate_of(definition, table)
    return rows if is_there is None else Filter(rows, is_there)


def duplicated_keys(rows: LogicalPlan, definition: IndexDefinition, table: Table) -> LogicalPlan:
    """The unique keys that several of the rows (all columns of the table) have: their values, then how often."""
    return _several(_unique_keys(rows, definition, table))


def keys_met_twice(table: Table, definition: IndexDefinition) -> LogicalPlan:
    """Of the keys of the given rows, those that several rows of the table have."""
    assert definition.unique is not None
    asked = distinct(_unique_keys(given_rows(table), definition, table))
    standing = _unique_keys(scan(table), definition, table)
    condition = _all_equal(standing, asked, nulls_equal=not definition.unique.nulls_distinct)
    return _several(Join(standing, asked, JoinKind.LEFT_SEMI, condition, standing.schema))


def rows_with_key(table: Table, definition: IndexDefinition, key: Sequence[Literal]) -> LogicalPlan:
    """The rows of the table, all columns, with this key of an index, in which nothing is NULL."""
    return Filter(scan(table), _equal_pairs(key_expressions(definition, table), key))


def rows_with_given_keys(table: Table, definition: IndexDefinition) -> LogicalPlan:
    """The rows of the table, all columns, that have a unique key of one of the given rows."""
    assert definition.unique is not None
    asked = distinct(_unique_keys(given_rows(table), definition, table))
    rows, keys = indexed_rows(scan(table), definition, table), key_expressions(definition, table)
    theirs = [InputRef(len(rows.schema) + i, field.type) for i, field in enumerate(asked.schema)]
    condition = _equal_pairs(keys, theirs, nulls_equal=not definition.unique.nulls_distinct)
    return Join(rows, asked, JoinKind.LEFT_SEMI, condition, rows.schema)


def without_referenced(
    rows: LogicalPlan, key: ForeignKey, places: dict[int, int], target: Table, referenced: LogicalPlan
) -> LogicalPlan:
    """The foreign keys of rows that no row of the target has. `places` are those of the rows' columns, by their ids.

    `referenced` are the target's rows, all columns.
    """
    own = _keys(rows, [InputRef(places[i], rows.schema[places[i]].type) for i in key.columns], nulls_distinct=True)
    theirs = _columns(referenced, key.referenced, places_of(target))
    return Join(own, theirs, JoinKind.LEFT_ANTI, _all_equal(own, theirs), own.schema)


def partly_null(rows: LogicalPlan, key: ForeignKey, places: dict[int, int]) -> LogicalPlan:
    """The foreign keys of rows with some values NULL and some not, which MATCH FULL refuses."""
    own = _columns(rows, key.columns, places)
    nulls = [Call("is_null", (InputRef(i, field.type),), BOOLEAN) for i, field in enumerate(own.schema)]
    some = reduce(lambda a, b: Call("or", (a, b), BOOLEAN), nulls)
    every = reduce(lambda a, b: Call("and", (a, b), BOOLEAN), nulls)
    return Filter(Filter(own, some), Call("not", (every,), BOOLEAN))


def referring_to_lost(child: Table, key: ForeignKey, target: Table) -> LogicalPlan:
    """The child's rows, all columns, that refer to keys of the given rows of the target which no row of it has now."""
    places = places_of(target)
    keys = [InputRef(places[i], target.columns[places[i]].type) for i in key.referenced]
    was = distinct(_keys(given_rows(target), keys, nulls_distinct=True))
    stands = _columns(scan(target), key.referenced, places)
    lost = Join(was, stands, JoinKind.LEFT_ANTI, _all_equal(was, stands), was.schema)
    rows, own = scan(child), places_of(child)
    columns: list[Expr] = [InputRef(own[i], child.columns[own[i]].type) for i in key.columns]
    lost_columns = [InputRef(len(rows.schema) + i, field.type) for i, field in enumerate(lost.schema)]
    return Join(rows, lost, JoinKind.LEFT_SEMI, _equal_pairs(columns, lost_columns), rows.schema)


def referring_with_new_keys(child: Table, key: ForeignKey, target: Table) -> LogicalPlan:
    """The child's rows that refer to a key which goes, all columns, then the key that comes in its stead.

    Given are pairs: the referenced columns before, then after.
    """
    types = [target.columns[places_of(target)[i]].type for i in key.referenced]
    width = len(types)
    pairs = GivenRows(tuple(Field(f"c{i}", type_) for i, type_ in enumerate([*types, *types])))
    rows, own = scan(child), places_of(child)
    columns: list[Expr] = [InputRef(own[i], child.columns[own[i]].type) for i in key.columns]
    before = [InputRef(len(rows.schema) + i, type_) for i, type_ in enumerate(types)]
    condition = _equal_pairs(columns, before)
    joined = Join(rows, pairs, JoinKind.INNER, condition, (*rows.schema, *pairs.schema))
    kept = [InputRef(i, field.type) for i, field in enumerate(rows.schema)]
    after: list[Expr] = []
    coercer = make_context(Catalog(), ()).coercer
    for i, (column_id, type_) in enumerate(zip(key.columns, types, strict=True)):
        value = InputRef(len(rows.schema) + width + i, type_)
        after.append(coercer.assign(Operand(value, 0), child.columns[own[column_id]].type))
    return project(joined, [*kept, *after], [f"c{i}" for i in range(len(kept) + width)])


def _unique_keys(rows: LogicalPlan, definition: IndexDefinition, table: Table) -> LogicalPlan:
    """The keys that a unique index has of the rows, without those that no other one can be equal to."""
    assert definition.unique is not None
    there, keys = indexed_rows(rows, definition, table), key_expressions(definition, table)
    return _keys(there, keys, nulls_distinct=definition.unique.nulls_distinct)


def _keys(rows: LogicalPlan, keys: Sequence[Expr], *, nulls_distinct: bool) -> LogicalPlan:
    """The keys of rows; those with a NULL are left out where no two of them are equal."""
    plan: LogicalPlan = project(rows, keys, [f"k{i}" for i in range(len(keys))])
    if not nulls_distinct:
        return plan
    nulls = [Call("is_null", (InputRef(i, key.type),), BOOLEAN) for i, key in enumerate(keys)]
    there = [Call("not", (is_null,), BOOLEAN) for is_null in nulls]
    return Filter(plan, reduce(lambda a, b: Call("and", (a, b), BOOLEAN), there))


def _columns(rows: LogicalPlan, ids: Sequence[int], places: dict[int, int]) -> LogicalPlan:
    refs = [InputRef(places[i], rows.schema[places[i]].type) for i in ids]
    return project(rows, refs, [f"k{i}" for i in range(len(refs))])


def _several(keys: LogicalPlan) -> LogicalPlan:
    width = len(keys.schema)
    counted = (*keys.schema, Field("count", BIGINT))
    grouped = Aggregate(keys, tuple(range(width)), (AggCall("count", (), BIGINT),), counted)
    return Filter(grouped, Call("gt", (InputRef(width, BIGINT), Literal(1, BIGINT)), BOOLEAN))


def _all_equal(left: LogicalPlan, right: LogicalPlan, *, nulls_equal: bool = False) -> Expr:
    """The condition of a join whose sides agree in all columns."""
    ours = [InputRef(i, field.type) for i, field in enumerate(left.schema)]
    theirs = [InputRef(len(ours) + i, field.type) for i, field in enumerate(right.schema)]
    return _equal_pairs(ours, theirs, nulls_equal=nulls_equal)


def _equal_pairs(ours: Sequence[Expr], theirs: Sequence[Expr], *, nulls_equal: bool = False) -> Expr:
    calls = ExpressionBinder(make_context(Catalog(), ()), Scope(), "a constraint").calls
    conditions = []
    for one, other in zip(ours, theirs, strict=True):
        equal = calls.operator("=", [Operand(one, 0), Operand(other, 0)], 0)
        if nulls_equal:
            equal = Call("is_not_distinct_from", (one, other), BOOLEAN)
        conditions.append(equal)
    return reduce(lambda a, b: Call("and", (a, b), BOOLEAN), conditions)
