"""Plans the scans of tables, views, indexes and sources, and the watermark filters over them.

    Scan(t: a, key k)  =>  TableScan(t: a, hidden k)

A scan also reads columns that the query does not: the stream key, and the storage key, in whose order it backfills.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import InternalError
from risingpy.optimizer.stream.distribution import SOME_SHARD, brings_together, hash_by
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.catalog import (
    ExternalSource,
    Index,
    InternalTable,
    MaterializedView,
    NumberSequence,
    Relation,
    ScannedRelation,
    Sink,
    Subscription,
    Table,
    View,
    Watermark,
)
from risingpy.plan.expiry_table import ages_table, retention_table, rows_by_key
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import Field, Scan, Schema
from risingpy.plan.operators import (
    Exchange,
    RetainedFor,
    Source,
    StreamPlan,
    StreamProject,
    StreamTtl,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.properties import ColumnIndex, Properties
from risingpy.plan.state_tables import progress_table
from risingpy.storage.codec.table_schema import TableSchema


def plan_scan(scan: Scan, relation: Relation, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """The changes of the scan's columns, of what its stream key needs, and of what a source's watermark reads."""
    match relation:
        case Table() | MaterializedView() | Index():
            return _table_scan(scan, relation, progress_table(allocate(), job))
        case ExternalSource():
            return _source(scan, relation, allocate)
        case View() | InternalTable() | Sink() | Subscription() | NumberSequence():
            raise InternalError(f"{relation.qualified_name} cannot be an input of a view")


def _source(scan: Scan, relation: ExternalSource, allocate: Callable[[], int]) -> StreamPlan:
    row_id = len(relation.columns) - 1
    ids = [column.column_id for column in relation.columns]
    needed = () if relation.watermark is None else sorted(ids.index(i) for i in relation.watermark.columns_read)
    columns = tuple(dict.fromkeys((*scan.columns, *needed, row_id)))
    source = source_columns(scan, relation, columns)
    if relation.watermark is None:
        return source
    return watermark_filter(source, relation.watermark, [ids[i] for i in columns], allocate())


def source_columns(scan: Scan, relation: ExternalSource, columns: tuple[int, ...]) -> Source | StreamProject:
    """These columns of a source, those that are generated computed from the others; the row id is among them."""
    schema = _scan_schema(scan, relation, columns)
    ids = [column.column_id for column in relation.columns]
    generated = {i: relation.columns[i].generated for i in columns}
    sources = {i: sorted(ids.index(k) for k in columns_read(g.expression)) for i, g in generated.items() if g}
    if not sources:
        return _read(scan.relation_id, columns, schema, len(ids) - 1)
    plain = [i for i in columns if i not in sources]
    read = tuple(dict.fromkeys((*plain, *(i for found in sources.values() for i in found))))
    fields = tuple(Field(relation.columns[i].name, relation.columns[i].type, hidden=True) for i in read)
    places = {ids[i]: place for place, i in enumerate(read)}
    expressions = tuple(
        remapped(found.expression, places) if found else InputRef(read.index(i), relation.columns[i].type)
        for i, found in generated.items()
    )
    source = _read(scan.relation_id, read, fields, len(ids) - 1)
    return derived(StreamProject(source, expressions, underived(schema)))


def _read(source_id: int, columns: tuple[int, ...], schema: Schema, row_id: int) -> Source:
    return Source(source_id, columns, Properties(schema, (columns.index(row_id),), SOME_SHARD, append_only=True))


def _table_scan(scan: Scan, relation: Table | MaterializedView | Index, progress: TableSchema) -> TableScan:
    table = relation.table
    storage_key = [column.index for column in table.key]
    if scan.counts_only and storage_key:
        # Any column will do. A key column is read anyway, and cannot be dropped while the view exists.
        key = relation.columns[storage_key[0]]
        scan = replace(scan, columns=(storage_key[0],), schema=(Field(key.name, key.type, key.hidden),))
    # If the first key of an index row changes, the row moves to another shard, and is a new row there.
    stream_key = tuple(dict.fromkeys((*relation.stream_key, *table.distribution)))
    columns = tuple(dict.fromkeys((*scan.columns, *storage_key, *stream_key)))
    watermarks = (replace(w, column=columns.index(w.column)) for w in relation.watermarks if w.column in columns)
    properties = Properties(
        _scan_schema(scan, relation, columns),
        tuple(columns.index(i) for i in stream_key),
        hash_by(tuple(columns.index(i) for i in table.distribution)),
        append_only=relation.never_retracts if isinstance(relation, Table) else relation.append_only,
        watermarks=tuple(sorted(watermarks, key=lambda each: each.column)),
    )
    return TableScan(table, columns, properties, progress)


def with_ttl(input: StreamPlan, seconds: int, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """The rows of a scan that have come within so many seconds. Nothing above it keeps older ones.

    What always has one row, an aggregate without groups, keeps it.
    """
    properties = input.properties
    if not properties.stream_key:
        return input
    if not brings_together(properties.distribution, properties.stream_key):
        input = derived(Exchange(input, replace(properties, distribution=hash_by(properties.stream_key))))
    table = rows_by_key(allocate(), job, input.properties)
    retained = RetainedFor(seconds, retention_table(allocate(), table), ages_table(allocate(), table))
    return derived(StreamTtl(input, table, retained, underived(properties.schema)))


def watermark_filter(
    input: StreamPlan, watermark: Watermark, column_ids: Sequence[int], watermark_id: int
) -> WatermarkFilter:
    """Drops the input's late rows; `column_ids` are those of its columns."""
    places = {column_id: i for i, column_id in enumerate(column_ids)}
    expression = remapped(watermark.expression, places)
    schema = input.properties.schema
    return derived(WatermarkFilter(input, places[watermark.column_id], expression, watermark_id, underived(schema)))


def _scan_schema(scan: Scan, relation: ScannedRelation, columns: Sequence[ColumnIndex]) -> Schema:
    """The scan's own columns, then the hidden ones that were added."""
    added = columns[len(scan.columns) :]
    return (*scan.schema, *(Field(relation.columns[i].name, relation.columns[i].type, hidden=True) for i in added))
