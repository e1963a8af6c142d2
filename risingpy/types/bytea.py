"""bytea: text `\\x` and hexadecimal digits (bytea_output = hex), binary the bytes themselves."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, InvalidTextRepresentation
from risingpy.types.sql_type import SqlType

_HEX_PAIRS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
_ESCAPE = re.compile(rb"\\(\\|[0-3][0-7]{2})?")
_NOT_HEX = 255
_HEX_VALUE = np.full(256, _NOT_HEX, np.uint8)
for _value, _digit in enumerate(b"0123456789abcdef"):
    _HEX_VALUE[_digit] = _value
    _HEX_VALUE[ord(chr(_digit).upper())] = _value


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """The hex form (blanks between pairs allowed) and the traditional escape form."""
    if not text.startswith("\\x"):
        return _parse_escapes(text)
    digits = re.sub(r"[ \t\n\r]+", "", text[2:])
    bad = re.search(r"[^0-9a-fA-F]", digits)
    if bad is not None:
        raise InvalidParameterValue(f'invalid hexadecimal digit: "{bad[0]}"')
    if len(digits) % 2:
        raise InvalidParameterValue("invalid hexadecimal data: odd number of digits")
    return bytes.fromhex(digits)


def _parse_escapes(text: str) -> bytes:
    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code is None:
            raise InvalidTextRepresentation("invalid input syntax for type bytea")
        return b"\\" if code == b"\\" else bytes([int(code, 8)])

    return _ESCAPE.sub(byte, text.encode())


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The hex form, with lower-case digits; bytea_output cannot choose the escape form."""
    assert isinstance(value, bytes)
    return "\\x" + value.hex()


def encode(type_: SqlType, value: object) -> bytes:
    """The value itself: bytea has no header."""
    assert isinstance(value, bytes)
    return value


def decode(type_: SqlType, data: bytes) -> bytes:
    """All bytes are a value; raises nothing."""
    return bytes(data)


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """The hex forms. All digits are looked up at once; the offsets are the column's own, doubled."""
    count = len(array)
    offsets, data = offsets_and_bytes(array)
    doubled = pa.py_buffer(((offsets - offsets[0]) * 2).astype(np.int32))
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    digits = pa.StringArray.from_buffers(count, doubled, pa.py_buffer(_HEX_PAIRS[data].tobytes()), valid)
    return pc.binary_join_element_wise("\\x", digits, "")


def offsets_and_bytes(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Offsets and the bytes that they span, of a binary or string array that may be a slice."""
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    if len(offsets) == 0:
        offsets = np.zeros(1, np.int32)
    data = np.empty(0, np.uint8)
    if data_buffer is not None and data_buffer.size:
        data = np.frombuffer(data_buffer, np.uint8)
    return offsets, data[offsets[0] : offsets[-1]]


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """The column itself; NULLs stay."""
    return array


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The hex form without blanks; see `forms.parse_column`."""
    plain = pc.match_substring_regex(texts, r"^\\x([0-9a-fA-F]{2})*$")
    digits = pc.binary_replace_slice(pc.if_else(plain, texts, pa.scalar("\\x")).cast(pa.binary()), 0, 2, b"")
    if digits.null_count:
        digits = pc.fill_null(digits, b"")
    offsets, data = offsets_and_bytes(digits)
    values = _HEX_VALUE[data]
    packed = (values[0::2] << 4) | values[1::2]
    valid = None if texts.null_count == 0 else pc.is_valid(texts).buffers()[1]
    halved = pa.py_buffer(((offsets - offsets[0]) // 2).astype(np.int32))
    result = pa.Array.from_buffers(pa.binary(), len(texts), [valid, halved, pa.py_buffer(packed.tobytes())])
    return result, pc.or_kleene(plain, pc.is_null(texts))
