"""Functions on double precision that DuckDB lacks: trigonometry in degrees, exact at the round angles; buckets.

The formulas are those of PostgreSQL's float.c. Arrow's sine is the C library's, as PostgreSQL's is; NumPy's is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import NumericValueOutOfRange
from risingpy.functions.topics.calling import Function, fail_where

Doubles: TypeAlias = "npt.NDArray[np.float64]"

_DEGREE = 0.0174532925199432957692
_SIN_30 = math.sin(30.0 * _DEGREE)
_ONE_MINUS_COS_60 = 1.0 - math.cos(60.0 * _DEGREE)
_ASIN_HALF, _ACOS_HALF, _ATAN_ONE = math.asin(0.5), math.acos(0.5), math.atan(1.0)
_BUCKETS = "2201G"
_MAX_INTEGER = 2**31 - 1


def _libm(function: str, *arguments: Doubles) -> Doubles:
    value: Doubles = pc.call_function(function, [pa.array(a) for a in arguments]).to_numpy(zero_copy_only=False)
    return value


def _sine_to_30(x: Doubles) -> Doubles:
    return (_libm("sin", x * _DEGREE) / _SIN_30) / 2.0


def _cosine_to_60(x: Doubles) -> Doubles:
    return 1.0 - ((1.0 - _libm("cos", x * _DEGREE)) / _ONE_MINUS_COS_60) / 2.0


def _sine(x: Doubles) -> Doubles:
    """The sine of angles from 0 to 90 degrees."""
    return np.where(x <= 30.0, _sine_to_30(x), _cosine_to_60(90.0 - x))


def _cosine(x: Doubles) -> Doubles:
    """The cosine of angles from 0 to 90 degrees."""
    return np.where(x <= 60.0, _cosine_to_60(x), _sine_to_30(90.0 - x))


_FORTY_FIVE = np.array([45.0])
_TAN_45 = (_sine(_FORTY_FIVE) / _cosine(_FORTY_FIVE))[0]
_COT_45 = (_cosine(_FORTY_FIVE) / _sine(_FORTY_FIVE))[0]


def _of_angle(compute: Callable[[Doubles], Doubles], flips: tuple[bool, bool, bool]) -> Function:
    """`compute` of angles from 0 to 90, for all angles; `flips` says whether -x, 360-x and 180-x change the sign."""

    def computed(column: pa.Array) -> pa.Array:
        x = column.to_numpy()
        fail_where(np.isinf(x), NumericValueOutOfRange, "input is out of range")
        angle = np.fmod(x, 360.0)
        sign = np.ones(len(angle))
        for condition, mirrored, flip in ((0.0, 0.0, flips[0]), (180.0, 360.0, flips[1]), (90.0, 180.0, flips[2])):
            beyond = angle < 0.0 if mirrored == 0.0 else angle > condition
            angle = np.where(beyond, mirrored - angle, angle)
            sign = np.where(beyond & flip, -sign, sign)
        with np.errstate(divide="ignore"):
            return pa.array(sign * compute(angle))

    return Function(computed)


def _tangent(angle: Doubles) -> Doubles:
    quotient: Doubles = (_sine(angle) / _cosine(angle)) / _TAN_45
    return quotient


def _cotangent(angle: Doubles) -> Doubles:
    quotient: Doubles = (_cosine(angle) / _sine(angle)) / _COT_45
    return quotient


def _without_minus_zero(function: Function) -> Function:
    return Function(lambda column: pa.array(function.compute(column).to_numpy() + 0.0))


def _arc_sine(x: Doubles) -> Doubles:
    low = (_libm("asin", np.minimum(x, 0.5)) / _ASIN_HALF) * 30.0
    return np.where(x <= 0.5, low, 90.0 - (_libm("acos", np.maximum(x, 0.5)) / _ACOS_HALF) * 60.0)


def _arc_cosine(x: Doubles) -> Doubles:
    low = 90.0 - (_libm("asin", np.minimum(x, 0.5)) / _ASIN_HALF) * 30.0
    return np.where(x <= 0.5, low, (_libm("acos", np.maximum(x, 0.5)) / _ACOS_HALF) * 60.0)


def _arc(positive: Callable[[Doubles], Doubles], negative: Callable[[Doubles], Doubles]) -> Function:
    def computed(column: pa.Array) -> pa.Array:
        x = column.to_numpy()
        fail_where((x < -1.0) | (x > 1.0), NumericValueOutOfRange, "input is out of range")
        size = np.abs(x)
        return pa.array(np.where(x >= 0.0, positive(size), np.where(np.isnan(x), x, negative(size))))

    return Function(computed)


def _atand(column: pa.Array) -> pa.Array:
    return pa.array((_libm("atan", column.to_numpy()) / _ATAN_ONE) * 45.0)


def _atan2d(y: pa.Array, x: pa.Array) -> pa.Array:
    return pa.array((_libm("atan2", y.to_numpy(), x.to_numpy()) / _ATAN_ONE) * 45.0)


def _width_bucket(operand: pa.Array, first: pa.Array, last: pa.Array, count: pa.Array) -> pa.Array:
    x, low, high = (column.to_numpy() for column in (operand, first, last))
    buckets = count.to_numpy().astype(np.int64)
    fail_where(buckets <= 0, _BUCKETS, "count must be greater than zero")
    has_nan = np.isnan(x) | np.isnan(low) | np.isnan(high)
    fail_where(has_nan, _BUCKETS, "operand, lower bound, and upper bound cannot be NaN")
    fail_where(np.isinf(low) | np.isinf(high), _BUCKETS, "lower and upper bounds must be finite")
    fail_where(low == high, _BUCKETS, "lower bound cannot equal upper bound")
    sign = np.where(low < high, 1.0, -1.0)
    inside = (sign * x >= sign * low) & (sign * x < sign * high)
    # PostgreSQL's order of operations decides where a quotient falls on an edge; halves do not overflow where it would.
    # What rounds beyond the last bucket is of the last bucket.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        places = buckets * (x - low) / (high - low)
        halved = buckets * ((x / 2 - low / 2) / (high / 2 - low / 2))
    places = np.where(inside, np.where(np.isfinite(places) & np.isfinite(high - low), places, halved), 0.0)
    within = np.minimum(places.astype(np.int64), buckets - 1) + 1
    bucket = np.where(sign * x < sign * low, 0, np.where(sign * x >= sign * high, buckets + 1, within))
    fail_where(bucket > _MAX_INTEGER, NumericValueOutOfRange, "integer out of range")
    return pa.array(bucket.astype(np.int32))


MATHEMATICAL: dict[str, Function] = {
    "sind": _of_angle(_sine, (True, True, False)),
    "cosd": _of_angle(_cosine, (False, False, True)),
    "tand": _without_minus_zero(_of_angle(_tangent, (True, True, True))),
    "cotd": _without_minus_zero(_of_angle(_cotangent, (True, True, True))),
    "asind": _arc(_arc_sine, lambda x: -_arc_sine(x)),
    "acosd": _arc(_arc_cosine, lambda x: 90.0 + _arc_sine(x)),
    "atand": Function(_atand),
    "atan2d": Function(_atan2d),
    "width_bucket_float": Function(_width_bucket),
}
