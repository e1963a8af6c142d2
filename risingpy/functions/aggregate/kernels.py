"""Sums and extremes per group, compiled: `codes[i]` is the group of row i, `signs[i]` is +1 or -1.

Sums of integers and decimals are kept in 192 bits, as three int64 per group, lowest first; additions carry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.storage.kernels.compile import compiled

Integers = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


def _input(item: Any) -> Any:
    return types.Array(item, 1, "C", readonly=True)


_CODES, _SIGNS = _input(types.int64), _input(types.int8)
_OUT = types.Array(types.int64, 1, "C")


@compiled(_CODES, _SIGNS, _input(types.int64), _OUT)
def add_integers(codes: Integers, signs: Signs, values: Integers, sums: Integers) -> None:
    """Adds int64 values to 64-bit sums."""
    for i in range(len(codes)):
        sums[codes[i]] += values[i] if signs[i] > 0 else -values[i]


@compiled(_CODES, _SIGNS, _OUT)
def add_signs(codes: Integers, signs: Signs, sums: Integers) -> None:
    """Counts rows, a retracted one as -1."""
    for i in range(len(codes)):
        sums[codes[i]] += signs[i]


@compiled(_CODES, _SIGNS, _input(types.int64), types.int64, _OUT)
def add_wide(codes: Integers, signs: Signs, values: Integers, words: int, sums: Integers) -> None:
    """Adds values of 1 to 3 `words` (int64, lowest first, sign-extended) to 192-bit sums."""
    for i in range(len(codes)):
        low = values[words * i]
        middle = values[words * i + 1] if words > 1 else low >> 63
        high = values[words * i + 2] if words > 2 else middle >> 63
        k = 3 * codes[i]
        if signs[i] > 0:
            total = sums[k] + low
            carry = 1 if np.uint64(total) < np.uint64(low) else 0
            sums[k] = total
            total = sums[k + 1] + middle
            overflow = 1 if np.uint64(total) < np.uint64(middle) else 0
            sums[k + 1] = total + carry
            if carry == 1 and total == -1:
                overflow += 1
            sums[k + 2] += high + overflow
        else:
            borrow = 1 if np.uint64(sums[k]) < np.uint64(low) else 0
            sums[k] -= low
            underflow = 1 if np.uint64(sums[k + 1]) < np.uint64(middle) else 0
            rest = sums[k + 1] - middle
            if borrow == 1 and rest == 0:
                underflow += 1
            sums[k + 1] = rest - borrow
            sums[k + 2] -= high + underflow


@compiled(_CODES, _input(types.int64), types.int64, _OUT)
def extreme_rows(codes: Integers, ranks: Integers, direction: int, rows: Integers) -> None:
    """Per group, the row of the largest rank (direction 1) or the smallest (-1); `rows` starts as -1."""
    for i in range(len(codes)):
        k = codes[i]
        if rows[k] < 0 or (ranks[i] > ranks[rows[k]] if direction > 0 else ranks[i] < ranks[rows[k]]):
            rows[k] = i


@compiled(_CODES, _SIGNS, _input(types.int64), types.int64, _OUT)
def add_bits(codes: Integers, signs: Signs, values: Integers, width: int, counts: Integers) -> None:
    """Counts, per group, the values that have each of the `width` lowest bits."""
    for i in range(len(codes)):
        first = codes[i] * width
        for bit in range(width):
            counts[first + bit] += signs[i] * ((values[i] >> bit) & 1)
