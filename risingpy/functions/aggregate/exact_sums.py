"""Exact sums of floating-point numbers, as byte strings. Only the result is rounded, once.

A sum is a whole number of 2^-1088, written in digits of 32 bits, from its lowest that is not 0 to its highest:

    number of the first digit u8 | digit u32 little-endian | … | last digit i32, with the number's sign

    1.0     2^1088 = digit 34         22 01000000
    -1.5    -3 · 2^1087               21 00000080 feffffff
    0                                 (no bytes)

Equal sums are equal bytes, in whatever order the numbers were added. So a result does not depend on the number of
shards, and a retracted value leaves no rounding error: a view would otherwise drift away from its query. Doubles need
digits 0 to 66; the two above hold the carries of 2^64 additions. (R. Neal, Fast exact summation using small and large
superaccumulators, 2015.)

During an addition, group k has the digits `digits[starts[k]:starts[k + 1]]`, which begin with digit `lows[k]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate import digit_kernels as kernels
from risingpy.functions.aggregate import moment_kernels
from risingpy.functions.aggregate.digit_kernel_parts import PRODUCT_BIAS, SUM_BIAS
from risingpy.functions.topics.numbers.wide_kernels import LIMBS
from risingpy.storage.codec.column_buffers import Bytes, Integers, whole

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Offsets = npt.NDArray[np.int32]

_ROOM = 2  # digits above the highest of the summands, for carries and the sign
_NO_DIGIT = 1 << 20


def sum_floats(codes: Integers, signs: Signs, groups: int, values: Floats) -> pa.BinaryArray:
    """Each group's sum of its finite `values`; those with sign -1 are subtracted."""
    lows, highs = _no_spans(groups)
    bits = np.ascontiguousarray(values).view(np.int64)
    kernels.float_spans(codes, bits, lows, highs)
    starts = _starts(lows, highs)
    digits = np.zeros(starts[-1], np.int64)
    kernels.add_floats(codes, signs, bits, starts, lows, digits)
    return _encoded(starts, lows, digits)


def sum_sums(codes: Integers, groups: int, sums: pa.BinaryArray) -> pa.BinaryArray:
    """Each group's sum of `sums`; NULL counts as 0."""
    offsets, data = _parts(sums)
    lows, highs = _no_spans(groups)
    kernels.sum_spans(codes, offsets, data, lows, highs)
    starts = _starts(lows, highs)
    digits = np.zeros(starts[-1], np.int64)
    kernels.add_sums(codes, offsets, data, starts, lows, digits)
    return _encoded(starts, lows, digits)


def rounded(sums: pa.BinaryArray, *, single: bool) -> Floats:
    """The nearest double of each sum, ties to even; with `single` the nearest real. Infinity beyond the largest."""
    offsets, data = _parts(sums)
    results: Floats = np.zeros(len(sums), np.float64)
    if single:
        kernels.round_sums(offsets, data, 24, -149, results)
        with np.errstate(over="ignore"):
            return results.astype(np.float32).astype(np.float64)  # exact, unless a number is too large
    kernels.round_sums(offsets, data, 53, -1074, results)
    return results


def _no_spans(groups: int) -> tuple[Integers, Integers]:
    return np.full(groups, _NO_DIGIT, np.int64), np.full(groups, -1, np.int64)


def _starts(lows: Integers, highs: Integers) -> Integers:
    widths = np.where(highs >= 0, highs - lows + 1 + _ROOM, 0)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])


def _parts(sums: pa.BinaryArray) -> tuple[Offsets, Bytes]:
    sums = whole(sums)
    _, offsets, data = sums.buffers()
    if len(sums) == 0 or offsets is None:
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)[sums.offset : sums.offset + len(sums) + 1]
    return ends, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _encoded(starts: Integers, lows: Integers, digits: Integers) -> pa.BinaryArray:
    groups = len(lows)
    firsts, counts = np.zeros((2, groups), np.int64)
    kernels.settle(starts, digits, firsts, counts)
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(np.where(counts > 0, 1 + 4 * counts, 0), out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    kernels.write(starts, lows, digits, firsts, counts, offsets, data)
    return pa.Array.from_buffers(pa.binary(), groups, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def sum_integers(codes: Integers, signs: Signs, groups: int, words: Integers, width: int) -> pa.BinaryArray:
    """Each group's sum of whole numbers of `width` int64 words, lowest first."""
    lows, starts, digits = _fixed_span(groups, SUM_BIAS // 32, 2 * width)
    kernels.add_integers(codes, signs, words, width, starts, lows, digits)
    return _encoded(starts, lows, digits)


def sum_squares(codes: Integers, signs: Signs, groups: int, words: Integers, width: int) -> pa.BinaryArray:
    """Each group's sum of the squares of whole numbers: in digits that count from 2^-2176."""
    lows, starts, digits = _fixed_span(groups, PRODUCT_BIAS // 32, 4 * width)
    moment_kernels.add_squares(codes, signs, words, width, starts, lows, digits)
    return _encoded(starts, lows, digits)


def sum_products(codes: Integers, signs: Signs, groups: int, left: Floats, right: Floats) -> pa.BinaryArray:
    """Each group's sum of products of finite numbers: in digits that count from 2^-2176."""
    lows, highs = _no_spans(groups)
    x, y = (np.ascontiguousarray(values).view(np.int64) for values in (left, right))
    moment_kernels.product_spans(codes, x, y, lows, highs)
    starts = _starts(lows, highs)
    digits = np.zeros(starts[-1], np.int64)
    moment_kernels.add_products(codes, signs, x, y, starts, lows, digits)
    return _encoded(starts, lows, digits)


def whole_numbers(sums: pa.BinaryArray, width: int) -> tuple[Integers, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Sums of whole numbers as magnitudes: rows of `width` digits, the lowest first; the negative; those too large."""
    digits = np.zeros(width * len(sums), np.int64)
    negative, failed = np.zeros((2, len(sums)), np.uint8)
    kernels.read_integers(*_parts(sums), width, digits, negative, failed)
    return digits.reshape(-1, width), negative.astype(np.bool_), failed.astype(np.bool_)


def centered(counts: Integers, left: pa.BinaryArray, right: pa.BinaryArray, products: pa.BinaryArray) -> Floats:
    """The double nearest to count · Σxy - Σx · Σy of each group."""
    results: Floats = np.zeros(len(counts), np.float64)
    moment_kernels.round_centered(counts, *_parts(left), *_parts(right), *_parts(products), results)
    return results


def variances(
    counts: Integers,
    divisors: Integers,
    sums: pa.BinaryArray,
    squares: pa.BinaryArray,
    *,
    scale: int,
    root: bool,
    least: Bytes,
) -> tuple[Integers, Bytes, npt.NDArray[np.bool_]]:
    """(count · Σx² - (Σx)²) / (count · divisor) of whole numbers in units of 10^-scale, or its root.

    Returns limbs of wide numerics, the lowest first; their scales, which are at least `least` except for 0; and which
    results are too large. A result is 0 if its divisor is 0.
    """
    limbs = np.zeros(LIMBS * len(counts), np.int64)
    scales, failed = np.zeros((2, len(counts)), np.uint8)
    moment_kernels.divide_centered(
        counts, divisors, *_parts(sums), *_parts(squares), scale, int(root), least, limbs, scales, failed
    )
    return limbs, scales, failed.astype(np.bool_)


def _fixed_span(groups: int, low: int, width: int) -> tuple[Integers, Integers, Integers]:
    """Room for digits of the same numbers in every group."""
    lows = np.full(groups, low, np.int64)
    starts = _starts(lows, lows + width - 1)
    return lows, starts, np.zeros(starts[-1], np.int64)
