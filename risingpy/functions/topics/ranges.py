"""Operators and functions on ranges (`types.ranges`), on whole columns. Source: PostgreSQL's rangetypes.c.

A bound is a place on one line, `Places`: an upper bound that excludes a value lies below it, a lower one above. So each
operator is a comparison of places, and one of the empty range, which holds nothing and lies nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.functions.topics.numbers.wide_numbers import of_numbers
from risingpy.types import SqlType, TypeKind
from risingpy.types.forms import parse_column, text_column
from risingpy.types.ranges.bounds import (
    ABOVE,
    AT,
    BELOW,
    Ends,
    Places,
    RangeColumn,
    canonical,
    column_of,
    points,
    ranges_of,
)
from risingpy.types.ranges.elements import ELEMENTS, BoundType, Mask, column_of_keys, keys_of

_TSTZRANGE = SqlType(TypeKind.TSTZRANGE)
_NO_PLACE = pa.scalar(None, pa.binary())  # of a bound of the empty range
_FLAGS = ("[]", "[)", "(]", "()")


def contains(outer: RangeColumn, inner: RangeColumn) -> Mask:
    """`@>`: the first has all values of the second, an empty one in any case."""
    within = (outer.lower.compare(inner.lower) <= 0) & (outer.upper.compare(inner.upper) >= 0)
    return inner.empty | (~outer.empty & within)


def _contained(inner: RangeColumn, outer: RangeColumn) -> Mask:
    return contains(outer, inner)


def overlap(one: RangeColumn, other: RangeColumn) -> Mask:
    """`&&`: they share a value."""
    crossing = (one.lower.compare(other.upper) <= 0) & (other.lower.compare(one.upper) <= 0)
    return crossing & ~one.empty & ~other.empty


def before(one: RangeColumn, other: RangeColumn) -> Mask:
    """`<<`: the first ends before the second begins."""
    return (one.upper.compare(other.lower) < 0) & ~one.empty & ~other.empty


def after(one: RangeColumn, other: RangeColumn) -> Mask:
    """`>>`: the first begins after the second has ended."""
    return before(other, one)


def not_right(one: RangeColumn, other: RangeColumn) -> Mask:
    """`&<`: the first does not end after the second."""
    return (one.upper.compare(other.upper) <= 0) & ~one.empty & ~other.empty


def not_left(one: RangeColumn, other: RangeColumn) -> Mask:
    """`&>`: the first does not begin before the second."""
    return (one.lower.compare(other.lower) >= 0) & ~one.empty & ~other.empty


def adjacent(one: RangeColumn, other: RangeColumn) -> Mask:
    """`-|-`: they meet without a gap, and share nothing: one ends just where the other begins."""
    return (_meet(one.upper, other.lower) | _meet(other.upper, one.lower)) & ~one.empty & ~other.empty


def _meet(upper: Places, lower: Places) -> Mask:
    """A value is in exactly one of the ranges that end and begin at it."""
    met: Mask = upper.finite & lower.finite & (upper.moved(1).compare(lower) == 0)
    return met


def _union(one: RangeColumn, other: RangeColumn) -> RangeColumn:
    """Raises 22000 where the two leave a gap."""
    if (~one.empty & ~other.empty & ~overlap(one, other) & ~adjacent(one, other)).any():
        raise SqlError("result of range union would not be contiguous", sqlstate="22000")
    return _merged(one, other)


def _merged(one: RangeColumn, other: RangeColumn) -> RangeColumn:
    """The smallest range that has both in it."""
    lower = one.lower.where(_taken(one, other, one.lower.compare(other.lower) <= 0), other.lower)
    upper = one.upper.where(_taken(one, other, one.upper.compare(other.upper) >= 0), other.upper)
    return RangeColumn(one.empty & other.empty, lower, upper)


def _taken(one: RangeColumn, other: RangeColumn, further: Mask) -> Mask:
    """Whether a bound is the first range's: it reaches further, or the other range is empty."""
    return other.empty | (further & ~one.empty)


def _intersection(one: RangeColumn, other: RangeColumn) -> RangeColumn:
    lower = one.lower.where(one.lower.compare(other.lower) >= 0, other.lower)
    upper = one.upper.where(one.upper.compare(other.upper) <= 0, other.upper)
    return RangeColumn(~overlap(one, other), lower, upper)


def _minus(one: RangeColumn, other: RangeColumn) -> RangeColumn:
    """What of the first is not in the second. Raises 22000 where that is in two pieces."""
    apart = ~overlap(one, other)
    begins_first = one.lower.compare(other.lower) < 0
    ends_last = one.upper.compare(other.upper) > 0
    if (~apart & begins_first & ends_last).any():
        raise SqlError("result of range difference would not be contiguous", sqlstate="22000")
    # What is left begins where the second ends, or ends where it begins: that bound, seen from its other side.
    lower = other.upper.moved(1).where(~apart & ends_last, one.lower)
    upper = other.lower.moved(-1).where(~apart & begins_first, one.upper)
    return RangeColumn(one.empty | (~apart & ~begins_first & ~ends_last), lower, upper)


def _test(test: Callable[[RangeColumn, RangeColumn], Mask]) -> Function:
    return Function(lambda left, right: pa.array(test(ranges_of(left), ranges_of(right))))


def _combined(combine: Callable[[RangeColumn, RangeColumn], RangeColumn]) -> Function:
    return Function(lambda left, right: column_of(combine(ranges_of(left), ranges_of(right))))


def _of_one(test: Callable[[RangeColumn], Mask]) -> Function:
    return Function(lambda column: pa.array(test(ranges_of(column))))


def inclusive(places: Places) -> Mask:
    """Whether a bound is a value of the range."""
    found: Mask = places.finite & (places.edges == AT)
    return found


def bound_values(element: BoundType, column: pa.Array) -> pa.Array:
    """The bounds of a call, a numeric of few digits as a wide one."""
    return of_numbers(column) if element.is_numeric and pa.types.is_decimal(column.type) else column


def _contains_element(element: BoundType, column: pa.Array, values: pa.Array) -> pa.Array:
    ranges, places = ranges_of(column), points(keys_of(element, bound_values(element, values)))
    within = (ranges.lower.compare(places) <= 0) & (places.compare(ranges.upper) <= 0)
    return pa.array(within & ~ranges.empty)


def _lower(element: BoundType, column: pa.Array) -> pa.Array:
    ranges = ranges_of(column)
    return column_of_keys(element, ranges.lower.keys, ~ranges.lower.finite)


def _upper(element: BoundType, column: pa.Array) -> pa.Array:
    ranges = ranges_of(column)
    return column_of_keys(element, ranges.upper.keys, ~ranges.upper.finite)


def _bound(places: Places, missing: pa.Array | pa.Scalar, empty: Mask) -> pa.Array:
    """The bytes of a bound, which order as places do; of an empty range what stands for a missing one."""
    count, width = places.rows.shape
    offsets = pa.py_buffer((width * np.arange(count + 1)).astype(np.int32))
    data = pa.py_buffer(np.ascontiguousarray(places.rows))
    return pc.if_else(pa.array(empty), missing, pa.Array.from_buffers(pa.binary(), count, [None, offsets, data]))


def _low(column: pa.Array, missing: pa.Array | pa.Scalar = _NO_PLACE) -> pa.Array:
    """Where a range begins; an empty one at `missing`."""
    ranges = ranges_of(column)
    return _bound(ranges.lower, missing, ranges.empty)


def _high(column: pa.Array, missing: pa.Array | pa.Scalar = _NO_PLACE) -> pa.Array:
    """Where a range ends; an empty one at `missing`."""
    ranges = ranges_of(column)
    return _bound(ranges.upper, missing, ranges.empty)


def _made(element: BoundType, lower: pa.Array, upper: pa.Array, flags: pa.Array | None = None) -> pa.Array:
    """The constructor: NULL is no bound. Raises 42601 for flags that are none, and what `canonical` raises."""
    closed = to_end = pa.scalar(False)
    if flags is None:
        closed = pa.scalar(True)
    else:
        _check_flags(flags)
        closed, to_end = pc.starts_with(flags, "["), pc.ends_with(flags, "]")
    nowhere = np.zeros(len(lower), np.bool_)
    return column_of(canonical(element, _ends(element, lower, closed), _ends(element, upper, to_end), nowhere))


def _check_flags(flags: pa.Array) -> None:
    if flags.null_count:
        raise SqlError("range constructor flags argument must not be null", sqlstate="22000")
    if not pc.all(pc.is_in(flags, pa.array(_FLAGS)), min_count=0).as_py():
        hint = 'Valid values are "[]", "[)", "(]", and "()".'
        raise SqlError("invalid range bound flags", sqlstate="42601", hint=hint)


def _ends(element: BoundType, column: pa.Array, inclusive: pa.Array | pa.Scalar) -> Ends:
    finite: npt.NDArray[np.bool_] = pc.is_valid(column).to_numpy(zero_copy_only=False)
    included = np.broadcast_to(
        np.asarray(inclusive.as_py() if isinstance(inclusive, pa.Scalar) else inclusive), finite.shape
    )
    return Ends(keys_of(element, bound_values(element, column)), finite, finite & included)


def _of_element(kind: TypeKind) -> dict[str, Function]:
    """The functions that know the type of the bounds."""
    name, element = kind.value, ELEMENTS[kind]
    wide = "wide_" if element.is_numeric else ""
    contains: Compute = partial(_contains_element, element)
    return {
        name: Function(partial(_made, element), takes_nulls=True),
        f"{name}_contains_element": Function(contains),
        f"{name}_contains_own_element": Function(lambda values, column: contains(column, values)),
        f"{wide}{name}_lower": Function(partial(_lower, element)),
        f"{wide}{name}_upper": Function(partial(_upper, element)),
    }


def _text_at(zone_name: str) -> Compute:
    return lambda column: text_column(_TSTZRANGE, column, time_zone=zone_name)


def _parse_at(zone_name: str) -> Compute:
    return lambda texts: parse_column(_TSTZRANGE, texts, time_zone=zone_name)


RANGES: dict[str, Function] = {
    "range_contains": _test(contains),
    "range_contained": _test(_contained),
    "range_overlaps": _test(overlap),
    "range_before": _test(before),
    "range_after": _test(after),
    "range_not_right": _test(not_right),
    "range_not_left": _test(not_left),
    "range_adjacent": _test(adjacent),
    "range_union": _combined(_union),
    "range_minus": _combined(_minus),
    "range_intersect": _combined(_intersection),
    "range_merge": _combined(_merged),
    "range_low": Function(_low),
    "range_high": Function(_high),
    "range_is_empty": _of_one(lambda ranges: ranges.empty),
    "range_lower_inc": _of_one(lambda ranges: inclusive(ranges.lower)),
    "range_upper_inc": _of_one(lambda ranges: inclusive(ranges.upper)),
    "range_lower_inf": _of_one(lambda ranges: ~ranges.empty & (ranges.lower.rows[:, 0] == BELOW)),
    "range_upper_inf": _of_one(lambda ranges: ~ranges.empty & (ranges.upper.rows[:, 0] == ABOVE)),
    "tstzrange_text_at": Function(per_constant(_text_at, [1])),
    "parse_tstzrange_at": Function(per_constant(_parse_at, [1])),
    **{name: function for kind in ELEMENTS for name, function in _of_element(kind).items()},
}

TAKE_WIDE = frozenset({"numrange", "numrange_contains_element", "numrange_contains_own_element"})
"""The functions of the signature table that take numerics of whatever precision."""
