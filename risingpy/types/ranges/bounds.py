"""The bytes of a range, of one width for a type:

    01 | lower bound | upper bound          00 and zeros: the empty range
    a bound   where | key of the value | edge

    where     00 -infinity (no lower bound)    01 a value    02 infinity (no upper bound)
    edge      00 just below the value    01 at it    02 just above it        both 0 where there is no value

    [1,10)    01   01 8000000000000001 01   01 800000000000000a 00
    (,5]      01   00 0000000000000000 00   01 8000000000000005 01     of numrange; int4range writes it (,6)

A bound is so a place on one line, and bytes order as places do: an upper bound that excludes a value lies just below
it, a lower one just above. Two ranges compare by their lower bounds, then by their upper ones, and the empty range is
before all others: PostgreSQL's btree order. `[1,2]` and `[1,3)` of integers are the same bytes, since discrete ranges
are kept in the canonical form `[)`. Source: PostgreSQL's rangetypes.c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.types.ranges.elements import (
    BoundType,
    Bytes,
    Mask,
    has_next,
    next_key,
    next_keys,
    with_a_next,
)

BELOW, VALUE, ABOVE = 0, 1, 2
"""The first byte of a bound: -infinity, a value, infinity."""
BEFORE, AT, AFTER = 0, 1, 2
"""The last byte of a bound."""
_DISORDER = "range lower bound must be less than or equal to range upper bound"


@dataclass(frozen=True, slots=True)
class RangeBound:
    """One bound as it is written: without a key there is none on that side."""

    key: bytes | None
    inclusive: bool


def width_of(element: BoundType) -> int:
    """How many bytes a range has."""
    return 1 + 2 * (element.width + 2)


def empty_range(element: BoundType) -> bytes:
    """The range that holds nothing."""
    return bytes(width_of(element))


def packed_range(element: BoundType, lower: RangeBound, upper: RangeBound) -> bytes:
    """One range in canonical form. Raises 22000 if its bounds are in the wrong order, 22003 and 22008."""
    low, high = lower.key, upper.key
    closed, to_end = lower.inclusive, upper.inclusive
    if low is not None and high is not None:
        if low > high:
            raise SqlError(_DISORDER, sqlstate="22000")
        if low == high and not (closed and to_end):
            return empty_range(element)
    if element.last is not None:
        if low is not None and not closed and has_next(element, low):
            low, closed = next_key(element, low), True
        if high is not None and to_end and has_next(element, high):
            high, to_end = next_key(element, high), False
        if low is not None and low == high and not (closed and to_end):
            return empty_range(element)
    nothing = bytes(element.width)
    first = bytes([BELOW, *nothing, BEFORE]) if low is None else bytes([VALUE, *low, AT if closed else AFTER])
    second = bytes([ABOVE, *nothing, BEFORE]) if high is None else bytes([VALUE, *high, AT if to_end else BEFORE])
    return b"\x01" + first + second


def unpacked_range(element: BoundType, data: bytes) -> tuple[RangeBound, RangeBound] | None:
    """The bounds of a range; None of the empty one."""
    if not data[0]:
        return None
    middle = 1 + element.width + 2
    first, second = data[1:middle], data[middle:]
    return (
        RangeBound(first[1:-1] if first[0] == VALUE else None, first[0] == VALUE and first[-1] == AT),
        RangeBound(second[1:-1] if second[0] == VALUE else None, second[0] == VALUE and second[-1] == AT),
    )


@dataclass(frozen=True, slots=True)
class Places:
    """A column of bounds: their bytes as rows."""

    rows: Bytes

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The bytes as numbers of 64 bits, the first the highest."""
        count, width = self.rows.shape
        padded = np.zeros((count, -(-width // 8) * 8), np.uint8)
        padded[:, :width] = self.rows
        return padded.view(">u8").astype(np.uint64)

    @property
    def finite(self) -> Mask:
        """Where there is a value."""
        found: Mask = self.rows[:, 0] == VALUE
        return found

    @property
    def keys(self) -> Bytes:
        """The keys of the values."""
        return self.rows[:, 1:-1]

    @property
    def edges(self) -> Bytes:
        """The last bytes."""
        return self.rows[:, -1]

    def compare(self, other: Places) -> npt.NDArray[np.int8]:
        """-1, 0 and 1 where the bound lies before, at and after the other one."""
        order = np.zeros(len(self.rows), np.int8)
        for mine, theirs in zip(self.words.T, other.words.T, strict=True):
            undecided = order == 0
            order += undecided * ((mine > theirs).astype(np.int8) - (mine < theirs).astype(np.int8))
        return order

    def moved(self, by: int) -> Places:
        """The bound seen from its other side: what ended below a value begins at it, and the other way around."""
        rows = self.rows.copy()
        rows[:, -1] = (rows[:, -1].astype(np.int16) + by).astype(np.uint8)
        return Places(rows)

    def where(self, chosen: Mask, other: Places) -> Places:
        """This bound where `chosen`, elsewhere the other one."""
        return Places(np.where(chosen[:, None], self.rows, other.rows))


@dataclass(frozen=True, slots=True)
class RangeColumn:
    """A column of ranges; the bounds of an empty one are zeros."""

    empty: Mask
    lower: Places
    upper: Places


def ranges_of(column: pa.Array) -> RangeColumn:
    """The column taken apart; NULL is the empty range. The width of its rows tells the type's."""
    rows = _rows_of(column)
    middle = 1 + (rows.shape[1] - 1) // 2
    return RangeColumn(rows[:, 0] == 0, Places(rows[:, 1:middle]), Places(rows[:, middle:]))


def _rows_of(column: pa.Array) -> Bytes:
    sizes = pc.binary_length(column)
    width = pc.max(sizes).as_py()
    if width is None:  # all are NULL
        return np.zeros((len(column), 1 + 2 * 3), np.uint8)
    if column.null_count:
        column = column.fill_null(bytes(width))
    offsets = np.frombuffer(column.buffers()[1], np.int32)
    start = int(offsets[column.offset])
    data = np.frombuffer(column.buffers()[2], np.uint8)
    return data[start : start + len(column) * width].reshape(len(column), width)


def column_of(ranges: RangeColumn, valid: pa.Buffer | None = None) -> pa.Array:
    """The column of ranges whose bounds are in canonical form."""
    rows = np.hstack([~ranges.empty[:, None], ranges.lower.rows, ranges.upper.rows]).astype(np.uint8)
    rows[ranges.empty] = 0
    count, width = rows.shape
    offsets = pa.py_buffer((width * np.arange(count + 1)).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), count, [valid, offsets, pa.py_buffer(np.ascontiguousarray(rows))])


@dataclass(frozen=True, slots=True)
class Ends:
    """A column of bounds as they are written: keys, where there is a value, and where it belongs to the range."""

    keys: Bytes
    finite: Mask
    inclusive: Mask


def canonical(element: BoundType, lower: Ends, upper: Ends, empty: Mask) -> RangeColumn:
    """The ranges between bounds, besides those that are `empty`; raises as `packed_range`."""
    both = lower.finite & upper.finite & ~empty
    first, last = (Places(_with_edges(ends.keys, np.full(len(empty), AT))) for ends in (lower, upper))
    order = first.compare(last)
    if (both & (order > 0)).any():
        raise SqlError(_DISORDER, sqlstate="22000")
    empty = empty | (both & (order == 0) & ~(lower.inclusive & upper.inclusive))
    if element.last is not None:
        lower = _written(element, lower, ~lower.inclusive & ~empty, inclusive=True)
        upper = _written(element, upper, upper.inclusive & ~empty, inclusive=False)
        same = (lower.keys == upper.keys).all(axis=1)
        empty = empty | (both & same & ~(lower.inclusive & upper.inclusive))
    starts = np.where(lower.inclusive, AT, AFTER)
    ends = np.where(upper.inclusive, AT, BEFORE)
    return RangeColumn(empty, _places(lower, starts, BELOW), _places(upper, ends, ABOVE))


def _written(element: BoundType, ends: Ends, other: Mask, *, inclusive: bool) -> Ends:
    """The bounds, those of `other` rows by the next value, which belongs to the range or not as the others' do."""
    moved = other & ends.finite
    moved[moved] = with_a_next(element, ends.keys[moved])
    keys, included = ends.keys.copy(), ends.inclusive.copy()
    keys[moved], included[moved] = next_keys(element, keys[moved]), inclusive
    return Ends(keys, ends.finite, included)


def _with_edges(keys: Bytes, edges: npt.NDArray[np.int64], where: int = VALUE) -> Bytes:
    rows = np.empty((len(keys), keys.shape[1] + 2), np.uint8)
    rows[:, 0], rows[:, 1:-1], rows[:, -1] = where, keys, edges
    return rows


def _places(ends: Ends, edges: npt.NDArray[np.int64], beyond: int) -> Places:
    rows = _with_edges(ends.keys, edges)
    rows[~ends.finite] = 0
    rows[~ends.finite, 0] = beyond
    return Places(rows)


def points(keys: Bytes) -> Places:
    """Values as places on the line."""
    return Places(_with_edges(keys, np.full(len(keys), AT)))
