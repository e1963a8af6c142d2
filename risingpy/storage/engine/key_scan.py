"""Reads of stored rows: points, a range in key order, the neighbours of spans. Many ranges are `range_scan`'s.

Keys and values go in and come out whole: long keys (`table_codec`) are shortened and put back here, and where
several share the 495 bytes that are stored of them, the true order is restored.

py-lmdb (measured): `list(map(get, sorted keys))` is the fastest way to many points, buffers are harmful, and
iterating a cursor into a list the fastest way through a range. Kernels are faster from some rows on (`native_lmdb`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

import lmdb
import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import CorruptData, longest
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX, MAX_KEY_BYTES, long_key_form, prefix_end
from risingpy.storage.codec.table_codec import whole_row
from risingpy.storage.engine.mem_table import is_ascending
from risingpy.storage.engine.merged_cursor import MergedCursor
from risingpy.storage.engine.native_lmdb import read_rows
from risingpy.storage.engine.stored_rows import StoredRows

Cursor = lmdb.Cursor | MergedCursor

ALL_ROWS = 1 << 62  # no limit
_SORT_FROM = 32  # fewer keys are looked up as they come
# A range is read in steps, each larger than the last one: nobody knows where in the store it ends, and what is read
# behind its end, of other tables, is in vain.
_FIRST_STEP = 256
_STEP_GROWTH = 4
LARGEST_STEP = 65_536


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a range in key order; `more` if others may follow."""

    keys: Sequence[bytes]
    values: Sequence[bytes]
    more: bool


@dataclass(frozen=True, slots=True)
class Block:
    """A page in Arrow's columns, which a codec reads faster."""

    keys: pa.BinaryArray
    values: pa.BinaryArray
    more: bool

    @property
    def last(self) -> bytes | None:
        """The last key; None if there are no rows."""
        return cast(bytes, self.keys[-1].as_py()) if len(self.keys) else None


@dataclass(frozen=True, slots=True)
class Points:
    """What was found under some keys: in the order in which they were asked for, and in the store's order."""

    values: pa.BinaryArray
    sorted_keys: pa.BinaryArray
    sorted_values: pa.BinaryArray


def read_points(rows: StoredRows, keys: pa.BinaryArray, *, may_be_long: bool = True) -> Points:
    """The value of each key, NULL where there is none. For long keys, `sorted_…` are as they are stored."""
    stored, is_long = long_key_form(keys) if may_be_long else (keys, None)
    order = sort_indices(stored) if len(stored) >= _SORT_FROM else None
    if order is None or is_ascending(order):
        found = sorted_values = rows.get_values(stored)
    else:
        stored = stored.take(pa.array(order))
        sorted_values = rows.get_values(stored)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        found = sorted_values.take(pa.array(place))
    if is_long is not None and is_long.any():
        found = _checked_long(keys, found, np.flatnonzero(is_long).tolist())
    return Points(found, stored, sorted_values)


def read_range(rows: StoredRows, start: bytes, stop: bytes, limit: int, *, after: bytes | None = None) -> Page:
    """At most `limit` rows with start <= key < stop, behind `after` if given, which need not be a key."""
    lower = start if after is None else max(start, after)
    keys: list[bytes] = []
    values: list[bytes] = []
    with rows.cursor(start, limit) as cursor:
        more = bool(cursor.set_range(lower[:LONG_KEY_PREFIX])) and _begins_before(cursor, stop)
        step = _FIRST_STEP
        while more and len(keys) <= limit:
            pairs, more = _next_pairs(cursor, min(step, limit + 1 - len(keys)))
            more = more and _begins_before(cursor, stop)
            _extend(keys, values, pairs, start, stop, after)
            step *= _STEP_GROWTH
    return Page(keys[:limit], values[:limit], more or len(keys) > limit)


def read_block(rows: StoredRows, start: bytes, stop: bytes, limit: int, *, after: bytes | None = None) -> Block:
    """As `read_range`, of a table that lies in the tree."""
    lower, is_behind = (start, False) if after is None or after < start else (after, True)
    blocks: list[Block] = []
    missing = limit
    more = max(len(lower), len(stop)) < LONG_KEY_PREFIX  # else the bounds are not what is stored
    is_long = not more
    while more and missing and not is_long:
        step = min(missing, LARGEST_STEP)
        keys, values = read_rows(rows.transaction, lower, stop, step, behind=is_behind)
        more = len(keys) == step
        is_long = longest(keys) >= LONG_KEY_PREFIX  # among their like not in order
        blocks.append(Block(keys, values, more))
        missing -= len(keys)
        lower, is_behind = blocks[-1].last or lower, True
    return in_block(read_range(rows, start, stop, limit, after=after)) if is_long else joined(blocks)


def in_block(page: Page) -> Block:
    """The same rows."""
    return Block(pa.array(page.keys, pa.binary()), pa.array(page.values, pa.binary()), page.more)


def joined(blocks: Sequence[Block]) -> Block:
    """The rows of several blocks, the last of which says whether others follow."""
    if len(blocks) == 1:
        return blocks[0]
    nothing = pa.array([], pa.binary())
    keys = pa.concat_arrays([nothing, *(block.keys for block in blocks)])
    values = pa.concat_arrays([nothing, *(block.values for block in blocks)])
    return Block(keys, values, bool(blocks) and blocks[-1].more)


@dataclass(frozen=True, slots=True)
class Span:
    """The keys of a prefix from `low` to `high`, both of which have it."""

    prefix: bytes
    low: bytes
    high: bytes


def read_around(rows: StoredRows, spans: Sequence[Span], before: int, behind: int | None) -> tuple[list[int], Page]:
    """The rows of each span, and of its prefix at least `before` rows before it and `behind` (None: all) behind it.

    Which span each row belongs to, and the rows, in key order. Best if sorted. The table lies in the tree.
    """
    numbers: list[int] = []
    keys: list[bytes] = []
    values: list[bytes] = []
    with rows.transaction.cursor() as cursor:
        for number, span in enumerate(spans):
            pairs = _rows_before(cursor, span, before)
            pairs += _rows_from(cursor, span, behind)
            if max(len(span.low), len(span.high), *(len(key) for key, _ in pairs)) >= LONG_KEY_PREFIX:
                # Stored short, and among their like not in order.
                page = read_range(rows, span.prefix, prefix_end(span.prefix), ALL_ROWS)
                pairs = list(zip(page.keys, page.values, strict=True))
            numbers += [number] * len(pairs)
            keys += [key for key, _ in pairs]
            values += [value for _, value in pairs]
    return numbers, Page(keys, values, more=False)


def _rows_before(cursor: lmdb.Cursor, span: Span, rows: int) -> list[tuple[bytes, bytes]]:
    there = cursor.prev() if cursor.set_range(span.low[:LONG_KEY_PREFIX]) else cursor.last()
    found: list[tuple[bytes, bytes]] = []
    if there:
        backwards = cast("Iterator[tuple[bytes, bytes]]", cursor.iterprev())
        for key, value in islice(backwards, rows):
            if not key.startswith(span.prefix):
                break
            found.append((key, value))
    return found[::-1]


def _rows_from(cursor: lmdb.Cursor, span: Span, behind: int | None) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    if cursor.set_range(span.low[:LONG_KEY_PREFIX]):
        for key, value in iterate(cursor):
            if not key.startswith(span.prefix):
                break
            if behind is not None and key > span.high:
                if not behind:
                    break
                behind -= 1
            found.append((key, value))
    return found


def _next_pairs(cursor: Cursor, n: int) -> tuple[list[tuple[bytes, bytes]], bool]:
    """The next n stored rows, and those that share the last one's first 495 bytes; whether others follow."""
    pairs = list(islice(iterate(cursor), n))
    more = len(pairs) == n and bool(cursor.next())
    last = pairs[-1][0]
    if more and len(last) >= LONG_KEY_PREFIX:
        shared = last[:LONG_KEY_PREFIX]
        while more and _cursor_key(cursor).startswith(shared):
            pairs.append(cast("tuple[bytes, bytes]", cursor.item()))
            more = bool(cursor.next())
    return pairs, more


def _extend(
    keys: list[bytes],
    values: list[bytes],
    pairs: list[tuple[bytes, bytes]],
    start: bytes,
    stop: bytes,
    after: bytes | None,
) -> None:
    """Appends those of the stored rows that lie in the range, whole and in true order."""
    if not pairs:
        return
    if max(len(key) for key, _ in pairs) >= LONG_KEY_PREFIX:
        pairs = sorted(whole_row(key, value) for key, value in pairs)
    first = bisect_left(pairs, (start,)) if after is None or after < start else bisect_left(pairs, (after + b"\0",))
    last = bisect_left(pairs, (stop,)) if pairs[-1][0] >= stop else len(pairs)
    chosen = pairs[first:last]
    keys.extend(key for key, _ in chosen)
    values.extend(value for _, value in chosen)


def _checked_long(keys: pa.BinaryArray, values: pa.BinaryArray, rows: list[int]) -> pa.BinaryArray:
    """`values` of long keys without the keys, which must be those that were looked for."""
    parts = values.to_pylist()
    for row in rows:
        if parts[row] is not None:
            key, parts[row] = whole_row(bytes(MAX_KEY_BYTES), parts[row])
            if key != keys[row].as_py():
                raise CorruptData("two long keys are stored as one")
    return pa.array(parts, pa.binary())


def _begins_before(cursor: Cursor, stop: bytes) -> bool:
    """False if the stored key, and all behind it, lie at or behind `stop`."""
    limit = _stored_stop(stop)
    return limit is None or _cursor_key(cursor) < limit


def _stored_stop(stop: bytes) -> bytes | None:
    """A bound in stored form: keys that share the first 495 bytes of a longer `stop` may lie on either side."""
    return stop if len(stop) <= LONG_KEY_PREFIX else prefix_end(stop[:LONG_KEY_PREFIX])


def _cursor_key(cursor: Cursor) -> bytes:
    return cast(bytes, cursor.key())


def iterate(cursor: Cursor) -> Iterator[tuple[bytes, bytes]]:
    return cast("Iterator[tuple[bytes, bytes]]", cursor.iternext())
