"""jsonb: one text per value, which PostgreSQL prints; binary is a version byte 1 and that text.

    {"b": 1.50, "aa": [true, null]}     keys ordered by length, then bytes, each once; ", " and ": " between; numbers
                                        exact, with the zeros that they were written with; texts with few escapes

So equal values have equal texts, but for zeros at the end of numbers, and a part of a value is a slice of its text.

json, the system type of the same kind, is the text as it was written: its blanks, the order of its keys, those that
come twice. Its binary form is the text alone. Functions of jsonb take it by a cast, which makes it the one text.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.statement_limits import look
from risingpy.types.character import invalid_utf8
from risingpy.types.sql_type import SqlType

_VERSION = b"\1"
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_DIGITS = 131_072  # of PostgreSQL's numeric, before the point


class Number(str):
    """A JSON number, kept as its text."""

    __slots__ = ()


Json = dict[str, "Json"] | list["Json"] | str | Number | bool | None


def canonical(text: str) -> str:
    """The one text of the value that `text` writes. Raises 22P02 for what is no JSON, 22P05 for \\u0000."""
    return dump(load(text))


def checked(text: str) -> str:
    """A text of the type json, as it is. Raises 22P02 for what is no JSON."""
    try:
        json.loads(text, parse_int=_kept, parse_float=_kept, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidTextRepresentation("invalid input syntax for type json") from None
    return text


def load(text: str) -> Json:
    """A JSON text as Python values; of keys that come twice, the last counts."""
    try:
        value: Json = json.loads(
            text.strip(" \t\n\r"), parse_int=_number, parse_float=_number, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise InvalidTextRepresentation("invalid input syntax for type json") from None
    if "\\u" in text:
        check_characters(value)
    return value


def dump(value: Json) -> str:
    """The text of a value."""
    look()  # a value may have millions of parts
    match value:
        case None:
            return "null"
        case True:
            return "true"
        case False:
            return "false"
        case Number():
            return str(value)
        case str():
            return quote(value)
        case dict():
            pairs = sorted(value.items(), key=lambda pair: key_order(pair[0]))
            return "{" + ", ".join(f"{quote(name)}: {dump(item)}" for name, item in pairs) + "}"
    return "[" + ", ".join(map(dump, value)) + "]"


def key_order(name: str) -> tuple[int, bytes]:
    """What an object's keys are sorted by."""
    encoded = name.encode()
    return len(encoded), encoded


def quote(text: str) -> str:
    """A text as JSON, with the escapes that PostgreSQL writes."""
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def _number(text: str) -> Number:
    look()
    if "e" not in text and "E" not in text:
        return Number(text[1:] if text.startswith("-0") and not text.strip("-0.") else text)
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise SqlError("value overflows numeric format", sqlstate="22003") from None
    if abs(number.adjusted()) > _MAX_DIGITS:
        raise SqlError("value overflows numeric format", sqlstate="22003")
    shown = format(number, "f")
    return Number(shown[1:] if not number and shown.startswith("-") else shown)


def _kept(text: str) -> str:
    look()
    return text


def _no_constant(word: str) -> Json:
    raise ValueError(word)


def check_characters(value: Json) -> None:
    """Raises 22P05 and 22P02 for what escapes may write and no text can hold."""
    match value:
        case Number() | bool() | None:
            return
        case str():
            if "\0" in value:
                detail = "\\u0000 cannot be converted to text."
                raise SqlError("unsupported Unicode escape sequence", sqlstate="22P05", detail=detail)
            if _SURROGATE.search(value):
                detail = "Unicode high surrogate must not follow a high surrogate."
                raise InvalidTextRepresentation("invalid input syntax for type json", detail=detail)
        case dict():
            for name, item in value.items():
                check_characters(name)
                check_characters(item)
        case list():
            for item in value:
                check_characters(item)


def parse(type_: SqlType, text: str, time_zone: str) -> str:
    """The canonical text, of json the text itself. Raises what `canonical` and `checked` raise."""
    return _read(type_, text)


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The value itself: it is the text that PostgreSQL prints."""
    return str(value)


def encode(type_: SqlType, value: object) -> bytes:
    """The version byte, of jsonb, then the text in UTF-8."""
    return _version(type_) + str(value).encode()


def decode(type_: SqlType, data: bytes) -> str:
    """As `parse`. XX000 for another version than 1, 22021 for bytes that are no UTF-8."""
    version = _version(type_)
    if not data.startswith(version):
        raise SqlError(f"unsupported jsonb version number {data[0] if data else 0}", sqlstate="XX000")
    text = data[len(version) :]
    try:
        return _read(type_, text.decode())
    except UnicodeDecodeError as error:
        raise invalid_utf8(text, error) from None


def _read(type_: SqlType, text: str) -> str:
    return checked(text) if type_.system else canonical(text)


def _version(type_: SqlType) -> bytes:
    """What a binary form begins with; that of the type json is the text alone."""
    return b"" if type_.system else _VERSION


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """The column itself; NULLs stay."""
    return array


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """The version byte, of jsonb, before each text, as Arrow binary; NULLs stay."""
    if type_.system:
        return array.cast(pa.binary())
    return pc.binary_join_element_wise(pa.scalar(_VERSION), array.cast(pa.binary()), b"")


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`. Values that come again are read once."""
    encoded = texts.dictionary_encode()
    values = pa.array([_read(type_, text) for text in encoded.dictionary.to_pylist()], pa.string())
    return values.take(encoded.indices), None
