"""An epoch's changes as a client reads them: rows, each with a word for what happened to it.

word     string   Insert, Delete; UpdateDelete, UpdateInsert: the old and then the new row of one key
epoch    int64    NULL for a row that was there when the reader began
c0…               the relation's columns that are not hidden
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import INSERT, columns_of, ops_of
from risingpy.functions.aggregate.grouping import encoded_rows
from risingpy.meta.changelogs.reader import EpochChanges
from risingpy.plan.catalog import FollowedForm
from risingpy.storage.codec.group_keys import group_rows

_WORDS = pa.array(["Delete", "Insert", "UpdateDelete", "UpdateInsert"], pa.string())
_DELETED, _INSERTED, _UPDATED = 0, 1, 2  # added to the first two: an update's


def visible_columns(form: FollowedForm) -> list[int]:
    """The positions of the columns that a client gets."""
    return [index for index, column in enumerate(form.columns) if not column.hidden]


def rows_of_epoch(changes: EpochChanges, form: FollowedForm) -> pa.Table:
    """The changes of an epoch, key by key. See the module's docstring."""
    ops = ops_of(changes.rows)
    columns = columns_of(changes.rows)
    key_types = [form.columns[index].type for index in form.stream_key]
    keys = [columns[index] for index in form.stream_key]
    codes, firsts = group_rows(encoded_rows(keys, key_types, len(ops)))
    # A consolidated delta has at most one old and one new row of a key: with both, it is an update.
    is_update = np.bincount(codes, minlength=len(firsts))[codes] == 2
    words = np.where(ops == INSERT, _INSERTED, _DELETED) + np.where(is_update, _UPDATED, 0)
    order = pa.array(np.lexsort((ops, codes)))
    epochs = pa.repeat(pa.scalar(changes.epoch, pa.int64()), len(ops))
    shown = [columns[index] for index in visible_columns(form)]
    return _table(_WORDS.take(pa.array(words)), epochs, shown).take(order)


def rows_of_snapshot(batch: pa.RecordBatch) -> pa.Table:
    """Rows that were there when the reader began; `batch` has the visible columns."""
    words = pa.repeat(_WORDS[_INSERTED], batch.num_rows)
    return _table(words, pa.nulls(batch.num_rows, pa.int64()), batch.columns)


def _table(words: pa.Array, epochs: pa.Array, columns: Sequence[pa.Array]) -> pa.Table:
    return pa.table([words, epochs, *columns], names=["word", "epoch", *(f"c{i}" for i in range(len(columns)))])
