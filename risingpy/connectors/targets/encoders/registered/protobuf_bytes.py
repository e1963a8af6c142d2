"""Columns as the bytes of a Protobuf message (its "Encoding" guide). No loop over rows.

A message is its fields, one after the other: number and kind of the field as a varint, then the value. A field that is
NULL is left out.

    varint           int32, int64, uint32, uint64, bool, enum; sint32 and sint64 as zigzag
    4, 8 bytes       fixed32, sfixed32, float; fixed64, sfixed64, double
    length, bytes    string, bytes, message; repeated numbers, together; each entry of a map, as a message
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import FieldDescriptor as Kinds

from risingpy.connectors.formats.protobuf.descriptors import TIMESTAMP, is_map
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
from risingpy.types.forms import parse_column

_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5
_SMALL = (TypeKind.SMALLINT, TypeKind.INTEGER)
_INTEGERS = (*_SMALL, TypeKind.BIGINT)
_TEXTS = (TypeKind.VARCHAR, TypeKind.CHARACTER)
_NO_TEXT = (TypeKind.ARRAY, TypeKind.MAP, TypeKind.STRUCT, TypeKind.BYTEA)
_TAKES: dict[int, tuple[TypeKind, ...]] = {
    Kinds.TYPE_DOUBLE: (TypeKind.REAL, TypeKind.DOUBLE),
    Kinds.TYPE_FLOAT: (TypeKind.REAL,),
    Kinds.TYPE_INT32: _SMALL,
    Kinds.TYPE_SINT32: _SMALL,
    Kinds.TYPE_SFIXED32: _SMALL,
    Kinds.TYPE_INT64: _INTEGERS,
    Kinds.TYPE_SINT64: _INTEGERS,
    Kinds.TYPE_SFIXED64: _INTEGERS,
    Kinds.TYPE_UINT32: _INTEGERS,
    Kinds.TYPE_FIXED32: _INTEGERS,
    Kinds.TYPE_UINT64: (*_INTEGERS, TypeKind.NUMERIC),
    Kinds.TYPE_FIXED64: (*_INTEGERS, TypeKind.NUMERIC),
    Kinds.TYPE_BOOL: (TypeKind.BOOLEAN,),
    Kinds.TYPE_STRING: tuple(kind for kind in TypeKind if kind not in _NO_TEXT),
    Kinds.TYPE_BYTES: (TypeKind.BYTEA,),
    Kinds.TYPE_ENUM: _TEXTS,
}
_FIXED = {
    Kinds.TYPE_FIXED32: "<u4",
    Kinds.TYPE_SFIXED32: "<i4",
    Kinds.TYPE_FIXED64: "<u8",
    Kinds.TYPE_SFIXED64: "<i8",
    Kinds.TYPE_FLOAT: "<f4",
    Kinds.TYPE_DOUBLE: "<f8",
}
_UNSIGNED = {Kinds.TYPE_UINT32: 32, Kinds.TYPE_FIXED32: 32, Kinds.TYPE_UINT64: 64, Kinds.TYPE_FIXED64: 64}
_ZIGZAG = (Kinds.TYPE_SINT32, Kinds.TYPE_SINT64)
_MICROS_OF_SECOND, _NANOS_OF_MICRO = 1_000_000, 1000


@dataclass(frozen=True, slots=True)
class ProtobufColumn:
    """A field of a message and the column that it is: what errors call it, the descriptor, the column's type."""

    path: str
    descriptor: Any
    type: SqlType

    def check(self) -> None:
        """Raises SqlError (42804) if the column cannot be the field, 42703 for one that a message inside lacks."""
        field, type_ = self.descriptor, self.type
        if is_map(field) or field.is_repeated:
            fits = type_.kind is (TypeKind.MAP if is_map(field) else TypeKind.ARRAY)
        elif field.message_type is not None:
            is_time = field.message_type.full_name == TIMESTAMP
            fits = type_.kind is (TypeKind.TIMESTAMPTZ if is_time else TypeKind.STRUCT)
        else:
            fits = type_.kind in _TAKES.get(field.type, ())
        if not fits:
            shown = "map" if is_map(field) else "repeated" if field.is_repeated else _shown(field)
            message = f'column "{self.path}" is of type {type_.name}, and the Protobuf message has {shown} there'
            raise SqlError(message, sqlstate="42804", hint="Cast it in the sink's query, or change the message.")
        for each in self._inside():
            each.check()

    def encoded(self, array: pa.Array) -> pa.Array:
        """A binary array without NULLs: the field's number and value, nothing where it is NULL.

        Raises SqlError for a value that the field cannot have.
        """
        if not array.null_count:
            return self._field(array)
        valid = array.is_valid()
        there = valid.to_numpy(zero_copy_only=False)
        values = self._field(array.filter(valid))
        return pc.fill_null(values.take(pa.array(np.cumsum(there) - 1, mask=~there)), b"")

    def one(self, array: pa.Array) -> pa.Array:
        """Single values without the field's number. `array` has no NULLs."""
        field = self.descriptor
        if field.message_type is not None:
            return _with_length(_time(array) if field.message_type.full_name == TIMESTAMP else self._message(array))
        if field.type in (Kinds.TYPE_STRING, Kinds.TYPE_BYTES):
            is_text = field.type == Kinds.TYPE_STRING
            return _with_length(as_text(self.type, array).cast(pa.binary()) if is_text else array)
        if field.type in (Kinds.TYPE_FLOAT, Kinds.TYPE_DOUBLE):
            return fixed(array.to_numpy(zero_copy_only=False).astype(_FIXED[field.type]))
        if field.type in _UNSIGNED:
            unsigned = self._unsigned(array, _UNSIGNED[field.type])
            return fixed(unsigned.astype(_FIXED[field.type])) if field.type in _FIXED else varints(unsigned)
        numbers = self._symbols(array) if field.type == Kinds.TYPE_ENUM else _integers(array)
        if field.type in _FIXED:
            return fixed(numbers.astype(_FIXED[field.type]))
        return varints(zigzag(numbers) if field.type in _ZIGZAG else numbers.view(np.uint64))

    def _field(self, array: pa.Array) -> pa.Array:
        field = self.descriptor
        if not field.is_repeated:
            return joined([_tag(field, _kind(field)), self.one(array)])
        inner = self._inside()
        if is_map(field):
            entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
            lists = pa.ListArray.from_arrays(array.offsets, entries)
            flat = lists.flatten()
            parts = [part.encoded(flat.field(name)) for part, name in zip(inner, ("key", "value"), strict=True)]
            return joined_items(lists, joined([_tag(field, _LENGTH), _with_length(joined(parts))]))
        [item] = inner
        items = array.flatten()
        if items.null_count:
            raise SqlError(f'column "{self.path}" has NULL in an array, which Protobuf does not have', sqlstate="22004")
        if _kind(field) == _LENGTH:
            return joined_items(array, joined([_tag(field, _LENGTH), item.one(items)]))
        packed = joined([_tag(field, _LENGTH), _with_length(joined_items(array, item.one(items)))])
        return pc.if_else(pc.greater(pc.list_value_length(array), 0), packed, pa.scalar(b"", pa.binary()))

    def _inside(self) -> list[ProtobufColumn]:
        field, type_, item = self.descriptor, self.type, f"{self.path}[]"
        if is_map(field):
            by_number = field.message_type.fields_by_number
            return [ProtobufColumn(item, by_number[n + 1], type_.items[n]) for n in range(2)]
        if field.is_repeated:
            return [ProtobufColumn(item, _Single(field), type_.element)]
        if field.message_type is not None and field.message_type.full_name != TIMESTAMP:
            columns = list(zip(type_.names, type_.items, strict=True))
            return fields_of(field.message_type, columns, f"{self.path}.")
        return []

    def _message(self, array: pa.Array) -> pa.Array:
        return message(self._inside(), array.flatten(), len(array))

    def _unsigned(self, array: pa.Array, bits: int) -> npt.NDArray[np.uint64]:
        if self.type.kind is TypeKind.NUMERIC:
            array = parse_column(numeric(38, 0), as_text(self.type, array))
        zero, most = pa.scalar(0).cast(array.type), pa.scalar((1 << bits) - 1, pa.uint64())
        fits = pc.greater_equal(array, zero)
        try:
            numbers = array.cast(pa.uint64())
            fits = pc.and_(fits, pc.less_equal(numbers, most))
        except pa.ArrowInvalid:
            fits = pa.array([False])
        if not pc.all(fits, min_count=0).as_py():
            raise NumericValueOutOfRange(f'column "{self.path}": a value is not from 0 to 2^{bits} - 1')
        found: npt.NDArray[np.uint64] = numbers.to_numpy(zero_copy_only=False)
        return found

    def _symbols(self, array: pa.Array) -> npt.NDArray[np.int64]:
        values = self.descriptor.enum_type.values
        places = pc.index_in(array.cast(pa.string()), pa.array([value.name for value in values], pa.string()))
        if places.null_count:
            unknown = array.filter(places.is_null())[0].as_py()
            message = f'column "{self.path}": "{unknown}" is no value of the Protobuf enum'
            raise SqlError(message, sqlstate="22P02")
        numbers = np.array([value.number for value in values], np.int64)
        found: npt.NDArray[np.int64] = numbers[places.to_numpy(zero_copy_only=False)]
        return found


class _Single:
    """A repeated field's descriptor as that of one of its items."""

    is_repeated = False

    def __init__(self, field: Any) -> None:
        self.type = field.type
        self.message_type = field.message_type
        self.enum_type = field.enum_type


def fields_of(descriptor: Any, columns: Sequence[tuple[str, SqlType]], path: str = "") -> list[ProtobufColumn]:
    """The columns as fields of the message. Raises SqlError (42703) for a column that is no field."""
    known = descriptor.fields_by_name
    for name, _ in columns:
        if name not in known:
            message = f'column "{path}{name}" is not in the Protobuf message {descriptor.full_name}'
            raise SqlError(message, sqlstate="42703")
    return [ProtobufColumn(path + name, known[name], type_) for name, type_ in columns]


def message(fields: Sequence[ProtobufColumn], arrays: Sequence[pa.Array], rows: int) -> pa.Array:
    """The message of each row: `arrays` are the fields' columns."""
    parts = [field.encoded(array) for field, array in zip(fields, arrays, strict=True)]
    return joined(parts) if parts else binary(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint8))


def _kind(field: Any) -> int:
    if field.message_type is not None or field.type in (Kinds.TYPE_STRING, Kinds.TYPE_BYTES):
        return _LENGTH
    if field.type not in _FIXED:
        return _VARINT
    return _FOUR if _FIXED[field.type].endswith("4") else _EIGHT


def _tag(field: Any, kind: int) -> pa.Scalar:
    return varints(np.array([field.number << 3 | kind], np.uint64))[0]


def _with_length(values: pa.Array) -> pa.Array:
    return joined([varints(lengths_of(values)), values])


def _integers(array: pa.Array) -> npt.NDArray[np.int64]:
    return numbers_of(array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array)


def _time(array: pa.Array) -> pa.Array:
    """google.protobuf.Timestamp: seconds, rounded down, and the nanoseconds after them."""
    micros = numbers_of(refuse_infinity(array, "Protobuf"))
    seconds, rest = np.divmod(micros, _MICROS_OF_SECOND)
    return joined(
        [
            pa.scalar(b"\x08", pa.binary()),
            varints(seconds.view(np.uint64)),
            pa.scalar(b"\x10", pa.binary()),
            varints((rest * _NANOS_OF_MICRO).astype(np.uint64)),
        ]
    )


def _shown(field: Any) -> str:
    if field.message_type is not None:
        return str(field.message_type.full_name)
    [name] = [name for name, value in vars(Kinds).items() if name.startswith("TYPE_") and value == field.type]
    return str(name).removeprefix("TYPE_").lower()
