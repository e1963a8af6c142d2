"""Dedup: gives the first row for every value of some columns. Its input only grows.

Since no row is ever retracted, the first one stays the first: the state is only which values have been seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import columns_of, make_chunk
from risingpy.functions.aggregate.grouping import canonical_column, encoded_rows, group_by
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]


class DedupExecutor:
    """Output: one row for each `key` that no earlier epoch has had, the first by `stream_key` in this epoch."""

    def __init__(
        self, *, table: StateTable, key: Sequence[int], stream_key: Sequence[int], types: Sequence[SqlType]
    ) -> None:
        self._table = table
        self._key = key
        self._stream_key = stream_key
        self._types = types

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        columns = columns_of(inputs[0])
        for index in self._key:
            columns[index] = canonical_column(columns[index], self._types[index])
        groups = group_by([columns[k] for k in self._key], [self._types[k] for k in self._key], inputs[0].num_rows)
        seen, _ = self._table.get_rows(groups.keys)
        fresh = pa.array(~seen)
        self._table.apply_changes(np.ones(int((~seen).sum()), np.int8), [key.filter(fresh) for key in groups.keys])
        firsts = self._first_rows(groups.codes, groups.number, columns)[~seen]
        ops = pa.array(np.ones(len(firsts), np.int8))
        return make_chunk(ops, [column.take(pa.array(firsts)) for column in columns])

    def _first_rows(self, codes: Integers, number: int, columns: Sequence[pa.Array]) -> Integers:
        """Each group's first row by stream key."""
        firsts = np.empty(number, np.int64)
        if number == len(codes):  # groups are numbered by first appearance
            return np.arange(number)
        keys = [columns[k] for k in self._stream_key]
        order = sort_indices(encoded_rows(keys, [self._types[k] for k in self._stream_key], len(codes)))
        firsts[codes[order[::-1]]] = order[::-1]  # the last write is the first row
        return firsts
