"""Plans temporal joins: `FROM l JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON l.k = t.id`.

    TemporalInner(l.k = t.id AND p; l, Scan t)  =>  TemporalJoin(l.k = id; p; Exchange(k; l))
    TemporalInner(l.v = t.v AND p; l, Scan t)   =>  TemporalJoin(matched l.v = v; p; Exchange(everywhere; l))

The right side is a table, a materialized view or an index. It is read by the leading columns of its key, if these
include its distribution columns, so that they determine the shard. If not, every shard gets the left rows and compares
them with all of its part of the table. No shard knows then whether another one has a match, so a left join brings the
pairs back to their left rows:

    TemporalLeft(l.v = t.v AND p; l, Scan t)  =>  Left(stream key of l; Share(l), TemporalJoin(l.v = v; p; Exchange(…)))

Filters on the right side become part of the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.join_condition import EquiKey, JoinCondition, split_condition
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import hash_by
from risingpy.optimizer.stream.nested_loop_join import to_every_shard
from risingpy.optimizer.stream.projection import select_columns, with_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan import logical
from risingpy.plan.catalog import Catalog, JobRelation
from risingpy.plan.expression_trees import conjunction, remapped, shifted
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.joins import TemporalJoin, memo_columns
from risingpy.plan.logical import Field, JoinKind
from risingpy.plan.operators import StreamPlan
from risingpy.plan.properties import ColumnIndex
from risingpy.plan.state_tables import memo_table
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import BOOLEAN


@dataclass(frozen=True, slots=True)
class _Lookup:
    """The right side: a scan, those of its columns that the join sees, and filters over all of its columns."""

    scan: logical.Scan
    outputs: tuple[int, ...]
    filters: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedPairs:
    """A temporal join whose first columns are the logical join's; each of its `columns` by the left input's position.

    From the width of the left input on, they are those of the table.
    """

    plan: StreamPlan
    columns: list[int]


def has_scattered_matches(join: logical.Join, catalog: Catalog) -> bool:
    """Whether the rows that a left row may match are on any shard: the condition does not fix where they are."""
    lookup, table = _looked_up(join.right, catalog)
    return _prefix(table, _number_keys(split_condition(join.condition, len(join.left.schema)), lookup)) is None


def left_with_pairs(join: logical.Join, left: StreamPlan, pairs: PlannedPairs) -> tuple[logical.Join, list[int]]:
    """A left join of `left` and the pairs that its rows have found, of all their columns; where those of `join` are."""
    width, first = len(join.left.schema), len(left.properties.schema)
    same: list[Expr] = []
    for index in left.properties.stream_key:
        type_ = left.properties.schema[index].type
        both = InputRef(index, type_), InputRef(first + pairs.columns.index(index), type_)
        same.append(Call("is_not_distinct_from", both, BOOLEAN))
    sides = [logical.GivenRows(each.properties.schema) for each in (left, pairs.plan)]
    schema = sides[0].schema + sides[1].schema
    whole = logical.Join(sides[0], sides[1], JoinKind.LEFT, conjunction(same), schema)
    return whole, [*range(width), *(first + i for i in range(width, len(join.schema)))]


def plan_temporal_join(
    join: logical.Join, left: StreamPlan, catalog: Catalog, job: str, allocate: Callable[[], int]
) -> StreamPlan:
    """The plan of `join`, without scattered matches, over its left input's: its columns first, then hidden ones."""
    return plan_pairs(join, left, catalog, job, allocate).plan


def plan_pairs(
    join: logical.Join, left: StreamPlan, catalog: Catalog, job: str, allocate: Callable[[], int]
) -> PlannedPairs:
    """The plan of `join` over its left input's; of its inner form, if it `has_scattered_matches`."""
    lookup, table = _looked_up(join.right, catalog)
    scan = lookup.scan
    width = len(join.left.schema)
    condition = split_condition(join.condition, width)
    by_column = _number_keys(condition, lookup)
    prefix = _prefix(table, by_column)
    scanned = prefix is None
    if prefix is None:
        by_column = _plain_keys(condition.keys, lookup)
        prefix = list(by_column)
    left, left_key = with_columns(left, [by_column[column].left for column in prefix])
    left = to_every_shard(left) if scanned else _at_the_table(left, left_key, prefix, table)
    columns = tuple(dict.fromkeys((*scan.columns, *(key.index for key in table.key))))
    found = [by_column[column] for column in prefix]
    rest = [_equality(key, width) for key in condition.keys if key not in found and _of_numbers(key) not in found]
    rest += [] if condition.rest is None else [condition.rest]
    positions = {i: i for i in range(width)}
    first = len(left.properties.schema)
    positions |= {width + i: first + output for i, output in enumerate(lookup.outputs)}
    parts = [remapped(part, positions) for part in rest] + [shifted(part, first) for part in lookup.filters]
    fields = tuple(Field(table.columns[i].name, table.columns[i].type) for i in columns)
    keeps = not left.properties.append_only
    planned = derived(
        TemporalJoin(
            left,
            table,
            columns,
            () if scanned else left_key,
            join.kind is JoinKind.TEMPORAL_LEFT and not scanned,
            conjunction(parts),
            _memo(left, table, columns, () if scanned else left_key, fields, job, allocate) if keeps else None,
            underived((*left.properties.schema, *fields)),
            tuple(zip(left_key, prefix, strict=True)) if scanned else None,
        )
    )
    kept = [*range(width), *(first + output for output in lookup.outputs)]
    hidden = (*planned.properties.stream_key, *planned.properties.distribution.columns)
    kept += [i for i in dict.fromkeys(hidden) if i not in kept]
    return PlannedPairs(select_columns(planned, kept), kept)


def _number_keys(condition: JoinCondition, lookup: _Lookup) -> dict[int, EquiKey]:
    """The equalities by which the table may be read, by the table's column."""
    return {
        lookup.scan.columns[lookup.outputs[key.right.index]]: key
        for key in map(_of_numbers, condition.keys)
        if isinstance(key.right, InputRef) and not key.null_safe
    }


def _plain_keys(keys: Sequence[EquiKey], lookup: _Lookup) -> dict[int, EquiKey]:
    """By the table's column, equalities of values that are the same in both sides if they are equal.

    Those of numeric keys are not: 1.0 equals 1, and only the key encoding of a table makes them one.
    """
    columns = lookup.scan.columns
    plain = [(key.right.index, key) for key in keys if isinstance(key.right, InputRef) and not key.null_safe]
    return {columns[lookup.outputs[index]]: key for index, key in plain}


def _at_the_table(
    left: StreamPlan, left_key: Sequence[ColumnIndex], prefix: Sequence[ColumnIndex], table: TableSchema
) -> StreamPlan:
    """The left rows on the shards of the table's rows that they look up."""
    spread = tuple(left_key[prefix.index(column)] for column in table.distribution)
    return left if left.properties.distribution == hash_by(spread) else exchange(left, spread)


def _looked_up(right: logical.LogicalPlan, catalog: Catalog) -> tuple[_Lookup, TableSchema]:
    """The right side and the table that it reads. Raises FeatureNotSupported for any other right side."""
    lookup = _lookup(right)
    relation = None if lookup is None else catalog.relations[lookup.scan.relation_id]
    if lookup is None or not isinstance(relation, JobRelation):
        raise FeatureNotSupported(
            "FOR SYSTEM_TIME AS OF PROCTIME() in a materialized view is for tables and materialized views only"
        )
    return lookup, relation.table


def _lookup(plan: logical.LogicalPlan) -> _Lookup | None:
    match plan:
        case logical.Scan():
            return _Lookup(plan, tuple(range(len(plan.columns))))
        case logical.Filter():
            below = _lookup(plan.input)
            if below is None:
                return None
            moved = remapped(plan.predicate, dict(enumerate(below.outputs)))
            return _Lookup(below.scan, below.outputs, (*below.filters, moved))
        case logical.Project() if all(isinstance(e, InputRef) for e in plan.expressions):
            below = _lookup(plan.input)
            if below is None:
                return None
            outputs = tuple(below.outputs[e.index] for e in plan.expressions if isinstance(e, InputRef))
            return _Lookup(below.scan, outputs, below.filters)
        case _:
            return None


def _prefix(table: TableSchema, by_column: dict[int, EquiKey]) -> list[int] | None:
    """The leading key columns that have an equality; None if they do not determine the vnode."""
    prefix: list[int] = []
    for key in table.key:
        if key.index not in by_column:
            break
        prefix.append(key.index)
    return prefix if prefix and set(table.distribution) <= set(prefix) else None


def _of_numbers(key: EquiKey) -> EquiKey:
    """An equality of keys as one of the numbers, or of the jsonb, that have them: a table can be read by either."""
    match key.left, key.right:
        case (Call("numeric_key", (left,)), Call("numeric_key", (InputRef() as right,))) | (
            Call("jsonb_key", (left,)),
            Call("jsonb_key", (InputRef() as right,)),
        ):
            return replace(key, left=left, right=right)
        case _:
            return key


def _equality(key: EquiKey, width: int) -> Expr:
    function = "is_not_distinct_from" if key.null_safe else "eq"
    return Call(function, (key.left, shifted(key.right, width)), BOOLEAN)


def _memo(
    left: StreamPlan,
    table: TableSchema,
    columns: tuple[int, ...],
    left_key: tuple[int, ...],
    fields: tuple[Field, ...],
    job: str,
    allocate: Callable[[], int],
) -> TableSchema:
    own = list(memo_columns(left, left_key))
    kept = (*(left.properties.schema[i] for i in own), *fields)
    rest = [len(own) + columns.index(key.index) for key in table.key[len(left_key) :]]
    spread = [own.index(i) for i in left.properties.distribution.columns]
    return memo_table(allocate(), job, kept, range(len(own)), rest, spread)
