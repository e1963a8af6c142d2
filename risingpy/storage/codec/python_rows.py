"""A table's rows as keys and values of the store, and back, a row of Python values at a time (`python_values`).

What `table_codec` does with columns: the same layouts, for tables whose rows are all as the table is now.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from risingpy.storage.codec.key_encoding import MAX_KEY_BYTES, table_prefix
from risingpy.storage.codec.python_values import PythonRow, PythonType, PythonValue, python_type
from risingpy.storage.codec.reference_codec import hash_bytes
from risingpy.storage.codec.single_rows import datums
from risingpy.storage.codec.table_schema import VNODE_COUNT, KeyColumn, TableSchema, ValueFormat

MAX_VALUE_BYTES = 1 << 16  # of a row: a larger one is worth a look at what a row may take, which columns are given

_INVERTED = bytes(255 - byte for byte in range(256))
_VALUE, _NULL_FIRST, _NULL_LAST = b"\1", b"\0", b"\2"
_SMALL = 0x85  # the flags of a row whose ids and offsets have one byte each
_UNITS = ((1 << 8, 1, "B"), (1 << 16, 2, "H"), (1 << 32, 3, "I"))  # of ids and offsets: bound, code, letter


class LongRow(Exception):
    """A row that is stored in another form than these rows are, or is worth columns."""


def key_part(type_: PythonType, column: KeyColumn) -> Callable[[PythonValue], bytes]:
    """What makes a column of a key. The type has keys."""
    body, null = type_.key, _NULL_FIRST if column.nulls_first else _NULL_LAST
    assert body is not None
    if column.descending:
        return lambda value: null if value is None else _VALUE + body(value).translate(_INVERTED)
    return lambda value: null if value is None else _VALUE + body(value)


def vnode_of(parts: Sequence[bytes]) -> int:
    """The vnode of a row by its distribution columns, as ascending parts of a key with NULLs last."""
    return hash_bytes(b"".join(parts)) % VNODE_COUNT if parts else 0


class KeyWriter:
    """Makes the keys of tables that have the same key columns: all of a key but the table's id.

    The columns are positions in the rows, or in the sequences of values, that it is given.
    """

    def __init__(self, types: Sequence[PythonType], order: Sequence[KeyColumn], distribution: Sequence[int]) -> None:
        """`types` are those of the key's columns in its order, which `order` tells; `distribution` are among these."""
        self._parts = [key_part(type_, column) for type_, column in zip(types, order, strict=True)]
        self._hashed = [(place, key_part(types[place], KeyColumn(0))) for place in distribution]
        ascending = all(not order[place].descending and not order[place].nulls_first for place in distribution)
        self._places = list(distribution) if ascending else None

    def write(self, key: Sequence[PythonValue]) -> bytes:
        """Vnode and columns of the key with these values. LongRow if it is one that is stored in its long form."""
        parts = [part(value) for part, value in zip(self._parts, key, strict=True)]
        if self._places is not None:
            hashed = [parts[place] for place in self._places]
        else:
            hashed = [part(key[place]) for place, part in self._hashed]
        written = vnode_of(hashed).to_bytes(2) + b"".join(parts)
        if 4 + len(written) >= MAX_KEY_BYTES:
            raise LongRow("a key that is stored in its long form")
        return written


class PythonRows:
    """The codec of a table; `of` says whether it has one."""

    def __init__(self, schema: TableSchema, types: Sequence[PythonType]) -> None:
        self.schema = schema
        self.prefix = table_prefix(schema.table_id)
        self._key = [column.index for column in schema.key]
        places = [self._key.index(column) for column in schema.distribution]
        self._keys = KeyWriter([types[index] for index in self._key], schema.key, places)
        by_id = sorted((schema.columns[index].column_id, index) for index in schema.value_columns)
        self._written: list[tuple[int, int, Callable[[Any], bytes]]] = [
            (column_id, index, types[index].datum) for column_id, index in by_id
        ]
        self._read: list[tuple[int, Callable[[bytes], Any]]] = [(index, types[index].value) for _, index in by_id]
        self._ids = [column_id for column_id, _ in by_id]
        self._are_small = not self._ids or self._ids[-1] < 1 << 8

    @classmethod
    def of(cls, schema: TableSchema) -> PythonRows | None:
        """None if a column has values that stay in Arrow's columns, or was altered, or the rows are no relation's."""
        types = [python_type(column.type.arrow) for column in schema.columns]
        known = [each for each in types if each is not None]
        keyed = all(each is not None and each.key is not None for each in (types[part.index] for part in schema.key))
        keyed = keyed and not any(schema.columns[part.index].type.has_json for part in schema.key)
        plain = all(column.history is None for column in schema.columns)
        if len(known) < len(types) or not keyed or not plain or schema.value_format is not ValueFormat.ROW:
            return None
        return cls(schema, known)

    def keys(self, rows: Iterable[PythonRow]) -> list[bytes]:
        """The stored keys of rows, of which several often have the same. LongRow if one is in the long form."""
        known: dict[PythonRow, bytes] = {}
        found: list[bytes] = []
        for row in rows:
            columns = tuple([row[index] for index in self._key])
            key = known.get(columns)
            if key is None:
                key = known[columns] = self.prefix + self._keys.write(columns)
            found.append(key)
        return found

    def value(self, row: PythonRow) -> bytes:
        """The stored value of a row. LongRow if it is a large one."""
        ids, offsets, body, length = [], [], [], 0
        for column_id, index, datum in self._written:
            value = row[index]
            if value is not None:
                data = datum(value)
                ids.append(column_id)
                offsets.append(length)
                body.append(data)
                length += len(data)
        if length > MAX_VALUE_BYTES:
            raise LongRow("a large row")
        del offsets[:1]
        if self._are_small and len(ids) < 1 << 8 and (not offsets or offsets[-1] < 1 << 8):
            return bytes((_SMALL, len(ids), *ids, *offsets)) + b"".join(body)
        wide, id_unit = _unit(max([len(ids), *ids]))
        big, offset_unit = _unit(offsets[-1] if offsets else 0)
        head = struct.pack(f"<B{1 + len(ids)}{id_unit}", 0x80 | wide << 2 | big, len(ids), *ids)
        return head + struct.pack(f"<{len(offsets)}{offset_unit}", *offsets) + b"".join(body)

    def row(self, like: PythonRow, value: bytes) -> PythonRow:
        """The row that a value is of; its key columns are those of a row with the same key."""
        found = list(like)
        for (index, read), datum in zip(self._read, datums(value, self._ids), strict=True):
            found[index] = None if datum is None else read(datum)
        return tuple(found)


def _unit(largest: int) -> tuple[int, str]:
    """Code and `struct` letter of the smallest unit that holds `largest`."""
    return next((code, letter) for bound, code, letter in _UNITS if largest < bound)
