"""Arithmetic on wide numerics (`types.wide_numeric`), compiled: numbers as limbs of nine decimal digits.

Row i of a matrix is `limbs[10 * i : 10 * i + 10]`, the lowest limb first, in units of 10^-45. Magnitudes are limbs of
0 … 10^9 - 1; the sign is kept beside them. Results that are too large are marked in `failed`. Long division is Knuth's
algorithm D (The Art of Computer Programming 2, 4.3.1) in base 10^9: all intermediate values fit into an int64.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.storage.kernels.compile import compiled, inlined

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

LIMBS = 10
BASE = 1_000_000_000
POINT = 5  # limbs after the decimal point
_DIGITS = 9
_GROUP = 4  # decimal digits of one of PostgreSQL's own digits
_SIGNIFICANT = 16  # digits that a quotient has at least
_MOST_DECIMALS = 45
DECIMALS_TO_ROUND = 54  # of a quotient before it is rounded: a limb more than those that stay
TRUNCATE, HALF_AWAY, CEILING, FLOOR = range(4)

_IN = types.Array(types.int64, 1, "C", readonly=True)
_SIGNS = types.Array(types.uint8, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")
_FLAGS = types.Array(types.uint8, 1, "C")


@compiled(_OUT, _FLAGS, _FLAGS)
def settle(limbs: Integers, negative: Bytes, failed: Bytes) -> None:
    """Makes magnitudes and signs of limbs that are any int64 (sums or differences of limbs)."""
    for i in range(len(negative)):
        carry = 0
        for k in range(LIMBS * i, LIMBS * i + LIMBS):
            total = limbs[k] + carry
            carry = total // BASE
            limbs[k] = total - carry * BASE
        negative[i] = 1 if carry < 0 else 0
        if carry < 0:
            borrow = 0
            for k in range(LIMBS * i, LIMBS * i + LIMBS):
                total = borrow - limbs[k]
                borrow = total // BASE
                limbs[k] = total - borrow * BASE
            carry = borrow - carry
        failed[i] = 1 if carry != 0 else 0


@compiled(_IN, _IN, _OUT, _FLAGS)
def multiply(left: Integers, right: Integers, out: Integers, failed: Bytes) -> None:
    """Magnitudes of products, rounded half up to 45 decimals."""
    product = np.zeros(2 * LIMBS, np.int64)
    for i in range(len(failed)):
        product[:] = 0
        for j in range(LIMBS):
            digit = left[LIMBS * i + j]
            if digit == 0:
                continue
            carry = 0
            for k in range(LIMBS):
                total = product[j + k] + digit * right[LIMBS * i + k] + carry
                carry = total // BASE
                product[j + k] = total - carry * BASE
            product[j + LIMBS] = carry
        carry = 1 if 2 * product[POINT - 1] >= BASE else 0
        for k in range(LIMBS):
            total = product[POINT + k] + carry
            carry = total // BASE
            out[LIMBS * i + k] = total - carry * BASE
        for k in range(POINT + LIMBS, 2 * LIMBS):
            carry += product[k]
        failed[i] = 1 if carry != 0 else 0


@inlined
def _scale(limbs: Integers, length: int, factor: int) -> int:
    """Multiplies a number by a limb, in place; returns what does not fit."""
    carry = 0
    for k in range(length):
        total = limbs[k] * factor + carry
        carry = total // BASE
        limbs[k] = total - carry * BASE
    return carry


@inlined
def _short_division(limbs: Integers, length: int, divisor: int, quotient: Integers) -> int:
    """`quotient` = limbs // divisor, a limb; returns the remainder. Both may be the same array."""
    rest = 0
    for k in range(length - 1, -1, -1):
        total = rest * BASE + limbs[k]
        quotient[k] = total // divisor
        rest = total - quotient[k] * divisor
    return rest


@compiled(_OUT, types.int64, _OUT, types.int64, _OUT)
def _long_division(numerator: Integers, length: int, divisor: Integers, size: int, quotient: Integers) -> None:
    """`quotient` = numerator // divisor; `numerator`, with room for one limb more, becomes the remainder.

    `size` limbs of the divisor are used, the highest of them not 0. Both are scaled; so is the remainder, back.
    """
    quotient[:] = 0
    if size == 1:
        rest = _short_division(numerator, length, divisor[0], quotient)
        numerator[:length] = 0
        numerator[0] = rest
        return
    scale = BASE // (divisor[size - 1] + 1)
    numerator[length] = _scale(numerator, length, scale)
    _scale(divisor, size, scale)
    top, second = divisor[size - 1], divisor[size - 2]
    for j in range(length - size, -1, -1):
        leading = numerator[j + size] * BASE + numerator[j + size - 1]
        guess = leading // top
        rest = leading - guess * top
        while guess >= BASE or guess * second > rest * BASE + numerator[j + size - 2]:
            guess -= 1
            rest += top
            if rest >= BASE:
                break
        borrow = 0
        for k in range(size):
            total = numerator[j + k] - guess * divisor[k] + borrow
            borrow = total // BASE
            numerator[j + k] = total - borrow * BASE
        numerator[j + size] += borrow
        if numerator[j + size] < 0:
            guess -= 1
            carry = 0
            for k in range(size):
                total = numerator[j + k] + divisor[k] + carry
                carry = total // BASE
                numerator[j + k] = total - carry * BASE
            numerator[j + size] += carry
        quotient[j] = guess
    _short_division(numerator, length + 1, scale, numerator)


@inlined
def _rounds_up(limbs: Integers, first: int, length: int, drop: int, mode: int) -> bool:
    """Whether what is left after the lowest `drop` digits are cut is one unit too small."""
    whole, part = drop // _DIGITS, drop % _DIGITS
    unit = 10**part
    if mode == HALF_AWAY and drop > 0 and whole <= length:
        if part > 0:
            return bool(whole < length and 2 * (limbs[first + whole] % unit) >= unit)
        return bool(2 * limbs[first + whole - 1] >= BASE)
    if mode == CEILING:
        for k in range(min(whole, length)):
            if limbs[first + k] != 0:
                return True
        return bool(part > 0 and whole < length and limbs[first + whole] % unit != 0)
    return False


@compiled(_OUT, types.int64, types.int64, types.int64, types.int64)
def _round_limbs(limbs: Integers, first: int, length: int, drop: int, mode: int) -> None:
    """Cuts the lowest `drop` decimal digits of `limbs[first:first + length]` to zeros; HALF_AWAY, or CEILING for up.

    The highest limb may become BASE: that is for the caller to see.
    """
    whole, part = drop // _DIGITS, drop % _DIGITS
    unit = 10**part
    up = _rounds_up(limbs, first, length, drop, mode)
    for k in range(min(whole, length)):
        limbs[first + k] = 0
    if whole >= length:
        if up:
            limbs[first + length - 1] = BASE
        return
    limbs[first + whole] -= limbs[first + whole] % unit
    if up:
        limbs[first + whole] += unit
        for k in range(first + whole, first + length - 1):
            if limbs[k] >= BASE:
                limbs[k] -= BASE
                limbs[k + 1] += 1


@inlined
def _first_digit(limbs: Integers, first: int) -> tuple[int, int]:
    """PostgreSQL's weight and value of a magnitude's first digit in base 10000; 0, 0 of zero."""
    k = LIMBS - 1
    while k > 0 and limbs[first + k] == 0:
        k -= 1
    leading = limbs[first + k]
    if leading == 0:
        return 0, 0
    digits = 0
    rest = leading
    while rest > 0:
        rest //= 10
        digits += 1
    exponent = _DIGITS * k + digits - 1 - _MOST_DECIMALS
    leading *= BASE
    if k > 0:
        leading += limbs[first + k - 1]
    weight = exponent // _GROUP
    for _ in range(digits + _DIGITS - (exponent - _GROUP * weight + 1)):
        leading //= 10
    return weight, leading


@inlined
def quotient_scale(weight: int, digit: int, divisor_weight: int, divisor_digit: int, least: int) -> int:
    """How many decimals PostgreSQL gives a quotient (select_div_scale), but never more than 45."""
    weight -= divisor_weight
    if digit <= divisor_digit:
        weight -= 1
    return min(max(_SIGNIFICANT - _GROUP * weight, least, 0), _MOST_DECIMALS)


@compiled(_IN, _IN, _SIGNS, _OUT, _FLAGS, _FLAGS)
def divide(left: Integers, right: Integers, least: Bytes, out: Integers, scales: Bytes, failed: Bytes) -> None:
    """Magnitudes of quotients and their scales, which are at least `least`; no divisor is 0."""
    length = LIMBS + POINT + 1
    numerator = np.zeros(length + 1, np.int64)
    divisor = np.zeros(LIMBS, np.int64)
    quotient = np.zeros(length, np.int64)
    for i in range(len(failed)):
        weight, digit = _first_digit(left, LIMBS * i)
        divisor_weight, divisor_digit = _first_digit(right, LIMBS * i)
        scale = quotient_scale(weight, digit, divisor_weight, divisor_digit, least[i])
        numerator[:] = 0
        for k in range(LIMBS):
            numerator[POINT + 1 + k] = left[LIMBS * i + k]
            divisor[k] = right[LIMBS * i + k]
        size = LIMBS
        while divisor[size - 1] == 0:
            size -= 1
        _long_division(numerator, length, divisor, size, quotient)
        _round_limbs(quotient, 0, length, DECIMALS_TO_ROUND - scale, HALF_AWAY)
        too_large = False
        for k in range(LIMBS + 1, length):
            too_large = too_large or quotient[k] != 0
        for k in range(LIMBS):
            out[LIMBS * i + k] = quotient[k + 1]
        scales[i] = scale
        failed[i] = 1 if too_large or quotient[LIMBS] >= BASE else 0


@compiled(_IN, _IN, _OUT)
def modulo(left: Integers, right: Integers, out: Integers) -> None:
    """Magnitudes of the remainders of truncated division; no divisor is 0."""
    numerator = np.zeros(LIMBS + 1, np.int64)
    divisor = np.zeros(LIMBS, np.int64)
    quotient = np.zeros(LIMBS, np.int64)
    for i in range(len(left) // LIMBS):
        numerator[:] = 0
        for k in range(LIMBS):
            numerator[k] = left[LIMBS * i + k]
            divisor[k] = right[LIMBS * i + k]
        size = LIMBS
        while divisor[size - 1] == 0:
            size -= 1
        _long_division(numerator, LIMBS, divisor, size, quotient)
        for k in range(LIMBS):
            out[LIMBS * i + k] = numerator[k]


@compiled(_OUT, _SIGNS, _IN, types.int64, _FLAGS)
def round_to(limbs: Integers, negative: Bytes, decimals: Integers, mode: int, failed: Bytes) -> None:
    """Rounds each magnitude to its number of decimals, negative ones before the point."""
    for i in range(len(failed)):
        drop = _MOST_DECIMALS - min(max(decimals[i], -_MOST_DECIMALS - 1), _MOST_DECIMALS)
        away = mode
        if mode in (CEILING, FLOOR):
            away = CEILING if (mode == CEILING) != (negative[i] != 0) else TRUNCATE
        _round_limbs(limbs, LIMBS * i, LIMBS, drop, away)
        failed[i] = 1 if limbs[LIMBS * i + LIMBS - 1] >= BASE else 0


@compiled(_IN, types.int64, _OUT, _FLAGS)
def from_words(words: Integers, scale: int, out: Integers, negative: Bytes) -> None:
    """Magnitudes and signs of 128-bit numbers (two int64 each, the lower first) in units of 10^-scale."""
    shift = _MOST_DECIMALS - scale
    whole, part = shift // _DIGITS, shift % _DIGITS
    unit = 1
    for _ in range(part):
        unit *= 10
    parts = np.zeros(4, np.int64)
    limbs = np.zeros(POINT, np.int64)
    for i in range(len(negative)):
        low, high = words[2 * i], words[2 * i + 1]
        negative[i] = 1 if high < 0 else 0
        parts[0], parts[1] = low & 0xFFFFFFFF, (low >> 32) & 0xFFFFFFFF
        parts[2], parts[3] = high & 0xFFFFFFFF, (high >> 32) & 0xFFFFFFFF
        if high < 0:
            carry = 1
            for k in range(4):
                total = (parts[k] ^ 0xFFFFFFFF) + carry
                parts[k] = total & 0xFFFFFFFF
                carry = total >> 32
        limbs[:] = 0
        for j in range(3, -1, -1):
            carry = parts[j]
            for k in range(POINT):
                total = (limbs[k] << 32) + carry
                carry = total // BASE
                limbs[k] = total - carry * BASE
        for k in range(LIMBS):
            out[LIMBS * i + k] = 0
        carry = 0
        for k in range(POINT):
            total = limbs[k] * unit + carry
            carry = total // BASE
            if whole + k < LIMBS:
                out[LIMBS * i + whole + k] = total - carry * BASE
        if whole + POINT < LIMBS:
            out[LIMBS * i + whole + POINT] = carry


@compiled(_IN, _SIGNS, types.int64, _OUT, _FLAGS)
def to_words(limbs: Integers, negative: Bytes, scale: int, words: Integers, failed: Bytes) -> None:
    """128-bit numbers in units of 10^-scale of magnitudes that have no more decimals; those of 39 digits fail."""
    drop = _MOST_DECIMALS - scale
    whole, part = drop // _DIGITS, drop % _DIGITS
    unit = 1
    for _ in range(part):
        unit *= 10
    number = np.zeros(LIMBS + 1, np.int64)
    parts = np.zeros(4, np.int64)
    for i in range(len(failed)):
        number[:] = 0
        for k in range(whole, LIMBS):
            number[k - whole] = limbs[LIMBS * i + k]
        rest = 0
        for k in range(LIMBS, -1, -1):
            total = rest * BASE + number[k]
            number[k] = total // unit
            rest = total - number[k] * unit
        failed[i] = 1 if number[4] >= 100 else 0  # 4 limbs have 36 digits
        for k in range(5, LIMBS + 1):
            if number[k] != 0:
                failed[i] = 1
        parts[:] = 0
        for j in range(4, -1, -1):
            carry = number[j]
            for k in range(4):
                total = parts[k] * BASE + carry
                parts[k] = total & 0xFFFFFFFF
                carry = total >> 32
        if negative[i] != 0:
            carry = 1
            for k in range(4):
                total = (parts[k] ^ 0xFFFFFFFF) + carry
                parts[k] = total & 0xFFFFFFFF
                carry = total >> 32
        words[2 * i] = parts[0] | (parts[1] << 32)
        words[2 * i + 1] = parts[2] | (parts[3] << 32)
