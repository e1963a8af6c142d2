"""Reads the rows of each kind of input. No other code of a query reads tables.

Reads by key give tables, which are small. Scans give readers: DuckDB takes batch after batch, and may stop early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.batch.constants import direct_rows
from risingpy.batch.key_lookup import key_values
from risingpy.batch.own_changes import OwnChanges, overlaid
from risingpy.batch.parameters import Parameters
from risingpy.batch.plan import (
    Direct,
    FoundByIndex,
    FullScan,
    Input,
    Overlay,
    PointGet,
    PrefixScan,
    SystemRows,
)
from risingpy.batch.system_relations import SystemRelations
from risingpy.errors import FeatureNotSupported
from risingpy.meta.writing.row_keys import has_row_keys
from risingpy.plan.catalog import ExternalSource, Index, ScannedRelation, Table
from risingpy.plan.expressions import Literal
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable

Rows: TypeAlias = "pa.Table | pa.RecordBatchReader"
"""Rows of an input, its columns as c0…"""


@dataclass(frozen=True, slots=True)
class PlanRun:
    """One run of a plan: the state that it reads, its parameters' values, and its transaction's own writes."""

    view: ReadView
    parameters: Parameters
    own: OwnChanges
    system: SystemRelations

    def rows(self, input_: Input) -> Rows:
        """The rows of an input. A reader reads lazily: the caller must hold the view until it is done."""
        match input_:
            case FullScan():
                return self._scan(input_)
            case PointGet() | PrefixScan():
                return self._by_key(input_)
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

    def _scan(self, scan: FullScan) -> pa.RecordBatchReader:
        relation, columns = scan.relation, scan.columns
        if isinstance(relation, ExternalSource):
            raise FeatureNotSupported(
                f'source "{relation.name}" cannot be queried: it keeps no rows',
                hint="Create a materialized view over it and query that.",
            )
        batches = StorageTable(relation.table, self.view).scan(columns)
        return pa.RecordBatchReader.from_batches(_arrow_schema(relation, columns), batches)

    def _by_key(self, read: PointGet | PrefixScan) -> Rows:
        values = key_values(read, self.parameters)
        if values == ():  # the first column's value is an error, which the query's filter raises
            return self._scan(FullScan(read.relation, read.columns))
        return self._with_key(read, values)

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
