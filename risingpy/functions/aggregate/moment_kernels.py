"""Sums of squares and of products, and what variances are made of: count · Σxy - Σx · Σy, exactly."""

from __future__ import annotations

import numpy as np
from numba import types

from risingpy.functions.aggregate.digit_kernel_parts import (
    MASK,
    OUT,
    PRODUCT_BIAS,
    SUMS,
    Flags,
    Floats,
    Offsets,
    Signs,
    add_product,
    array,
    carry_over,
    divide_by,
    length_of,
    magnitude,
    multiply_by,
    nearest,
    negate,
    parts_of,
)
from risingpy.functions.topics.numbers.wide_kernels import BASE, DECIMALS_TO_ROUND, LIMBS, quotient_scale
from risingpy.storage.codec.column_buffers import Bytes, Integers
from risingpy.storage.kernels.compile import compiled, inlined

_WIDTH = 320  # digits of a number of rows times a sum of products, and of a product of two sums
_QUOTIENT = 64  # digits of the sum of squares of wide numerics, times a number of rows and 10^108


@inlined
def _centered(
    count: int,
    left_offsets: Offsets,
    left: Bytes,
    right_offsets: Offsets,
    right: Bytes,
    product_offsets: Offsets,
    products: Bytes,
    i: int,
    a: Integers,
    b: Integers,
    total: Integers,
) -> bool:
    """The absolute value of count · Σxy - Σx · Σy in `total`, and whether it is negative."""
    total[:] = 0
    base, used, negative = magnitude(product_offsets, products, i, a)
    sign = -1 if negative else 1
    for j in range(used):
        add_product(total, base + j, a[j], count & MASK, sign)
        add_product(total, base + j + 1, a[j], count >> 32, sign)
    a_base, a_used, a_negative = magnitude(left_offsets, left, i, a)
    b_base, b_used, b_negative = magnitude(right_offsets, right, i, b)
    sign = 1 if a_negative != b_negative else -1
    for j in range(a_used):
        for k in range(b_used):
            add_product(total, a_base + b_base + j + k, a[j], b[k], sign)
    if carry_over(total) < 0:
        negate(total, _WIDTH)
        return True
    return False


@inlined
def _take_root(number: Integers, rest: Integers, bit: Integers) -> None:
    """The whole root of a number of `len(rest)` digits, in its place: bit by bit, from above."""
    width = len(rest)
    for j in range(width):
        rest[j] = number[j]
        number[j] = 0
    for position in range(32 * width - 2, -1, -2):
        # bit = number + 2^position, and is taken away if it fits
        for j in range(width):
            bit[j] = number[j]
        bit[position >> 5] |= 1 << (position & 31)
        fits = True
        for j in range(width - 1, -1, -1):
            if rest[j] != bit[j]:
                fits = rest[j] > bit[j]
                break
        if fits:
            borrow = 0
            for j in range(width):
                total = rest[j] - bit[j] + borrow
                rest[j] = total & MASK
                borrow = total >> 32
        for j in range(width):
            above = number[j + 1] & 1 if j + 1 < width else 0
            number[j] = number[j] >> 1 | above << 31
        if fits:
            number[position >> 5] |= 1 << (position & 31)


@compiled(array(types.int64), array(types.int8), array(types.int64), types.int64, OUT, OUT, OUT)
def add_squares(
    codes: Integers, signs: Signs, words: Integers, width: int, starts: Integers, lows: Integers, digits: Integers
) -> None:
    """Adds the squares of whole numbers, without carries."""
    number = np.zeros(2 * width, np.int64)
    for i in range(len(codes)):
        for j in range(width):
            number[2 * j] = words[width * i + j] & MASK
            number[2 * j + 1] = (words[width * i + j] >> 32) & MASK
        if number[2 * width - 1] >= 1 << 31:
            negate(number, 2 * width)
        k = codes[i]
        at = starts[k] + PRODUCT_BIAS // 32 - lows[k]
        for left in range(2 * width):
            for right in range(2 * width):
                add_product(digits, at + left + right, number[left], number[right], signs[i])


@compiled(array(types.int64), array(types.int64), array(types.int64), OUT, OUT)
def product_spans(codes: Integers, left: Integers, right: Integers, lows: Integers, highs: Integers) -> None:
    """The lowest and the highest digit of each group's products of floating-point numbers, given by their bits."""
    for i in range(len(codes)):
        if left[i] & 0x7FFFFFFFFFFFFFFF == 0 or right[i] & 0x7FFFFFFFFFFFFFFF == 0:
            continue
        exponent = max((left[i] >> 52) & 0x7FF, 1) + max((right[i] >> 52) & 0x7FF, 1)
        low = (exponent + (PRODUCT_BIAS - 2150)) >> 5
        k = codes[i]
        lows[k] = min(lows[k], low)
        highs[k] = max(highs[k], low + 4)


@compiled(array(types.int64), array(types.int8), array(types.int64), array(types.int64), OUT, OUT, OUT)
def add_products(
    codes: Integers,
    signs: Signs,
    left: Integers,
    right: Integers,
    starts: Integers,
    lows: Integers,
    digits: Integers,
) -> None:
    """Adds products of floating-point numbers, exactly, without carries."""
    product = np.zeros(5, np.int64)
    for i in range(len(codes)):
        if left[i] & 0x7FFFFFFFFFFFFFFF == 0 or right[i] & 0x7FFFFFFFFFFFFFFF == 0:
            continue
        a, a_exponent = parts_of(left[i])
        b, b_exponent = parts_of(right[i])
        product[:] = 0
        add_product(product, 0, a & MASK, b & MASK, 1)
        add_product(product, 1, a & MASK, b >> 32, 1)
        add_product(product, 1, a >> 32, b & MASK, 1)
        add_product(product, 2, a >> 32, b >> 32, 1)
        position = a_exponent + b_exponent + (PRODUCT_BIAS - 2150)
        shift = position & 31
        k = codes[i]
        at = starts[k] + (position >> 5) - lows[k]
        sign = 1 if ((left[i] < 0) == (right[i] < 0)) == (signs[i] > 0) else -1
        carry_over(product)
        carry = 0
        for j in range(5):
            total = (product[j] << shift) | carry
            digits[at + j] += sign * (total & MASK)
            carry = total >> 32


@compiled(array(types.int64), *SUMS, *SUMS, *SUMS, types.Array(types.float64, 1, "C"))
def round_centered(
    counts: Integers,
    left_offsets: Offsets,
    left: Bytes,
    right_offsets: Offsets,
    right: Bytes,
    product_offsets: Offsets,
    products: Bytes,
    results: Floats,
) -> None:
    """The double nearest to count · Σxy - Σx · Σy."""
    a, b, total = np.zeros(256, np.int64), np.zeros(256, np.int64), np.zeros(_WIDTH, np.int64)
    for i in range(len(counts)):
        negative = _centered(
            counts[i], left_offsets, left, right_offsets, right, product_offsets, products, i, a, b, total
        )
        value = nearest(total, _WIDTH, -PRODUCT_BIAS, 53, -1074)
        results[i] = -value if negative else value


@inlined
def _first_digit(number: Integers, scale: int, spare: Integers) -> tuple[int, int]:
    """PostgreSQL's weight and value of the first digit, in base 10000, of a number in units of 10^-scale."""
    for j in range(len(number)):
        spare[j] = number[j]
    for _ in range(-scale % 4):
        multiply_by(spare, 10)
    weight, digit = -1 - (scale + 3) // 4, 0
    while length_of(spare):
        digit = divide_by(spare, 10000)
        weight += 1
    return weight, digit


@inlined
def _shift_digits(number: Integers, places: int) -> None:
    """Multiplies a number by 10^`places`, or divides it if that is negative."""
    for _ in range(places):
        multiply_by(number, 10)
    for _ in range(-places):
        divide_by(number, 10)


@inlined
def _round_digits(number: Integers, drop: int) -> None:
    """Rounds the lowest `drop` decimal digits to zeros, half up."""
    digit = 0
    for _ in range(drop):
        digit = divide_by(number, 10)
    carry = 1 if digit >= 5 else 0
    for j in range(len(number)):
        total = number[j] + carry
        number[j] = total & MASK
        carry = total >> 32
    for _ in range(drop):
        multiply_by(number, 10)


@inlined
def _scale_of_quotient(
    number: Integers, scale: int, count: int, divisor: int, least: int, rest: Integers, spare: Integers
) -> int:
    """The decimals of `number`, in units of 10^(-2 · scale), by count · divisor. `rest` and `spare` are room."""
    weight, digit = _first_digit(number, 2 * scale, rest)
    rest[:] = 0
    rest[0] = count
    multiply_by(rest, divisor)
    divisor_weight, divisor_digit = _first_digit(rest, 0, spare)
    return quotient_scale(weight, digit, divisor_weight, divisor_digit, least)


@compiled(
    array(types.int64), array(types.int64), *SUMS, *SUMS, types.int64, types.int64,
    array(types.uint8), OUT, types.Array(types.uint8, 1, "C"), types.Array(types.uint8, 1, "C"),
)  # fmt: skip
def divide_centered(
    counts: Integers,
    divisors: Integers,
    sum_offsets: Offsets,
    sums: Bytes,
    square_offsets: Offsets,
    squares: Bytes,
    scale: int,
    root: int,
    least: Bytes,
    limbs: Integers,
    scales: Bytes,
    failed: Flags,
) -> None:
    """(count · Σx² - (Σx)²) / (count · divisor), or its root, with as many decimals as PostgreSQL gives a quotient.

    The sums are of whole numbers, in units of 10^-scale. The result has `least` decimals at least, but 0 has none.
    `failed` where it has too many digits, or a group has 2^31 rows. Where the divisor is 0 nothing is written.
    """
    a, b, total = np.zeros(256, np.int64), np.zeros(256, np.int64), np.zeros(_WIDTH, np.int64)
    number, rest, bit = np.zeros((3, _QUOTIENT), np.int64)
    cut = np.zeros(LIMBS + 1, np.int64)
    first = PRODUCT_BIAS // 32
    power = DECIMALS_TO_ROUND - 2 * scale
    for i in range(len(counts)):
        if divisors[i] <= 0:
            continue
        if counts[i] >= 1 << 31:
            failed[i] = 1
            continue
        _centered(counts[i], sum_offsets, sums, sum_offsets, sums, square_offsets, squares, i, a, b, total)
        number[:] = total[first : first + _QUOTIENT]
        if length_of(number) == 0:
            continue
        scales[i] = _scale_of_quotient(number, scale, counts[i], divisors[i], least[i], rest, bit)
        _shift_digits(number, power)
        divide_by(number, counts[i])
        divide_by(number, divisors[i])
        _round_digits(number, DECIMALS_TO_ROUND - scales[i])
        if root:
            _shift_digits(number, DECIMALS_TO_ROUND)
            used = length_of(number)
            _take_root(number[:used], rest[:used], bit[:used])
            _round_digits(number, DECIMALS_TO_ROUND - scales[i])
        for k in range(LIMBS + 1):
            cut[k] = divide_by(number, BASE)
        failed[i] = 1 if length_of(number) else 0
        for k in range(LIMBS):
            limbs[LIMBS * i + k] = cut[k + 1]
