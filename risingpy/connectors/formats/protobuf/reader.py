"""ENCODE PROTOBUF: each payload is a message, whose fields are the columns by name.

    0 | id, 4 bytes | number of indexes, index of the message's type in its file …  | the message     of a registry

Google's runtime, which is C, parses each message and reads each field; `map` calls it, not a loop of Python. The id of
a schema says nothing: later versions of a message keep the numbers of its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError

from risingpy.connectors.formats.big_endian import DIGITS
from risingpy.connectors.formats.columns import Positions, Reasons, spread
from risingpy.connectors.formats.conversion import converted
from risingpy.connectors.formats.protobuf.descriptors import TIMESTAMP, is_map
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DOUBLE,
    INTEGER,
    REAL,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    array_of,
    map_of,
    numeric,
    struct_of,
)

_HEADER_BYTES = 5
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 to 9999, since 1970
_SCALARS: dict[int, tuple[SqlType, pa.DataType]] = {
    1: (INTEGER, pa.int32()),  # by FieldDescriptor.CPPTYPE_…
    2: (BIGINT, pa.int64()),
    3: (BIGINT, pa.int64()),
    4: (numeric(DIGITS, 0), pa.uint64()),
    5: (DOUBLE, pa.float64()),
    6: (REAL, pa.float32()),
    7: (BOOLEAN, pa.bool_()),
    9: (VARCHAR, pa.string()),
}
_ENUM, _STRING, _BYTES_TYPE = 8, 9, 12


class ProtobufReader:
    """See `payload_reader.PayloadReader`. `has_header`: messages are those of a registry."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], message: Any, *, has_header: bool) -> None:
        self._columns = columns
        self._message = message
        self._has_header = has_header

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        values = payloads.to_pylist()
        if self._has_header:
            values = [None if value is None else _without_header(value) for value in values]
        parsed, rows = self._parsed(values, messages, reasons)
        owners = messages[rows]
        columns = []
        for name, type_ in self._columns:
            field = self._field(name)
            if field is None:
                columns.append(pa.nulls(len(parsed), type_.arrow))
                continue
            source, array = _field_values(field, parsed, owners, reasons)
            columns.append(converted(name, array, source, type_, owners, reasons))
        return spread(columns, rows, len(payloads))

    def _parsed(
        self, values: Sequence[bytes | None], messages: Positions, reasons: Reasons
    ) -> tuple[list[Any], Positions]:
        """The messages of the good payloads, and their rows."""
        parse = self._message.FromString
        try:
            return list(map(parse, values)), np.arange(len(values))
        except (DecodeError, TypeError):  # some payload is missing or no message
            pass
        found, rows = [], []
        for row, value in enumerate(values):
            try:
                found.append(parse(value))
                rows.append(row)
            except DecodeError:
                reasons.add(int(messages[row]), f"no Protobuf message of type {self._message.DESCRIPTOR.full_name}")
            except TypeError:
                missing = "the message does not begin with 0 and the id of a schema"
                reasons.add(int(messages[row]), missing if self._has_header else "the message is empty")
        return found, np.array(rows, np.int64)

    def _field(self, name: str) -> Any:
        """The field of that name, first as written, then without case."""
        fields = self._message.DESCRIPTOR.fields
        found = [field for field in fields if field.name == name]
        found += [field for field in fields if field.name.lower() == name.lower()]
        return found[0] if found else None


def _without_header(payload: bytes) -> bytes | None:
    """The message after the header of a registry; None if there is no such header."""
    if len(payload) <= _HEADER_BYTES or payload[0] != 0:
        return None
    at, count = _varint(payload, _HEADER_BYTES)
    for _ in range(max(count, 0)):
        if at > len(payload):
            return None
        at, _ = _varint(payload, at)
    return payload[at:] if 0 <= count <= len(payload) and at <= len(payload) else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The position after a number in zigzag form, beyond the data if it does not end, and the number."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return at, (value >> 1) ^ -(value & 1)
        shift += 7
    return len(data) + 1, 0


def _field_values(field: Any, messages: Sequence[Any], owners: Positions, reasons: Reasons) -> tuple[SqlType, pa.Array]:
    """A field of each message, in the type that it has in the schema. `owners`: the positions of the messages."""
    values = list(map(attrgetter(field.name), messages))
    if field.is_repeated:
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        of_items = np.repeat(owners, lengths)
        if is_map(field):
            return _map(field, values, offsets, of_items, reasons)
        type_, items = _values(field, list(chain.from_iterable(values)), None, of_items, reasons)
        return array_of(type_), pa.ListArray.from_arrays(offsets, items)
    missing = None
    if field.has_presence:
        name = field.name
        missing = np.fromiter((not message.HasField(name) for message in messages), bool, len(messages))
    return _values(field, values, missing, owners, reasons)


def _map(
    field: Any, values: Sequence[Any], offsets: pa.Array, owners: Positions, reasons: Reasons
) -> tuple[SqlType, pa.Array]:
    of_key, of_value = field.message_type.fields_by_number[1], field.message_type.fields_by_number[2]
    key_type, keys = _values(of_key, list(chain.from_iterable(value.keys() for value in values)), None, owners, reasons)
    entries = list(chain.from_iterable(value.values() for value in values))
    type_, items = _values(of_value, entries, None, owners, reasons)
    found = map_of(key_type, type_)
    return found, pa.MapArray.from_arrays(offsets, keys, items).cast(found.arrow)


def _values(
    field: Any, values: Sequence[Any], missing: Any, owners: Positions, reasons: Reasons
) -> tuple[SqlType, pa.Array]:
    """Single values of a field, NULL where they are missing."""
    message = field.message_type
    if message is not None and message.full_name == TIMESTAMP:
        return TIMESTAMPTZ, _timestamps(values, missing, owners, reasons)
    if message is not None:
        parts = [_field_values(each, values, owners, reasons) for each in message.fields]
        type_ = struct_of([each.name for each in message.fields], [part for part, _ in parts])
        if not parts:  # Arrow makes no struct array of no arrays
            return type_, pa.array([{}] * len(values), type_.arrow, mask=missing)
        mask = None if missing is None else pa.array(missing)
        return type_, pa.StructArray.from_arrays([array for _, array in parts], fields=list(type_.arrow), mask=mask)
    if field.cpp_type == _ENUM:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        shown = [names.get(value) or str(value) for value in values]  # a number that has no name yet
        return VARCHAR, pa.array(shown, pa.string(), mask=missing)
    if field.cpp_type == _STRING and field.type == _BYTES_TYPE:
        return BYTEA, pa.array(values, pa.binary(), mask=missing)
    type_, arrow = _SCALARS[field.cpp_type]
    found = pa.array(values, arrow, mask=missing, from_pandas=False)
    return type_, found if arrow == type_.arrow else found.cast(pa.decimal128(20, 0)).cast(type_.arrow)


def _timestamps(values: Sequence[Any], missing: Any, owners: Positions, reasons: Reasons) -> pa.Array:
    seconds = np.fromiter(map(attrgetter("seconds"), values), np.int64, len(values))
    nanos = np.fromiter(map(attrgetter("nanos"), values), np.int64, len(values))
    wrong = (seconds < _FIRST_SECOND) | (seconds > _LAST_SECOND) | (nanos < 0) | (nanos >= 10**9)
    for row in np.flatnonzero(wrong):
        reasons.add(int(owners[row]), "a timestamp is out of range")
    micros = np.where(wrong, 0, seconds) * 10**6 + np.where(wrong, 0, nanos) // 1_000
    return pa.array(micros, pa.timestamp("us"), mask=missing).cast(TIMESTAMPTZ.arrow)
