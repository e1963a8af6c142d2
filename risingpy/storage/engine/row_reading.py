"""Reads of a table's rows: points, ranges in either direction, the neighbours of spans.

Keys and values go in and come out whole, in the order of whole keys. A long key (`table_codec`) is stored as its first
495 bytes and a hash, so a range's bounds are shortened for the store, and stored rows that share these bytes are
gathered, put in their true order, and cut to the range. Most pages have no such key and pass through as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import CorruptData, Integers
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX, MAX_KEY_BYTES, long_key_form, prefix_end
from risingpy.storage.codec.table_codec import whole_row
from risingpy.storage.engine.mem_table import is_ascending
from risingpy.storage.engine.ranges import Batch, Direction, Directions, Ranges, is_backward, joined, least, next_keys
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.kernels.lmdb_ranges import NO_LIMIT

Pair = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Points:
    """What was found under some keys: in the order in which they were asked for, and in the store's order."""

    values: pa.BinaryArray
    sorted_keys: pa.BinaryArray
    sorted_values: pa.BinaryArray


def read_points(rows: StoredRows, keys: pa.BinaryArray, *, may_be_long: bool = True) -> Points:
    """The value of each key, NULL where there is none. For long keys, `sorted_…` are as they are stored."""
    stored, is_long = long_key_form(keys) if may_be_long else (keys, None)
    order = sort_indices(stored) if len(stored) >= rows.tuning.sort_lookups_from else None
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


def read(
    rows: StoredRows,
    ranges: Ranges,
    limits: Integers | None = None,
    direction: Direction | Directions = Direction.FORWARD,
    *,
    most: int | None = None,
    page_rows: int | None = None,
) -> Iterator[Batch]:
    """The rows of each range, at most the first `limits[i]` of it and the first `most` of all, some at a time.

    Of a range that is read backward the last row comes first. A batch has at most `page_rows` rows, but for those that
    share what is stored of long keys. Nothing may be written until the last batch was taken. Fastest if ranges ascend.
    """
    # Short keys are stored as they are, and in their order: what is stored is what is asked for. Whether long ones lie
    # in the ranges is known only when they come. Then the rows that were given so far are right, since they had no long
    # key among them, and the rest is read the careful way, a range at a time, from the last of them on.
    place = _PlaceInRange()
    if not ranges.has_long_bounds:
        before: Batch | None = None
        for batch in rows.read(ranges, limits, direction, most=most, page_rows=page_rows):
            if before is not None:  # most reads have one batch, and need not know where they are
                place = place.after(before)
            if batch.has_long_keys:
                break
            yield batch
            before = batch
        else:
            return
    missing = None if most is None else most - place.total
    for number in range(place.number, len(ranges)):
        start, stop = ranges.bounds(number)
        goes_back = is_backward(direction, number)
        limit = missing if limits is None else least(missing, int(limits[number]))
        if number == place.number and place.last is not None:
            start, stop = (start, place.last) if goes_back else (place.last + b"\0", stop)
            limit = missing if limits is None else least(missing, int(limits[number]) - place.given)
        for batch in _read_long(
            rows, start, stop, limit, Direction.BACKWARD if goes_back else Direction.FORWARD, page_rows
        ):
            yield replace(batch, numbers=np.full(len(batch), number))
            missing = None if missing is None else missing - len(batch)


def read_all(
    rows: StoredRows,
    ranges: Ranges,
    limits: Integers | None = None,
    direction: Direction | Directions = Direction.FORWARD,
) -> Batch:
    """As `read`, in one."""
    return joined([*read(rows, ranges, limits, direction)])


def read_first(
    rows: StoredRows,
    ranges: Ranges,
    limit: int,
    direction: Direction = Direction.FORWARD,
    *,
    after: bytes | None = None,
) -> Batch:
    """The first `limit` rows of all ranges together, if given those beyond the key `after`, which need not exist.

    Backward, both the ranges, which descend, and the rows in them are gone through from their ends.
    """
    if after is not None:
        bounds = [ranges.bounds(number) for number in range(len(ranges))]
        if direction is Direction.FORWARD:
            beyond = after + b"\0"
            ranges = Ranges.of([(max(start, beyond), stop) for start, stop in bounds if stop > beyond])
        else:
            ranges = Ranges.of([(start, min(stop, after)) for start, stop in bounds if start < after])
    return joined([*read(rows, ranges, None, direction, most=limit)])


def read_around(
    rows: StoredRows,
    prefixes: pa.BinaryArray,
    spans: tuple[pa.BinaryArray, pa.BinaryArray],
    *,
    before: int,
    after: int | None,
) -> Batch:
    """The rows of each span, from a first key to a last one, and their neighbours that have the prefix, as both have.

    At most `before` of them on the one side and `after` (None: all) on the other. In key order. Fastest if sorted.
    """
    low, high = spans
    n = len(prefixes)
    ends = Ranges.of_prefixes(prefixes).stops
    # Of each span three ranges: what is before it, which is read backward, itself, and what is after it.
    beyond = ends if after is None else next_keys(high)
    starts, stops, limits = [prefixes, low], [low, beyond], [before, NO_LIMIT]
    if after is not None:
        starts, stops, limits = [*starts, beyond], [*stops, ends], [*limits, after]
    ranges = Ranges(pa.concat_arrays(starts), pa.concat_arrays(stops))
    goes_back = np.zeros(len(ranges), np.bool_)
    goes_back[:n] = True
    found = read_all(rows, ranges, np.repeat(limits, n), goes_back)
    # The spans' order, and in a span that of the keys.
    spans_of = found.numbers % n
    from_end = np.searchsorted(found.numbers, n)
    order = np.arange(len(found))
    order[:from_end] = order[:from_end][::-1]
    order = order[np.argsort(spans_of[order], kind="stable")]
    if not is_ascending(order):
        found = found.take(order)
    return replace(found, numbers=found.numbers % n)


@dataclass(frozen=True, slots=True)
class _PlaceInRange:
    """How far a read has come: the range, how many rows were given of it and of all, and the last key."""

    number: int = 0
    given: int = 0
    total: int = 0
    last: bytes | None = None

    def after(self, batch: Batch) -> _PlaceInRange:
        """After some more rows."""
        number = int(batch.numbers[-1])
        given = int((batch.numbers == number).sum()) + (self.given if number == self.number else 0)
        return _PlaceInRange(number, given, self.total + len(batch), batch.last)


def _read_long(
    rows: StoredRows, start: bytes, stop: bytes, limit: int | None, direction: Direction, page_rows: int | None
) -> Iterator[Batch]:
    """One range in which there may be long keys.

    Whole keys sort as stored ones do, but for those that share the 495 bytes that are stored of them. The last of a
    page may share them with the first of the next one, so these wait until it is known.
    """
    stored_stop = stop if len(stop) <= LONG_KEY_PREFIX else prefix_end(stop[:LONG_KEY_PREFIX])
    bounds = Ranges.of([(start[:LONG_KEY_PREFIX], stored_stop)])
    missing = limit
    for alike in _alike(rows.read(bounds, None, direction, page_rows=page_rows)):
        if missing == 0:
            return
        whole = sorted((whole_row(*pair) for pair in alike), reverse=direction is Direction.BACKWARD)
        whole = [pair for pair in whole if start <= pair[0] < stop][:missing]
        if whole:
            keys, values = zip(*whole, strict=True)
            yield Batch(np.zeros(len(whole), np.int64), pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
            missing = None if missing is None else missing - len(whole)


def _alike(pages: Iterable[Batch]) -> Iterator[list[Pair]]:
    """Stored rows, some at a time, such that those that share what is stored of long keys come together."""
    waiting: list[Pair] = []
    for page in pages:
        waiting += zip(page.keys.to_pylist(), page.values.to_pylist(), strict=True)
        last = waiting[-1][0]
        end = len(waiting)
        while len(last) >= LONG_KEY_PREFIX and end and waiting[end - 1][0].startswith(last[:LONG_KEY_PREFIX]):
            end -= 1
        if end:
            yield waiting[:end]
            waiting = waiting[end:]
    if waiting:
        yield waiting


def _checked_long(keys: pa.BinaryArray, values: pa.BinaryArray, rows: list[int]) -> pa.BinaryArray:
    """`values` of long keys without the keys, which must be those that were looked for."""
    parts = values.to_pylist()
    for row in rows:
        if parts[row] is not None:
            key, parts[row] = whole_row(bytes(MAX_KEY_BYTES), parts[row])
            if key != keys[row].as_py():
                raise CorruptData("two long keys are stored as one")
    return pa.array(parts, pa.binary())
