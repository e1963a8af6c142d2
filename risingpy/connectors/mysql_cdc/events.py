"""The events of the binary log: their heads, and what a table map says of a table.

    head        time u32, type u8, server id u32, length u32, position after it u32, flags u16
    table map   table id u48, flags u16, database, table, number of columns, their types, their types' details, which of
                them may be NULL, then optional fields (type u8, length, value): names, signs, collations, labels, key

All integers are little-endian; a length is a byte up to 250, or 252, 253, 254 and 2, 3, 8 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

HEAD_BYTES = 19
QUERY, ROTATE, FORMAT, XID, TABLE_MAP, XA_PREPARE, HEARTBEAT, MARIADB_GTID = 2, 4, 15, 16, 19, 38, 27, 162
WRITE, UPDATE, DELETE = frozenset((23, 30)), frozenset((24, 31)), frozenset((25, 32))
ROWS = WRITE | UPDATE | DELETE
UNREADABLE = {40: "compressed transactions", 165: "compressed events", 166: "compressed events",
              167: "compressed events", 168: "compressed events", 39: "partial rows"}  # fmt: skip
_SECOND_VERSION = 30  # of row events, from this type on: they have more data before the columns

TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24, DATE, YEAR = 1, 2, 3, 4, 5, 8, 9, 10, 13
VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2, JSON, DECIMAL = 15, 16, 17, 18, 19, 245, 246
ENUM, SET, BLOB, STRING, GEOMETRY = 247, 248, 252, 254, 255
_INTEGERS = {TINY: 1, SHORT: 2, INT24: 3, LONG: 4, LONGLONG: 8}
_FIXED = {**_INTEGERS, FLOAT: 4, DOUBLE: 8, DATE: 3, YEAR: 1}
_WITH_FRACTION = {TIMESTAMP2: 4, DATETIME2: 5, TIME2: 3}
_NUMERIC = frozenset((*_INTEGERS, FLOAT, DOUBLE, DECIMAL, YEAR))  # those with a bit for their sign; see _unsigned
_SIGNS, _NAMES, _SETS, _ENUMS, _KEY, _KEY_PARTS = 1, 4, 5, 6, 8, 9
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of decimals: for so many digits


@dataclass(frozen=True, slots=True)
class MapColumn:
    """A column in row events. `size` is the bytes of a value, or with `has_length` those of the length before it.

    `detail` are a decimal's (precision, scale), the number of a time's fraction digits, of a bit field's bits, or of
    the bytes of a CHAR or BINARY.
    """

    name: str
    type: int
    size: int
    has_length: bool
    detail: tuple[int, ...]
    is_unsigned: bool
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table as the row events after this one see it. `key` are the names of its primary key's columns."""

    name: str
    columns: tuple[MapColumn, ...]
    key: tuple[str, ...]


def decimal_bytes(precision: int, scale: int) -> int:
    """How long the binary form of a decimal is: nine digits in four bytes, and fewer for what is left."""
    whole = precision - scale
    return whole // 9 * 4 + _DIGIT_BYTES[whole % 9] + scale // 9 * 4 + _DIGIT_BYTES[scale % 9]


def table_id_of(body: bytes) -> int:
    """Of a table map or row event, without its head."""
    return int.from_bytes(body[:6], "little")


def columns_start(type_: int, body: bytes) -> int:
    """Where a row event's number of columns is."""
    return 8 + (struct.unpack_from("<H", body, 8)[0] if type_ >= _SECOND_VERSION else 0)


def query_of(body: bytes) -> tuple[str, str]:
    """(default database, statement) of a query event."""
    database_bytes, status_bytes = body[8], struct.unpack_from("<H", body, 11)[0]
    start = 13 + status_bytes
    database = body[start : start + database_bytes].decode(errors="replace")
    return database, body[start + database_bytes + 1 :].decode(errors="replace")


def table_map_of(body: bytes) -> TableMap | None:
    """What a table map says; None if it has no names of columns, because binlog_row_metadata is not FULL."""
    at = 8
    database, at = body[at + 1 : at + 1 + body[at]], at + 2 + body[at]
    table, at = body[at + 1 : at + 1 + body[at]], at + 2 + body[at]
    count, at = packed(body, at)
    types, at = body[at : at + count], at + count
    length, at = packed(body, at)
    details, at = body[at : at + length], at + length + (count + 7) // 8
    fields = dict(_fields(body, at))
    if _NAMES not in fields:
        return None
    names = [name.decode() for name in _texts(fields[_NAMES])]
    layouts = list(_layouts(types, details))
    unsigned = _unsigned([layout[0] for layout in layouts], fields.get(_SIGNS, b""))
    enums, sets = _labels(fields.get(_ENUMS, b"")), _labels(fields.get(_SETS, b""))
    columns = []
    for name, (type_, size, has_length, detail), is_unsigned in zip(names, layouts, unsigned, strict=True):
        labels = next(enums, ()) if type_ == ENUM else next(sets, ()) if type_ == SET else ()
        columns.append(MapColumn(name, type_, size, has_length, detail, is_unsigned, labels))
    key = [place for place, _ in _numbers(fields.get(_KEY_PARTS, b""), 2)] or [
        place for (place,) in _numbers(fields.get(_KEY, b""), 1)
    ]
    return TableMap(f"{database.decode()}.{table.decode()}", tuple(columns), tuple(names[place] for place in key))


def packed(data: bytes, at: int) -> tuple[int, int]:
    """A length, and where it ends."""
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def _layouts(types: bytes, details: bytes) -> Iterator[tuple[int, int, bool, tuple[int, ...]]]:
    """(type, size, whether a length is before it, detail) of each column."""
    at = 0
    for type_ in types:
        if type_ in (STRING, ENUM, SET, DECIMAL):
            first, second = details[at : at + 2]
            at += 2
            if type_ == DECIMAL:
                yield type_, decimal_bytes(first, second), False, (first, second)
            elif first in (ENUM, SET):
                yield first, second, False, ()
            else:  # two bits of the length of a CHAR are in its type
                most = ((first & 0x30) ^ 0x30) << 4 | second
                yield STRING, 1 if most < 256 else 2, True, (most,)
        elif type_ in (VARCHAR, BIT):
            detail = int.from_bytes(details[at : at + 2], "little")
            at += 2
            if type_ == VARCHAR:
                yield type_, 1 if detail < 256 else 2, True, ()
            else:
                bits = (detail >> 8) * 8 + (detail & 0xFF)
                yield type_, (bits + 7) // 8, False, (bits,)
        elif type_ in (BLOB, JSON, GEOMETRY):
            yield type_, details[at], True, ()
            at += 1
        elif type_ in _WITH_FRACTION:
            yield type_, _WITH_FRACTION[type_] + (details[at] + 1) // 2, False, (details[at],)
            at += 1
        else:
            yield type_, _FIXED.get(type_, -1), False, ()
            at += type_ in (FLOAT, DOUBLE)


def _unsigned(types: list[int], bits: bytes) -> Iterator[bool]:
    """Whether each column is unsigned: the bits are of the numeric ones only, the highest of a byte first."""
    number = 0
    for type_ in types:
        if type_ in _NUMERIC and bits:
            yield bool(bits[number // 8] >> (7 - number % 8) & 1)
            number += 1
        else:
            yield False


def _fields(body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at < len(body):
        length, start = packed(body, at + 1)
        yield body[at], body[start : start + length]
        at = start + length


def _texts(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        length, at = packed(data, at)
        yield data[at : at + length]
        at += length


def _labels(data: bytes) -> Iterator[tuple[str, ...]]:
    """The labels of each ENUM or SET column."""
    at = 0
    while at < len(data):
        count, at = packed(data, at)
        labels = []
        for _ in range(count):
            length, at = packed(data, at)
            labels.append(data[at : at + length].decode(errors="replace"))
            at += length
        yield tuple(labels)


def _numbers(data: bytes, size: int) -> Iterator[tuple[int, ...]]:
    at = 0
    while at < len(data):
        found = []
        for _ in range(size):
            number, at = packed(data, at)
            found.append(number)
        yield tuple(found)
