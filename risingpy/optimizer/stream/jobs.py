"""Plans the jobs of relations: a query or a table's log, and its materialization.

`planner.py` plans the operators of the query; this module decides which columns are stored, in what order, by what key.
The first id that it takes from `allocate` is the relation's own table id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from risingpy.connectors.registry import is_pushed
from risingpy.errors import Check, DuplicateColumn, unchecked
from risingpy.optimizer.common_subplans import common_subplans
from risingpy.optimizer.estimated_rows import RowEstimates, TableRows, no_table_rows
from risingpy.optimizer.ordered_query import OrderedQuery, split_order
from risingpy.optimizer.rules import optimize_for_stream
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import brings_together, hash_by
from risingpy.optimizer.stream.first_rows import first_rows_of
from risingpy.optimizer.stream.planner import StreamPlanner
from risingpy.optimizer.stream.projection import select_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.scan import source_columns, watermark_filter
from risingpy.optimizer.stream.window_close import closed_rows
from risingpy.plan import logical
from risingpy.plan.catalog import Catalog, ColumnDesc, ExternalSource, RowRetention, Table, Watermark
from risingpy.plan.expiry_table import ages_table, expiry_table, retention_table
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import Field, Schema, SortKey
from risingpy.plan.operators import (
    Changelog,
    ConflictBehavior,
    Dml,
    Expiry,
    IntoTable,
    Materialize,
    RetainedFor,
    StreamPlan,
    StreamProject,
    TableInputs,
)
from risingpy.plan.properties import ColumnIndex, Properties, WatermarkColumn
from risingpy.plan.state_tables import relation_table
from risingpy.storage.codec.table_schema import KeyColumn, TableSchema
from risingpy.types import BIGINT


@dataclass(frozen=True, slots=True)
class StreamJobPlan:
    """The plan of a table, a materialized view, a changelog or a sink into a table.

    `columns` are the relation's, hidden ones included, in storage order; `stream_key` are positions in them.
    `notices` are for the client.
    """

    root: Materialize | Changelog | IntoTable
    table: TableSchema
    columns: tuple[ColumnDesc, ...]
    stream_key: tuple[ColumnIndex, ...]
    append_only: bool
    notices: tuple[str, ...] = ()

    @property
    def watermarks(self) -> tuple[WatermarkColumn, ...]:
        """The watermarks of the relation's columns."""
        return self.root.properties.watermarks


def plan_of_table(table: Table) -> StreamJobPlan:
    """The job of a table that the catalog has, or shall have, in this form."""
    return plan_table(
        table_id=table.relation_id,
        name=table.name,
        columns=table.columns,
        primary_key=table.primary_key,
        append_only=table.append_only,
        on_conflict=table.on_conflict,
        version_columns=table.version_columns,
        watermark=table.watermark,
        source=table.source,
        retention=table.retention,
        times_of_rows=table.times_of_rows,
    )


def plan_table(
    *,
    table_id: int,
    name: str,
    columns: Sequence[ColumnDesc],
    primary_key: Sequence[ColumnIndex],
    append_only: bool,
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE,
    version_columns: tuple[int, ...] = (),
    watermark: Watermark | None = None,
    source: ExternalSource | None = None,
    retention: RowRetention | None = None,
    times_of_rows: int | None = None,
) -> StreamJobPlan:
    """The job of a table: its log, and what a source feeds it, materialized. A pushed source feeds it by the log.

    Without a primary key, the last column is the generated row id.
    By default the later write of a key wins, also in an append-only table with a primary key. The changes of such a
    table are therefore not append-only; they are only if the key is generated, or if conflicts are ignored.
    `version_columns` are columns' ids. The id of the table's watermark is that of the table.
    """
    key = tuple(primary_key) or (len(columns) - 1,)
    schema = tuple(Field(column.name, column.type, column.hidden) for column in columns)
    logged: StreamPlan = Dml(table_id, Properties(schema, key, hash_by(key), append_only))
    if source is not None and not is_pushed(dict(source.options)):
        logged = _with_source(logged, source, key, columns)
    if watermark is not None:
        logged = watermark_filter(logged, watermark, [column.column_id for column in columns], table_id)
    table = relation_table(table_id, name, columns, tuple(KeyColumn(i) for i in key), key)
    conflict = ConflictBehavior.NO_CHECK if append_only and not primary_key else on_conflict
    places = {column.column_id: i for i, column in enumerate(columns)}
    versions = tuple(places[each] for each in version_columns)
    expiry = None if watermark is None else _expiry(watermark, logged, table)
    retained = None
    if retention is not None:
        ages = None if retention.ages_table is None else ages_table(retention.ages_table, table)
        retained = RetainedFor(retention.seconds, retention_table(retention.table_id, table), ages)
    stored = Materialize(
        *(logged, table, conflict, underived(schema), next(iter(versions), None)),
        expiry=expiry,
        retained=retained,
        later_versions=versions[1:],
        times=None if times_of_rows is None else ages_table(times_of_rows, table),
    )
    root = derived(stored)
    return StreamJobPlan(root, table, tuple(columns), root.properties.stream_key, root.properties.append_only)


def _expiry(watermark: Watermark, logged: StreamPlan, table: TableSchema) -> Expiry | None:
    """How the rows of a table WITH TTL end."""
    if watermark.expiry_table is None:
        return None
    column = next(i for i, each in enumerate(table.columns) if each.column_id == watermark.column_id)
    bounded = logged.properties.watermark_of(column)
    assert bounded is not None
    return Expiry(column, bounded.bounds, expiry_table(watermark.expiry_table, table, column))


def _with_source(
    log: StreamPlan, source: ExternalSource, key: tuple[ColumnIndex, ...], columns: Sequence[ColumnDesc]
) -> StreamPlan:
    """The table's inputs: its log, and the rows of the source on the shards of their keys.

    In a table without a primary key the number of a row in its source, complemented, is its id: those of rows that
    statements have written are positive.
    """
    number = len(source.columns) - 1
    schema = tuple(Field(column.name, column.type, hidden=True) for column in source.columns)
    scan = logical.Scan(source.relation_id, source.qualified_name, tuple(range(number)), schema[:number])
    rows = source_columns(scan, source, tuple(range(number + 1)))
    width = len(columns)
    if width > number:
        values: list[Expr] = [InputRef(i, field.type) for i, field in enumerate(schema)]
        row_id = Call("subtract", (Literal(-1, BIGINT), values[number]), BIGINT)
        made = (*values[:number], row_id, values[number])
        fields = (*schema[:number], schema[number], Field("_number", BIGINT, hidden=True))
        rows = derived(StreamProject(rows, made, underived(fields)))
    return TableInputs(log, exchange(rows, key), log.properties)


def plan_materialized_view(
    query: logical.LogicalPlan,
    catalog: Catalog,
    *,
    allocate: Callable[[], int],
    name: str,
    output_names: Sequence[str],
    emit_on_window_close: bool = False,
    ttl: int | None = None,
    table_rows: TableRows = no_table_rows,
    check: Check = unchecked,
) -> StreamJobPlan:
    """The job of a materialized view of `query`, of rows that are not older than `ttl` seconds.

    `output_names` are the names of the columns that are not hidden. With `emit_on_window_close` the view has only rows
    that are final by the watermarks below. `table_rows` tells large relations from small ones; `check` is called often.
    Raises FeatureNotSupported, which names the construct, if the query cannot be streamed, and DuplicateColumn if two
    names are equal.
    """
    check_names(output_names)
    table_id = allocate()
    ordered = split_order(query)
    query = optimize_for_stream(ordered.query, check)
    # Which operator closes windows depends on all operators below it, so parts are not shared there.
    common = {} if emit_on_window_close else common_subplans(query)
    rows = RowEstimates(table_rows)
    planner = StreamPlanner(catalog, allocate, name, rows, emit_on_window_close, common, check, ttl=ttl)
    streamed = planner.stream(query)
    if emit_on_window_close:
        streamed = closed_rows(streamed, name, allocate)
    input, sort_keys = stored_columns(streamed, ordered, len(output_names))
    stream_key = input.properties.stream_key
    sort_columns = {key.index for key in sort_keys}
    first = None if emit_on_window_close else first_rows_of(input)
    if first is not None and sort_columns <= {*first.key}:
        input, stream_key = first.input, first.key
    else:
        first = None
    columns = column_descs(input.properties.schema, output_names)
    if not brings_together(input.properties.distribution, stream_key):
        input = exchange(input, stream_key)
    key = tuple(KeyColumn(k.index, k.descending, k.nulls_first) for k in sort_keys)
    key += tuple(KeyColumn(i) for i in stream_key if i not in sort_columns)
    table = relation_table(table_id, name, columns, key, input.properties.distribution.columns)
    schema = tuple(Field(column.name, column.type, column.hidden) for column in columns)
    first_by = None if first is None else first.order
    root = derived(Materialize(input, table, ConflictBehavior.NO_CHECK, underived(schema), first_by=first_by))
    notices = (*_notices(ordered), *planner.notices)
    return StreamJobPlan(root, table, columns, stream_key, root.properties.append_only, notices)


def _notices(ordered: OrderedQuery) -> tuple[str, ...]:
    if not ordered.keys or ordered.decides_rows:
        return ()
    return ("ORDER BY in a materialized view only clusters its storage; order the rows where you query it",)


def stored_columns(streamed: StreamPlan, ordered: OrderedQuery, visible: int) -> tuple[StreamPlan, tuple[SortKey, ...]]:
    """Keeps the `visible` columns, then those that only the storage key needs.

    A hidden column that the query names (`SELECT _row_id`) is visible.
    """
    schema = ordered.query.schema
    keys = [key for i, key in enumerate(ordered.keys) if key.index not in {k.index for k in ordered.keys[:i]}]
    kept = [i for i in range(ordered.width) if visible == ordered.width or not schema[i].hidden]
    kept += [i for i in (*(key.index for key in keys), *streamed.properties.stream_key) if i not in kept]
    kept = list(dict.fromkeys(kept))
    return select_columns(streamed, kept), tuple(replace(key, index=kept.index(key.index)) for key in keys)


def column_descs(schema: Schema, output_names: Sequence[str]) -> tuple[ColumnDesc, ...]:
    """Names the columns: the given names, then the hidden columns' own names, numbered if they are already used."""
    names = list(output_names)
    for added in schema[len(names) :]:
        name, number = added.name, 0
        while name in names:
            number += 1
            name = f"{added.name}_{number}"
        names.append(name)
    return tuple(
        ColumnDesc(i + 1, name, each.type, hidden=i >= len(output_names))
        for i, (name, each) in enumerate(zip(names, schema, strict=True))
    )


def check_names(names: Sequence[str]) -> None:
    """Raises DuplicateColumn if two of a relation's columns have one name."""
    for name, times in Counter(names).items():
        if times > 1:
            raise DuplicateColumn(f'column "{name}" specified more than once')
