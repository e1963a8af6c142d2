"""Reads of a range from its end: `key_scan.read_range` the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import lmdb

from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX, prefix_end
from risingpy.storage.codec.table_codec import whole_row
from risingpy.storage.engine.key_scan import Page
from risingpy.storage.engine.stored_rows import StoredRows

Pair = tuple[bytes, bytes]


def read_range_backward(rows: StoredRows, start: bytes, stop: bytes, limit: int) -> Page:
    """The last `limit` rows with start <= key < stop, the last one first, of a table that lies in the tree."""
    keys: list[bytes] = []
    values: list[bytes] = []
    with rows.transaction.cursor() as cursor:
        for key, value in _pairs_backward(cursor, start, stop):
            if len(keys) == limit:
                return Page(keys, values, more=True)
            keys.append(key)
            values.append(value)
    return Page(keys, values, more=False)


def _pairs_backward(cursor: lmdb.Cursor, start: bytes, stop: bytes) -> Iterator[Pair]:
    """Rows of the range, whole. Those that share what is stored of long keys come sorted, all at once."""
    if not _seek_before(cursor, stop):
        return
    alike: list[Pair] = []
    for key, value in cast("Iterator[Pair]", cursor.iterprev()):
        if alike and not key.startswith(alike[0][0][:LONG_KEY_PREFIX]):
            yield from _in_true_order(alike, start, stop)
            alike = []
        if key[:LONG_KEY_PREFIX] < start[:LONG_KEY_PREFIX]:
            return
        if len(key) >= LONG_KEY_PREFIX:
            alike.append((key, value))
        elif start <= key < stop:
            yield key, value
    yield from _in_true_order(alike, start, stop)


def _seek_before(cursor: lmdb.Cursor, stop: bytes) -> bool:
    """Puts the cursor on the last stored key that may lie before `stop`; False if there is none."""
    bound = stop if len(stop) < LONG_KEY_PREFIX else prefix_end(stop[:LONG_KEY_PREFIX])
    return bool(cursor.prev() if cursor.set_range(bound) else cursor.last())


def _in_true_order(alike: list[Pair], start: bytes, stop: bytes) -> Iterator[Pair]:
    whole = sorted((whole_row(key, value) for key, value in alike), reverse=True)
    return (pair for pair in whole if start <= pair[0] < stop)
