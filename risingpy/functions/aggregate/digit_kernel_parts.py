"""Numbers as digits of 32 bits, lowest first, in int64: the pieces that the kernels of exact sums are made of.

`exact_sums` says what the digits mean. Settled digits are those from 0 to 2^32 - 1; others wait for a carry, and hold
2^28 summands until then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.storage.codec.column_buffers import Bytes, Integers
from risingpy.storage.kernels.compile import inlined

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Offsets = npt.NDArray[np.int32]
Flags = npt.NDArray[np.uint8]

SUM_BIAS = 1088  # digit 0 of a sum counts 2^-1088
PRODUCT_BIAS = 2176  # digit 0 of a sum of products counts 2^-2176
MASK = 0xFFFFFFFF


def array(item: Any) -> Any:
    """Numba's type of a contiguous read-only array of one dimension, as Arrow's buffers are."""
    return types.Array(item, 1, "C", readonly=True)


OUT = types.Array(types.int64, 1, "C")
SUMS = (array(types.int32), array(types.uint8))  # offsets and data of a column of sums


@inlined
def parts_of(bits: int) -> tuple[int, int]:
    """The 53 bits of a double, and the exponent that is written with them."""
    exponent = (bits >> 52) & 0x7FF
    fraction = bits & 0xFFFFFFFFFFFFF
    return (fraction | 1 << 52, exponent) if exponent > 0 else (fraction, 1)


@inlined
def add_product(digits: Integers, at: int, left: int, right: int, sign: int) -> None:
    """Adds a product of two digits, without carries."""
    product = np.uint64(left) * np.uint64(right)
    digits[at] += sign * np.int64(product & np.uint64(MASK))
    digits[at + 1] += sign * np.int64(product >> np.uint64(32))


@inlined
def negate(digits: Integers, count: int) -> None:
    """The two's complement of settled digits."""
    carry = 1
    for j in range(count):
        total = (digits[j] ^ MASK) + carry
        digits[j] = total & MASK
        carry = total >> 32


@inlined
def magnitude(offsets: Offsets, data: Bytes, i: int, digits: Integers) -> tuple[int, int, bool]:
    """Reads a sum: the number of its first digit, how many digits, and whether it is negative; `digits` are its
    absolute value."""
    count = int(offsets[i + 1] - offsets[i]) >> 2
    if count == 0:
        return 0, 0, False
    for j in range(count):
        byte = offsets[i] + 1 + 4 * j
        digits[j] = np.int64(data[byte]) | np.int64(data[byte + 1]) << 8
        digits[j] |= np.int64(data[byte + 2]) << 16 | np.int64(data[byte + 3]) << 24
    negative = digits[count - 1] >= 1 << 31
    if negative:
        negate(digits, count)
    return int(data[offsets[i]]), count, bool(negative)


@inlined
def carry_over(digits: Integers) -> int:
    """Settles digits; what is left over is -1 for a negative number."""
    carry = 0
    for j in range(len(digits)):
        total = digits[j] + carry
        digits[j] = total & MASK
        carry = total >> 32
    return carry


@inlined
def multiply_by(digits: Integers, factor: int) -> None:
    """Multiplies a number of settled digits in place; the digits stay settled. A carry beyond the last one is lost."""
    carry = 0
    for j in range(len(digits)):
        total = digits[j] * factor + carry
        digits[j] = total & MASK
        carry = total >> 32


@inlined
def divide_by(digits: Integers, divisor: int) -> int:
    """Divides by a number below 2^31, downwards; the remainder."""
    rest = 0
    for j in range(len(digits) - 1, -1, -1):
        total = (rest << 32) | digits[j]
        digits[j] = total // divisor
        rest = total % divisor
    return rest


@inlined
def length_of(digits: Integers) -> int:
    """The number of digits without those above the highest that is not 0."""
    used = len(digits)
    while used > 0 and digits[used - 1] == 0:
        used -= 1
    return used


@inlined
def nearest(digits: Integers, count: int, exponent: int, precision: int, lowest: int) -> float:
    """The nearest number of `precision` bits, ties to even, that is a whole number of 2^lowest.

    The digits are settled, and the first counts 2^exponent.
    """
    top = count - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
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
    highest = 32 * top + exponent + length - 1  # what the highest bit counts, as a power of 2
    unit = max(highest - (precision - 1), lowest)
    if unit - highest > 0:
        return 0.0  # below half of the smallest number, or a little more
    shift = np.uint64(unit - highest + 63)
    mantissa = window >> shift
    rest = window & ((np.uint64(1) << shift) - np.uint64(1))
    half = np.uint64(1) << (shift - np.uint64(1))
    if rest > half or (rest == half and (sticky or mantissa & np.uint64(1))):
        mantissa += np.uint64(1)
    return math.ldexp(np.float64(mantissa), unit)
