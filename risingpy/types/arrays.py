"""Arrays of simple types: what system relations and drivers' introspection need. Values are Python lists.

text: {1,NULL,"a b"}      binary: int32 dimensions | int32 has nulls | uint32 element OID | per dimension int32 length,
                          int32 lower bound | per element int32 length (-1: NULL) and its binary form
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation, SqlError
from risingpy.types.forms import decode_binary, encode_binary, format_text, parse_text
from risingpy.types.oids import ARRAY_ELEMENT, OID_ALIASES, TYPE_BY_OID, VECTOR_ELEMENT

_NEEDS_QUOTES = re.compile(r'[{}",\\\s]|^$|^null$', re.IGNORECASE)
_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^{}",\\]|\\.)+?))\s*(,|$)', re.DOTALL)


def format_array(oid: int, values: Sequence[object]) -> str:
    """The text form of an array, int2vector or oidvector."""
    if oid in VECTOR_ELEMENT:
        return " ".join(str(value) for value in values)
    type_ = TYPE_BY_OID[ARRAY_ELEMENT[oid]]
    return "{" + ",".join("NULL" if v is None else _quoted(format_text(type_, v)) for v in values) + "}"


def _quoted(text: str) -> str:
    if not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_array(oid: int, text: str) -> list[object]:
    """The elements of a one-dimensional array's text form."""
    type_ = TYPE_BY_OID[ARRAY_ELEMENT[oid]]
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        raise InvalidTextRepresentation(f'malformed array literal: "{text}"')
    body = body[1:-1]
    values: list[object] = []
    at = 0
    while at < len(body) or (values and body.rstrip().endswith(",")):
        element = _ELEMENT.match(body, at)
        if element is None:
            raise InvalidTextRepresentation(f'malformed array literal: "{text}"')
        quoted, plain = element[1], element[2]
        if plain is not None and plain.lower() == "null":
            values.append(None)
        else:
            raw = re.sub(r"\\(.)", r"\1", quoted if quoted is not None else plain, flags=re.DOTALL)
            values.append(parse_text(type_, raw))
        at = element.end()
    return values


def encode_element(oid: int, value: object) -> bytes:
    """The binary form of a value of that OID, OID types included."""
    if oid in OID_ALIASES and isinstance(value, int):
        return struct.pack("!I", value)
    return encode_binary(TYPE_BY_OID[oid], value)


def decode_element(oid: int, data: bytes) -> object:
    if oid in OID_ALIASES:
        if len(data) != 4:
            raise SqlError("incorrect binary data format", sqlstate="22P03")
        return int.from_bytes(data, "big")
    return decode_binary(TYPE_BY_OID[oid], data)


def encode_array(oid: int, values: Sequence[object]) -> bytes:
    element, lower = (VECTOR_ELEMENT[oid], 0) if oid in VECTOR_ELEMENT else (ARRAY_ELEMENT[oid], 1)
    parts = [struct.pack("!iiI", 1 if values else 0, int(None in values), element)]
    if values:
        parts.append(struct.pack("!ii", len(values), lower))
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            data = encode_element(element, value)
            parts.append(struct.pack("!i", len(data)) + data)
    return b"".join(parts)


def decode_array(oid: int, data: bytes) -> list[object]:
    """Elements of an empty or one-dimensional array."""
    malformed = SqlError("incorrect binary data format", sqlstate="22P03")
    if len(data) < 12:
        raise malformed
    dimensions, _, _ = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise FeatureNotSupported("arrays of more than one dimension are not supported")
    element = ARRAY_ELEMENT.get(oid) or VECTOR_ELEMENT[oid]
    values: list[object] = []
    at = 20
    try:
        (count,) = struct.unpack_from("!i", data, 12)
        for _ in range(count):
            (length,) = struct.unpack_from("!i", data, at)
            at += 4
            if length < 0:
                values.append(None)
                continue
            if at + length > len(data):
                raise malformed
            values.append(decode_element(element, data[at : at + length]))
            at += length
    except struct.error:
        raise malformed from None
    return values
