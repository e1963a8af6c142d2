"""Distances between vectors (`types.packed.float_vector`), compiled. A row's dimensions are added in order, in doubles.

`words` are the big-endian words of a column of vectors as the machine reads them, little-endian; `starts[i]` is the
first of row i, `starts[rows]` the end of the last. So the result of a row depends on that row alone, on every machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.storage.kernels.compile import compiled, inlined

Words = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

L2_SQUARED, INNER_PRODUCT, COSINE, L1 = range(4)

_WORDS = types.Array(types.uint32, 1, "C", readonly=True)
_STARTS = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.float64, 1, "C")


@inlined
def _decode(words: Words, start: int, end: int, bits: Words) -> None:
    """The bits of the reals of a row."""
    for k in range(start, end):
        word = words[k]
        word = (word >> 24) | ((word >> 8) & 0xFF00) | ((word << 8) & 0xFF0000) | (word << 24)
        bits[k - start] = word ^ np.uint32(0x80000000) if word & np.uint32(0x80000000) else ~word


@compiled(types.int64, _WORDS, _STARTS, _WORDS, _STARTS, types.int64, _OUT)
def distances(
    kind: int, left: Words, left_starts: Integers, right: Words, right_starts: Integers, longest: int, out: Floats
) -> None:
    """The distance of each row's vectors, which have equally many dimensions, at most `longest`.

    Of kind L2 the square; of kind COSINE the distance, NaN if one is zero.
    """
    bits = np.empty(longest, np.uint32)
    others = np.empty(longest, np.uint32)
    a, b = bits.view(np.float32), others.view(np.float32)
    for i in range(len(out)):
        size = left_starts[i + 1] - left_starts[i]
        _decode(left, left_starts[i], left_starts[i + 1], bits)
        _decode(right, right_starts[i], right_starts[i + 1], others)
        total = 0.0
        if kind == L2_SQUARED:
            for k in range(size):
                difference = np.float64(a[k]) - np.float64(b[k])
                total += difference * difference
        elif kind == INNER_PRODUCT:
            for k in range(size):
                total += np.float64(a[k]) * np.float64(b[k])
        elif kind == L1:
            for k in range(size):
                total += abs(np.float64(a[k]) - np.float64(b[k]))
        else:
            first = 0.0
            second = 0.0
            for k in range(size):
                x, y = np.float64(a[k]), np.float64(b[k])
                total += x * y
                first += x * x
                second += y * y
            similarity = total / np.sqrt(first * second)
            # Rounding may leave the range of cosines.
            total = 1.0 - min(max(similarity, -1.0), 1.0) if similarity == similarity else np.nan
        out[i] = total
