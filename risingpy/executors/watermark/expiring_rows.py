"""Deletes the rows of a table WITH TTL that its watermark has passed, in the epoch after that in which it has moved.

What reads the table is not told: a view keeps what it has made of rows that have ended (docs/decisions/117). So no
change of a row below the watermark may leave the table, also where a new row with its key comes before it is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import columns_of, deletes_first, ops_of
from risingpy.executors.epoch.operator_tree import Executor
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable

# Per shard: a watermark may pass a whole day of rows at once. Deleting these takes some hundred milliseconds.
ENDED_ROWS_PER_EPOCH = 100_000
_INTEGERS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}  # what times and dates are, by their bits


class ExpiringRows:
    """Wraps `stored`, the executor that stores the table's changes in `table`.

    `expiry` has, for each row of `table`, its `column` and its key. `bound` is the watermark (one value; None: there is
    none, and no row ends).
    """

    def __init__(
        self, stored: Executor, *, table: StateTable, expiry: StateTable, column: int, bound: pa.Array | None
    ) -> None:
        self._stored = stored
        self._table = table
        self._expiry = expiry
        self._column = column
        self._bound = bound
        self._key = [each.index for each in table.schema.key]

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = deletes_first(self._stored.execute(inputs))  # the row of an update may keep its time
        columns = columns_of(changes)
        self._expiry.apply(ops_of(changes), self._entries(columns))
        if self._bound is None:
            return changes
        self._end_rows(self._bound)
        in_time = pc.greater_equal(columns[self._column], self._bound[0]).fill_null(False)
        return changes if pc.all(in_time, min_count=0).as_py() else changes.filter(in_time)

    def _entries(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The rows of `expiry` for rows of the table. A row without a time ends first: its entry has the least time."""
        time = columns[self._column]
        if time.null_count:
            integers = _INTEGERS[time.type.bit_width]
            least = pa.scalar(-(1 << (time.type.bit_width - 1)), integers)
            time = time.view(integers).fill_null(least).view(time.type)
        return [time, *(columns[i] for i in self._key if i != self._column)]

    def _end_rows(self, bound: pa.Array) -> None:
        ended = self._expiry.take_below(bound, ENDED_ROWS_PER_EPOCH)
        count = ended.num_rows
        if not count:
            return
        entry = [whole(column) for column in ended.columns]
        rest = iter(entry[1:])
        key = {i: entry[0] if i == self._column else next(rest) for i in self._key}
        types = [column.type.arrow for column in self._table.schema.columns]
        rows = [key[i] if i in key else pa.nulls(count, type_) for i, type_ in enumerate(types)]
        self._table.apply(np.full(count, -1, np.int8), rows)
