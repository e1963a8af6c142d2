"""Products and quotients of rw_int256 (`types.int256`), compiled: magnitudes as digits of 32 bits, the lowest first.

Row i of a matrix is `digits[8 * i : 8 * i + 8]`, int64 from 0 to 2^32 - 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.storage.kernels.compile import compiled

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]

_DIGITS = 8
_MASK = 0xFFFFFFFF
_IN = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")
_FLAGS = types.Array(types.uint8, 1, "C")


@compiled(_IN, _IN, _OUT, _FLAGS)
def multiply(left: Integers, right: Integers, out: Integers, failed: Flags) -> None:
    """Products; `failed` where one has more than 256 bits."""
    product = np.zeros(2 * _DIGITS, np.uint64)
    for i in range(len(failed)):
        product[:] = 0
        for j in range(_DIGITS):
            carry = np.uint64(0)
            for k in range(_DIGITS):
                total = np.uint64(left[_DIGITS * i + j]) * np.uint64(right[_DIGITS * i + k])
                total += product[j + k] + carry
                product[j + k] = total & np.uint64(_MASK)
                carry = total >> np.uint64(32)
            product[j + _DIGITS] = carry
        for k in range(_DIGITS):
            out[_DIGITS * i + k] = np.int64(product[k])
            if product[_DIGITS + k] != 0:
                failed[i] = 1


@compiled(_IN, _IN, _OUT, _OUT)
def divide(left: Integers, right: Integers, quotients: Integers, remainders: Integers) -> None:
    """Quotients, cut, and remainders; no divisor is 0. Bit by bit, from the highest of the dividend on."""
    rest = np.zeros(_DIGITS + 1, np.int64)
    for i in range(len(left) // _DIGITS):
        rest[:] = 0
        start = _DIGITS * i
        for k in range(_DIGITS):
            quotients[start + k] = 0
        used = _DIGITS
        while used > 0 and left[start + used - 1] == 0:
            used -= 1
        for position in range(32 * used - 1, -1, -1):
            carry = left[start + (position >> 5)] >> (position & 31) & 1
            for k in range(_DIGITS + 1):
                total = rest[k] << 1 | carry
                rest[k] = total & _MASK
                carry = total >> 32
            fits = True
            if rest[_DIGITS] == 0:
                for k in range(_DIGITS - 1, -1, -1):
                    if rest[k] != right[start + k]:
                        fits = rest[k] > right[start + k]
                        break
            if fits:
                borrow = 0
                for k in range(_DIGITS):
                    total = rest[k] - right[start + k] + borrow
                    rest[k] = total & _MASK
                    borrow = total >> 32
                rest[_DIGITS] += borrow
                quotients[start + (position >> 5)] |= 1 << (position & 31)
        for k in range(_DIGITS):
            remainders[start + k] = rest[k]
