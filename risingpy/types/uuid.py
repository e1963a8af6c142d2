"""uuid: 16 bytes, in text `a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11`."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.sql_type import SqlType

_BYTES = 16
_FORM = re.compile(r"([0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}")
_USUAL = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_HEX_PAIRS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
_DIGITS = np.array([k for k in range(36) if k not in (8, 13, 18, 23)])
_HEX_VALUE = np.zeros(256, np.uint8)
for _value, _digit in enumerate(b"0123456789abcdef"):
    _HEX_VALUE[_digit] = _value
    _HEX_VALUE[ord(chr(_digit).upper())] = _value


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Accepts braces around, capital letters, and hyphens after any group of four digits or none."""
    bare = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    if not _FORM.fullmatch(bare):
        raise InvalidTextRepresentation(f'invalid input syntax for type uuid: "{text}"')
    return bytes.fromhex(bare.replace("-", ""))


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    assert isinstance(value, bytes)
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def encode(type_: SqlType, value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


def decode(type_: SqlType, data: bytes) -> bytes:
    if len(data) != _BYTES:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return bytes(data)


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    count = len(array)
    shown = np.full((count, 36), ord("-"), np.uint8)
    shown[:, _DIGITS] = _HEX_PAIRS[_bytes(array)].view(np.uint8).reshape(count, 32)
    offsets = pa.py_buffer(36 * np.arange(count + 1, dtype=np.int32))
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    return pa.StringArray.from_buffers(count, offsets, pa.py_buffer(shown.reshape(-1)), valid)


def _bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """The column's bytes, 16 a row; zeros where it is NULL."""
    filled = pc.fill_null(array, bytes(_BYTES)) if array.null_count else array
    fixed = filled.cast(pa.binary(_BYTES))
    if not len(array):
        return np.empty((0, _BYTES), np.uint8)
    raw = np.frombuffer(fixed.buffers()[1], np.uint8)
    return raw[fixed.offset * _BYTES : (fixed.offset + len(array)) * _BYTES].reshape(-1, _BYTES)


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.void]:
    return np.ascontiguousarray(_bytes(array)).view("V16")[:, 0]


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The form that uuids are shown in; see `forms.parse_column`."""
    plain = pc.fill_null(pc.match_substring_regex(texts, _USUAL), False)
    if len(texts) == 0:
        return pa.array([], pa.binary()), None
    filled = pc.if_else(plain, texts, "00000000-0000-0000-0000-000000000000").cast(pa.binary()).cast(pa.binary(36))
    raw = np.frombuffer(filled.buffers()[1], np.uint8)
    digits = _HEX_VALUE[raw.reshape(-1, 36)[: len(texts), _DIGITS]]
    packed = np.ascontiguousarray((digits[:, 0::2] << 4) | digits[:, 1::2])
    valid = None if texts.null_count == 0 else pc.is_valid(texts).buffers()[1]
    offsets = pa.py_buffer(_BYTES * np.arange(len(texts) + 1, dtype=np.int32))
    values = pa.Array.from_buffers(pa.binary(), len(texts), [valid, offsets, pa.py_buffer(packed.reshape(-1))])
    return values, pc.or_(plain, pc.is_null(texts))
