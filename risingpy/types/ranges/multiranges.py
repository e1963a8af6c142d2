"""The bytes of a multirange, and of columns of multiranges their union, intersection and difference.

    {[1,3),[7,9)}    01 … 01 …         the bytes of its ranges (`bounds`), one after the other
    {}               no byte

The ranges of a multirange are in order, none is empty, and between two of them something is missing. So equal sets of
values are equal bytes. The bytes order as PostgreSQL's btree orders multiranges: by the first ranges, then by the
second ones, and the multirange that ends first is less. Source: PostgreSQL's multirangetypes.c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.types.families import MULTIRANGE_OF, TypeKind
from risingpy.types.ranges.bounds import VALUE, Places, RangeColumn, column_of, ranges_of, width_of
from risingpy.types.ranges.elements import ELEMENTS, BoundType, Bytes, Integers, Mask
from risingpy.types.sql_type import SqlType

RANGE_OF: dict[TypeKind, SqlType] = {several: SqlType(one) for one, several in MULTIRANGE_OF.items()}
"""The type of the ranges of each multirange type."""

MULTIRANGE_KINDS: frozenset[TypeKind] = frozenset(RANGE_OF)

NO_RANGES = b""
"""The multirange that holds nothing."""


def element_of(kind: TypeKind) -> BoundType:
    """The type of the bounds of a multirange type."""
    return ELEMENTS[RANGE_OF[kind].kind]


def prefix_of(element: BoundType) -> str:
    """What the names of functions begin with that need know no more of the bounds than how wide they are."""
    return "nummultirange" if element.is_numeric else "multirange"


@dataclass(frozen=True, slots=True)
class MultirangeColumn:
    """A column of multiranges: those of row k are `ranges[offsets[k]:offsets[k + 1]]`, none of them empty."""

    offsets: Integers
    ranges: RangeColumn

    @property
    def counts(self) -> Integers:
        """How many ranges each row has."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Integers:
        """The row of each range."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    @property
    def span(self) -> RangeColumn:
        """The smallest range that holds a whole row, from the first lower bound to the last upper one."""
        empty = self.counts == 0
        lower, upper = (np.zeros((len(empty), self.ranges.lower.rows.shape[1]), np.uint8) for _ in range(2))
        lower[~empty] = self.ranges.lower.rows[self.offsets[:-1][~empty]]
        upper[~empty] = self.ranges.upper.rows[self.offsets[1:][~empty] - 1]
        return RangeColumn(empty, Places(lower), Places(upper))

    def any_of(self, mask: Mask) -> Mask:
        """Of a mask of all ranges, whether any of a row's holds."""
        passed = np.concatenate([[0], np.cumsum(mask)])
        found: Mask = passed[self.offsets[1:]] > passed[self.offsets[:-1]]
        return found


def repeated(ranges: RangeColumn, rows: Integers) -> RangeColumn:
    """The ranges of these rows."""
    return RangeColumn(ranges.empty[rows], Places(ranges.lower.rows[rows]), Places(ranges.upper.rows[rows]))


def multiranges_of(element: BoundType, column: pa.Array) -> MultirangeColumn:
    """The column taken apart; NULL holds nothing."""
    width = width_of(element)
    if column.null_count:
        column = column.fill_null(NO_RANGES)
    starts = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    start, end = int(starts[0]), int(starts[-1])
    data = column.buffers()[2]
    ranges = np.frombuffer(data, np.uint8)[start:end] if data is not None else np.zeros(0, np.uint8)
    return MultirangeColumn((starts.astype(np.int64) - start) // width, _ranges_of_rows(ranges.reshape(-1, width)))


def _ranges_of_rows(rows: Bytes) -> RangeColumn:
    middle = 1 + (rows.shape[1] - 1) // 2
    return RangeColumn(rows[:, 0] == 0, Places(rows[:, 1:middle]), Places(rows[:, middle:]))


def ranges_as_multiranges(ranges: RangeColumn) -> MultirangeColumn:
    """Of each range the multirange that has just it, or nothing."""
    offsets = np.concatenate([[0], np.cumsum(~ranges.empty)])
    return MultirangeColumn(offsets, repeated(ranges, np.flatnonzero(~ranges.empty)))


def column_of_multiranges(
    element: BoundType, multiranges: MultirangeColumn, valid: pa.Buffer | None = None
) -> pa.Array:
    """The column of bytes."""
    flat = column_of(multiranges.ranges)
    offsets = pa.py_buffer((multiranges.offsets * width_of(element)).astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(multiranges.offsets) - 1, [valid, offsets, flat.buffers()[2]])


def list_of_ranges(multiranges: MultirangeColumn) -> pa.Array:
    """The column of lists of ranges."""
    return pa.ListArray.from_arrays(multiranges.offsets.astype(np.int32), column_of(multiranges.ranges))


def union(rows: int, one: MultirangeColumn, other: MultirangeColumn) -> MultirangeColumn:
    """What either holds."""
    return _where(rows, _layers(one, other), lambda _, first, second: (first > 0) | (second > 0))


def common(rows: int, one: MultirangeColumn, other: MultirangeColumn) -> MultirangeColumn:
    """What both hold."""
    return _where(rows, _layers(one, other), lambda _, first, second: (first > 0) & (second > 0))


def difference(rows: int, one: MultirangeColumn, other: MultirangeColumn) -> MultirangeColumn:
    """What the first holds and the second does not."""
    return _where(rows, _layers(one, other), lambda _, first, second: (first > 0) & (second == 0))


def united(count: int, rows: Integers, ranges: RangeColumn) -> MultirangeColumn:
    """What the ranges of each row hold together. They may overlap and be in any order; `rows` has the row of each."""
    return _where(count, [_not_empty(rows, ranges)], lambda _, inside: inside > 0)


def common_of(count: int, rows: Integers, ranges: RangeColumn, times: Integers) -> MultirangeColumn:
    """What at least `times[k]` of the ranges of row k hold: what all sets have in common, of so many sets."""
    return _where(count, [_not_empty(rows, ranges)], lambda owners, inside: (inside > 0) & (inside >= times[owners]))


_Layer = tuple[Integers, RangeColumn]


def _layers(one: MultirangeColumn, other: MultirangeColumn) -> list[_Layer]:
    return [(one.rows, one.ranges), (other.rows, other.ranges)]


def _not_empty(rows: Integers, ranges: RangeColumn) -> _Layer:
    kept = np.flatnonzero(~ranges.empty)
    return rows[kept], repeated(ranges, kept)


def _where(count: int, layers: Sequence[_Layer], holds: Callable[..., Mask]) -> MultirangeColumn:
    """The places of each of `count` rows where `holds`, called with rows and how many ranges of each layer are there.

    A sweep over all rows at once. A bound cuts the line between two values: `[a` and `a)` just before a, `(a` and `a]`
    just after it. So a range is what lies from one cut to the next one, ranges that touch share a cut, and a set begins
    and ends where what holds changes. Cuts of a row are sorted, the ranges of a layer that have begun and not ended are
    counted, and what stands after the last one of several equal cuts decides. After a row's last cut nothing holds, so
    that the cuts of all rows can be one list.
    """
    owners = np.concatenate([rows for rows, _ in layers for _ in range(2)])
    cuts = np.vstack(
        [_cuts(bound, by) for _, ranges in layers for bound, by in ((ranges.lower, -1), (ranges.upper, 0))]
    )
    steps = [np.zeros(len(owners), np.int32) for _ in layers]
    at = 0
    for step, (rows, _) in zip(steps, layers, strict=True):
        step[at : at + len(rows)], step[at + len(rows) : at + 2 * len(rows)] = 1, -1
        at += 2 * len(rows)
    words = Places(cuts).words
    order = np.lexsort((*words.T[::-1], owners))
    owners, words = owners[order], words[order]
    last = np.ones(len(order), np.bool_)
    last[:-1] = (owners[1:] != owners[:-1]) | (words[1:] != words[:-1]).any(axis=1)
    places = np.flatnonzero(last)
    counts = [np.cumsum(step[order])[places] for step in steps]
    inside = holds(owners[places], *counts)
    before = np.zeros_like(inside)
    before[1:] = inside[:-1]
    begins, ends = places[inside & ~before], places[~inside & before]
    sorted_cuts = cuts[order]
    empty = np.zeros(len(begins), np.bool_)
    ranges = RangeColumn(empty, _moved(sorted_cuts[begins], 1), _moved(sorted_cuts[ends], 0))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners[begins], minlength=count))])
    return MultirangeColumn(offsets, ranges)


def _cuts(bound: Places, by: int) -> Bytes:
    return _moved(bound.rows, by).rows


def _moved(rows: Bytes, by: int) -> Places:
    """The rows with another edge, where there is a value."""
    moved = rows.copy()
    moved[:, -1] = np.where(rows[:, 0] == VALUE, rows[:, -1].astype(np.int16) + by, rows[:, -1]).astype(np.uint8)
    return Places(moved)


def flat_ranges(lists: pa.Array) -> tuple[Integers, RangeColumn]:
    """The ranges of a column of lists without NULL, each with its row."""
    sizes: npt.NDArray[np.int64] = np.diff(np.asarray(lists.offsets)).astype(np.int64)
    return np.repeat(np.arange(len(lists)), sizes), ranges_of(lists.flatten())
