"""rw_int256, RisingWave's integer of 256 bits: decimal text; binary as 32 bytes, two's complement, big-endian.

A value is its 32 binary bytes with the first bit turned, so that bytes order as the numbers do:

    1      80000000 … 00000001
    -1     7fffffff … ffffffff

One number has one form: columns of them are grouped, joined, sorted and stored as byte strings.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.types.sql_type import SqlType

BYTES = 32
DIGITS = 8  # of 32 bits
LIMIT = 1 << 255
_MASK = 0xFFFFFFFF
_TOP_BIT = 1 << 31
_SYNTAX = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)
_LONGEST = 78  # decimal digits
_LIMBS = 9  # of nine decimal digits: 81
_LIMB_DIGITS = 9
_BASE = 10**_LIMB_DIGITS
_POWERS = 10 ** np.arange(_LIMB_DIGITS - 1, -1, -1, dtype=np.int64)
_ZERO = LIMIT.to_bytes(BYTES, "big")

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def to_bytes(value: int) -> bytes:
    """The form of an integer. Raises NumericValueOutOfRange."""
    if not -LIMIT <= value < LIMIT:
        raise NumericValueOutOfRange("rw_int256 out of range")
    return (value + LIMIT).to_bytes(BYTES, "big")


def to_int(data: bytes) -> int:
    """The number that a value's 32 bytes stand for; `to_bytes` is the other direction."""
    return int.from_bytes(data, "big") - LIMIT


def digits_of(array: pa.Array) -> tuple[Integers, Mask]:
    """Magnitudes as rows of eight digits of 32 bits, the lowest first, and which rows are negative; NULL is 0."""
    if not len(array):
        return np.empty((0, DIGITS), np.int64), np.empty(0, np.bool_)
    filled = pc.fill_null(array, _ZERO) if array.null_count else array
    fixed = filled.cast(pa.binary(BYTES))
    raw = np.frombuffer(fixed.buffers()[1], ">u4")[fixed.offset * DIGITS : (fixed.offset + len(array)) * DIGITS]
    digits = raw.reshape(-1, DIGITS)[:, ::-1].astype(np.int64)
    negative = digits[:, -1] < _TOP_BIT
    digits[:, -1] ^= _TOP_BIT
    _negate(digits, negative)
    return digits, negative


def column_of(digits: Integers, negative: Mask, null: Mask | None = None) -> pa.Array:
    """The column of magnitudes and signs. Raises NumericValueOutOfRange, but not for NULLs."""
    digits = digits.copy()
    _negate(digits, negative)
    wrong = (digits[:, -1] >= _TOP_BIT) != (negative & digits.any(axis=1))
    if (wrong if null is None else wrong & ~null).any():
        raise NumericValueOutOfRange("rw_int256 out of range")
    digits[:, -1] ^= _TOP_BIT
    rows = np.ascontiguousarray(digits[:, ::-1].astype(">u4"))
    valid = None if null is None or not null.any() else pa.py_buffer(np.packbits(~null, bitorder="little"))
    offsets = pa.py_buffer(BYTES * np.arange(len(digits) + 1, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), len(digits), [valid, offsets, pa.py_buffer(rows.reshape(-1))])


def encoded_words(array: pa.Array) -> Integers:
    """The numbers in two's complement as four int64 each, the lowest first; NULL is 0."""
    if not len(array):
        return np.empty(0, np.int64)
    filled = pc.fill_null(array, _ZERO) if array.null_count else array
    fixed = filled.cast(pa.binary(BYTES))
    words = np.frombuffer(fixed.buffers()[1], ">u8")[fixed.offset * 4 : (fixed.offset + len(array)) * 4]
    lowest_first = words.reshape(-1, 4)[:, ::-1].astype(np.uint64)
    lowest_first[:, 3] ^= np.uint64(1 << 63)
    return np.ascontiguousarray(lowest_first).view(np.int64).reshape(-1)


def _negate(digits: Integers, chosen: Mask) -> None:
    """Takes the two's complement of the chosen rows."""
    if not chosen.any():
        return
    carry = np.ones(int(chosen.sum()), np.int64)
    for k in range(DIGITS):
        total = (digits[chosen, k] ^ _MASK) + carry
        digits[chosen, k] = total & _MASK
        carry = total >> 32


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """The 32 bytes of a decimal number. Raises 22P02 for other text, NumericValueOutOfRange beyond 256 bits."""
    match = _SYNTAX.fullmatch(text)
    if match is None:
        raise InvalidTextRepresentation(f'invalid input syntax for type rw_int256: "{text}"')
    digits = match[1].lstrip("+-").lstrip("0") or "0"
    if len(digits) > _LONGEST or not -LIMIT <= (value := int(digits) * (-1 if match[1][0] == "-" else 1)) < LIMIT:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type rw_int256')
    return to_bytes(value)


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The decimal digits, `-` before a negative number."""
    assert isinstance(value, bytes)
    return str(to_int(value))


def encode(type_: SqlType, value: object) -> bytes:
    """Two's complement: the first bit, turned for the order, is turned back."""
    assert isinstance(value, bytes)
    return bytes([value[0] ^ 0x80]) + value[1:]


def decode(type_: SqlType, data: bytes) -> bytes:
    """Raises 22P03 for another length than 32 bytes."""
    if len(data) != BYTES:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return bytes([data[0] ^ 0x80]) + data[1:]


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """Decimal digits of all rows at once, by long division of their 32-bit digits; NULLs stay."""
    digits, negative = digits_of(array)
    limbs = np.empty((len(digits), _LIMBS), np.int64)
    for place in range(_LIMBS - 1, -1, -1):
        rest = np.zeros(len(digits), np.int64)
        for k in range(DIGITS - 1, -1, -1):
            total = rest << 32 | digits[:, k]
            digits[:, k], rest = total // _BASE, total % _BASE
        limbs[:, place] = rest
    figures = (limbs[:, :, None] // _POWERS % 10).astype(np.uint8).reshape(len(limbs), _LIMBS * _LIMB_DIGITS)
    leading = np.where(figures.any(axis=1), (figures != 0).argmax(axis=1), figures.shape[1] - 1)
    shown = np.empty((len(figures), 1 + figures.shape[1]), np.uint8)
    shown[:, 0] = ord("-")
    shown[:, 1:] = figures + ord("0")
    keep = np.empty(shown.shape, np.bool_)
    keep[:, 0] = negative
    keep[:, 1:] = np.arange(figures.shape[1]) >= leading[:, None]
    offsets = np.zeros(len(figures) + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    return pa.StringArray.from_buffers(len(figures), pa.py_buffer(offsets), pa.py_buffer(shown[keep]), valid)


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.void]:
    """Items of 32 bytes; those of 0 where the column is NULL."""
    filled = pc.fill_null(array, _ZERO) if array.null_count else array
    fixed = filled.cast(pa.binary(BYTES))
    raw = np.frombuffer(fixed.buffers()[1], np.uint8) if len(array) else np.empty(0, np.uint8)
    rows = raw[fixed.offset * BYTES : (fixed.offset + len(array)) * BYTES].reshape(-1, BYTES).copy()
    rows[:, 0] ^= 0x80
    return rows.view(f"V{BYTES}")[:, 0]


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Digits with perhaps a minus; see `forms.parse_column`."""
    if len(texts) == 0:
        return pa.array([], pa.binary()), None
    plain = pc.fill_null(pc.match_substring_regex(texts, r"^-?[0-9]{1,76}$"), False)
    chosen = pc.if_else(plain, texts, "0")
    negative = pc.starts_with(chosen, "-").to_numpy(zero_copy_only=False)
    width = _LIMBS * _LIMB_DIGITS
    padded = pc.utf8_lpad(pc.utf8_ltrim(chosen, characters="-"), width, padding="0").cast(pa.binary())
    raw = np.frombuffer(padded.cast(pa.binary(width)).buffers()[1], np.uint8)[: width * len(texts)]
    limbs = (raw - ord("0")).reshape(-1, _LIMBS, _LIMB_DIGITS).astype(np.int64) @ _POWERS
    digits = np.zeros((len(texts), DIGITS), np.int64)
    for place in range(_LIMBS):
        carry = limbs[:, place]
        for k in range(DIGITS):
            total = digits[:, k] * _BASE + carry
            digits[:, k], carry = total & _MASK, total >> 32
    null = pc.is_null(texts).to_numpy(zero_copy_only=False)
    return column_of(digits, negative, null), pc.or_(plain, pc.is_null(texts))
