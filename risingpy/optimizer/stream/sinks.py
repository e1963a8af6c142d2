"""Plans the job of a sink: the changes of its query, as the other side is to get them, kept in a changelog.

    upsert, key p; the query's stream key is p or a part of it  =>  Changelog(query)
    upsert, key p; any other stream key k                       =>  Changelog(TopN(group p, order k desc, 1 row; query))

    into a table                                                =>  IntoTable(…) in place of Changelog(…)
    into a table without a primary key                          =>  IntoTable(Exchange(single; query)): it gives row ids

The TopN gives the other side one row for each of its keys even where the query has several: the last one by the stream
key, which is the newest where rows have no other key than the number in which they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from risingpy.connectors.targets.target import SinkType
from risingpy.errors import Check, InvalidParameterValue, UndefinedColumn, unchecked
from risingpy.optimizer.common_subplans import common_subplans
from risingpy.optimizer.estimated_rows import RowEstimates, TableRows, no_table_rows
from risingpy.optimizer.ordered_query import split_order
from risingpy.optimizer.rules import optimize_for_stream
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.changelog import plan_changelog
from risingpy.optimizer.stream.jobs import StreamJobPlan, check_names, column_descs, stored_columns
from risingpy.optimizer.stream.planner import StreamPlanner
from risingpy.optimizer.stream.top_n import TopRows, plan_top_n
from risingpy.plan import logical
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.logical import Field, SortKey
from risingpy.plan.operators import IntoTable, StreamPlan
from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.plan.state_tables import numbers_table


@dataclass(frozen=True, slots=True)
class WantedSink:
    """What the options of CREATE SINK say of its rows. None, and no names, mean that they say nothing."""

    type: SinkType | None = None
    primary_key: tuple[str, ...] = ()
    force_append_only: bool = False
    needs_key: bool = True  # the other side knows rows by a key, which is among their columns


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """The job, and what the rows are by which the other side is to know them."""

    job: StreamJobPlan
    type: SinkType
    primary_key: tuple[ColumnIndex, ...]


def plan_sink(
    query: logical.LogicalPlan,
    catalog: Catalog,
    *,
    allocate: Callable[[], int],
    name: str,
    output_names: Sequence[str],
    wanted: WantedSink,
    into: Table | None = None,
    table_rows: TableRows = no_table_rows,
    check: Check = unchecked,
) -> SinkPlan:
    """The job of a sink of `query`; its first columns are those called `output_names`.

    They are all columns of the table that it goes `into`, but for the row id.

    Raises InvalidParameterValue if rows of the type that is wanted cannot come of the query, UndefinedColumn for a key
    that is not among the columns, and what `plan_materialized_view` does.
    """
    check_names(output_names)
    table_id = allocate()
    ordered = split_order(query)
    optimized = optimize_for_stream(ordered.query, check)
    common = common_subplans(optimized)
    planner = StreamPlanner(catalog, allocate, name, RowEstimates(table_rows), common=common, check=check)
    input, _ = stored_columns(planner.stream(optimized), ordered, len(output_names))
    if into is not None:
        wanted = _wanted_by(into, wanted)
    type_ = _type(wanted, input.properties.append_only)
    key = _primary_key(wanted, type_, input, output_names)
    if key and type_ in (SinkType.UPSERT, SinkType.DEBEZIUM):
        input = _one_row_per_key(input, key, name, allocate)
    if into is not None:
        return SinkPlan(_into_table(input, into, type_, table_id=table_id, name=name), type_, key)
    columns = column_descs(input.properties.schema, output_names)
    return SinkPlan(plan_changelog(input, columns, table_id=table_id, name=name), type_, key)


def _wanted_by(table: Table, wanted: WantedSink) -> WantedSink:
    """What the rows are to be so that the table can take them. Raises InvalidParameterValue."""
    key = tuple(table.columns[index].name for index in table.primary_key)
    if wanted.type not in (None, SinkType.APPEND_ONLY, SinkType.UPSERT):
        raise InvalidParameterValue("the type of a sink into a table is append-only or upsert")
    if wanted.primary_key and set(wanted.primary_key) != set(key):
        raise InvalidParameterValue(
            f'the primary key of a sink into table "{table.name}" is that of the table',
            hint="Leave the option primary_key out.",
        )
    if (table.append_only or not key) and wanted.type is not SinkType.APPEND_ONLY:
        kind = "an append-only table" if table.append_only else "a table without a primary key"
        hint = "WITH (type = 'append-only', force_append_only = 'true') leaves deletes out."
        raise InvalidParameterValue(f"only append-only sinks go into {kind}", hint=hint)
    return replace(wanted, primary_key=key)


def _into_table(input: StreamPlan, into: Table, type_: SinkType, *, table_id: int, name: str) -> StreamJobPlan:
    is_numbered = not into.primary_key
    if is_numbered:
        input = exchange(input, ())
    schema = tuple(Field(column.name, column.type, column.hidden) for column in into.columns)
    append_only = type_ is SinkType.APPEND_ONLY
    properties = Properties(schema, into.stream_key, input.properties.distribution, append_only)
    root = IntoTable(
        input,
        numbers_table(table_id, name),
        tuple(i for i, each in enumerate(into.columns) if not each.hidden and into.refuses_null(i)),
        append_only,
        is_numbered,
        properties,
    )
    return StreamJobPlan(root, root.table, into.columns, into.stream_key, append_only)


def _type(wanted: WantedSink, append_only: bool) -> SinkType:
    if wanted.force_append_only and wanted.type is not SinkType.APPEND_ONLY:
        raise InvalidParameterValue(
            "Cannot force the sink to be append-only without \"type='append-only'\" in WITH options"
        )
    if wanted.type is None:
        return SinkType.APPEND_ONLY if append_only else SinkType.UPSERT
    if wanted.type is SinkType.APPEND_ONLY and not append_only and not wanted.force_append_only:
        raise InvalidParameterValue(
            "The sink cannot be append-only: its query updates or deletes rows",
            hint="With force_append_only = 'true' the sink leaves out deletes, and new values of a row are rows.",
        )
    return wanted.type


def _primary_key(
    wanted: WantedSink, type_: SinkType, input: StreamPlan, names: Sequence[str]
) -> tuple[ColumnIndex, ...]:
    """The positions of the key: as wanted, or else the stream key if the other side gets all of it."""
    for name in wanted.primary_key:
        if name not in names:
            raise UndefinedColumn(f"Sink primary key column not found: {name}")
    if wanted.primary_key:
        return tuple(dict.fromkeys(names.index(name) for name in wanted.primary_key))
    if type_ not in (SinkType.UPSERT, SinkType.DEBEZIUM):
        return ()
    if all(index < len(names) for index in input.properties.stream_key):
        return tuple(input.properties.stream_key)
    if not wanted.needs_key:
        return ()
    raise InvalidParameterValue(
        f"primary key not defined for {type_.value} sink", hint="Name its columns: primary_key = 'a,b'."
    )


def _one_row_per_key(
    input: StreamPlan, key: tuple[ColumnIndex, ...], job: str, allocate: Callable[[], int]
) -> StreamPlan:
    stream_key = input.properties.stream_key
    if set(stream_key) <= set(key):
        return input
    newest = tuple(SortKey(index, descending=True) for index in stream_key)
    return plan_top_n(input, TopRows(newest, 1, group_key=key), job, allocate)
