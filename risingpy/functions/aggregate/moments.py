"""Variance, covariance, correlation and regression, from exact sums of values, squares and products.

Their numerators are count · Σxy - Σx · Σy, computed exactly. So no digits are lost if the values are large and close
together, and a retracted value leaves no rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.exact_sums import (
    centered,
    rounded,
    sum_floats,
    sum_integers,
    sum_products,
    sum_squares,
    sum_sums,
    variances,
)
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.scale_counts import counted_kinds, merged_kinds, scales_and_specials
from risingpy.functions.aggregate.sums import integers_of_words
from risingpy.functions.aggregate.value_state import ValueState, integers_of, merged_integers, signed_counts
from risingpy.functions.topics.numbers.wide_kernels import LIMBS
from risingpy.functions.topics.numbers.wide_sum_kernels import WORDS, number_kinds, to_long_words
from risingpy.types import SqlType
from risingpy.types.wide_numeric import DECIMALS, column_of, numbers_of, rows_of

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# function → whether it divides by (number of rows - 1), and whether it is a square root
SPREADS = {
    "var_pop": (False, False),
    "var_samp": (True, False),
    "stddev_pop": (False, True),
    "stddev_samp": (True, True),
}


@dataclass(frozen=True, slots=True)
class NumericSpread(ValueState):
    """var_… and stddev_… of integers and numerics: Σx, Σx², of wide ones the numbers of each scale, all values'."""

    function: str
    argument: SqlType

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, (values,) = counted(rows, arguments)
        words, width = _words(values)
        given = rows.codes, rows.signs, rows.groups, words, width
        sums = [sum_integers(*given), sum_squares(*given)]
        if self.argument.is_wide:
            kinds = np.empty(len(values), np.uint8)
            number_kinds(rows_of(values).reshape(-1), kinds)
            sums.append(counted_kinds(rows.codes, rows.signs, rows.groups, kinds))
        return [*sums, pa.array(signed_counts(rows))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        sums = [sum_sums(codes, groups, column) for column in states[:2]]
        scales = [merged_kinds(codes, groups, column) for column in states[2:-1]]
        return [*sums, *scales, merged_integers(codes, groups, states[-1])]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        sample, root = SPREADS[self.function]
        counts = integers_of(states[-1])
        divisors = counts - 1 if sample else counts
        scale, special = self.argument.scale or 0, None
        least = np.full(len(counts), min(2 * scale, DECIMALS), np.uint8)
        if self.argument.is_wide:
            shown, special = scales_and_specials(states[2])
            least = np.minimum(2 * shown, DECIMALS).astype(np.uint8)
        limbs, scales, failed = variances(counts, divisors, states[0], states[1], scale=scale, root=root, least=least)
        if special is not None:
            special = np.where(special == 0, 0.0, np.nan)
            failed &= special == 0
        signs = np.zeros(len(counts), np.bool_)
        null = failed | (divisors <= 0)
        return column_of(limbs.reshape(-1, LIMBS)[:, ::-1], signs, scales, null, special), int(failed.sum())


@dataclass(frozen=True, slots=True)
class FloatSpread(ValueState):
    """var_… and stddev_… of floating-point numbers: Σx, Σx², numbers of values and of those not finite."""

    function: str

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, columns = counted(rows, arguments)
        finite, odd, (values,) = _finite(rows, columns)
        given = finite.codes, finite.signs, finite.groups
        sums = [sum_floats(*given, values), sum_products(*given, values, values)]
        return [*sums, pa.array(signed_counts(rows)), pa.array(odd)]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return _merged(codes, groups, states, sums=2)

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        sample, root = SPREADS[self.function]
        counts, odd = (integers_of(column) for column in states[2:])
        divisors = counts - 1 if sample else counts
        numerators = centered(counts, states[0], states[0], states[1])
        with np.errstate(all="ignore"):
            spread = numerators / counts / divisors
            values = np.sqrt(spread) if root else spread
        return _shown(values, divisors <= 0, odd > 0)


@dataclass(frozen=True, slots=True)
class Regression(ValueState):
    """The state of regressions over pairs (y, x) of doubles: Σy, Σx, Σy², Σx², Σxy, numbers of pairs, and of those not
    finite."""

    function: str

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, columns = counted(rows, arguments)
        finite, odd, (y, x) = _finite(rows, columns)
        given = finite.codes, finite.signs, finite.groups
        sums = [sum_floats(*given, y), sum_floats(*given, x)]
        products = [sum_products(*given, *pair) for pair in ((y, y), (x, x), (x, y))]
        return [*sums, *products, pa.array(signed_counts(rows)), pa.array(odd)]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return _merged(codes, groups, states, sums=5)

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        counts, odd = (integers_of(column) for column in states[5:])
        of_y, of_x, yy, xx, xy = states[:5]
        pairs = Pairs(
            counts.astype(np.float64),
            rounded(of_y, single=False),
            rounded(of_x, single=False),
            centered(counts, of_y, of_y, yy),
            centered(counts, of_x, of_x, xx),
            centered(counts, of_x, of_y, xy),
        )
        with np.errstate(all="ignore"):
            values, undefined = REGRESSIONS[self.function](pairs)
        # What one pair does not define stays so if its numbers are not finite.
        undefined &= (odd == 0) | (self.function == "covar_samp")
        return _shown(values, undefined | (counts == 0), odd > 0)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The inputs of a regression, per group: n, Σy, Σx, and n times the centered sums of squares and products."""

    n: Floats
    of_y: Floats
    of_x: Floats
    yy: Floats
    xx: Floats
    xy: Floats


Result = tuple[Floats, Mask]  # values, and which are undefined


def _correlation(p: Pairs) -> Result:
    product = p.xx * p.yy
    inside = np.isfinite(product) & (product > 0)
    root = np.where(inside, np.sqrt(product), np.sqrt(p.xx) * np.sqrt(p.yy))
    return np.clip(p.xy / root, -1.0, 1.0), (p.xx == 0) | (p.yy == 0)


def _slope(p: Pairs) -> Result:
    return p.xy / p.xx, p.xx == 0


def _intercept(p: Pairs) -> Result:
    return (p.of_y - p.of_x * p.xy / p.xx) / p.n, p.xx == 0


def _determination(p: Pairs) -> Result:
    return np.where(p.yy == 0, 1.0, p.xy / p.xx * (p.xy / p.yy)), p.xx == 0


def _defined(values: Callable[[Pairs], Floats]) -> Callable[[Pairs], Result]:
    return lambda p: (values(p), np.zeros(len(p.n), np.bool_))


REGRESSIONS: dict[str, Callable[[Pairs], Result]] = {
    "covar_pop": _defined(lambda p: p.xy / p.n / p.n),
    "covar_samp": lambda p: (p.xy / p.n / (p.n - 1), p.n < 2),
    "corr": _correlation,
    "regr_avgx": _defined(lambda p: p.of_x / p.n),
    "regr_avgy": _defined(lambda p: p.of_y / p.n),
    "regr_sxx": _defined(lambda p: p.xx / p.n),
    "regr_syy": _defined(lambda p: p.yy / p.n),
    "regr_sxy": _defined(lambda p: p.xy / p.n),
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _determination,
}


def _words(column: pa.Array) -> tuple[Integers, int]:
    """Numbers as int64 words, the lowest first, and how many words each has."""
    if not pa.types.is_binary(column.type):
        return integers_of_words(column), 2 if pa.types.is_decimal(column.type) else 1
    numbers = numbers_of(column)
    words = np.empty(WORDS * len(column), np.int64)
    to_long_words(np.ascontiguousarray(numbers.limbs[:, ::-1]).reshape(-1), numbers.negative.astype(np.uint8), words)
    return words, WORDS


def counted(rows: GroupedRows, arguments: Sequence[pa.Array]) -> tuple[GroupedRows, list[pa.Array]]:
    """The rows without a NULL among their arguments, and these arguments."""
    if not any(argument.null_count for argument in arguments):
        return rows, list(arguments)
    valid = np.logical_and.reduce([a.is_valid().to_numpy(zero_copy_only=False) for a in arguments])
    return rows.select(valid), [argument.filter(pa.array(valid)) for argument in arguments]


def _finite(rows: GroupedRows, columns: Sequence[pa.Array]) -> tuple[GroupedRows, Integers, list[Floats]]:
    """The rows of finite numbers, the count of each group's other rows, and the numbers."""
    numbers = [np.asarray(column.to_numpy(zero_copy_only=False), np.float64) for column in columns]
    finite = np.logical_and.reduce([np.isfinite(values) for values in numbers])
    if finite.all():
        return rows, np.zeros(rows.groups, np.int64), numbers
    return rows.select(finite), signed_counts(rows.select(~finite)), [values[finite] for values in numbers]


def _merged(codes: Integers, groups: int, states: Sequence[pa.Array], *, sums: int) -> list[pa.Array]:
    """States whose first `sums` columns are exact sums, the others counts."""
    return [
        *(sum_sums(codes, groups, column) for column in states[:sums]),
        *(merged_integers(codes, groups, column) for column in states[sums:]),
    ]


def _shown(values: Floats, undefined: Mask, odd: Mask) -> tuple[pa.Array, int]:
    """The results: NULL if undefined, NaN if a value was not finite; NULL and an error if the result is too large."""
    too_large = ~undefined & ~odd & ~np.isfinite(values)
    shown = np.where(odd, np.nan, values)
    return pa.array(shown, mask=undefined | too_large), int(too_large.sum())
