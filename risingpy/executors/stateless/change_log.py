"""ChangeLog: turns every change into an inserted row, so that the result only grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, make_chunk, ops_of
from risingpy.functions.aggregate.grouping import group_by
from risingpy.types import SqlType

INSERTED, DELETED, UPDATE_INSERTED, UPDATE_DELETED = range(1, 5)


class ChangeLogExecutor:
    """Output: the input's columns, the kind of the change (smallint, 1 to 4), and the epoch (bigint).

    If one row of a `stream_key` goes and another comes in the same epoch, the two are an update.
    """

    def __init__(self, *, stream_key: Sequence[int], types: Sequence[SqlType], epoch: int) -> None:
        self._stream_key = stream_key
        self._types = types
        self._epoch = epoch

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        ops, columns = ops_of(changes), columns_of(changes)
        keys = [columns[k] for k in self._stream_key]
        groups = group_by(keys, [self._types[k] for k in self._stream_key], len(ops))
        comes = np.bincount(groups.codes[ops == INSERT], minlength=groups.number) > 0
        goes = np.bincount(groups.codes[ops == DELETE], minlength=groups.number) > 0
        is_update = (comes & goes)[groups.codes]
        inserted = np.where(is_update, UPDATE_INSERTED, INSERTED)
        deleted = np.where(is_update, UPDATE_DELETED, DELETED)
        happened = pa.array(np.where(ops == INSERT, inserted, deleted).astype(np.int16))
        epochs = pa.repeat(pa.scalar(self._epoch, pa.int64()), len(ops))
        return make_chunk(np.full(len(ops), INSERT, np.int8), [*columns, happened, epochs])
