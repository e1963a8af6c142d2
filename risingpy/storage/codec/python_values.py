"""Values of a few rows as plain Python ones, and what becomes of them in columns, keys and stored rows.

A call of Arrow's costs more than a row or two are worth, and hands the interpreter's lock around. So an epoch of a few
rows has them as Python values. These are what the column has in memory, not what a client would see: a value that is
read and written again is the same bit by bit, whatever Python's own types can hold.

| Arrow's type                 | Python's value                                       |
|------------------------------|------------------------------------------------------|
| bool                         | bool                                                 |
| int16, int32, int64          | int                                                  |
| date32, time64, timestamp    | int: days, microseconds, nanoseconds                 |
| decimal128                   | int: unscaled                                        |
| float, double                | int: the bits, for -0.0 is another value than 0.0    |
| string, binary               | str, bytes                                           |

NULL is None. Intervals, nested values and what else there is stay in columns. The layouts are those of
`key_encoding` and `row_encoding`; `reference_codec` has them all in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import whole

PythonValue: TypeAlias = "bool | int | str | bytes | None"
PythonRow: TypeAlias = "tuple[PythonValue, ...]"

_DECIMAL_BYTES = 16


@dataclass(frozen=True, slots=True)
class PythonType:
    """What is done with values of one type of Arrow's.

    `read` and `write` take and give columns, with NULLs. The others know no NULL: `datum` is a value in a stored row
    and `value` reads it; `key` gives the bytes of an ascending key column after its tag. That is None for a type whose
    equal values may differ in their bits: they are no keys here.
    """

    read: Callable[[pa.Array], list[Any]]
    write: Callable[[Sequence[Any]], pa.Array]
    datum: Callable[[Any], bytes]
    value: Callable[[bytes], Any]
    key: Callable[[Any], bytes] | None


@cache
def python_type(arrow: pa.DataType) -> PythonType | None:
    """How to have values of a type in Python; None if they stay in columns."""
    if pa.types.is_boolean(arrow):
        return PythonType(_listed, _written(arrow), _bit, _truth, _bit)
    if pa.types.is_string(arrow):
        return PythonType(_listed, _written(arrow), str.encode, bytes.decode, _key_of_text)
    if pa.types.is_binary(arrow):
        return PythonType(_listed, _written(arrow), bytes, bytes, None)
    if pa.types.is_decimal128(arrow):
        datum, value, key = _integers(_DECIMAL_BYTES)
        return PythonType(_unscaled, lambda values: _decimals(values, arrow), datum, value, key)
    form = _same_bits(arrow)
    if form is None:
        return None
    datum, value, key = _integers(form.bit_width // 8)
    read = _listed if form == arrow else lambda column: column.view(form).to_pylist()
    write = _written(arrow) if form == arrow else lambda values: pa.array(values, form).view(arrow)
    return PythonType(read, write, datum, value, None if pa.types.is_floating(arrow) else key)


def python_types(arrow: Sequence[pa.DataType]) -> list[PythonType] | None:
    """Those of several columns; None if one of them stays a column."""
    found = [python_type(each) for each in arrow]
    return None if None in found else [each for each in found if each is not None]


def _same_bits(arrow: pa.DataType) -> pa.DataType | None:
    """The integers that have the same bits as the type's values; None if it has no such values."""
    if pa.types.is_signed_integer(arrow):
        return arrow
    if pa.types.is_date32(arrow) or pa.types.is_float32(arrow):
        return pa.int32()
    if pa.types.is_time64(arrow) or pa.types.is_timestamp(arrow) or pa.types.is_float64(arrow):
        return pa.int64()
    return None


def _listed(column: pa.Array) -> list[Any]:
    return column.to_pylist()  # type: ignore[no-any-return]


def _written(arrow: pa.DataType) -> Callable[[Sequence[Any]], pa.Array]:
    return lambda values: whole(pa.array(values, arrow))


def _bit(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def _truth(datum: bytes) -> bool:
    return datum != b"\0"


def _key_of_text(value: str) -> bytes:
    return value.encode().replace(b"\0", b"\0\xff") + b"\0\0"


def _integers(width: int) -> tuple[Callable[[int], bytes], Callable[[bytes], int], Callable[[int], bytes]]:
    """Datums, values and key bytes of integers with so many bytes."""
    half = 1 << (8 * width - 1)
    return (
        lambda value: value.to_bytes(width, "little", signed=True),
        lambda datum: int.from_bytes(datum, "little", signed=True),
        lambda value: (value + half).to_bytes(width, "big"),
    )


def _unscaled(column: pa.Array) -> list[Any]:
    data = memoryview(column.buffers()[1]) if len(column) else memoryview(b"")
    starts = range(column.offset * _DECIMAL_BYTES, (column.offset + len(column)) * _DECIMAL_BYTES, _DECIMAL_BYTES)
    values = [int.from_bytes(data[start : start + _DECIMAL_BYTES], "little", signed=True) for start in starts]
    if not column.null_count:
        return values
    valid = column.is_valid().to_pylist()
    return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]


def _decimals(values: Sequence[int | None], arrow: pa.DataType) -> pa.Array:
    data = b"".join([(value or 0).to_bytes(_DECIMAL_BYTES, "little", signed=True) for value in values])
    validity = None
    if None in values:
        bits = np.packbits([value is not None for value in values], bitorder="little")
        validity = pa.py_buffer(bits)
    return pa.Array.from_buffers(arrow, len(values), [validity, pa.py_buffer(data)])
