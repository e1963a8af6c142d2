"""Structs and maps.

struct   text (1,"a b",), NULL being nothing    binary: int32 fields | per field uint32 OID, int32 length (-1: NULL),
                                                binary form
map      text {k:v,…} in the order of its keys  binary: the text, for PostgreSQL has no such type

Values are Python tuples (or dicts, as Arrow gives structs; lists of pairs, as it gives maps).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation, SqlError
from risingpy.types import forms
from risingpy.types.families import TypeKind
from risingpy.types.far_moments import values_of
from risingpy.types.sql_type import SqlType

_NEEDS_QUOTES = re.compile(r'[(),"\\\s]|^$')
_ARROW_NEEDS_QUOTES = r'[(),"\\ \t\n\r\x0b\x0c]|^$'
_FIELD = re.compile(r'(?:"(?:[^"\\]|\\.|"")*"|[^(),"\\]|\\.)*', re.DOTALL)
_NO_FIELDS = (None,)  # of a type without fields: `sql_type.NO_FIELD` stands for them
_QUOTED_PART = re.compile(r'"((?:[^"\\]|\\.|"")*)"', re.DOTALL)


def parse(type_: SqlType, text: str, time_zone: str) -> tuple[object, ...]:
    """The fields of a row literal."""
    if type_.kind is TypeKind.MAP:
        raise FeatureNotSupported("map literals are not supported", hint="Use MAP {key: value}.")
    body = text.strip()
    if not (body.startswith("(") and body.endswith(")")):
        raise _malformed(text, "Missing left parenthesis.")
    raw = _split(body[1:-1], text) if type_.items or body != "()" else []
    if len(raw) != len(type_.items):
        raise _malformed(text, "Too few columns." if len(raw) < len(type_.items) else "Too many columns.")
    if not raw:
        return _NO_FIELDS
    return tuple(
        None if field == "" else forms.parse_text(item, _unquoted(field), time_zone=time_zone)
        for field, item in zip(raw, type_.items, strict=True)
    )


def _split(body: str, whole: str) -> list[str]:
    fields = []
    at = 0
    while True:
        found = _FIELD.match(body, at)
        assert found is not None
        fields.append(found[0])
        at = found.end()
        if at == len(body):
            return fields
        if body[at] != ",":
            raise _malformed(whole, "Junk after right parenthesis.")
        at += 1


def _unquoted(field: str) -> str:
    def inner(found: re.Match[str]) -> str:
        return found[1].replace('""', '\\"')

    return re.sub(r"\\(.)", r"\1", _QUOTED_PART.sub(inner, field), flags=re.DOTALL)


def _malformed(text: str, detail: str) -> InvalidTextRepresentation:
    return InvalidTextRepresentation(f'malformed record literal: "{text}"', detail=detail)


def _fields(type_: SqlType, value: object) -> Sequence[object]:
    if not type_.items:
        return ()
    return [value[name] for name in type_.names] if isinstance(value, dict) else cast(Sequence[object], value)


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """A row as record_out writes it, NULL as nothing between commas; a map as `{k:v,…}`."""
    if type_.kind is TypeKind.MAP:
        return _format_map(type_, value, time_zone)
    shown = []
    for item, item_type in zip(_fields(type_, value), type_.items, strict=True):
        text = "" if item is None else forms.format_text(item_type, item, time_zone=time_zone)
        shown.append(text if item is None else _quoted(text))
    return "(" + ",".join(shown) + ")"


def _quoted(text: str) -> str:
    if not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def _format_map(type_: SqlType, value: object, time_zone: str) -> str:
    pairs = cast(Sequence[tuple[object, object]], value)
    shown = [
        (":").join(
            "NULL" if part is None else forms.format_text(part_type, part, time_zone=time_zone)
            for part, part_type in zip(pair, type_.items, strict=True)
        )
        for pair in pairs
    ]
    return "{" + ",".join(shown) + "}"


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them. Rows are joined from their fields' columns; NULLs stay."""
    if type_.kind is TypeKind.MAP:
        return _map_texts(type_, array, time_zone)
    pieces: list[object] = ["("]
    for k, item in enumerate(type_.items):
        texts = forms.text_column(item, array.field(k), time_zone=time_zone)
        special = pc.match_substring_regex(texts, _ARROW_NEEDS_QUOTES)
        if pc.any(special).as_py():
            escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '""')
            texts = pc.if_else(special, pc.binary_join_element_wise('"', escaped, '"', ""), texts)
        pieces += [*([","] if k else []), pc.fill_null(texts, "")]
    shown = pc.binary_join_element_wise(*pieces, ")", "") if type_.items else pa.array(["()"] * len(array), pa.string())
    return pc.if_else(array.is_valid(), shown, pa.scalar(None, pa.string())) if array.null_count else shown


def _map_texts(type_: SqlType, array: pa.MapArray, time_zone: str) -> pa.Array:
    first, last = array.offsets[0].as_py(), array.offsets[len(array)].as_py()
    parts = [
        pc.fill_null(forms.text_column(item, part.slice(first, last - first), time_zone=time_zone), "NULL")
        for item, part in zip(type_.items, (array.keys, array.items), strict=True)
    ]
    entries = pc.binary_join_element_wise(*parts, ":")
    lists = pa.ListArray.from_arrays(pc.subtract(array.offsets, first), entries)
    shown = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
    return pc.if_else(array.is_valid(), shown, pa.scalar(None, pa.string())) if array.null_count else shown


def encode(type_: SqlType, value: object) -> bytes:
    """A row as record_send writes it; a map as its text, for PostgreSQL has no such type."""
    if type_.kind is TypeKind.MAP:
        return _format_map(type_, value, "UTC").encode()
    parts = [struct.pack("!i", len(type_.items))]
    for item, item_type in zip(_fields(type_, value), type_.items, strict=True):
        data = None if item is None else forms.encode_binary(item_type, item)
        parts.append(struct.pack("!Ii", item_type.oid, -1 if data is None else len(data)) + (data or b""))
    return b"".join(parts)


def decode(type_: SqlType, data: bytes) -> tuple[object, ...]:
    """The fields of a row as a tuple; the OIDs that the client names for them are not read.

    Raises 22P03 for another number of fields than the type has, and for bytes missing or left over. Raises
    FeatureNotSupported for maps.
    """
    if type_.kind is TypeKind.MAP:
        raise FeatureNotSupported("binary input of maps is not supported")
    try:
        (count,) = struct.unpack_from("!i", data)
        if count != len(type_.items):
            raise struct.error
        values: list[object] = []
        at = 4
        for item in type_.items:
            _, length = struct.unpack_from("!Ii", data, at)
            at += 8
            values.append(None if length < 0 else forms.decode_binary(item, data[at : at + length]))
            at += max(length, 0)
        if at != len(data):
            raise struct.error
    except struct.error:
        raise SqlError("incorrect binary data format", sqlstate="22P03") from None
    return tuple(values) or _NO_FIELDS


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """The binary forms as Arrow binary, made one by one; NULLs stay."""
    values = [None if value is None else encode(type_, value) for value in values_of(array)]
    return pa.array(values, pa.binary())


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`: every row goes through `parse`."""
    return pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
