"""Single rows between Arrow and plain Python: a datum of a column's value, and a column of datums.

A datum is a value as stored rows have it: as Arrow holds it, little-endian, texts and bytes as they are; a boolean is
one byte (`value_encoding`). None is NULL. So a row that only passes through is never decoded.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

Datum = bytes | None

_BITS = 8


def has_datums(type_: pa.DataType) -> bool:
    """Whether values of the type are datums of this form: all but nested ones."""
    return not pa.types.is_nested(type_)


def datum_of(values: pa.Array, place: int) -> Datum:
    """The datum of a value in an array."""
    type_ = values.type
    if not values[place].is_valid:
        return None
    if pa.types.is_boolean(type_):
        return b"\1" if values[place].as_py() else b"\0"
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return bytes(values[place].as_buffer())
    width, at = type_.bit_width // _BITS, values.offset + place
    return bytes(memoryview(values.buffers()[1])[width * at : width * (at + 1)])


def datum_in(column: pa.ChunkedArray, place: int) -> Datum:
    """The same of a column in pieces."""
    for piece in column.chunks:
        if place < len(piece):
            return datum_of(piece, place)
        place -= len(piece)
    raise IndexError(place)


def column_of(datums: Sequence[Datum], type_: pa.DataType) -> pa.Array:
    """The array of these datums."""
    if pa.types.is_boolean(type_):
        return pa.array([None if datum is None else datum != b"\0" for datum in datums], type_)
    count, missing = len(datums), datums.count(None)
    validity = None
    if missing:
        bits = sum(1 << place for place, datum in enumerate(datums) if datum is not None)
        validity = pa.py_buffer(bits.to_bytes((count + _BITS - 1) // _BITS, "little"))
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        there = [datum or b"" for datum in datums]
        offsets = array("i", accumulate(map(len, there), initial=0))
        buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(b"".join(there))]
        return pa.Array.from_buffers(type_, count, buffers, missing)
    nothing = bytes(type_.bit_width // _BITS)
    data = b"".join([nothing if datum is None else datum for datum in datums])
    return pa.Array.from_buffers(type_, count, [validity, pa.py_buffer(data)], missing)
