"""Writes of several tables in one batch: keys begin with the table's id, so they still ascend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import table_borders


def batch_of_tables(batches: Sequence[WriteBatch]) -> WriteBatch:
    """One batch of some that have rows of a table each, all of different tables."""
    ordered = sorted(batches, key=lambda each: StoredRows.table_of(each.keys))
    return WriteBatch(
        pa.concat_arrays([each.keys for each in ordered]), pa.concat_arrays([each.values for each in ordered])
    )


def by_table(batch: WriteBatch) -> Iterator[WriteBatch]:
    """The rows of each table in a batch, in order."""
    for first, end in pairwise(table_borders(batch.keys)):
        yield WriteBatch(batch.keys.slice(first, end - first), batch.values.slice(first, end - first))
