"""The state tables of every operator: which there are, and the shape of each.

`state_tables` is the sibling of `stream_key`: one match that says what an operator keeps. Below it, the shapes.
The table ids come from the meta service, through the planner's `allocate`.

    operator              table                     key                                         value
    TableScan             progress                  shard                                       position, finished, rows
    Values                marker                    (none)                                      done
    HashAgg, SimpleAgg    value state, per call     group key                                   state columns
                          materialized input        group key | order | input's stream key      other arguments
                          dedup, per argument       group key | arguments                       counts
    TopN                  rows                      group key | order | input's stream key      the other columns
    HashJoin, AsOfJoin    row, per side             join key | rest of the input's stream key   other columns
                          degree, where needed      join key | rest of the input's stream key   number of matches
                          one row                   group key                                   the other columns
    DynamicFilter         rows                      compared column | left stream key           the other columns
                          bound                     shard                                       the right row's value
    Dedup                 values seen               key                                         (none)
    EowcSort              rows that are held        watermark column | stream key               the other columns
    Ttl                   rows, times of rows       input's stream key                          the other columns; time
    Recursion, Levels     derivations               row | level                                 count, rest of the row
                          members, of UNION         row                                         level, rest of the row
    Moments               differences               group | level | rest of the row             weight, rest of the row
    OverWindow            rows and results          partition | order | input's stream key      the other columns
    Materialize           the relation              sort columns | stream key                   the other columns
                          rows that will end (Ttl)  watermark column, or time | relation's key  (none)
    Changelog             blocks of changes         epoch | part                                block
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import assert_never

from risingpy.plan.aggregates import AggState, DedupState, HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.catalog import INTERNAL_PREFIX, ColumnDesc
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.key_types import has_other_forms, is_shown_by_value, refuse_no_key
from risingpy.plan.logical import AggCall, Field, Schema, SortKey
from risingpy.plan.operators import (
    Changelog,
    Dml,
    EowcSort,
    Exchange,
    IntoTable,
    Materialize,
    Now,
    Share,
    SinkInput,
    Source,
    StreamChangeLog,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TableInputs,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.plan.recursion.operators import RecursivePlan, tables_of_recursion
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.types import BIGINT, BOOLEAN, BYTEA, INTEGER, SqlType


def state_tables(plan: StreamPlan) -> tuple[TableSchema, ...]:
    """The tables of this operator alone, in the order of its parameters."""
    if isinstance(plan, RecursivePlan):
        return tables_of_recursion(plan)
    match plan:
        case TableScan():
            return (plan.progress,)
        case StreamValues():
            return (plan.marker,)
        case HashAgg() | SimpleAgg():  # one per aggregate call
            return (*(state.table for state in plan.states), *(dedup.table for dedup in plan.dedups))
        case TemporalJoin():  # what left rows that may go have found
            return () if plan.memo is None else (plan.memo,)
        case DynamicFilter():  # the left rows by the compared column, and the bound
            return (plan.table, plan.bound)
        case HashJoin() | AsOfJoin():  # a table per side, and degrees where a row shows whether it has a match
            sides = (plan.left_side, plan.right_side)
            return tuple(table for side in sides for table in (side.table, side.degree) if table is not None)
        case Materialize() | StreamTtl():
            return (plan.table, *plan.tables_beside)
        case Changelog() | IntoTable() | StreamTopN() | Dedup() | StreamOverWindow() | EowcSort():
            return (plan.table,)
        case Dml() | Source() | Now() | WatermarkFilter() | Exchange() | TableInputs() | SinkInput():
            return ()
        case (
            LocalTopN()
            | StreamFilter()
            | StreamProject()
            | StreamProjectSet()
            | LocalAgg()
            | StreamUnion()
            | StreamChangeLog()
            | StreamExpand()
            | Share()
        ):
            return ()
        case _:
            assert_never(plan)


def relation_table(
    table_id: int,
    name: str,
    columns: Sequence[ColumnDesc],
    key: tuple[KeyColumn, ...],
    distribution: tuple[ColumnIndex, ...],
) -> TableSchema:
    """The stored form of a table or a materialized view."""
    refuse_no_key((columns[column.index].type for column in key), "the key of a table or view")
    key_columns = {column.index for column in key}
    return TableSchema(
        table_id=table_id,
        name=name,
        columns=tuple(TableColumn(c.column_id, c.name, c.type, c.history) for c in columns),
        key=key,
        distribution=distribution,
        value_columns=tuple(i for i, c in enumerate(columns) if i not in key_columns or is_shown_by_value(c.type)),
        value_format=ValueFormat.ROW,
        read_prefix=len(key),
    )


def progress_table(table_id: int, job: str) -> TableSchema:
    """How far a scan's backfill has come: one row in each shard's own store.

    `position` is the storage key up to which the shard's snapshot has been read.
    """
    columns = [("shard", INTEGER), ("position", BYTEA), ("finished", BOOLEAN), ("row_count", BIGINT)]
    return internal_table(table_id, f"{job}_backfill_{table_id}", columns, (KeyColumn(0),), ())


def bound_table(table_id: int, job: str, type_: SqlType) -> TableSchema:
    """What the one row of a DynamicFilter's right input has: one row in each shard's own store."""
    columns = [("shard", INTEGER), ("bound", type_)]
    return internal_table(table_id, f"{job}_bound_{table_id}", columns, (KeyColumn(0),), ())


def marker_table(table_id: int, job: str) -> TableSchema:
    """One row that says that constant rows have been emitted."""
    return internal_table(table_id, f"{job}_values_{table_id}", [("done", BOOLEAN)], (), ())


def changelog_table(table_id: int, job: str) -> TableSchema:
    """`epoch, part → block`: what an epoch has changed. Each shard's own store has the blocks of its rows."""
    columns = [("epoch", BIGINT), ("part", BIGINT), ("block", BYTEA)]
    return internal_table(table_id, f"{job}_changelog_{table_id}", columns, (KeyColumn(0), KeyColumn(1)), ())


def numbers_table(table_id: int, job: str) -> TableSchema:
    """How many row ids a sink into a table has given, in one row; no row where it gives none."""
    return internal_table(
        table_id, f"{job}_numbers_{table_id}", [("slot", INTEGER), ("given", BIGINT)], (KeyColumn(0),), ()
    )


def value_state(
    table_id: int,
    job: str,
    group: Sequence[Field],
    distribution: tuple[ColumnIndex, ...],
    argument_types: Sequence[SqlType],
    state_types: Sequence[SqlType],
) -> AggState:
    """`group key → state`: a call that needs no more than its running state."""
    columns = [(field.name, field.type) for field in group]
    columns += [(f"state_{i}", type_) for i, type_ in enumerate(state_types)]
    key = tuple(KeyColumn(i) for i in range(len(group)))
    table = internal_table(table_id, f"{job}_agg_{table_id}", columns, key, distribution, read_prefix=len(group))
    return AggState(table, materialized_input=False, argument_types=tuple(argument_types))


def materialized_input_state(
    table_id: int,
    job: str,
    input: Properties,
    group_key: tuple[ColumnIndex, ...],
    call: AggCall,
    distribution: tuple[ColumnIndex, ...],
) -> AggState:
    """`group key | order | stream key → the other arguments`: a call that must find its rows again, in order.

    The order is that of `row_order`, so that the result of min, max, first_value and last_value is a group's first
    row. The rows of a distinct call are told apart by its arguments instead of the stream key. A floating-point column
    stands in the value too: as a key, -0 is 0.
    """
    sort_keys, tie_descending = row_order(call)
    ties = call.args if call.distinct else input.stream_key
    sorted_columns = [key.index for key in sort_keys]
    rest = [i for i in dict.fromkeys(ties) if i not in group_key and i not in sorted_columns]
    key_columns = dict.fromkeys((*group_key, *sorted_columns, *rest))
    input_columns = tuple(dict.fromkeys((*key_columns, *call.args)))
    position = {column: i for i, column in enumerate(input_columns)}
    group = [KeyColumn(i) for i in range(len(group_key))]
    order = [
        KeyColumn(position[key.index], key.descending, key.nulls_first)
        for i, key in enumerate(sort_keys)
        if key.index not in group_key and key.index not in sorted_columns[:i]
    ]
    extra = [KeyColumn(position[i], tie_descending, tie_descending) for i in rest]
    table = internal_table(
        table_id,
        f"{job}_agg_{table_id}",
        [(input.schema[i].name, input.schema[i].type) for i in input_columns],
        (*group, *order, *extra),
        distribution,
        read_prefix=len(group_key),
    )
    arguments = tuple(position[i] for i in call.args)
    return AggState(_with_floats(table), materialized_input=True, input_columns=input_columns, arguments=arguments)


def row_order(call: AggCall) -> tuple[tuple[SortKey, ...], bool]:
    """The order in which a call's input is kept, and whether rows that tie in it are kept in descending order."""
    match call.function:
        case "min" | "max":
            return (SortKey(call.args[0], descending=call.function == "max"),), False
        case "last_value":
            return tuple(SortKey(k.index, not k.descending, not k.nulls_first) for k in call.order_by), True
        case _:
            return call.order_by, False


def dedup_state(
    table_id: int,
    job: str,
    schema: Schema,
    group_key: tuple[ColumnIndex, ...],
    args: tuple[ColumnIndex, ...],
    filters: tuple[ColumnIndex | None, ...],
    distribution: tuple[ColumnIndex, ...],
) -> DedupState:
    """`group key | arguments → counts`: how often each argument of distinct calls occurs."""
    columns = [(schema[i].name, schema[i].type) for i in (*group_key, *args)]
    key = tuple(KeyColumn(i) for i in range(len(columns)))
    columns += [(f"count_{i}", BIGINT) for i in range(len(filters))]
    name = f"{job}_distinct_{table_id}"
    table = internal_table(table_id, name, columns, key, distribution, read_prefix=len(key))
    return DedupState(table, args, filters)


def seen_values(
    table_id: int, job: str, input: Properties, key: tuple[ColumnIndex, ...], distribution: tuple[ColumnIndex, ...]
) -> TableSchema:
    """`key → ()`: the values of `key` that have been seen."""
    columns = [(input.schema[i].name, input.schema[i].type) for i in key]
    positions = tuple(key.index(i) for i in distribution)
    keys = tuple(KeyColumn(i) for i in range(len(key)))
    return internal_table(table_id, f"{job}_dedup_{table_id}", columns, keys, positions)


def ordered_rows(
    table_id: int,
    job: str,
    kind: str,
    input: Properties,
    group_key: tuple[ColumnIndex, ...],
    order: Sequence[SortKey],
    distribution: tuple[ColumnIndex, ...],
) -> TableSchema:
    """`group key | order | stream key → the other columns`: the rows of `input`, each group's in its order.

    A floating-point column stands in the value too: as a key, -0 is 0.
    """
    keys = [KeyColumn(i) for i in group_key]
    keys += [KeyColumn(each.index, each.descending, each.nulls_first) for each in order]
    keys += [KeyColumn(i) for i in input.stream_key]
    first = {key.index: key for key in reversed(keys)}
    key = tuple(dict.fromkeys(first[each.index] for each in keys))
    columns = [(field.name, field.type) for field in input.schema]
    table = internal_table(table_id, f"{job}_{kind}_{table_id}", columns, key, distribution, read_prefix=len(group_key))
    return _with_floats(table)


def held_rows(
    table_id: int, job: str, input: Properties, column: ColumnIndex, distribution: tuple[ColumnIndex, ...]
) -> TableSchema:
    """`column | rest of the stream key → the other columns`: rows of `input` that wait for a watermark."""
    return ordered_rows(table_id, job, "eowc_sort", input, (column,), (), distribution)


def _with_floats(table: TableSchema) -> TableSchema:
    """The table with its floating-point columns in the value too."""
    floats = {i for i, column in enumerate(table.columns) if column.type.is_float}
    return replace(table, value_columns=tuple(sorted(floats.union(table.value_columns))))


def join_table(
    table_id: int,
    job: str,
    input: Properties,
    join_key: tuple[ColumnIndex, ...],
) -> TableSchema:
    """`join key | rest of the stream key → row`: one side of a join. Its rows are spread by columns of its key.

    A key column whose key does not tell how its value was written (-0.0, 30 days) is in the value too.
    """
    columns = [(field.name, field.type) for field in input.schema]
    key = []
    for index in join_key:
        if has_other_forms(input.schema[index].type):
            key.append(len(columns))
            columns.append((f"_key_{input.schema[index].name}", input.schema[index].type))
        else:
            key.append(index)
    rest = [i for i in input.stream_key if i not in key]
    in_table = dict(zip(join_key, key, strict=True))
    written = [i for i in key if columns[i][1].is_float]
    return internal_table(
        table_id,
        f"{job}_join_{table_id}",
        columns,
        tuple(KeyColumn(i) for i in (*key, *rest)),
        tuple(in_table.get(i, i) for i in input.distribution.columns),
        read_prefix=len(join_key),
        also_in_value=written,
    )


def memo_table(
    table_id: int,
    job: str,
    schema: Sequence[Field],
    left_key: Sequence[int],
    rest_of_key: Sequence[int],
    distribution: Sequence[int],
) -> TableSchema:
    """`left stream key | rest of the table's key → row`: what the rows of a temporal join have found.

    `schema` are the columns that are kept, `distribution` positions in them.
    """
    columns = [(field.name, field.type) for field in schema]
    key = dict.fromkeys((*left_key, *distribution, *rest_of_key))
    return internal_table(
        table_id,
        f"{job}_memo_{table_id}",
        columns,
        tuple(KeyColumn(i) for i in key),
        tuple(distribution),
        read_prefix=len(dict.fromkeys((*left_key, *distribution))),
        also_in_value=[i for i in key if columns[i][1].is_float],
    )


def degree_table(table_id: int, job: str, table: TableSchema) -> TableSchema:
    """`key of a join side's row → number of its matches`, which is never 0."""
    key = [column.index for column in table.key]
    columns = [(table.columns[i].name, table.columns[i].type) for i in key]
    return internal_table(
        table_id,
        f"{job}_degree_{table_id}",
        [*columns, ("_degree", BIGINT)],
        tuple(KeyColumn(i) for i in range(len(key))),
        tuple(key.index(i) for i in table.distribution),
        read_prefix=table.read_prefix,
    )


def one_row_per_group(table: TableSchema) -> TableSchema:
    """`group key → the other columns`, of an `ordered_rows`: where a better row takes the place of the last one."""
    key = table.key[: table.read_prefix]
    positions = {column.index for column in key if not table.columns[column.index].type.is_float}
    return replace(table, key=key, value_columns=tuple(i for i in range(len(table.columns)) if i not in positions))


def internal_table(
    table_id: int,
    name: str,
    columns: Sequence[tuple[str, SqlType]],
    key: tuple[KeyColumn, ...],
    distribution: tuple[ColumnIndex, ...],
    *,
    read_prefix: int | None = None,
    also_in_value: Collection[ColumnIndex] = (),
) -> TableSchema:
    """A table of an operator's state; key columns `also_in_value` stand in the value, too."""
    refuse_no_key((columns[column.index][1] for column in key), "the key of a view's state")
    key_columns = {column.index for column in key} - set(also_in_value)
    return TableSchema(
        table_id=table_id,
        name=f"{INTERNAL_PREFIX}{name}",
        columns=tuple(TableColumn(i + 1, column, type_) for i, (column, type_) in enumerate(columns)),
        key=key,
        distribution=distribution,
        value_columns=tuple(i for i in range(len(columns)) if i not in key_columns),
        value_format=ValueFormat.PLAIN,
        read_prefix=len(key) if read_prefix is None else read_prefix,
    )
