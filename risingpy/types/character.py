"""character varying and text: the same bytes, UTF-8, in both forms."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError, StringTooLong
from risingpy.types.sql_type import SqlType


def parse(type_: SqlType, text: str, time_zone: str) -> str:
    """Cuts blanks beyond varchar(n), raises StringTooLong for anything else beyond it; refuses NUL characters."""
    if "\0" in text:
        raise SqlError('invalid byte sequence for encoding "UTF8": 0x00', sqlstate="22021")
    if type_.length is not None and len(text) > type_.length:
        if text[type_.length :].strip(" "):
            raise StringTooLong(f"value too long for type {type_}")
        return text[: type_.length]
    return text


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    return str(value)


def encode(type_: SqlType, value: object) -> bytes:
    return str(value).encode()


def decode(type_: SqlType, data: bytes) -> str:
    try:
        return parse(type_, data.decode(), "UTC")
    except UnicodeDecodeError as error:
        raise invalid_utf8(data, error) from None


def invalid_utf8(data: bytes, error: UnicodeDecodeError) -> SqlError:
    """PostgreSQL's words for bytes that are not UTF-8."""
    shown = " ".join(f"0x{byte:02x}" for byte in data[error.start : error.end])
    return SqlError(f'invalid byte sequence for encoding "UTF8": {shown}', sqlstate="22021")


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    return array


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    return array.cast(pa.binary())


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`."""
    if type_.length is None:
        return texts, None
    return texts, pc.or_kleene(pc.less_equal(pc.utf8_length(texts), type_.length), pc.is_null(texts))
