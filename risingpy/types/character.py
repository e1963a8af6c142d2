"""character varying, text and character(n): the same bytes, UTF-8, in both forms.

A character(n) is kept without the blanks at its end, which mean nothing, and shown with as many as it takes.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError, StringTooLong
from risingpy.types.families import TypeKind
from risingpy.types.sql_type import SqlType


def parse(type_: SqlType, text: str, time_zone: str) -> str:
    """Cuts blanks beyond varchar(n), raises StringTooLong for anything else beyond it; refuses NUL characters."""
    if "\0" in text:
        raise SqlError('invalid byte sequence for encoding "UTF8": 0x00', sqlstate="22021")
    if type_.length is not None and len(text) > type_.length:
        if text[type_.length :].strip(" "):
            raise StringTooLong(f"value too long for type {type_}")
        text = text[: type_.length]
    return text.rstrip(" ") if type_.kind is TypeKind.CHARACTER else text


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The value; a character(n) is filled with blanks to n characters."""
    return str(value).ljust(type_.length or 0) if _is_padded(type_) else str(value)


def _is_padded(type_: SqlType) -> bool:
    return type_.kind is TypeKind.CHARACTER and type_.length is not None


def encode(type_: SqlType, value: object) -> bytes:
    """The UTF-8 bytes of the text form, so a character(n) has its blanks in binary too; of an empty "char" a zero."""
    return format_value(type_, value, "UTC").encode() or (b"\0" if type_.system == "char" else b"")


def decode(type_: SqlType, data: bytes) -> str:
    """What `parse` makes of the text. Raises 22021 for bytes that are no UTF-8, and what `parse` raises."""
    try:
        return parse(type_, data.decode(), "UTC")
    except UnicodeDecodeError as error:
        raise invalid_utf8(data, error) from None


def invalid_utf8(data: bytes, error: UnicodeDecodeError) -> SqlError:
    """PostgreSQL's words for bytes that are not UTF-8."""
    shown = " ".join(f"0x{byte:02x}" for byte in data[error.start : error.end])
    return SqlError(f'invalid byte sequence for encoding "UTF8": {shown}', sqlstate="22021")


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """The column itself; a character(n) column is filled with blanks to n characters. NULLs stay."""
    return pc.utf8_rpad(array, type_.length, padding=" ") if _is_padded(type_) else array


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """The text forms as Arrow binary, an empty "char" as the zero byte that it is in PostgreSQL; NULLs stay."""
    if type_.system == "char":
        array = pc.if_else(pc.equal(array, ""), "\0", array)
    return text_column(type_, array, "UTC").cast(pa.binary())


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`."""
    values = pc.utf8_rtrim(texts, " ") if type_.kind is TypeKind.CHARACTER else texts
    if type_.length is None:
        return values, None
    return values, pc.or_kleene(pc.less_equal(pc.utf8_length(values), type_.length), pc.is_null(texts))
