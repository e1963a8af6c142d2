"""Columns as the bytes of an Avro schema (Avro 1.12 specification, "Binary encoding"). No loop over rows.

A value's bytes depend on its type alone, so those of a record are the bytes of its fields, one after the other:

    int, long        zigzag varint                    date, time, timestamp: the number that the logical type says
    float, double    4, 8 bytes, little-endian        boolean: one byte
    bytes, string    the length as a long, the bytes  decimal: an integer, the highest byte first
    union            the branch's number as a long, the value
    array, map       the number of items as a long, the items, 0; 0 alone if there are none
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.avro.schema import AvroType
from risingpy.connectors.targets.encoders.leaves import as_text, refuse_infinity
from risingpy.connectors.targets.encoders.registered.wire_bytes import (
    binary,
    fixed,
    joined,
    joined_items,
    lengths_of,
    numbers_of,
    varints,
    zigzag,
)
from risingpy.errors import NumericValueOutOfRange, SqlError
from risingpy.types import SqlType, TypeKind, numeric
from risingpy.types.clocks.nano_moments import NANOS
from risingpy.types.forms import parse_column

_DECIMAL_BYTES = 16  # of Arrow's decimal128; Avro allows leading bytes that only repeat the sign
_MICROS_OF_MILLI = 1000
_NANOS_OF_MICRO = 1000
_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)
_FLOATS = (TypeKind.REAL, TypeKind.DOUBLE)
_TAKES: dict[str, tuple[TypeKind, ...]] = {
    "boolean": (TypeKind.BOOLEAN,),
    "int": (TypeKind.SMALLINT, TypeKind.INTEGER),
    "long": _INTEGERS,
    "float": (TypeKind.REAL,),
    "double": _FLOATS,
    "bytes": (TypeKind.BYTEA,),
    "fixed": (TypeKind.BYTEA,),
    "enum": (TypeKind.VARCHAR, TypeKind.CHARACTER),
    "array": (TypeKind.ARRAY,),
    "map": (TypeKind.MAP,),
    "record": (TypeKind.STRUCT,),
    "date": (TypeKind.DATE,),
    "time-millis": (TypeKind.TIME,),
    "time-micros": (TypeKind.TIME,),
    "timestamp-millis": (TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP),
    "timestamp-micros": (TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP),
    "timestamp-nanos": (TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NS),
    "local-timestamp-millis": (TypeKind.TIMESTAMP,),
    "local-timestamp-micros": (TypeKind.TIMESTAMP,),
    "local-timestamp-nanos": (TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NS),
    "decimal": (TypeKind.NUMERIC, *_INTEGERS),
}
"""Which columns a type or logical type of Avro takes; a string takes the text of every column."""
_NESTED = (TypeKind.ARRAY, TypeKind.MAP, TypeKind.STRUCT, TypeKind.BYTEA)


@dataclass(frozen=True, slots=True)
class AvroColumn:
    """A field and its column: the names, what errors call it, and the types. A field without a column is NULL."""

    name: str
    path: str
    avro: AvroType
    type: SqlType | None

    def check(self) -> None:
        """Raises SqlError (42804) if the column cannot be what the schema says, 42703 for fields that are missing."""
        kind, _, inner = self._branch()
        if self.type is None:
            return
        if kind.kind == "string" and not kind.logical:
            fits = self.type.kind not in _NESTED
        elif kind.logical == "uuid":
            fits = kind.kind == "string" and self.type.kind in (TypeKind.UUID, TypeKind.VARCHAR)
        else:
            fits = self.type.kind in _TAKES.get(kind.logical or kind.kind, ())
        if not fits or (self.type.kind is TypeKind.MAP and self.type.items[0].kind is TypeKind.BYTEA):
            shown = kind.logical or kind.kind
            message = f'column "{self.path}" is of type {self.type.name}, and the Avro schema has {shown} there'
            raise SqlError(message, sqlstate="42804", hint="Cast it in the sink's query, or change the schema.")
        for each in inner:
            each.check()

    def encoded(self, array: pa.Array) -> pa.Array:
        """A binary array without NULLs. Raises SqlError for a value that the schema cannot have."""
        kind, tags, inner = self._branch()
        if tags is None:
            if array.null_count:
                message = f'NULL in column "{self.path}", which the Avro schema does not allow'
                raise SqlError(message, sqlstate="22004")
            return self._plain(kind, inner, array)
        here, absent = tags
        if self.type is None:
            return pa.repeat(absent, len(array))
        if not array.null_count:
            return joined([here, self._plain(kind, inner, array)])
        valid = array.is_valid()
        values = joined([here, self._plain(kind, inner, array.filter(valid))])
        there = valid.to_numpy(zero_copy_only=False)
        return pc.fill_null(values.take(pa.array(np.cumsum(there) - 1, mask=~there)), absent)

    def _branch(self) -> tuple[AvroType, tuple[pa.Scalar, pa.Scalar] | None, list[AvroColumn]]:
        """(the type that the value has, the bytes of its branch and of null's if it is a union, what is inside)."""
        kind, tags = self.avro, None
        if kind.kind == "union":
            others = [item for item in kind.items if item.kind != "null"]
            if len(others) != 1:
                raise SqlError(
                    f'the Avro schema has a union of several types for column "{self.path}"', sqlstate="0A000"
                )
            numbers = [varints(zigzag(np.array([kind.items.index(item)], np.int64)))[0] for item in kind.items]
            at = kind.items.index(others[0])
            if len(kind.items) > 1:
                tags = (numbers[at], numbers[1 - at])
                kind = others[0]
        return kind, tags, self._inside(kind)

    def _inside(self, kind: AvroType) -> list[AvroColumn]:
        type_, item = self.type, f"{self.path}[]"
        match kind.kind, None if type_ is None else type_.kind:
            case "array", TypeKind.ARRAY if type_ is not None:
                return [AvroColumn(item, item, kind.items[0], type_.element)]
            case "map", TypeKind.MAP if type_ is not None:
                return [AvroColumn(item, item, kind.items[0], type_.items[1])]
            case "record", TypeKind.STRUCT if type_ is not None:
                return fields_of(kind, list(zip(type_.names, type_.items, strict=True)), f"{self.path}.")
        return []

    def _plain(self, kind: AvroType, inner: Sequence[AvroColumn], array: pa.Array) -> pa.Array:
        assert self.type is not None
        if kind.logical == "decimal":
            return _decimals(kind, self.type, array, self.path)
        match kind.kind:
            case "boolean":
                return fixed(array.cast(pa.uint8()).to_numpy(zero_copy_only=False))
            case "int" | "long":
                return varints(zigzag(_counted(kind.logical, array)))
            case "float" | "double":
                return fixed(array.to_numpy(zero_copy_only=False).astype("<f4" if kind.kind == "float" else "<f8"))
            case "bytes":
                return _with_length(array)
            case "fixed":
                return _of_size(kind.size, array, self.path)
            case "enum":
                return _symbols(kind, array, self.path)
            case "array":
                return _blocks(array, inner[0].encoded(array.flatten()))
            case "map":
                return _map(self.type, array, inner[0])
            case "record":
                return record(inner, array.flatten(), self.type.names, len(array))
        return _with_length(as_text(self.type, array).cast(pa.binary()))


def fields_of(schema: AvroType, columns: Sequence[tuple[str, SqlType]], path: str = "") -> list[AvroColumn]:
    """The columns in the order of the record's fields; what the columns lack is NULL there.

    Raises SqlError (42703) for a column that is no field, and for a field without a column that cannot be null.
    """
    types = dict(columns)
    known = {field.name for field in schema.fields}
    for name in types:
        if name not in known:
            raise SqlError(f'column "{path}{name}" is not in the Avro schema', sqlstate="42703")
    found: list[AvroColumn] = []
    for field in schema.fields:
        if field.name in types:
            found.append(AvroColumn(field.name, path + field.name, field.type, types[field.name]))
        elif all(item.kind != "null" for item in field.type.items):
            message = f'the Avro schema needs "{path}{field.name}", which the sink does not have'
            raise SqlError(message, sqlstate="42703")
        else:
            found.append(AvroColumn(field.name, path + field.name, field.type, None))
    return found


def record(fields: Sequence[AvroColumn], arrays: Sequence[pa.Array], names: Sequence[str], rows: int) -> pa.Array:
    """The record of each row. `names` are those of the arrays."""
    by_name = dict(zip(names, arrays, strict=True))
    parts = [field.encoded(by_name[field.name] if field.type is not None else pa.nulls(rows)) for field in fields]
    return joined(parts) if parts else binary(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint8))


def _with_length(values: pa.Array) -> pa.Array:
    return joined([varints(lengths_of(values) << np.uint64(1)), values])


def _counted(logical: str, array: pa.Array) -> npt.NDArray[np.int64]:
    """Integers, and times in the unit of the logical type; earlier than 1970, milliseconds are rounded down."""
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        refuse_infinity(array, "Avro")
    numbers = numbers_of(array)
    if array.type == NANOS:
        return numbers
    if logical.endswith("-millis"):
        return numbers // _MICROS_OF_MILLI
    return numbers * _NANOS_OF_MICRO if logical.endswith("-nanos") else numbers


def _decimals(kind: AvroType, type_: SqlType, array: pa.Array, path: str) -> pa.Array:
    """Rounded to the digits of the schema."""
    try:
        scaled = parse_column(numeric(38, kind.scale), as_text(type_, array))
    except SqlError as error:
        raise NumericValueOutOfRange(f'column "{path}": {error.message}') from None
    raw = np.frombuffer(scaled.buffers()[1] or b"", np.uint8)
    start = scaled.offset * _DECIMAL_BYTES
    digits = raw[start : start + len(scaled) * _DECIMAL_BYTES].reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    if kind.kind == "bytes":
        return _with_length(fixed(np.ascontiguousarray(digits).view(f"V{_DECIMAL_BYTES}").reshape(-1)))
    if kind.size > _DECIMAL_BYTES:
        sign = np.repeat(np.where(digits[:, :1] & 0x80, 0xFF, 0).astype(np.uint8), kind.size - _DECIMAL_BYTES, axis=1)
        digits = np.hstack([sign, digits])
    cut, digits = digits[:, : -kind.size], digits[:, -kind.size :]
    fits = (cut == np.where(digits[:, :1] & 0x80, 0xFF, 0)).all(axis=1)
    if not fits.all():
        raise NumericValueOutOfRange(f'column "{path}": a value does not fit into {kind.size} bytes of the Avro schema')
    return fixed(np.ascontiguousarray(digits).view(f"V{kind.size}").reshape(-1))


def _of_size(size: int, array: pa.Array, path: str) -> pa.Array:
    if not (lengths_of(array) == size).all():
        raise SqlError(f'column "{path}": the Avro schema has exactly {size} bytes there', sqlstate="22026")
    return array


def _symbols(kind: AvroType, array: pa.Array, path: str) -> pa.Array:
    places = pc.index_in(array.cast(pa.string()), pa.array(list(kind.symbols), pa.string()))
    if places.null_count:
        value = array.filter(places.is_null())[0].as_py()
        raise SqlError(f'column "{path}": "{value}" is no symbol of the Avro enum {kind.name}', sqlstate="22P02")
    return varints(zigzag(places.to_numpy(zero_copy_only=False).astype(np.int64)))


def _blocks(lists: pa.Array, items: pa.Array) -> pa.Array:
    """The items of each list as one block."""
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    heads = varints(zigzag(counts))
    ends = np.concatenate([[0], np.cumsum(counts > 0)])  # where there are items, a block of none ends them
    return joined([heads, joined_items(lists, items), binary(ends, np.zeros(int(ends[-1]), np.uint8))])


def _map(type_: SqlType, array: pa.Array, value: AvroColumn) -> pa.Array:
    entries = pa.ListArray.from_arrays(array.offsets, pa.StructArray.from_arrays([array.keys, array.items], ["k", "v"]))
    flat = entries.flatten()
    keys = _with_length(as_text(type_.items[0], flat.field("k")).cast(pa.binary()))
    return _blocks(entries, joined([keys, value.encoded(flat.field("v"))]))
