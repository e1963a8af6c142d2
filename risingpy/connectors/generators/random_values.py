"""Random values by number: the same number and salt give the same value, in any order and any cut.

A random generator with a state would have to run from its beginning to make row 1,000,000. A hash of the row's number
needs no state.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", np.uint8)
_LETTER_OF_BYTE = np.resize(_LETTERS, 256)


def salt_of(*parts: object) -> int:
    """64 bits that tell one use of a number from another: the seed, the column's name."""
    text = "\0".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def random_bits(numbers: Numbers, salt: int) -> Bits:
    """64 random bits for each number (splitmix64: Steele, Lea, Flood, 2014)."""
    bits = numbers.astype(np.uint64) * _GOLDEN + np.uint64(salt)
    bits = (bits ^ (bits >> np.uint64(30))) * _MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX_2
    mixed: Bits = bits ^ (bits >> np.uint64(31))
    return mixed


def random_integers(numbers: Numbers, salt: int, low: int, high: int) -> Numbers:
    """`low` to `high`, both included, as likely each, but for a part in 2⁶⁴ ÷ (high − low)."""
    span = high - low + 1
    bits = random_bits(numbers, salt)
    offsets = bits if span == 1 << 64 else bits % np.uint64(span)
    # Sums of unsigned numbers wrap, so they are right for every span of 64 bits.
    shifted: Bits = offsets + np.uint64(low % (1 << 64))
    return shifted.view(np.int64)


def random_fractions(numbers: Numbers, salt: int) -> npt.NDArray[np.float64]:
    """0 ≤ x < 1, in steps of 2⁻⁵³."""
    return (random_bits(numbers, salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def random_texts(numbers: Numbers, salt: int, length: int) -> pa.Array:
    """Letters and digits, `length` each."""
    rows = len(numbers)
    words = -(-length // 8)  # of 8 letters
    parts = (numbers[:, None] * words + np.arange(words, dtype=np.int64)).ravel()
    letters = random_bits(parts, salt).view(np.uint8).reshape(rows, words * 8)[:, :length]
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(length)
    return pa.Array.from_buffers(
        pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(_LETTER_OF_BYTE[letters].tobytes())]
    )
