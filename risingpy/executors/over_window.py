"""OverWindow: window functions over partitions that change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.aggregate.grouping import canonical_column, group_by
from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, deletes_first, distinct_rows, make_chunk, ops_of
from risingpy.executors.ordered_rows import KeyedRows, match_rows
from risingpy.executors.window_functions import Partitions, WindowFunctions
from risingpy.storage.state_table import StateTable
from risingpy.types import SqlType


class OverWindowExecutor:
    """Output: the input's columns, then the functions' results; only rows that came, went or have another result.

    The table holds the output. `ordered` is the number of its key's columns that partition and order the rows.
    """

    def __init__(
        self,
        *,
        table: StateTable,
        partition_by: Sequence[int],
        partition_types: Sequence[SqlType],
        ordered: int,
        functions: WindowFunctions,
        result_types: Sequence[SqlType],
    ) -> None:
        self._table = table
        self._partition_by = partition_by
        self._partition_types = partition_types
        self._ordered = [column.index for column in table.schema.key][:ordered]
        self._functions = functions
        self._result_types = result_types
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = deletes_first(inputs[0])
        ops, columns = ops_of(changes), columns_of(changes)
        for index, type_ in zip(self._partition_by, self._partition_types, strict=True):
            columns[index] = canonical_column(columns[index], type_)
        groups = group_by([columns[k] for k in self._partition_by], self._partition_types, len(ops))
        stored = self._table.scan_prefix(groups.keys)
        unknown = [pa.nulls(len(ops), type_.arrow) for type_ in self._result_types]
        rows = match_rows(self._table.schema, stored, [*columns, *unknown], ops, groups.codes)
        changed = self._changed(rows, len(columns))
        self._table.apply_changes(ops_of(changed), columns_of(changed))
        return changed

    def _changed(self, rows: KeyedRows, width: int) -> pa.Table:
        """−1 of rows as they were given out, then +1 with their new results."""
        was, is_ = rows.old >= 0, rows.new >= 0
        present = np.flatnonzero(is_)
        inputs = rows.take(rows.new[present])[:width]
        begins, peers_begin = rows.marks(is_, self._ordered)
        results, self.errors = self._functions.results(Partitions(inputs, begins, peers_begin))
        place = np.cumsum(is_) - 1  # of a key among those that are there
        same = was & is_
        both = np.flatnonzero(same)
        old = rows.take(rows.old[both])
        chosen = pa.array(place[both])
        new = [column.take(chosen) for column in (*inputs, *results)]
        same[both] = ~distinct_rows(old, new, len(both))
        gone, come = rows.take(rows.old[was & ~same]), pa.array(place[is_ & ~same])
        output = [
            pa.concat_arrays([before, after.take(come)])
            for before, after in zip(gone, (*inputs, *results), strict=True)
        ]
        signs = np.concatenate([np.full(len(gone[0]), DELETE, np.int8), np.full(len(come), INSERT, np.int8)])
        return make_chunk(signs, output)
