"""Plans temporal joins: `FROM l JOIN t FOR SYSTEM_TIME AS OF PROCTIME() ON l.k = t.id`.

    TemporalInner(l.k = t.id AND p; l, Scan t)  =>  TemporalJoin(l.k = id; p; Exchange(k; l))
    TemporalInner(l.v = t.v AND p; l, Scan t)   =>  TemporalJoin(matched l.v = v; p; Exchange(everywhere; l))

The right side is a table, a materialized view or an index. It is read by the leading columns of its key, if these
include its distribution columns, so that they determine the shard. If not, every shard gets the left rows and compares
them with all of its part of the table: an inner join, since no shard knows whether another one has a match, and of left
rows that only grow, since what a row has found is not together on one shard. Filters on the right side become part of
the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported
from risingpy.optimizer.join_condition import EquiKey, split_condition
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


def plan_temporal_join(
    join: logical.Join, left: StreamPlan, catalog: Catalog, job: str, allocate: Callable[[], int]
) -> StreamPlan:
    """The stream plan of `join` over its left input's plan: the logical join's columns first, then hidden ones."""
    lookup, table = _looked_up(join.right, catalog)
    scan = lookup.scan
    width = len(join.left.schema)
    condition = split_condition(join.condition, width)
    by_column = {
        scan.columns[lookup.outputs[key.right.index]]: key
        for key in map(_of_numbers, condition.keys)
        if isinstance(key.right, InputRef) and not key.null_safe
    }
    prefix = _prefix(table, by_column)
    scanned = prefix is None
    if prefix is None:
        _check_scanned(join, left, scan.name, table)
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
            join.kind is JoinKind.TEMPORAL_LEFT,
            conjunction(parts),
            _memo(left, table, columns, left_key, fields, job, allocate) if keeps else None,
            underived((*left.properties.schema, *fields)),
            tuple(zip(left_key, prefix, strict=True)) if scanned else None,
        )
    )
    kept = [*range(width), *(first + output for output in lookup.outputs)]
    hidden = (*planned.properties.stream_key, *planned.properties.distribution.columns)
    kept += [i for i in dict.fromkeys(hidden) if i not in kept]
    return select_columns(planned, kept)


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


def _check_scanned(join: logical.Join, left: StreamPlan, name: str, table: TableSchema) -> None:
    """Raises FeatureNotSupported where the left rows have to be on the shards of the rows that they look up."""
    if join.kind is JoinKind.TEMPORAL and left.properties.append_only:
        return
    names = ", ".join(table.columns[key.index].name for key in table.key)
    first = table.columns[table.key[0].index].name
    raise FeatureNotSupported(
        f"a temporal join with {name} needs an equality on the columns of its key ({names})",
        detail="Without one, the join must be INNER and its left side must be append-only.",
        hint=f"For example, ON … = {name}.{first}, of the same type. Or join an index on the columns of the condition.",
    )


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
    """An equality of numeric keys as an equality of the numbers: a table can be read by either."""
    match key.left, key.right:
        case Call("numeric_key", (left,)), Call("numeric_key", (InputRef() as right,)):
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
