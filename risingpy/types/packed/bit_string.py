"""bit(n) and bit varying(n): text of the digits 0 and 1; binary a 32-bit number of bits, then whole bytes.

A value is its digits as a text, in Arrow and in DuckDB: texts order as PostgreSQL orders bit strings, by the first bit
that differs, and a string before those that it begins.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.bytea import offsets_and_bytes
from risingpy.types.families import TypeKind
from risingpy.types.sql_type import SqlType

_DIGITS = {"b": (re.compile("[^01]"), "binary"), "x": (re.compile("[^0-9a-fA-F]"), "hexadecimal")}
_HEAD = 4  # bytes in front of the bits
_ZERO = ord("0")


def parse(type_: SqlType, text: str, time_zone: str) -> str:
    """Digits 0 and 1, perhaps after a `b`, or hexadecimal digits after an `x`.

    Raises 22P02 for another digit, 22026 and 22001 for another length than the type's.
    """
    base = "x" if text[:1] in ("x", "X") else "b"
    digits = text[1:] if text[:1] in ("x", "X", "b", "B") else text
    other, kind = _DIGITS[base]
    wrong = other.search(digits)
    if wrong is not None:
        raise InvalidTextRepresentation(f'"{wrong[0]}" is not a valid {kind} digit')
    bits = "".join(f"{int(digit, 16):04b}" for digit in digits) if base == "x" else digits
    check_length(type_, len(bits))
    return bits


def check_length(type_: SqlType, length: int) -> None:
    """Raises 22026 and 22001 for a length that bit(n) and bit varying(n) do not have."""
    if type_.length is None:
        return
    if type_.kind is TypeKind.BIT and length != type_.length:
        raise SqlError(f"bit string length {length} does not match type bit({type_.length})", sqlstate="22026")
    if length > type_.length:
        raise SqlError(f"bit string too long for type bit varying({type_.length})", sqlstate="22001")


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The digits."""
    return str(value)


def encode(type_: SqlType, value: object) -> bytes:
    """The number of bits, and the bits from the highest of each byte on."""
    bits = str(value)
    count = -(-len(bits) // 8)
    return len(bits).to_bytes(_HEAD, "big") + int(bits.ljust(8 * count, "0") or "0", 2).to_bytes(count, "big")


def decode(type_: SqlType, data: bytes) -> str:
    """Bits after the last are ignored, as PostgreSQL does. Raises 22P03, and what `check_length` raises."""
    length = int.from_bytes(data[:_HEAD], "big", signed=True)
    if len(data) < _HEAD or length < 0 or len(data) != _HEAD + -(-length // 8):
        raise SqlError("invalid length in external bit string", sqlstate="22P03")
    bits = "".join(f"{byte:08b}" for byte in data[_HEAD:])[:length]
    check_length(type_, length)
    return bits


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """The column itself; NULLs stay."""
    return array


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """As `encode` writes them, as Arrow binary; NULLs stay."""
    rows = len(array)
    offsets, digits = offsets_and_bytes(array)
    starts = (offsets - offsets[0]).astype(np.int64)
    lengths = np.diff(starts)
    sizes = -(-lengths // 8)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(_HEAD + sizes)])
    # Each row's digits move to the bits of its own bytes: 8 times the bytes before, and the place in the row.
    moved = np.repeat(8 * (ends[:-1] + _HEAD) - starts[:-1], lengths) + np.arange(len(digits))
    bits = np.zeros(8 * int(ends[-1]), np.uint8)
    bits[moved] = digits - _ZERO
    data = np.packbits(bits)
    places = ends[:-1, None] + np.arange(_HEAD)
    data[places] = lengths.astype(">i4").view(np.uint8).reshape(rows, _HEAD)
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), rows, [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)])


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Digits 0 and 1 of the right number; see `forms.parse_column`."""
    plain = pc.match_substring_regex(texts, "^[01]*$")
    if type_.length is not None:
        fits = pc.equal if type_.kind is TypeKind.BIT else pc.less_equal
        plain = pc.and_kleene(plain, fits(pc.binary_length(texts), type_.length))
    return texts, pc.or_kleene(plain, pc.is_null(texts))
