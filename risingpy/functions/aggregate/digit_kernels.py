"""Exact sums, compiled: values and sums added, carried, written down, rounded.

Group k has the digits `digits[starts[k]:starts[k + 1]]`, which begin with digit number `lows[k]`.
"""

from __future__ import annotations

import numpy as np
from numba import types

from risingpy.functions.aggregate.digit_kernel_parts import (
    MASK,
    OUT,
    SUM_BIAS,
    Flags,
    Floats,
    Offsets,
    Signs,
    array,
    magnitude,
    nearest,
)
from risingpy.storage.codec.column_buffers import Bytes, Integers
from risingpy.storage.kernels.compile import compiled


@compiled(array(types.int64), array(types.int64), OUT, OUT)
def float_spans(codes: Integers, bits: Integers, lows: Integers, highs: Integers) -> None:
    """The lowest and the highest digit of each group's values."""
    for i in range(len(codes)):
        if bits[i] & 0x7FFFFFFFFFFFFFFF == 0:
            continue
        exponent = (bits[i] >> 52) & 0x7FF
        low = (max(exponent, 1) + (SUM_BIAS - 1075)) >> 5
        k = codes[i]
        lows[k] = min(lows[k], low)
        highs[k] = max(highs[k], low + 2)


@compiled(array(types.int64), array(types.int8), array(types.int64), OUT, OUT, OUT)
def add_floats(
    codes: Integers, signs: Signs, bits: Integers, starts: Integers, lows: Integers, digits: Integers
) -> None:
    """Adds values, without carries: a digit takes 2^31 of them."""
    for i in range(len(codes)):
        if bits[i] & 0x7FFFFFFFFFFFFFFF == 0:
            continue
        exponent = (bits[i] >> 52) & 0x7FF
        fraction = bits[i] & 0xFFFFFFFFFFFFF
        if exponent > 0:
            fraction |= 1 << 52
        position = max(exponent, 1) + (SUM_BIAS - 1075)
        shift = position & 31
        k = codes[i]
        at = starts[k] + (position >> 5) - lows[k]
        lower = (fraction & 0xFFFFFFFF) << shift
        upper = (lower >> 32) + ((fraction >> 32) << shift)
        if (bits[i] < 0) == (signs[i] < 0):
            digits[at] += lower & 0xFFFFFFFF
            digits[at + 1] += upper & 0xFFFFFFFF
            digits[at + 2] += upper >> 32
        else:
            digits[at] -= lower & 0xFFFFFFFF
            digits[at + 1] -= upper & 0xFFFFFFFF
            digits[at + 2] -= upper >> 32


@compiled(array(types.int64), array(types.int32), array(types.uint8), OUT, OUT)
def sum_spans(codes: Integers, offsets: Offsets, data: Bytes, lows: Integers, highs: Integers) -> None:
    """The lowest and the highest digit of each group's sums."""
    for i in range(len(codes)):
        count = (offsets[i + 1] - offsets[i]) >> 2
        if count == 0:
            continue
        low = np.int64(data[offsets[i]])
        k = codes[i]
        lows[k] = min(lows[k], low)
        highs[k] = max(highs[k], low + count - 1)


@compiled(array(types.int64), array(types.int32), array(types.uint8), OUT, OUT, OUT)
def add_sums(
    codes: Integers, offsets: Offsets, data: Bytes, starts: Integers, lows: Integers, digits: Integers
) -> None:
    """Adds sums, without carries."""
    for i in range(len(codes)):
        count = (offsets[i + 1] - offsets[i]) >> 2
        if count == 0:
            continue
        k = codes[i]
        at = starts[k] + np.int64(data[offsets[i]]) - lows[k]
        for j in range(count):
            byte = offsets[i] + 1 + 4 * j
            digit = np.int64(data[byte]) | np.int64(data[byte + 1]) << 8
            digit |= np.int64(data[byte + 2]) << 16 | np.int64(data[byte + 3]) << 24
            if j == count - 1 and digit >= 1 << 31:
                digit -= 1 << 32
            digits[at + j] += digit


@compiled(OUT, OUT, OUT, OUT)
def settle(starts: Integers, digits: Integers, firsts: Integers, counts: Integers) -> None:
    """Carries, so that every digit but a group's last has 32 bits; which digits are needed: `counts` from `firsts`."""
    for k in range(len(firsts)):
        first, last = starts[k], starts[k + 1] - 1
        carry = 0
        for at in range(first, last + 1):
            total = digits[at] + carry
            digits[at] = total & 0xFFFFFFFF if at < last else total
            carry = total >> 32
        while last > first and digits[last] == (0 if digits[last - 1] < 1 << 31 else -1):
            last -= 1
            if digits[last] >= 1 << 31:
                digits[last] -= 1 << 32
        while first < last and digits[first] == 0:
            first += 1
        firsts[k] = first
        counts[k] = 0 if first > last or digits[first] == 0 else last - first + 1


@compiled(
    OUT,
    OUT,
    OUT,
    OUT,
    OUT,
    types.Array(types.int32, 1, "C"),
    types.Array(types.uint8, 1, "C"),
)
def write(
    starts: Integers,
    lows: Integers,
    digits: Integers,
    firsts: Integers,
    counts: Integers,
    offsets: Offsets,
    data: Bytes,
) -> None:
    """The bytes of each group's sum."""
    for k in range(len(lows)):
        if counts[k] == 0:
            continue
        byte = offsets[k]
        data[byte] = lows[k] + firsts[k] - starts[k]
        byte += 1
        for at in range(firsts[k], firsts[k] + counts[k]):
            digit = digits[at]
            for part in range(4):
                data[byte + part] = (digit >> (8 * part)) & 0xFF
            byte += 4


@compiled(array(types.int64), array(types.int8), array(types.int64), types.int64, OUT, OUT, OUT)
def add_integers(
    codes: Integers, signs: Signs, words: Integers, width: int, starts: Integers, lows: Integers, digits: Integers
) -> None:
    """Adds whole numbers of `width` int64 words each, lowest first, without carries."""
    for i in range(len(codes)):
        k = codes[i]
        at = starts[k] + SUM_BIAS // 32 - lows[k]
        for j in range(width):
            word = words[width * i + j]
            low = word & MASK
            high = word >> 32 if j == width - 1 else (word >> 32) & MASK
            digits[at + 2 * j] += signs[i] * low
            digits[at + 2 * j + 1] += signs[i] * high


@compiled(
    array(types.int32), array(types.uint8), types.int64, OUT, types.Array(types.uint8, 1, "C"),
    types.Array(types.uint8, 1, "C"),
)  # fmt: skip
def read_integers(offsets: Offsets, data: Bytes, width: int, digits: Integers, negative: Flags, failed: Flags) -> None:
    """The magnitudes of sums of whole numbers in `width` digits each; `failed` where one has more."""
    number = np.zeros(256, np.int64)
    for i in range(len(negative)):
        base, count, below = magnitude(offsets, data, i, number)
        negative[i] = 1 if below else 0
        for j in range(count):
            place = base - SUM_BIAS // 32 + j
            if place < width:
                digits[width * i + place] = number[j]
            elif number[j] != 0:
                failed[i] = 1


@compiled(array(types.int32), array(types.uint8), types.int64, types.int64, types.Array(types.float64, 1, "C"))
def round_sums(offsets: Offsets, data: Bytes, precision: int, lowest: int, results: Floats) -> None:
    """The nearest number of `precision` bits that is a whole number of 2^lowest."""
    digits = np.zeros(256, np.int64)
    for i in range(len(results)):
        base, count, negative = magnitude(offsets, data, i, digits)
        value = nearest(digits, count, 32 * base - SUM_BIAS, precision, lowest)
        results[i] = -value if negative else value
