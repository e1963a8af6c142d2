"""rw_int256 (`types.int256`): arithmetic, and numbers from hexadecimal digits.

Raises NumericValueOutOfRange for what has more than 256 bits, and DivisionByZero.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import DivisionByZero, InvalidTextRepresentation, NumericValueOutOfRange
from risingpy.functions.topics.calling import Compute, Function, by_row
from risingpy.functions.topics.numbers import int256_kernels as kernels
from risingpy.types.int256 import DIGITS, LIMIT, column_of, digits_of, to_bytes

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_HEX = re.compile(r"(-?)(?:0[xX])?([0-9a-fA-F]+)")
_MASK = 0xFFFFFFFF


def _adding(sign: int) -> Compute:
    def compute(left: pa.Array, right: pa.Array) -> pa.Array:
        return _settled(_signed(left) + sign * _signed(right))

    return compute


def _signed(column: pa.Array) -> Integers:
    digits, negative = digits_of(column)
    return np.where(negative[:, None], -digits, digits)


def _settled(digits: Integers) -> pa.Array:
    """The column of numbers whose digits have signs of their own and wait for carries."""
    carry = np.zeros(len(digits), np.int64)
    for k in range(DIGITS):
        total = digits[:, k] + carry
        digits[:, k], carry = total & _MASK, total >> 32
    negative = carry < 0
    borrow = np.where(negative, 1, 0)
    for k in range(DIGITS):  # the two's complement of the negative ones
        total = np.where(negative, digits[:, k] ^ _MASK, digits[:, k]) + borrow
        digits[:, k], borrow = total & _MASK, total >> 32
    if ((carry != 0) & (carry != -1) | (borrow != 0)).any():
        raise NumericValueOutOfRange("rw_int256 out of range")
    return column_of(digits, negative)


def _multiply(left: pa.Array, right: pa.Array) -> pa.Array:
    (a, a_negative), (b, b_negative) = digits_of(left), digits_of(right)
    product, failed = np.empty(a.size, np.int64), np.zeros(len(a), np.uint8)
    kernels.multiply(_flat(a), _flat(b), product, failed)
    if failed.any():
        raise NumericValueOutOfRange("rw_int256 out of range")
    return column_of(product.reshape(-1, DIGITS), a_negative ^ b_negative)


def _flat(digits: Integers) -> Integers:
    return np.ascontiguousarray(digits).reshape(-1)


def _divided(left: pa.Array, right: pa.Array) -> tuple[Integers, Integers, Mask, Mask]:
    """Quotients and remainders, with the signs of the arguments."""
    (a, a_negative), (b, b_negative) = digits_of(left), digits_of(right)
    if not b.any(axis=1).all():
        raise DivisionByZero("division by zero")
    quotients, remainders = np.empty((2, a.size), np.int64)
    kernels.divide(_flat(a), _flat(b), quotients, remainders)
    return quotients.reshape(-1, DIGITS), remainders.reshape(-1, DIGITS), a_negative, b_negative


def _divide(left: pa.Array, right: pa.Array) -> pa.Array:
    quotients, _, a_negative, b_negative = _divided(left, right)
    return column_of(quotients, a_negative ^ b_negative)


def _modulo(left: pa.Array, right: pa.Array) -> pa.Array:
    _, remainders, negative, _ = _divided(left, right)
    return column_of(remainders, negative)


def _negate(column: pa.Array) -> pa.Array:
    digits, negative = digits_of(column)
    return column_of(digits, ~negative)


def _abs(column: pa.Array) -> pa.Array:
    digits, negative = digits_of(column)
    return column_of(digits, np.zeros_like(negative))


def _of_hex(text: str) -> bytes:
    match = _HEX.fullmatch(text)
    if match is None:
        raise InvalidTextRepresentation(f'invalid hexadecimal number: "{text}"')
    value = int(match[2], 16) if len(match[2]) <= 2 * LIMIT.bit_length() else LIMIT
    return to_bytes(-value if match[1] else value)


LARGE_INTEGERS: dict[str, Function] = {
    "int256_add": Function(_adding(1)),
    "int256_subtract": Function(_adding(-1)),
    "int256_multiply": Function(_multiply),
    "int256_divide": Function(_divide),
    "int256_modulo": Function(_modulo),
    "int256_negate": Function(_negate),
    "int256_abs": Function(_abs),
    "hex_to_int256": Function(by_row(_of_hex, pa.binary())),
}
