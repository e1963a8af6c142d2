"""Variances and covariances: their numerators against exact fractions, whatever the numbers."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.functions.aggregate.exact_sums import (
    centered,
    sum_floats,
    sum_integers,
    sum_products,
    sum_squares,
    variances,
)

# Squares of these are normal numbers: smaller results lose their last bits.
numbers = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or abs(x) > 1e-70)
signed_pairs = st.lists(st.tuples(st.sampled_from([1, 1, -1]), numbers, numbers), min_size=1, max_size=6)


@given(signed_pairs)
def test_numerators_round_once(rows: list[tuple[int, float, float]]) -> None:
    codes, signs = np.zeros(len(rows), np.int64), np.array([row[0] for row in rows], np.int8)
    x, y = (np.array([row[k] for row in rows]) for k in (1, 2))
    count = max(int(signs.sum()), 1)
    of_x, of_y = sum_floats(codes, signs, 1, x), sum_floats(codes, signs, 1, y)
    (result,) = centered(np.array([count]), of_x, of_y, sum_products(codes, signs, 1, x, y)).tolist()
    sums = [sum((row[0] * Fraction(row[k]) for row in rows), Fraction(0)) for k in (1, 2)]
    product = sum((s * Fraction(a) * Fraction(b) for s, a, b in rows), Fraction(0))
    exact = count * product - sums[0] * sums[1]
    try:
        assert result == float(exact)
    except OverflowError:
        assert result == math.inf if exact > 0 else result == -math.inf


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("root", [False, True])
@given(data=st.data())
def test_spreads_of_whole_numbers(width: int, root: bool, data: st.DataObject) -> None:
    limits = {1: [5, 10**6, 2**63 - 1], 2: [5, 10**12, 10**18], 5: [10**60, 10**90 - 1]}
    limit = data.draw(st.sampled_from(limits[width]))
    values = data.draw(st.lists(st.integers(-limit, limit), min_size=2, max_size=6))
    scale = data.draw(st.sampled_from([0, 16, 45]))
    words = np.array([[(v >> (64 * j)) & (2**64 - 1) for j in range(width)] for v in values], np.uint64)
    flat = words.astype(np.int64).reshape(-1)
    n = len(values)
    given_rows = np.zeros(n, np.int64), np.ones(n, np.int8), 1, flat, width
    counts, divisors = np.array([n]), np.array([n - 1])
    least = min(2 * scale, 45)
    result, scales, failed = variances(
        counts,
        divisors,
        sum_integers(*given_rows),
        sum_squares(*given_rows),
        scale=scale,
        root=root,
        least=np.array([least], np.uint8),
    )
    numerator, denominator = n * sum(v * v for v in values) - sum(values) ** 2, n * (n - 1)
    with localcontext(prec=400, rounding=ROUND_HALF_UP):
        expected, decimals = Decimal(0), 0
        if numerator:
            centered_sum = Decimal(numerator).scaleb(-2 * scale)
            decimals = _decimals(centered_sum, Decimal(denominator), least)
            expected = (centered_sum / denominator).quantize(Decimal(1).scaleb(-decimals))
            if root:
                expected = expected.sqrt().quantize(Decimal(1).scaleb(-decimals))
        if failed[0]:
            assert expected >= Decimal(10) ** 45
        else:
            assert sum(int(limb) * 10 ** (9 * k) for k, limb in enumerate(result)) == expected.scaleb(45)
            assert scales.tolist() == [decimals]


def _decimals(dividend: Decimal, divisor: Decimal, least: int) -> int:
    """How many decimals PostgreSQL gives a quotient: select_div_scale in numeric.c."""
    (weight, digit), (divisor_weight, divisor_digit) = map(_first_digit, (dividend, divisor))
    weight -= divisor_weight + (digit <= divisor_digit)
    return min(max(16 - 4 * weight, least), 45)


def _first_digit(x: Decimal) -> tuple[int, int]:
    weight = x.adjusted() // 4
    return weight, int(x.scaleb(-4 * weight))
