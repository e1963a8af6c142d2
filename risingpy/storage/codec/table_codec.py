"""One table's rows as keys and values of the store, and back: key, value and long-key encoding put together.

A key of more than 510 bytes is stored in the short form of `key_encoding`, always 511 bytes, and its value is

    u32 length of the whole key, big-endian | whole key | value
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import CorruptData, longest, whole
from risingpy.storage.codec.column_history import Cast, no_cast, null_mark, read_column
from risingpy.storage.codec.key_encoding import (
    MAX_KEY_BYTES,
    PREFIX_BYTES,
    compute_vnodes,
    decode_keys,
    encode_keys,
    long_key_form,
)
from risingpy.storage.codec.known_keys import KeyShape, KnownKeys
from risingpy.storage.codec.plain_columns import datum_width
from risingpy.storage.codec.row_encoding import decode_rows, encode_rows
from risingpy.storage.codec.table_schema import TableSchema, ValueFormat
from risingpy.storage.codec.value_encoding import decode_values, encode_values

_LENGTH = struct.Struct(">I")


class TableCodec:
    """Encodes and decodes rows of one schema. Tables that are written together may share the `known` keys."""

    def __init__(self, schema: TableSchema, cast: Cast = no_cast) -> None:
        """`cast` is what reads rows from before an ALTER COLUMN TYPE."""
        self.schema = schema
        self._cast = cast
        self.types = [column.type for column in schema.columns]
        self._key = [column.index for column in schema.key]
        missing = set(range(len(schema.columns))) - {*self._key, *schema.value_columns}
        if missing:
            raise ValueError(f"table {schema.name}: columns {sorted(missing)} are neither in the key nor in the value")
        self._null_ids = [
            (index, column.history.null_id)
            for index, column in enumerate(schema.columns)
            if column.history is not None and index in schema.value_columns
        ]
        self._value_ids = [schema.columns[column].column_id for column in schema.value_columns]
        self._value_types = [self.types[column].arrow for column in schema.value_columns]
        # Where in the key the distribution columns stand.
        self._distribution = tuple(self._key.index(column) for column in schema.distribution)
        self._hashed_types = [self.types[column] for column in schema.distribution]
        key_types = tuple(self.types[column] for column in self._key)
        # Of these types relations have other keys than state has: both may encode the same columns.
        has_forms = any(type_.is_wide or type_.has_json for type_ in key_types)
        form = schema.value_format if has_forms else None
        self._key_shape = _only_one(schema.key, key_types, self._distribution, form)
        widths = [datum_width(self.types[column].arrow) for column in self._key]
        # Many columns of fixed width make a long key too, as the joins of a hundred tables have it. A part of a key is
        # never wider than twice its datum and two bytes.
        self.has_long_keys = 0 in widths or PREFIX_BYTES + sum(2 * width + 2 for width in widths) >= MAX_KEY_BYTES

    def leading_keys(self, column: pa.Array) -> pa.BinaryArray:
        """What keys of vnode 0 with these values in the first key column start with."""
        return self.encode_keys([whole(column)], np.zeros(len(column), np.uint16))

    def leading_key(self, value: pa.Array) -> bytes:
        """What keys with the one value in the first key column start with, after the vnode."""
        return bytes(self.leading_keys(value)[0].as_py())[PREFIX_BYTES:]

    def tells_vnode(self, key_columns: int) -> bool:
        """True if the first `key_columns` columns of a key tell its vnode."""
        return all(position < key_columns for position in self._distribution)

    def vnodes(self, key: Sequence[pa.Array]) -> npt.NDArray[np.uint16]:
        """The vnode of each key, or prefix of one that tells it."""
        return self._vnodes(key, len(key[0]) if key else 1)

    def _vnodes(self, key: Sequence[pa.Array], n: int) -> npt.NDArray[np.uint16]:
        return compute_vnodes([key[position] for position in self._distribution], n, self._hashed_types)

    def encode_keys(
        self,
        key: Sequence[pa.Array],
        vnodes: npt.NDArray[np.uint16] | None = None,
        known: KnownKeys | None = None,
    ) -> pa.BinaryArray:
        """Whole keys, or prefixes of keys, from the leading columns of the key; one if the key has no columns."""
        if vnodes is None and len(key) == len(self._key):
            return self._whole_keys(key, len(key[0]) if key else 1, known)
        return encode_keys(self.schema, key, self.vnodes(key) if vnodes is None else vnodes)

    def encode(
        self, rows: Sequence[pa.Array], n: int, known: KnownKeys | None = None, *, first: int = 0
    ) -> tuple[pa.BinaryArray, pa.BinaryArray]:
        """The keys of n rows, as they are stored, and the values of those from `first` on.

        The rows have all columns in schema order.
        """
        key = [whole(rows[column]) for column in self._key]
        keys = self._whole_keys(key, n, known)
        values = self._encode_values([column.slice(first) for column in rows] if first else rows, n - first)
        if not self.has_long_keys:
            return keys, values
        stored, is_long = long_key_form(keys)
        if is_long[first:].any():
            values = _with_long_keys(keys.slice(first), values, is_long[first:])
        return stored, values

    def _encode_values(self, rows: Sequence[pa.Array], n: int) -> pa.BinaryArray:
        columns = [rows[column] for column in self.schema.value_columns]
        if self.schema.value_format is not ValueFormat.ROW:
            return encode_values(columns, rows=n)
        ids = self._value_ids.copy()
        for column, null_id in self._null_ids:
            if rows[column].null_count:
                columns.append(null_mark(whole(rows[column])))
                ids.append(null_id)
        return encode_rows(columns, ids, rows=n)

    def _whole_keys(self, key: Sequence[pa.Array], n: int, known: KnownKeys | None) -> pa.BinaryArray:
        table_id, shape = self.schema.table_id, self._key_shape
        keys = known.find(table_id, shape, key) if known else None
        if keys is None:
            keys = encode_keys(self.schema, key, self._vnodes(key, n))
            if known and key:
                known.remember(table_id, shape, key, keys)
        return keys

    def decode_values(self, values: pa.BinaryArray, columns: Sequence[int] | None = None) -> list[pa.Array]:
        """The value columns, or `columns` of them; NULL where the value is NULL."""
        return self._decode_values(values, self.schema.value_columns if columns is None else columns)

    def decode(
        self, keys: Sequence[bytes] | pa.BinaryArray, values: Sequence[bytes] | pa.BinaryArray, columns: Sequence[int]
    ) -> list[pa.Array]:
        """The `columns` of rows whose keys and values are whole; the keys may be empty if no key column is wanted."""
        from_value = [column for column in columns if column in self.schema.value_columns]
        decoded: dict[int, pa.Array] = {}
        if from_value:
            stored = _in_arrow(values)
            decoded.update(zip(from_value, self._decode_values(stored, from_value), strict=True))
        if self.needs_keys(columns):
            from_key = decode_keys(self.schema, _in_arrow(keys))
            decoded = dict(zip(self._key, from_key, strict=True)) | decoded
        return [decoded[column] for column in columns]

    def needs_keys(self, columns: Sequence[int]) -> bool:
        """True if one of the columns stands in the key only."""
        return any(column not in self.schema.value_columns for column in columns)

    def _decode_values(self, values: pa.BinaryArray, columns: Sequence[int]) -> list[pa.Array]:
        schema = self.schema
        if schema.value_format is ValueFormat.ROW:
            if self._null_ids:
                return self._decode_with_history(values, columns)
            return decode_rows(values, [(schema.columns[c].column_id, self.types[c]) for c in columns])
        decoded = decode_values(values, self._value_types)
        if columns is schema.value_columns:
            return decoded
        return [decoded[schema.value_columns.index(column)] for column in columns]

    def _decode_with_history(self, values: pa.BinaryArray, columns: Sequence[int]) -> list[pa.Array]:
        described = [self.schema.columns[column] for column in columns]
        plain = [(column.column_id, column.type) for column in described if column.history is None]
        decoded = iter(decode_rows(values, plain))
        return [
            next(decoded) if column.history is None else read_column(values, column, self._cast) for column in described
        ]


@cache
def _only_one(*shape: Any) -> KeyShape:
    """The same object for all equal shapes, for to compare two takes longer than to write a key."""
    return shape


class Codecs:
    """The codecs of tables that were used lately: making one costs as much as reading some rows. For any thread."""

    def __init__(self, cast: Cast, most: int) -> None:
        """`cast` is what reads rows from before an ALTER COLUMN TYPE; `most` are kept."""
        self._cast = cast
        self._most = most
        self._by_table: dict[int, TableCodec] = {}

    def of(self, schema: TableSchema) -> TableCodec:
        """That of an earlier use of this very schema: comparing schemas would cost as much as a codec."""
        codec = self._by_table.get(schema.table_id)
        if codec is None or codec.schema is not schema:
            if len(self._by_table) >= self._most:
                self._by_table.clear()
            codec = self._by_table[schema.table_id] = TableCodec(schema, self._cast)
        return codec


def _in_arrow(column: Sequence[bytes] | pa.BinaryArray) -> pa.BinaryArray:
    return column if isinstance(column, pa.Array) else whole(pa.array(column, pa.binary()))


def whole_row(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A stored key and value with the long key, if it is one, put back."""
    if len(key) < MAX_KEY_BYTES:
        return key, value
    (length,) = _LENGTH.unpack_from(value)
    if len(value) < 4 + length:
        raise CorruptData("a stored row is shorter than its key")
    return value[4 : 4 + length], value[4 + length :]


def whole_rows(keys: pa.BinaryArray, values: pa.BinaryArray) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    """Stored keys and values with the long keys, if there are some, put back."""
    if longest(keys) < MAX_KEY_BYTES:
        return keys, values
    pairs = list(map(whole_row, keys.to_pylist(), values.to_pylist()))
    return pa.array([key for key, _ in pairs], pa.binary()), pa.array([value for _, value in pairs], pa.binary())


def _with_long_keys(keys: pa.BinaryArray, values: pa.BinaryArray, is_long: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    parts = values.to_pylist()
    for row in np.flatnonzero(is_long).tolist():
        key = keys[row].as_py()
        parts[row] = b"".join((_LENGTH.pack(len(key)), key, parts[row]))
    return pa.array(parts, pa.binary())
