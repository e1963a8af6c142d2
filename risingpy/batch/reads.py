"""Reads the rows of each kind of input. No other code of a query reads tables.

Reads by key give tables, which are small. Scans give readers: DuckDB takes batch after batch, and may stop early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.batch.constants import direct_rows
from risingpy.batch.first_of_key import read_first_of_key
from risingpy.batch.key_lookup import key_values
from risingpy.batch.key_ranges import knows_bounds, range_keys
from risingpy.batch.own_changes import OwnChanges, overlaid
from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import (
    Direct,
    FirstOfKey,
    FoundByIndex,
    FullScan,
    IndexRange,
    Input,
    KeyRead,
    ListScan,
    NearestRows,
    Overlay,
    PointGet,
    PrefixScan,
    RangeScan,
    SystemRows,
)
from risingpy.batch.system_relations import SystemRelations
from risingpy.errors import FeatureNotSupported
from risingpy.meta.writing.row_keys import has_row_keys
from risingpy.plan.catalog import ExternalSource, Index, ScannedRelation, Table
from risingpy.plan.expressions import Literal
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import ROWS_PER_BATCH, StorageTable

Rows: TypeAlias = "pa.Table | pa.RecordBatchReader"
"""Rows of an input, its columns as c0…"""


FindsNearest: TypeAlias = Callable[[int, bytes, int], Sequence[tuple[object, ...]] | None]
"""`find(index, vector, count)`: the stream keys of the nearest rows; None if the index cannot answer."""


def find_none(index_id: int, vector: bytes, count: int) -> None:
    """Where there are no indexes of vectors."""


@dataclass(frozen=True, slots=True)
class PlanRun:
    """One run of a plan: the state that it reads, its parameters' values, and its transaction's own writes.

    `nearest` asks indexes of vectors.
    """

    view: ReadView
    parameters: Parameters
    own: OwnChanges
    system: SystemRelations
    nearest: FindsNearest = find_none

    def rows(self, input_: Input) -> Rows:
        """The rows of an input. A reader reads lazily: the caller must hold the view until it is done."""
        match input_:
            case FullScan() | RangeScan():
                return self._scan(input_)
            case IndexRange():
                return self._range(input_)
            case FirstOfKey():
                return self._first(input_)
            case PointGet() | PrefixScan() | ListScan():
                return self._by_key(input_)
            case NearestRows():
                return self._nearest(input_)
            case Overlay():
                return self._overlaid(input_)
            case SystemRows():
                return self.system.rows(input_.scan)
            case _:
                assert_never(input_)

    def direct(self, direct: Direct) -> pa.RecordBatch | None:
        """The answer, of one row or none; None if only the evaluator can compute the key or an output."""
        values = key_values(direct.get, self.parameters)
        if values is not None and len(values) < len(direct.get.key):
            return None
        return direct_rows(direct, self._point(direct.get, values), self.parameters)

    def count(self, scan: Input) -> pa.RecordBatch:
        """The number of all rows of a relation."""
        assert isinstance(scan, FullScan) and not isinstance(scan.relation, ExternalSource)
        return pa.record_batch([pa.array([self.view.rows_of(scan.relation.table.table_id)], pa.int64())], ["c0"])

    def knows_key(self, read: PointGet | PrefixScan) -> bool:
        """Whether `rows` gives just the rows of the whole key, whose values need no evaluator."""
        values = key_values(read, self.parameters)
        return values is None or len(values) == len(read.key)

    def with_keys(self, relation: Table, keys: pa.Table) -> pa.Table:
        """The rows of whole keys, all columns, with the transaction's changes (perhaps of other keys) applied."""
        stored = self.committed_with_keys(relation, keys)
        changes = self.own.changes_of(relation)
        if not changes:
            return stored
        written = pa.concat_tables(changes)
        if has_row_keys(relation):  # of many changes, those whose keys begin as one that is asked for
            first = f"c{relation.table.key[0].index}"
            written = written.filter(pc.is_in(written.column(first), value_set=keys.column(first).combine_chunks()))
        return overlaid(relation, stored, [written]) if written.num_rows else stored

    def committed_with_keys(self, relation: Table, keys: pa.Table) -> pa.Table:
        """The committed rows of whole keys, all columns."""
        return self._of_keys(relation, [keys.column(f"c{part.index}") for part in relation.table.key])

    def has_committed(self, relation: Table, keys: pa.Table) -> bool:
        """Whether any of these whole keys has a committed row."""
        columns = [keys.column(f"c{part.index}").combine_chunks() for part in relation.table.key]
        return StorageTable(relation.table, self.view).has_rows(columns)

    def committed_by_index(self, index: Index, keys: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Table:
        """The index's committed rows, all its columns, that have any of these keys, and `_prefix`: which one."""
        whole = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in keys]
        return StorageTable(index.table, self.view).scan_prefix(whole)

    def _scan(self, scan: FullScan | RangeScan) -> pa.RecordBatchReader:
        relation, columns = scan.relation, scan.columns
        if isinstance(relation, ExternalSource):
            raise FeatureNotSupported(
                f'source "{relation.name}" cannot be queried: it keeps no rows',
                hint="Create a materialized view over it and query that.",
            )
        table = StorageTable(relation.table, self.view)
        within = range_keys(scan, table, self.parameters) if isinstance(scan, RangeScan) else None
        batches = table.scan(columns, within)
        return pa.RecordBatchReader.from_batches(_arrow_schema(relation, columns), batches)

    def _range(self, rows: IndexRange) -> Rows:
        table = StorageTable(rows.relation.table, self.view)
        if not knows_bounds(rows.scan, self.parameters):
            return self._scan(rows.otherwise)
        found = table.few_within(range_keys(rows.scan, table, self.parameters), rows.columns, ROWS_PER_BATCH)
        return self._scan(rows.otherwise) if found is None else found

    def _first(self, first: FirstOfKey) -> pa.RecordBatchReader:
        table = StorageTable(first.relation.table, self.view)
        batches = read_first_of_key(first, table, self.parameters)
        if batches is None:
            return self._scan(first.scan)
        return pa.RecordBatchReader.from_batches(_arrow_schema(first.relation, first.columns), batches)

    def _nearest(self, rows: NearestRows) -> Rows:
        """The rows that the index finds. All rows where it cannot answer, or has seen another state than the view's."""
        relation = rows.relation
        vector, limit = (constant(each, self.parameters) for each in (rows.vector, rows.limit))
        found = None
        if (
            vector is not None
            and limit is not None
            and isinstance(vector.value, bytes)
            and isinstance(limit.value, int)
        ):
            found = self.nearest(rows.index.relation_id, vector.value, limit.value)
        if not found:
            return self._scan(FullScan(relation, rows.columns))
        values = dict(zip(relation.stream_key, zip(*found, strict=True), strict=True))
        key = [pa.array(values[part.index], relation.columns[part.index].type.arrow) for part in relation.table.key]
        in_value = [column for column in rows.columns if column in relation.table.value_columns]
        are_there, columns = StorageTable(relation.table, self.view).get_rows(key, in_value)
        if not all(are_there):
            return self._scan(FullScan(relation, rows.columns))
        arrays = dict(zip((part.index for part in relation.table.key), key, strict=True))
        arrays.update(zip(in_value, columns, strict=True))
        return pa.table([arrays[index] for index in rows.columns], names=[f"c{i}" for i in range(len(rows.columns))])

    def _by_key(self, read: KeyRead) -> Rows:
        if isinstance(read, ListScan):
            return self._of_list(read)
        values = key_values(read, self.parameters)
        if values == ():  # the first column's value is an error, which the query's filter raises
            return self._scan(FullScan(read.relation, read.columns))
        return self._with_key(read, values)

    def _of_list(self, read: ListScan) -> pa.Table:
        """The rows of all values on the list."""
        schema = read.relation.table
        values = pa.array(read.values, read.relation.columns[schema.key[0].index].type.arrow)
        if len(schema.key) > 1:
            found = StorageTable(schema, self.view).scan_prefix([values])
            return _renamed(found.select([f"c{index}" for index in read.columns]))
        in_value = [column for column in read.columns if column in schema.value_columns]
        are_there, columns = StorageTable(schema, self.view).get_rows([values], in_value)
        arrays = {schema.key[0].index: values, **dict(zip(in_value, columns, strict=True))}
        names = [f"c{place}" for place in range(len(read.columns))]
        return pa.table([arrays[index] for index in read.columns], names=names).filter(pa.array(are_there))

    def _with_key(self, read: PointGet | PrefixScan, values: Sequence[Literal] | None) -> pa.Table:
        """The rows whose key begins with the values; none if these are None."""
        schema = read.relation.table
        if values is None or len(values) == len(schema.key):
            return pa.Table.from_batches([self._point(read, values)])
        found = StorageTable(schema, self.view).scan_prefix(_arrays(values))
        return _renamed(found.select([f"c{index}" for index in read.columns]))

    def _point(self, read: PointGet | PrefixScan, values: Sequence[Literal] | None) -> pa.RecordBatch:
        """The row with these values as its whole key, if it is there; none if these are None."""
        schema, names = read.relation.table, [f"c{place}" for place in range(len(read.columns))]
        if values is None:
            return pa.RecordBatch.from_pylist([], _arrow_schema(read.relation, read.columns))
        key = _arrays(values)
        in_value = [column for column in read.columns if column in schema.value_columns]
        found, columns = StorageTable(schema, self.view).get_rows(key, in_value)
        arrays = dict(zip((part.index for part in schema.key), key, strict=True))
        arrays.update(zip(in_value, columns, strict=True))
        row = pa.RecordBatch.from_arrays([arrays[index] for index in read.columns], names)
        return row if found[0] else row.slice(0, 0)

    def _overlaid(self, overlay: Overlay) -> pa.Table:
        """The overlay's rows with the transaction's changes applied."""
        changes = self.own.changes_of(overlay.table)
        if isinstance(overlay.rows, FoundByIndex):
            rows = self._found_by_index(overlay.rows, changes)
        else:
            rows = _as_table(self.rows(overlay.rows))
        return _renamed(overlaid(overlay.table, rows, changes).select([f"c{index}" for index in overlay.columns]))

    def _found_by_index(self, found: FoundByIndex, changes: Sequence[pa.Table]) -> pa.Table:
        """Committed rows, all columns: those that the index finds, then those of the keys that `changes` write to."""
        relation = found.relation
        indexed = _as_table(self._by_key(found.index))
        keys = []
        for place, part in enumerate(relation.table.key):
            type_ = relation.columns[part.index].type.arrow
            written = [chunk.column(f"c{part.index}") for chunk in changes]
            columns = (column.cast(type_) for column in (indexed.column(place), *written))
            keys.append(pa.chunked_array([piece for column in columns for piece in column.chunks], type_))
        return self._of_keys(relation, keys)

    def _of_keys(self, relation: Table, columns: Sequence[pa.ChunkedArray]) -> pa.Table:
        """The committed rows of whole keys, all columns. `columns` are the keys'."""
        schema = relation.table
        keys = [column.combine_chunks() for column in columns]
        are_there, values = StorageTable(schema, self.view).get_rows(keys, schema.value_columns)
        by_column = {part.index: column for part, column in zip(schema.key, keys, strict=True)}
        by_column.update(zip(schema.value_columns, values, strict=True))
        rows = pa.table({f"c{i}": by_column[i] for i in range(len(relation.columns))})
        return rows.filter(pa.array(are_there))


def keys_with_rows(view: ReadView, table: Table, keys: Sequence[pa.Array]) -> list[int]:
    """The numbers of those of the table's primary keys that a committed row has."""
    by_column = dict(zip(table.primary_key, keys, strict=True))
    stored = [by_column[part.index] for part in table.table.key]
    return np.flatnonzero(StorageTable(table.table, view).find_rows(stored)).tolist()


def index_keys_with_rows(view: ReadView, index: Index, keys: Sequence[pa.Array]) -> list[int]:
    """The numbers of those keys of the index, or of first columns of its keys, that a committed row has."""
    return StorageTable(index.table, view).prefixes_with_rows(keys)


def _arrays(values: Sequence[Literal]) -> list[pa.Array]:
    return [pa.array([value.value], value.type.arrow) for value in values]


def _as_table(rows: Rows) -> pa.Table:
    return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows


def _renamed(rows: pa.Table) -> pa.Table:
    return rows.rename_columns([f"c{index}" for index in range(rows.num_columns)])


def _arrow_schema(relation: ScannedRelation, columns: Sequence[int]) -> pa.Schema:
    return pa.schema(
        [pa.field(f"c{position}", relation.columns[index].type.arrow) for position, index in enumerate(columns)]
    )
