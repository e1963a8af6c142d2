"""Operators and functions on multiranges (`types.ranges.multiranges`), on whole columns. Source: multirangetypes.c.

A comparison of where multiranges begin and end is the function of ranges, asked of their spans, from the first bound to
the last one. A question about a range or a value is asked of each range of the row. A set made of two is a sweep. The
bytes do not tell how long a range is, so functions of nummultirange have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.topics import ranges as of_ranges
from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.types import SqlType, TypeKind
from risingpy.types.families import MULTIRANGE_OF
from risingpy.types.forms import parse_column, text_column
from risingpy.types.ranges.bounds import ABOVE, BELOW, Places, RangeColumn, column_of, points, ranges_of
from risingpy.types.ranges.elements import BoundType, Mask, column_of_keys, keys_of
from risingpy.types.ranges.multiranges import (
    MultirangeColumn,
    column_of_multiranges,
    common,
    common_of,
    difference,
    element_of,
    flat_ranges,
    list_of_ranges,
    multiranges_of,
    prefix_of,
    ranges_as_multiranges,
    repeated,
    union,
    united,
)

_Two = Callable[[int, MultirangeColumn, MultirangeColumn], MultirangeColumn]
_TSTZMULTIRANGE = SqlType(TypeKind.TSTZMULTIRANGE)


@dataclass(frozen=True, slots=True)
class _OfWidth:
    """The functions of multiranges whose bounds are as wide as the element's."""

    element: BoundType

    def of_spans(self, test: Callable[[RangeColumn, RangeColumn], Mask], name: str) -> dict[str, Function]:
        """A comparison of beginnings and ends: of two multiranges, and of one with a range at either side."""
        return {
            name: Function(lambda one, other: pa.array(test(self._span(one), self._span(other)))),
            f"{name}_range": Function(lambda one, other: pa.array(test(self._span(one), ranges_of(other)))),
            f"range_{name}": Function(lambda one, other: pa.array(test(ranges_of(one), self._span(other)))),
        }

    def _span(self, column: pa.Array) -> RangeColumn:
        return self.taken(column).span

    def taken(self, column: pa.Array) -> MultirangeColumn:
        """The column taken apart."""
        return multiranges_of(self.element, column)

    def made(self, multiranges: MultirangeColumn) -> pa.Array:
        """The column put together."""
        return column_of_multiranges(self.element, multiranges)

    def of_two(self, combine: _Two) -> Function:
        """A set made of two."""
        return Function(lambda one, other: self.made(combine(len(one), self.taken(one), self.taken(other))))

    def overlaps(self, one: pa.Array, other: pa.Array) -> pa.Array:
        """Whether they share a value."""
        return pa.array(common(len(one), self.taken(one), self.taken(other)).counts > 0)

    def contains(self, outer: pa.Array, inner: pa.Array) -> pa.Array:
        """Whether the first has all values of the second."""
        return pa.array(difference(len(outer), self.taken(inner), self.taken(outer)).counts == 0)

    def overlaps_range(self, column: pa.Array, ranges: pa.Array) -> pa.Array:
        """Whether they share a value."""
        multiranges = self.taken(column)
        one = repeated(ranges_of(ranges), multiranges.rows)
        return pa.array(multiranges.any_of(of_ranges.overlap(multiranges.ranges, one)))

    def contains_range(self, column: pa.Array, ranges: pa.Array) -> pa.Array:
        """Whether a range of the multirange has all values of the range: there is a gap between any two."""
        multiranges, inner = self.taken(column), ranges_of(ranges)
        within = of_ranges.contains(multiranges.ranges, repeated(inner, multiranges.rows))
        return pa.array(multiranges.any_of(within) | inner.empty)

    def in_range(self, column: pa.Array, ranges: pa.Array) -> pa.Array:
        """Whether the range has all values of the multirange."""
        return pa.array(of_ranges.contains(ranges_of(ranges), self._span(column)))

    def of_ends(self, test: Callable[[RangeColumn], Mask]) -> Function:
        """A question about where the multirange begins or ends."""
        return Function(lambda column: pa.array(test(self._span(column))))

    def of_range(self, column: pa.Array) -> pa.Array:
        """The multirange that has one range, or none if that is empty."""
        return self.made(ranges_as_multiranges(ranges_of(column)))

    def of_ranges(self, lists: pa.Array) -> pa.Array:
        """The multirange of an array of ranges. Raises 22004 for a NULL among them."""
        if lists.flatten().null_count:
            raise SqlError("multirange values cannot contain null members", sqlstate="22004")
        return self.made(united(len(lists), *flat_ranges(lists)))

    def union_of_ranges(self, lists: pa.Array) -> pa.Array:
        """What is in any of the ranges; NULL of none. A NULL among them counts for nothing."""
        rows, ranges = flat_ranges(lists)
        return self._unless_nothing(lists, self.made(united(len(lists), rows, ranges)))

    def union_of(self, lists: pa.Array) -> pa.Array:
        """`union_of_ranges` of an array of multiranges."""
        rows, ranges = self._flat(lists)
        return self._unless_nothing(lists, self.made(united(len(lists), rows, ranges)))

    def common_of_ranges(self, lists: pa.Array) -> pa.Array:
        """The range that all ranges have in common; NULL of none."""
        rows, ranges = flat_ranges(lists)
        found = common_of(len(lists), rows, ranges, _present(lists))
        return self._unless_nothing(lists, column_of(found.span))

    def common_of(self, lists: pa.Array) -> pa.Array:
        """What all multiranges of an array have in common; NULL of none."""
        rows, ranges = self._flat(lists)
        found = common_of(len(lists), rows, ranges, _present(lists))
        return self._unless_nothing(lists, self.made(found))

    def _flat(self, lists: pa.Array) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], RangeColumn]:
        """The ranges of all multiranges of each row."""
        multiranges = self.taken(lists.flatten())
        return _owners(lists)[multiranges.rows], multiranges.ranges

    def _unless_nothing(self, lists: pa.Array, results: pa.Array) -> pa.Array:
        return pc.if_else(pa.array(_present(lists) > 0), results, pa.scalar(None, pa.binary()))

    def contains_element(self, column: pa.Array, values: pa.Array) -> pa.Array:
        """Whether the value is in one of the ranges."""
        multiranges = self.taken(column)
        keys = keys_of(self.element, of_ranges.bound_values(self.element, values))
        places = Places(points(keys).rows[multiranges.rows])
        ranges = multiranges.ranges
        within = (ranges.lower.compare(places) <= 0) & (places.compare(ranges.upper) <= 0)
        return pa.array(multiranges.any_of(within))

    def lower(self, column: pa.Array) -> pa.Array:
        """Where the first range begins; NULL without one, or without a bound."""
        return self._bound(self._span(column).lower)

    def upper(self, column: pa.Array) -> pa.Array:
        """Where the last range ends; NULL without one, or without a bound."""
        return self._bound(self._span(column).upper)

    def _bound(self, places: Places) -> pa.Array:
        return column_of_keys(self.element, places.keys, ~places.finite)


def _owners(lists: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.repeat(np.arange(len(lists)), np.diff(np.asarray(lists.offsets)))


def _present(lists: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many elements of each list are not NULL."""
    valid = pc.is_valid(lists.flatten()).to_numpy(zero_copy_only=False)
    return np.bincount(_owners(lists)[valid], minlength=len(lists))


def _of_width(element: BoundType) -> dict[str, Function]:
    """The functions that need know no more of the bounds than how wide they are."""
    name, of = prefix_of(element), _OfWidth(element)
    return {
        **of.of_spans(of_ranges.before, f"{name}_before"),
        **of.of_spans(of_ranges.after, f"{name}_after"),
        **of.of_spans(of_ranges.not_right, f"{name}_not_right"),
        **of.of_spans(of_ranges.not_left, f"{name}_not_left"),
        **of.of_spans(of_ranges.adjacent, f"{name}_adjacent"),
        f"{name}_overlaps": Function(of.overlaps),
        f"{name}_overlaps_range": Function(of.overlaps_range),
        f"range_overlaps_{name}": Function(lambda ranges, column: of.overlaps_range(column, ranges)),
        f"{name}_contains": Function(of.contains),
        f"{name}_contained": Function(lambda inner, outer: of.contains(outer, inner)),
        f"{name}_contains_range": Function(of.contains_range),
        f"range_contained_by_{name}": Function(lambda ranges, column: of.contains_range(column, ranges)),
        f"{name}_contained_by_range": Function(of.in_range),
        f"range_contains_{name}": Function(lambda ranges, column: of.in_range(column, ranges)),
        f"{name}_union": of.of_two(union),
        f"{name}_minus": of.of_two(difference),
        f"{name}_intersect": of.of_two(common),
        f"{name}_span": Function(lambda column: column_of(of.taken(column).span)),
        f"{name}_ranges": Function(lambda column: list_of_ranges(of.taken(column))),
        f"{name}_is_empty": of.of_ends(lambda span: span.empty),
        f"{name}_lower_inc": of.of_ends(lambda span: ~span.empty & of_ranges.inclusive(span.lower)),
        f"{name}_upper_inc": of.of_ends(lambda span: ~span.empty & of_ranges.inclusive(span.upper)),
        f"{name}_lower_inf": of.of_ends(lambda span: ~span.empty & (span.lower.rows[:, 0] == BELOW)),
        f"{name}_upper_inf": of.of_ends(lambda span: ~span.empty & (span.upper.rows[:, 0] == ABOVE)),
        f"{name}_of_range": Function(of.of_range),
        f"{name}_of_ranges": Function(of.of_ranges),
        f"{name}_union_of_ranges": Function(of.union_of_ranges),
        f"{name}_union_of": Function(of.union_of),
        f"{name}_common_of_ranges": Function(of.common_of_ranges),
        f"{name}_common_of": Function(of.common_of),
    }


def _of_element(kind: TypeKind) -> dict[str, Function]:
    """The functions that know the type of the bounds."""
    name, of = kind.value, _OfWidth(element_of(kind))
    wide = "wide_" if of.element.is_numeric else ""
    return {
        f"{name}_contains_element": Function(of.contains_element),
        f"{name}_contains_own_element": Function(lambda values, column: of.contains_element(column, values)),
        f"{wide}{name}_lower": Function(of.lower),
        f"{wide}{name}_upper": Function(of.upper),
    }


def _text_at(zone_name: str) -> Compute:
    return partial(text_column, _TSTZMULTIRANGE, time_zone=zone_name)


def _parse_at(zone_name: str) -> Compute:
    return partial(parse_column, _TSTZMULTIRANGE, time_zone=zone_name)


MULTIRANGES: dict[str, Function] = {
    "tstzmultirange_text_at": Function(per_constant(_text_at, [1])),
    "parse_tstzmultirange_at": Function(per_constant(_parse_at, [1])),
    **_of_width(element_of(TypeKind.INT8MULTIRANGE)),
    **_of_width(element_of(TypeKind.NUMMULTIRANGE)),
    **{name: function for kind in MULTIRANGE_OF.values() for name, function in _of_element(kind).items()},
}

TAKE_WIDE = frozenset({"nummultirange_contains_element", "nummultirange_contains_own_element"})
"""The functions of the signature table that take numerics of whatever precision."""
