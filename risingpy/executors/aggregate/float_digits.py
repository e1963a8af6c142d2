"""Exact sums of floating-point numbers, as byte strings: nothing is rounded but the result, once.

A sum is a whole number of 2^-1088, written in digits of 32 bits, from its lowest that is not 0 to its highest:

    number of the first digit u8 | digit u32 little-endian | … | last digit i32, with the number's sign

    1.0     2^1088 = digit 34         22 01000000
    -1.5    -3 · 2^1087               21 00000080 feffffff
    0                                 (no bytes)

Equal sums are equal bytes whichever way they came about, so a result depends neither on the order of additions nor on
the number of shards, and what is deleted leaves nothing behind. Doubles need digits 0 to 66; the two above hold the
carries of 2^64 additions. (R. Neal, Fast exact summation using small and large superaccumulators, 2015.)

While sums are being made, group k has the digits `digits[starts[k]:starts[k + 1]]`, which begin with digit `lows[k]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit, types

from risingpy.storage.column_buffers import Bytes, Integers, whole
from risingpy.storage.kernels import compile as _kernel_cache  # noqa: F401  (says where compiled code is kept)

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Offsets = npt.NDArray[np.int32]

Function = TypeVar("Function", bound=Callable[..., Any])

_BIAS = 1088  # digit 0 counts 2^-1088
_ROOM = 2  # digits above the highest of the summands, for carries and the sign
_NO_DIGIT = 1 << 20


def _input(item: Any) -> Any:
    return types.Array(item, 1, "C", readonly=True)


_INTEGERS = types.Array(types.int64, 1, "C")


def _compiled(*arguments: Any) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        signature = types.void(*arguments)
        return cast(Function, njit(signature, cache=True, nogil=True, error_model="numpy")(function))

    return decorate


def sum_floats(codes: Integers, signs: Signs, groups: int, values: Floats) -> pa.BinaryArray:
    """Each group's sum of its finite `values`, those with sign -1 taken away."""
    lows, highs = _no_spans(groups)
    bits = np.ascontiguousarray(values).view(np.int64)
    _float_spans(codes, bits, lows, highs)
    starts = _starts(lows, highs)
    digits = np.zeros(starts[-1], np.int64)
    _add_floats(codes, signs, bits, starts, lows, digits)
    return _encoded(starts, lows, digits)


def sum_sums(codes: Integers, groups: int, sums: pa.BinaryArray) -> pa.BinaryArray:
    """Each group's sum of `sums`; NULL counts as 0."""
    offsets, data = _parts(sums)
    lows, highs = _no_spans(groups)
    _sum_spans(codes, offsets, data, lows, highs)
    starts = _starts(lows, highs)
    digits = np.zeros(starts[-1], np.int64)
    _add_sums(codes, offsets, data, starts, lows, digits)
    return _encoded(starts, lows, digits)


def rounded(sums: pa.BinaryArray, *, single: bool) -> Floats:
    """The nearest double of each sum, ties to even; with `single` the nearest real. Infinity beyond the largest."""
    offsets, data = _parts(sums)
    results: Floats = np.zeros(len(sums), np.float64)
    if single:
        _round(offsets, data, 24, -149, results)
        with np.errstate(over="ignore"):
            return results.astype(np.float32).astype(np.float64)  # exact, but for what is too large
    _round(offsets, data, 53, -1074, results)
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
    _settle(starts, digits, firsts, counts)
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(np.where(counts > 0, 1 + 4 * counts, 0), out=offsets[1:])
    data = np.empty(offsets[-1], np.uint8)
    _write(starts, lows, digits, firsts, counts, offsets, data)
    return pa.Array.from_buffers(pa.binary(), groups, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


@_compiled(_input(types.int64), _input(types.int64), _INTEGERS, _INTEGERS)
def _float_spans(codes: Integers, bits: Integers, lows: Integers, highs: Integers) -> None:
    """The lowest and the highest digit of each group's values."""
    for i in range(len(codes)):
        if bits[i] & 0x7FFFFFFFFFFFFFFF == 0:
            continue
        exponent = (bits[i] >> 52) & 0x7FF
        low = (max(exponent, 1) + (_BIAS - 1075)) >> 5
        k = codes[i]
        lows[k] = min(lows[k], low)
        highs[k] = max(highs[k], low + 2)


@_compiled(_input(types.int64), _input(types.int8), _input(types.int64), _INTEGERS, _INTEGERS, _INTEGERS)
def _add_floats(
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
        position = max(exponent, 1) + (_BIAS - 1075)
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


@_compiled(_input(types.int64), _input(types.int32), _input(types.uint8), _INTEGERS, _INTEGERS)
def _sum_spans(codes: Integers, offsets: Offsets, data: Bytes, lows: Integers, highs: Integers) -> None:
    """The lowest and the highest digit of each group's sums."""
    for i in range(len(codes)):
        count = (offsets[i + 1] - offsets[i]) >> 2
        if count == 0:
            continue
        low = np.int64(data[offsets[i]])
        k = codes[i]
        lows[k] = min(lows[k], low)
        highs[k] = max(highs[k], low + count - 1)


@_compiled(_input(types.int64), _input(types.int32), _input(types.uint8), _INTEGERS, _INTEGERS, _INTEGERS)
def _add_sums(
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


@_compiled(_INTEGERS, _INTEGERS, _INTEGERS, _INTEGERS)
def _settle(starts: Integers, digits: Integers, firsts: Integers, counts: Integers) -> None:
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


@_compiled(
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    _INTEGERS,
    types.Array(types.int32, 1, "C"),
    types.Array(types.uint8, 1, "C"),
)
def _write(
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


@_compiled(_input(types.int32), _input(types.uint8), types.int64, types.int64, types.Array(types.float64, 1, "C"))
def _round(offsets: Offsets, data: Bytes, precision: int, lowest: int, results: Floats) -> None:
    """The nearest number of `precision` bits that is a whole number of 2^lowest."""
    digits = np.zeros(256, np.int64)
    for i in range(len(results)):
        count = (offsets[i + 1] - offsets[i]) >> 2
        if count == 0:
            continue
        base = np.int64(data[offsets[i]])
        for j in range(count):
            byte = offsets[i] + 1 + 4 * j
            digits[j] = np.int64(data[byte]) | np.int64(data[byte + 1]) << 8
            digits[j] |= np.int64(data[byte + 2]) << 16 | np.int64(data[byte + 3]) << 24
        negative = digits[count - 1] >= 1 << 31
        if negative:
            carry = 1
            for j in range(count):
                total = (digits[j] ^ 0xFFFFFFFF) + carry
                digits[j] = total & 0xFFFFFFFF
                carry = total >> 32
        top = count - 1
        while digits[top] == 0:
            top -= 1
        length = 0  # bits of the top digit
        while digits[top] >> length:
            length += 1
        # The highest 64 bits, and whether anything is below them.
        second = digits[top - 1] if top > 0 else 0
        third = digits[top - 2] if top > 1 else 0
        window = np.uint64(digits[top]) << np.uint64(64 - length)
        window |= np.uint64(second) << np.uint64(32 - length) | np.uint64(third >> length)
        sticky = third & ((1 << length) - 1) != 0
        for j in range(top - 2):
            sticky = sticky or digits[j] != 0
        exponent = 32 * (base + top) - _BIAS + length - 1  # of the highest bit
        unit = max(exponent - (precision - 1), lowest)
        shift = np.uint64(unit - exponent + 63)
        mantissa = window >> shift
        rest = window & ((np.uint64(1) << shift) - np.uint64(1))
        half = np.uint64(1) << (shift - np.uint64(1))
        if rest > half or (rest == half and (sticky or mantissa & np.uint64(1))):
            mantissa += np.uint64(1)
        value = math.ldexp(np.float64(mantissa), unit)
        results[i] = -value if negative else value
