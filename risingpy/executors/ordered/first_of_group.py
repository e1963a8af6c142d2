"""TopN of one row per group, for an input that only grows.

The first row of a group can only be replaced by one that precedes it. So the state is one row per group, not the whole
group in order, and an epoch costs one lookup per group that has new rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, make_chunk
from risingpy.functions.aggregate.grouping import canonical_column, group_by
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import encode_keys
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType


class FirstOfGroupExecutor:
    """Output: −1 of a group's old first row, +1 of its new one, where they differ.

    The table is `group key → the other columns`. Rows compare by the key of `order`, a schema of the same columns.
    """

    def __init__(
        self, *, table: StateTable, group_key: Sequence[int], group_types: Sequence[SqlType], order: TableSchema
    ) -> None:
        self._table = table
        self._group_key = group_key
        self._group_types = group_types
        self._order = order

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        columns = columns_of(inputs[0])
        for index, type_ in zip(self._group_key, self._group_types, strict=True):
            columns[index] = canonical_column(columns[index], type_)
        groups = group_by([columns[k] for k in self._group_key], self._group_types, inputs[0].num_rows)
        keys = self._keys(columns)
        order = sort_indices(keys)[::-1]
        firsts = np.empty(groups.number, np.int64)
        firsts[groups.codes[order]] = order  # `order` is descending: the last write per group is its first row
        best = pa.array(firsts)
        found, stored = self._table.get_rows(groups.keys)
        old = dict(zip(self._group_key, groups.keys, strict=True))
        old.update(zip(self._table.schema.value_columns, stored, strict=True))
        standing = [old[k] for k in range(len(columns))]
        precedes = pc.less(keys.take(best), self._keys(standing)).to_numpy(zero_copy_only=False)
        wins = ~found | precedes
        chosen, gone = best.filter(pa.array(wins)), pa.array(wins & found)
        new = [column.take(chosen) for column in columns]
        self._table.apply(np.full(len(chosen), INSERT, np.int8), new)
        output = [pa.concat_arrays([before.filter(gone), after]) for before, after in zip(standing, new, strict=True)]
        ops = np.full(len(output[0]), INSERT, np.int8)
        ops[: len(ops) - len(chosen)] = DELETE
        return make_chunk(ops, output)

    def _keys(self, columns: Sequence[pa.Array]) -> pa.BinaryArray:
        key = [columns[column.index] for column in self._order.key]
        return encode_keys(self._order, key, np.zeros(len(columns[0]), np.uint16))
