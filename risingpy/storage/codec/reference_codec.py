"""The encodings in plain Python, a row at a time: the specification that the kernels are tested against.

The product calls it for keys of single rows only (`single_rows`).
Values are plain Python ones: bool, int (also dates as days; times and
timestamps as microseconds; numerics unscaled), float, str, bytes, an `Interval`, and None for NULL.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple, assert_never

from risingpy.storage.codec.reference_json import json_key
from risingpy.types import SqlType, TypeKind


class Interval(NamedTuple):
    """Months, days and nanoseconds, as Arrow's month_day_nano."""

    months: int
    days: int
    nanos: int


Nested = tuple["Value", ...]  # an array's elements, a struct's fields, a map's keys and values in turn
Value = bool | int | float | str | bytes | Interval | Nested | None

DAY_NANOS = 86_400_000_000_000
WORD = 2**64 - 1


# Keys


def encode_key(table_id: int, vnode: int, values: Sequence[tuple[Value, SqlType, bool, bool]]) -> bytes:
    """A storage key; the values come with their types, and whether they are descending and NULLS FIRST."""
    columns = (key_column(value, type_, descending, nulls_first) for value, type_, descending, nulls_first in values)
    return struct.pack(">IH", table_id, vnode) + b"".join(columns)


def key_column(value: Value, type_: SqlType, descending: bool, nulls_first: bool) -> bytes:
    """One column of a key."""
    if value is None:
        return b"\0" if nulls_first else b"\2"
    body = key_bytes(_nested_key(value, type_), type_.kind)
    return b"\1" + (bytes(byte ^ 0xFF for byte in body) if descending else body)


def _nested_key(value: Value, type_: SqlType) -> Value:
    """A nested value, or jsonb, as the bytes that stand in a key of state: by what it orders, what it is read from."""
    if not (type_.is_nested or type_.has_json) or value is None:
        return value
    body = datum(_without_minus_zero(value), type_)
    return _ordered(value, type_) + body + struct.pack("<I", len(body))


def _without_minus_zero(value: Value) -> Value:
    if isinstance(value, tuple) and not isinstance(value, Interval):
        return tuple(_without_minus_zero(item) for item in value)
    return value + 0.0 if isinstance(value, float) else value


def _ordered(value: Value, type_: SqlType, *, with_json: bool = False) -> bytes:
    """By what a nested value or jsonb orders. Beside jsonb in a nested value, a numeric's scale does not count."""
    if isinstance(value, str):
        return json_key(value)
    assert isinstance(value, tuple)
    with_json |= type_.has_json
    columns = b""
    for item, item_type in _items(value, type_):
        if item is None:
            columns += b"\2"
        elif item_type.is_nested or item_type.has_json:
            columns += b"\1" + key_bytes(_ordered(item, item_type, with_json=with_json), item_type.kind)
        else:
            item = _hashed(item) if with_json and item_type.is_wide else item
            columns += key_column(item, item_type, descending=False, nulls_first=False)
    return columns + b"\0"


def _items(value: Nested, type_: SqlType) -> list[tuple[Value, SqlType]]:
    """A nested value's parts with their types."""
    types = type_.items if type_.kind is TypeKind.STRUCT else type_.items * (len(value) // len(type_.items))
    return list(zip(value, types, strict=True))


def key_bytes(value: Value, kind: TypeKind) -> bytes:
    """The ascending bytes after the tag."""
    match value:
        case bool():
            return struct.pack(">B", value)
        case int():
            width = _WIDTH[kind]
            return (value + (1 << (8 * width - 1))).to_bytes(width, "big")
        case float():
            return _float_bytes(value, ">f" if kind is TypeKind.REAL else ">d")
        case str():
            return key_bytes(value.encode(), kind)
        case bytes():
            return value.replace(b"\0", b"\0\xff") + b"\0\0"
        case Interval(months, days, nanos):
            extra, rest = divmod(nanos, DAY_NANOS)
            order = (30 * months + days + extra + 2**63, rest, months + 2**31, days + 2**31)
            return struct.pack(">QQII", *order)
        case tuple():
            raise ValueError("a nested value's key bytes depend on its type")
        case None:
            raise ValueError("NULL has no bytes after the tag")
        case _:
            assert_never(value)


def _float_bytes(value: float, layout: str) -> bytes:
    if math.isnan(value):
        value = math.nan  # one for all
    body = struct.pack(layout, value + 0.0)  # -0.0 + 0.0 is 0.0
    if body[0] & 0x80:
        return bytes(byte ^ 0xFF for byte in body)
    return bytes([body[0] ^ 0x80]) + body[1:]


def long_key(key: bytes) -> bytes:
    """The key that LMDB stores."""
    return key if len(key) < 511 else key[:495] + hashlib.blake2b(key, digest_size=16).digest()


# Vnodes


def hash_bytes(data: bytes) -> int:
    """64 bits of hash: words of 8 bytes, little-endian, the last filled with zeros; then fmix64 of Murmur 3."""
    state = 0x9E3779B97F4A7C15 ^ len(data)
    for start in range(0, len(data), 8):
        word = int.from_bytes(data[start : start + 8], "little")
        state = (state ^ word) * 0xFF51AFD7ED558CCD & WORD
        state ^= state >> 32
    state ^= state >> 33
    state = state * 0xFF51AFD7ED558CCD & WORD
    state ^= state >> 33
    state = state * 0xC4CEB9FE1A85EC53 & WORD
    return state ^ state >> 33


def vnode(values: Sequence[tuple[Value, SqlType]]) -> int:
    """The vnode of a row, by its distribution columns."""
    if not values:
        return 0
    columns = (_hashed_column(_hashed(canonical(value)), type_) for value, type_ in values)
    return hash_bytes(b"".join(columns)) % 256


def _hashed(value: Value) -> Value:
    """A byte string as long as a wide numeric without its last byte, which is the numeric's scale."""
    return value[:-1] if isinstance(value, bytes) and len(value) == 42 else value


def _hashed_column(value: Value, type_: SqlType) -> bytes:
    """A key column; a nested value by its order alone."""
    if (type_.is_nested or type_.has_json) and value is not None:
        ordered = _ordered(value, type_)
        return b"\1" + key_bytes(ordered if type_.is_nested else _hashed(ordered), type_.kind)
    return key_column(value, type_, descending=False, nulls_first=False)


def canonical(value: Value) -> Value:
    """Equal intervals made identical: days under 30, less than a day of time, and one sign for all three."""
    if isinstance(value, tuple) and not isinstance(value, Interval):
        return tuple(canonical(item) for item in value)
    if not isinstance(value, Interval):
        return value
    total = (30 * value.months + value.days) * DAY_NANOS + value.nanos
    sign = -1 if total < 0 else 1
    months = _clip(sign * (abs(total) // (30 * DAY_NANOS)))
    total -= months * 30 * DAY_NANOS
    days = _clip(sign * (abs(total) // DAY_NANOS))
    return Interval(months, days, total - days * DAY_NANOS)


def _clip(number: int) -> int:
    """The nearest 32-bit integer; what it loses stays in a smaller unit."""
    return min(max(number, -(2**31)), 2**31 - 1)


# Values


def datum(value: Value, type_: SqlType) -> bytes:
    """Value encoding, of anything but NULL."""
    match value:
        case bool():
            return struct.pack("<B", value)
        case int():
            return value.to_bytes(_WIDTH[type_.kind], "little", signed=True)
        case float():
            return struct.pack("<f" if type_.kind is TypeKind.REAL else "<d", value)
        case str():
            return value.encode()
        case bytes():
            return value
        case Interval():
            return struct.pack("<iiq", *value)
        case tuple():
            return b"".join(_plain_column(item, item_type) for item, item_type in _items(value, type_))
        case None:
            raise ValueError("NULL has no datum")
        case _:
            assert_never(value)


def encode_value(values: Sequence[tuple[Value, SqlType]]) -> bytes:
    """A plain row."""
    return b"\2" + b"".join(_plain_column(value, type_) for value, type_ in values)


def _plain_column(value: Value, type_: SqlType) -> bytes:
    if value is None:
        return b"\0"
    body = datum(value, type_)
    return b"\1" + (struct.pack("<I", len(body)) if _varies(value) else b"") + body


def _varies(value: Value) -> bool:
    return isinstance(value, str | bytes | tuple) and not isinstance(value, Interval)


def encode_row(values: Mapping[int, tuple[Value, SqlType]]) -> bytes:
    """A column-aware row of the values by column id."""
    present = [(column_id, datum(value, type_)) for column_id, (value, type_) in values.items() if value is not None]
    present.sort()
    offsets = []
    body = b""
    for _, data in present:
        offsets.append(len(body))
        body += data
    ids = [column_id for column_id, _ in present]
    wide, id_unit = _unit(max([len(ids), *ids]))
    big, offset_unit = _unit(max([0, *offsets]))
    header = struct.pack(f"<B{1 + len(ids)}{id_unit}", 0x80 | wide << 2 | big, len(ids), *ids)
    return header + struct.pack(f"<{len(offsets[1:])}{offset_unit}", *offsets[1:]) + body


def _unit(largest: int) -> tuple[int, str]:
    """Code and `struct` letter of the smallest unit that holds `largest`."""
    if largest < 2**8:
        return 1, "B"
    return (2, "H") if largest < 2**16 else (3, "I")


_WIDTH = {
    TypeKind.SMALLINT: 2,
    TypeKind.INTEGER: 4,
    TypeKind.BIGINT: 8,
    TypeKind.ENUM: 8,
    TypeKind.NUMERIC: 16,
    TypeKind.DATE: 4,
    TypeKind.TIME: 8,
    TypeKind.TIMESTAMP: 8,
    TypeKind.TIMESTAMPTZ: 8,
    TypeKind.TIMESTAMP_NS: 8,
}
