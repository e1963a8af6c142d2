"""macaddr: 6 bytes, in text `08:00:2b:01:02:03`."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.sql_type import SqlType

_BYTES = 6
_USUAL = "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$"
_HEX_VALUE = np.array(
    [int(chr(byte), 16) if chr(byte) in "0123456789abcdefABCDEF" else 0 for byte in range(256)], np.uint8
)
_PAIR = "[0-9a-fA-F]{2}"
_FORM = re.compile(
    rf"\s*({_PAIR}(:{_PAIR}){{5}}|{_PAIR}(-{_PAIR}){{5}}|[0-9a-fA-F]{{6}}[:-][0-9a-fA-F]{{6}}"
    rf"|[0-9a-fA-F]{{4}}([.-])[0-9a-fA-F]{{4}}\4[0-9a-fA-F]{{4}}|[0-9a-fA-F]{{12}})\s*"
)


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Accepts PostgreSQL's seven forms: pairs with colons or hyphens, groups of six or four digits, twelve digits."""
    if not _FORM.fullmatch(text):
        raise InvalidTextRepresentation(f'invalid input syntax for type macaddr: "{text}"')
    return bytes.fromhex(re.sub(r"[^0-9a-fA-F]", "", text))


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    assert isinstance(value, bytes)
    return value.hex(":")


def encode(type_: SqlType, value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


def decode(type_: SqlType, data: bytes) -> bytes:
    if len(data) != _BYTES:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return bytes(data)


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    digits = pc.binary_join_element_wise(*[_pair(array, k) for k in range(_BYTES)], ":")
    return pc.if_else(pc.is_valid(array), digits, None)


def _pair(array: pa.Array, place: int) -> pa.Array:
    pairs = pa.array([f"{byte:02x}" for byte in range(256)])
    return pairs.take(pa.array(_bytes(array)[:, place]))


def _bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """The column's bytes, 6 a row; zeros where it is NULL."""
    fixed = pc.fill_null(array, bytes(_BYTES)).cast(pa.binary(_BYTES))
    if not len(array):
        return np.empty((0, _BYTES), np.uint8)
    raw = np.frombuffer(fixed.buffers()[1], np.uint8)
    return raw[fixed.offset * _BYTES : (fixed.offset + len(array)) * _BYTES].reshape(-1, _BYTES)


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.void]:
    return np.ascontiguousarray(_bytes(array)).view("V6")[:, 0]


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The form that addresses are shown in; see `forms.parse_column`."""
    plain = pc.fill_null(pc.match_substring_regex(texts, _USUAL), False)
    if len(texts) == 0:
        return pa.array([], pa.binary()), None
    filled = pc.if_else(plain, texts, "00:00:00:00:00:00").cast(pa.binary()).cast(pa.binary(3 * _BYTES - 1))
    raw = np.frombuffer(filled.buffers()[1], np.uint8).reshape(-1, 3 * _BYTES - 1)[: len(texts)]
    packed = (_HEX_VALUE[raw[:, 0::3]] << 4) | _HEX_VALUE[raw[:, 1::3]]
    values = pa.FixedSizeBinaryArray.from_buffers(pa.binary(_BYTES), len(texts), [None, pa.py_buffer(packed.tobytes())])
    return pc.if_else(pc.is_valid(texts), values.cast(pa.binary()), None), pc.or_(plain, pc.is_null(texts))
