"""Dml: the rows that clients logged for a table in this epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.epoch.input import EpochInput
from risingpy.executors.few_rows.chunk import table_of
from risingpy.storage.codec.key_encoding import compute_vnodes
from risingpy.storage.codec.table_schema import shards_of_vnodes
from risingpy.types import SqlType


class DmlExecutor:
    """Gives the shard's part of the log, in log order. No other executor's output has an order that matters."""

    def __init__(
        self,
        *,
        table_id: int,
        distribution: Sequence[int],
        types: Sequence[SqlType],
        empty: pa.Table,
        epoch_input: EpochInput,
        shard: int,
        shards: int,
    ) -> None:
        """`types` are those of the columns of `distribution`."""
        self._table_id = table_id
        self._distribution = distribution
        self._types = types
        self._empty = empty
        self._input = epoch_input
        self._shard = shard
        self._shards = shards

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = self._input.log_changes(self._table_id)
        if changes is None or not changes.num_rows:
            return self._empty
        logged = table_of(changes)
        if self._shards == 1:
            return logged
        keys = [logged.column(f"c{index}").combine_chunks() for index in self._distribution]
        owners = shards_of_vnodes(compute_vnodes(keys, logged.num_rows, self._types), self._shards)
        mine = np.flatnonzero(owners == self._shard)
        return logged if len(mine) == logged.num_rows else logged.take(pa.array(mine))
