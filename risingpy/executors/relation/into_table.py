"""IntoTable: a sink's rows as the table gets them that it goes into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.change_chunk import INSERT, Mask, columns_of, make_chunk, ops_of
from risingpy.storage.engine.state_table import StateTable

_ID_BITS = (
    62  # row ids from sinks have this bit: those of statements count from 1, those of a table's source are negative
)
_ROW_BITS = 36  # of them the rows of one sink


class IntoTableExecutor:
    """Takes the first `width` columns of its input. `errors` counts rows that a NOT NULL column refuses."""

    def __init__(self, *, width: int, not_null: Sequence[int], append_only: bool, row_ids: RowIdsOfSink | None) -> None:
        self._width = width
        self._not_null = not_null
        self._append_only = append_only
        self._row_ids = row_ids
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (delta,) = inputs
        ops, columns = ops_of(delta), columns_of(delta)[: self._width]
        kept = ops == INSERT if self._append_only else np.ones(len(ops), np.bool_)
        filled = self._filled(columns, len(ops))
        self.errors = int((kept & ~filled & (ops == INSERT)).sum())
        kept &= filled
        if not kept.all():
            mask = pa.array(kept)
            ops, columns = ops[kept], [column.filter(mask) for column in columns]
        if self._row_ids is not None:
            columns = [*columns, self._row_ids.take(len(ops))]
        return make_chunk(ops, columns)

    def _filled(self, columns: Sequence[pa.Array], rows: int) -> Mask:
        """Which rows have a value wherever they must."""
        filled = np.ones(rows, np.bool_)
        for index in self._not_null:
            if columns[index].null_count:
                filled &= columns[index].is_valid().to_numpy(zero_copy_only=False)
        return filled


class RowIdsOfSink:
    """The row ids that a sink gives. No other row of the table has one of them.

    How many it has given is in the one row of `table`, so all rows of the sink must be on one shard.
    """

    def __init__(self, table: StateTable, sink_id: int) -> None:
        self._table = table
        self._first = (1 << _ID_BITS) + (sink_id << _ROW_BITS)

    def take(self, count: int) -> pa.Array:
        """The next `count` ids. Raises SqlError after 2³⁶ of them."""
        slot = pa.array([0], pa.int32())
        found, (given,) = self._table.get_rows([slot])
        before = given[0].as_py() if found[0] else 0
        if before + count > 1 << _ROW_BITS:
            message = "the sink has given all of its row ids"
            raise SqlError(message, sqlstate="54000", hint="Drop the sink and create it again.")
        if count:
            self._table.apply(np.array([INSERT], np.int8), [slot, pa.array([before + count], pa.int64())])
        first = self._first + before
        return pa.array(np.arange(first, first + count, dtype=np.int64))
