"""One row at a time in plain Python: a key from its values, the datums of a row. For reads of a single row.

The kernels of `key_encoding` and `row_encoding` need Arrow arrays, which cost some 50 µs for one row; this takes 2. The
layouts are theirs, and `reference_codec` has them in plain Python.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa

from risingpy.storage.codec.column_buffers import CorruptData, joined_bytes
from risingpy.storage.codec.key_encoding import MAX_KEY_BYTES, vnode_prefix
from risingpy.storage.codec.reference_codec import hash_bytes, key_bytes
from risingpy.storage.codec.reference_json import json_key
from risingpy.storage.codec.table_schema import VNODE_COUNT, TableSchema, ValueFormat
from risingpy.storage.kernels import key_probing
from risingpy.types import SqlType, TypeKind, wide_numeric

_INTEGER_BYTES = {TypeKind.SMALLINT: 2, TypeKind.INTEGER: 4, TypeKind.BIGINT: 8, TypeKind.ENUM: 8}
_KINDS = (*_INTEGER_BYTES, TypeKind.BOOLEAN, TypeKind.VARCHAR, TypeKind.UUID, TypeKind.JSONB)
_VALUE = b"\1"  # the tag of a column that is not NULL
_SMALL = 0x85  # the flags of a row whose ids and offsets have one byte each
_BYTES = {1: 1, 2: 2, 3: 4}  # by their code in the flags

_ColumnKey = Callable[..., bytes]


class SingleKeys:
    """Makes stored keys of a table's key columns, given as Python values: int, bool, str (also for jsonb), or
    bytes for uuid.

    Or, of the first `columns` of them, what such keys begin with.
    """

    def __init__(self, schema: TableSchema, columns: int | None = None) -> None:
        """The schema is one that `can_make_keys` of so many columns."""
        parts = schema.key[:columns]
        self._columns = [_column_key(schema.columns[part.index].type.kind) for part in parts]
        self._prefixes = _vnode_prefixes(schema.table_id)
        places = [part.index for part in parts]
        self._distribution = [places.index(column) for column in schema.distribution]

    def encode(self, values: Sequence[object]) -> tuple[int, bytes]:
        """The vnode, and the key. OverflowError for a number that the column cannot have, or too long a key."""
        parts = [column(value) for column, value in zip(self._columns, values, strict=True)]
        if not self._distribution:
            vnode = 0
        else:
            vnode = hash_bytes(b"".join([parts[place] for place in self._distribution])) % VNODE_COUNT
        key = b"".join((self._prefixes[vnode], *parts))
        if len(key) >= MAX_KEY_BYTES:
            raise OverflowError("a key that is stored in its long form")
        return vnode, key

    def encode_each(self, keys: Sequence[Sequence[object]]) -> tuple[Sequence[int], list[bytes]]:
        """The vnodes and the keys of a few, in a third of the time that `encode` takes for each. Raises likewise."""
        parts = [[*map(make, values)] for make, values in zip(self._columns, zip(*keys, strict=True), strict=True)]
        whole = parts[0] if len(parts) == 1 else [*map(b"".join, zip(*parts, strict=True))]
        if not self._distribution:
            vnodes = bytes(len(keys))
        elif self._distribution == [*range(len(parts))]:
            vnodes = _vnodes(whole)
        else:
            vnodes = _vnodes([*map(b"".join, zip(*(parts[place] for place in self._distribution), strict=True))])
        prefixes = self._prefixes
        stored = [prefixes[vnode] + each for vnode, each in zip(vnodes, whole, strict=True)]
        if max(map(len, stored)) >= MAX_KEY_BYTES:
            raise OverflowError("a key that is stored in its long form")
        return vnodes, stored


@lru_cache(maxsize=1024)
def _vnode_prefixes(table_id: int) -> Sequence[bytes]:
    """What all keys of each vnode begin with."""
    return [vnode_prefix(table_id, vnode) for vnode in range(VNODE_COUNT)]


def _vnodes(keys: Sequence[bytes]) -> bytes:
    data, offsets = joined_bytes(keys)
    vnodes = bytearray(len(keys))
    hashed, found = pa.py_buffer(data), pa.py_buffer(vnodes)
    key_probing.hash_few(hashed.address, offsets.buffer_info()[0], len(keys), found.address)
    return bytes(vnodes)


def can_make_keys(schema: TableSchema, columns: int | None = None) -> bool:
    """Whether `SingleKeys` knows the types and the order of all key columns, or of the first ones, and the vnode."""
    parts = schema.key[:columns]
    if not {*schema.distribution} <= {part.index for part in parts}:
        return False
    ascending = not any(part.descending for part in parts)
    types = [schema.columns[part.index].type for part in parts]
    if schema.value_format is not ValueFormat.ROW and any(type_.has_json for type_ in types):
        return False
    return ascending and all(map(_is_known, types))


def _is_known(type_: SqlType) -> bool:
    return type_.kind in _KINDS and not type_.system


def _column_key(kind: TypeKind) -> _ColumnKey:
    width = _INTEGER_BYTES.get(kind)
    if width is not None:
        half = 1 << (8 * width - 1)
        return lambda value: _VALUE + (value + half).to_bytes(width)
    if kind is TypeKind.JSONB:
        return _json_column_key
    return lambda value: _VALUE + key_bytes(value, kind)


def _json_column_key(value: str) -> bytes:
    key = json_key(value)
    if len(key) == wide_numeric.BYTES:
        raise OverflowError("a key whose last byte does not count for its vnode")
    return _VALUE + key_bytes(key, TypeKind.BYTEA)


def key_datum(value: object, type_: SqlType) -> bytes:
    """The datum of a value that stands in a key, as a stored row would have it."""
    match value:
        case bool():
            return b"\1" if value else b"\0"
        case int():
            return value.to_bytes(_INTEGER_BYTES[type_.kind], "little", signed=True)
        case str():
            return value.encode()
        case bytes():
            return value
    raise TypeError(f"{type_} stands in no single key")


def has_plain_rows(schema: TableSchema, columns: Sequence[int]) -> bool:
    """Whether `datums` gives these value columns as they are: none was altered."""
    return schema.value_format is ValueFormat.ROW and all(schema.columns[each].history is None for each in columns)


def datums(row: bytes, column_ids: Sequence[int]) -> list[bytes | None]:
    """The datums of the columns with these ids in a column-aware row; None for NULL."""
    if row[0] != _SMALL:
        return _datums_of_any(row, column_ids)
    count = row[1]
    ids, offsets = row[2 : 2 + count], 1 + count  # of the second datum the offset is at 2 + count, and so on
    first = 1 + 2 * count if count else 2
    found: list[bytes | None] = []
    for column_id in column_ids:
        place = ids.find(column_id) if column_id < 256 else -1
        if place < 0:
            found.append(None)
            continue
        start = first + row[offsets + place] if place else first
        found.append(row[start : first + row[offsets + place + 1]] if place + 1 < count else row[start:])
    return found


def _datums_of_any(row: bytes, column_ids: Sequence[int]) -> list[bytes | None]:
    flags = row[0]
    wide, narrow = _BYTES.get(flags >> 2 & 3), _BYTES.get(flags & 3)
    if not flags & 0x80 or wide is None or narrow is None:
        raise CorruptData("a stored row is not column-aware")
    count = int.from_bytes(row[1 : 1 + wide], "little")
    ids = _unsigned(row, 1 + wide, wide, count)
    at = 1 + wide + wide * count
    starts = (0, *_unsigned(row, at, narrow, max(count - 1, 0)))
    body = row[at + narrow * max(count - 1, 0) :]
    ends = (*starts[1:], len(body))
    places = {column_id: place for place, column_id in enumerate(ids)}
    found = [places.get(column_id) for column_id in column_ids]
    return [None if place is None else body[starts[place] : ends[place]] for place in found]


def _unsigned(row: bytes, at: int, width: int, count: int) -> tuple[int, ...]:
    letter = {1: "B", 2: "H", 4: "I"}[width]
    return struct.unpack_from(f"<{count}{letter}", row, at)
