"""Reads the inputs of a query, those first that have few rows: what a join needs of others is looked up then.

Reading all of a relation takes a fraction of a microsecond for a row, looking one up some microseconds. So rows are
looked up if the values are fewer than `_WORTH` of the relation's rows: the stores have noted how many these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.batch.plan import BatchPlan, FullScan, IndexRange, Lookup, RangeScan
from risingpy.batch.reads import PlanRun, Rows
from risingpy.plan.catalog import ExternalSource
from risingpy.storage.engine.storage_table import ROWS_PER_BATCH, StorageTable

MOST_VALUES = 10_000  # rows of an input whose values are looked up
MOST_FOUND = ROWS_PER_BATCH  # rows that a lookup may find: no more than a scan has in memory
_MOST_BYTES = 16 * 1024 * 1024
_WORTH = 1 / 32


def rows_of_inputs(plan: BatchPlan, reads: PlanRun) -> dict[int, Rows]:
    """The rows of each input, by its number: all are tables, or all are readers.

    DuckDB knows how many rows a table has, and takes those of a reader for one. Of both together it would make the
    hash table of a join from the reader, which has most rows, and not from the few that were looked up.
    """
    found = _looked_up(plan, reads) if plan.lookups else {}
    rows = {i: found[i] if i in found else reads.rows(each) for i, each in enumerate(plan.inputs)}
    if all(isinstance(each, pa.Table) for each in rows.values()):
        return rows
    return {i: each.to_reader() if isinstance(each, pa.Table) else each for i, each in rows.items()}


def _looked_up(plan: BatchPlan, reads: PlanRun) -> dict[int, Rows]:
    """The rows of the inputs that have few, and of those that are looked up with their values."""
    sizes = {each.target: _size(plan, each.target, reads) for each in plan.lookups}
    known: dict[int, Rows] = {}
    waiting = [each for each in plan.lookups if sizes[each.target] * _WORTH >= 1]
    for source in dict.fromkeys(each.source for each in waiting):
        rows = _few(plan, source, reads, sizes)
        if rows is not None:
            known[source] = rows
    while True:  # what is found may be what others are looked up with
        ready = [each for each in waiting if isinstance(known.get(each.source), pa.Table) and each.target not in known]
        if not ready:
            return known
        waiting = [each for each in waiting if each not in ready]
        for each in ready:
            rows = None if each.target in known else _found(each, known, reads, sizes)
            if rows is not None:
                known[each.target] = rows


def _few(plan: BatchPlan, source: int, reads: PlanRun, sizes: Mapping[int, int]) -> Rows | None:
    """The rows of an input, as a table if they are few; None if it surely has many."""
    rows = plan.inputs[source]
    if isinstance(rows, FullScan) and not isinstance(rows.relation, ExternalSource):
        size = sizes[source] if source in sizes else _size(plan, source, reads)
        if size > MOST_VALUES:
            return None
    read = reads.rows(rows)
    return read if isinstance(read, pa.Table) else _table_of_few(read)


def _table_of_few(reader: pa.RecordBatchReader) -> Rows:
    """The rows as a table if they are few and small; else what has been read of them is read again, before the rest."""
    begun, rows, size = list[pa.RecordBatch](), 0, 0
    for batch in reader:
        begun.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > MOST_VALUES or size > _MOST_BYTES:
            return pa.RecordBatchReader.from_batches(reader.schema, chain(begun, reader))
    return pa.Table.from_batches(begun, reader.schema)


def _size(plan: BatchPlan, number: int, reads: PlanRun) -> int:
    """How many rows the relation has that an input scans."""
    rows = plan.inputs[number]
    assert isinstance(rows, FullScan | RangeScan | IndexRange) and not isinstance(rows.relation, ExternalSource)
    return reads.view.rows_of(rows.relation.table.table_id)


def _found(lookup: Lookup, known: Mapping[int, Rows], reads: PlanRun, sizes: Mapping[int, int]) -> pa.Table | None:
    """The rows with a value of the source; None if reading all is less work."""
    rows = known[lookup.source]
    assert isinstance(rows, pa.Table)
    if rows.num_rows > MOST_FOUND:
        return None
    schema = lookup.by.table
    column = pc.unique(rows.column(lookup.place)).drop_null()
    values = _as_type(column, schema.columns[schema.key[0].index].type.arrow)
    if len(values) > min(MOST_VALUES, _WORTH * sizes[lookup.target]):
        return None
    return StorageTable(schema, reads.view).few_of_prefixes([values], lookup.columns, MOST_FOUND)


def _as_type(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """The values as those of an integer column, which is of the same type or was compared as a wider one."""
    if values.type.equals(type_):
        return values
    bounds = np.iinfo(type_.to_pandas_dtype())
    fits = pc.and_(pc.greater_equal(values, int(bounds.min)), pc.less_equal(values, int(bounds.max)))
    return values.filter(fits).cast(type_)
