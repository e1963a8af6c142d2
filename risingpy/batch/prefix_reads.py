"""A few rows by the first columns of a key, or of an index's, for statements that are prepared: without DuckDB.

    CopiedRows([1, 0]) over PrefixScan(by_v, [$1])   =>   PrefixRead(rows of by_v from parameter 1, their datums)

What the rows hold is read with Arrow, since columns of the key must be decoded: of a few, one row after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from risingpy.batch.key_lookup import key_values
from risingpy.batch.parameters import Parameters
from risingpy.batch.plan import BatchPlan, CopiedRows, PrefixScan
from risingpy.batch.point_reads import Datums
from risingpy.storage.codec.datum_columns import datum_in, has_datums
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable

MOST_ROWS, MOST_BYTES = 64, 1 << 18  # more would keep the other connections of the loop waiting


@dataclass(frozen=True, slots=True)
class PrefixRead:
    """`columns` are the outputs' positions in the relation that is read, a table, a view or an index."""

    read: PrefixScan
    columns: tuple[int, ...]

    def rows(self, view: ReadView, parameters: Parameters) -> list[Datums] | None:
        """The outputs of the committed rows; None if there are many, or only the evaluator can compute the key.

        Who does not hold the view must be ready for SnapshotReleased.
        """
        values = key_values(self.read, parameters)
        if values is None:
            return []
        if len(values) < len(self.read.key):
            return None
        prefix = [pa.array([value.value], value.type.arrow) for value in values]
        table = StorageTable(self.read.relation.table, view)
        found = table.few_of_prefix(prefix, self.columns, MOST_ROWS, MOST_BYTES)
        if found is None:
            return None
        return [[datum_in(column, row) for column in found.columns] for row in range(found.num_rows)]


def prefix_read(plan: BatchPlan) -> PrefixRead | None:
    """The plan as such a read, if the prefix tells the shard and all columns are of ordinary types."""
    answer = plan.answer
    if plan.custom or not isinstance(answer, CopiedRows) or not isinstance(plan.inputs[0], PrefixScan):
        return None
    read = plan.inputs[0]
    schema = read.relation.table
    columns = tuple(read.columns[place] for place in answer.columns)
    is_bounded = answer.limit is not None or answer.offset is not None
    if is_bounded or not schema.tells_vnode(len(read.key)):
        return None
    if not all(has_datums(schema.columns[column].type.arrow) for column in columns):
        return None
    return PrefixRead(read, columns)
