"""What the bounds of each range type are, and their bytes: keys of one width that order as the values do.

integers, dates, timestamps   8 bytes: the number, days or microseconds since 1970, big-endian, its sign bit turned
numeric                       41 bytes: the key of a wide numeric (`wide_numeric`), which tells no scale

1 of int4range      80 00 00 00 00 00 00 01
-1                  7f ff ff ff ff ff ff ff
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import NumericValueOutOfRange, SqlError
from risingpy.types import wide_numeric
from risingpy.types.families import TypeKind
from risingpy.types.far_moments import (
    END_DAYS,
    INFINITE_DAYS,
    FarDate,
    FarMoment,
    date_of,
    days_of,
    is_infinite,
    micros_of,
    moment_of,
)
from risingpy.types.sql_type import BIGINT, DATE, INTEGER, NUMERIC, TIMESTAMP, TIMESTAMPTZ, SqlType

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SIGN = 1 << 63
_INTEGER_BYTES = 8


@dataclass(frozen=True, slots=True)
class BoundType:
    """The type of a range's bounds. `last` is the greatest value of a discrete type, of which each has a next one."""

    type: SqlType
    width: int = _INTEGER_BYTES
    last: int | None = None

    @property
    def is_numeric(self) -> bool:
        """True for the one whose keys are no integers."""
        return self.type.kind is TypeKind.NUMERIC


ELEMENTS: Mapping[TypeKind, BoundType] = MappingProxyType(
    {
        TypeKind.INT4RANGE: BoundType(INTEGER, last=2**31 - 1),
        TypeKind.INT8RANGE: BoundType(BIGINT, last=2**63 - 1),
        TypeKind.NUMRANGE: BoundType(NUMERIC, wide_numeric.KEY_BYTES),
        TypeKind.DATERANGE: BoundType(DATE, last=END_DAYS - 1),
        TypeKind.TSRANGE: BoundType(TIMESTAMP),
        TypeKind.TSTZRANGE: BoundType(TIMESTAMPTZ),
    }
)


RANGE_KINDS: frozenset[TypeKind] = frozenset(ELEMENTS)


def key_of(value: object) -> bytes:
    """The key of one bound: an int, a date, a datetime (UTC if it has a zone), or a wide numeric's bytes."""
    match value:
        case bytes():
            return wide_numeric.key_of(value)
        case datetime() | FarMoment():
            number = micros_of(value)
        case date() | FarDate():
            number = days_of(value)
        case int():
            number = value
        case _:
            raise TypeError(f"{value!r} is no bound of a range")
    return (number + _SIGN).to_bytes(_INTEGER_BYTES, "big")


def value_of(element: BoundType, key: bytes) -> object:
    """The inverse of `key_of`; a numeric without zeros at its end."""
    if element.is_numeric:
        return wide_numeric.of_key(key)
    number = int.from_bytes(key, "big") - _SIGN
    match element.type.kind:
        case TypeKind.DATE:
            return date_of(number)
        case TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ:
            return moment_of(number, has_zone=element.type.kind is TypeKind.TIMESTAMPTZ)
    return number


def next_key(element: BoundType, key: bytes) -> bytes:
    """The key of the next value of a discrete type; infinity is its own. Raises 22003, 22008."""
    number = int.from_bytes(key, "big") - _SIGN
    if element.type.kind is TypeKind.DATE and abs(number) >= INFINITE_DAYS:
        return key
    if number == element.last:
        raise out_of_range(element)
    return (number + 1 + _SIGN).to_bytes(_INTEGER_BYTES, "big")


def has_next(element: BoundType, key: bytes) -> bool:
    """Whether a bound at this value is written in the canonical form: not a bound at infinity."""
    return element.type.kind is not TypeKind.DATE or abs(int.from_bytes(key, "big") - _SIGN) < INFINITE_DAYS


def out_of_range(element: BoundType) -> SqlError:
    """PostgreSQL's error of a canonical bound that the type does not have."""
    if element.type.kind is TypeKind.DATE:
        return SqlError("date out of range", sqlstate="22008")
    return NumericValueOutOfRange(f"{element.type} out of range")


def keys_of(element: BoundType, column: pa.Array) -> Bytes:
    """The keys of a column's values as rows, of NULL arbitrary ones. A numeric is a wide one."""
    rows = len(column)
    if element.is_numeric:
        return wide_numeric.rows_of(column)[:, : element.width]
    if element.type.kind is TypeKind.DATE:
        column = column.cast(pa.int32())
    numbers = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return integer_keys(numbers).reshape(rows, element.width)


def integer_keys(numbers: Integers) -> Bytes:
    """The keys of integers, one after the other."""
    turned = numbers.astype(np.int64).view(np.uint64) ^ np.uint64(_SIGN)
    return turned.astype(">u8").view(np.uint8)


def integers_of(keys: Bytes) -> Integers:
    """The inverse of `integer_keys`, of rows of keys."""
    words = np.ascontiguousarray(keys).view(">u8").reshape(-1).astype(np.uint64)
    return (words ^ np.uint64(_SIGN)).view(np.int64)


def column_of_keys(element: BoundType, keys: Bytes, null: Mask) -> pa.Array:
    """The values of keys as a column of the element's type, NULL where `null` is true."""
    if element.is_numeric:
        return _numerics(keys, null)
    numbers = pa.array(integers_of(keys), pa.int64(), mask=null)
    return (
        numbers.cast(pa.int32()).cast(pa.date32())
        if element.type.kind is TypeKind.DATE
        else numbers.cast(element.type.arrow)
    )


def _numerics(keys: Bytes, null: Mask) -> pa.Array:
    """Each number with the decimals that it needs."""
    if not len(keys):
        return pa.array([], NUMERIC.arrow)
    padded = np.zeros((len(keys), wide_numeric.BYTES), np.uint8)
    padded[:, : wide_numeric.KEY_BYTES] = keys
    padded[null, 0] = 1
    numbers = wide_numeric.numbers_of(_binary(padded))
    decimals = wide_numeric.digits_of(numbers.limbs)[:, wide_numeric.WHOLE_DIGITS :]
    used = decimals != 0
    scales = np.where(used.any(axis=1), wide_numeric.DECIMALS - used[:, ::-1].argmax(axis=1), 0).astype(np.uint8)
    return wide_numeric.column_of(numbers.limbs, numbers.negative, scales, null, numbers.special)


def _binary(rows: Bytes) -> pa.Array:
    offsets = pa.py_buffer(rows.shape[1] * np.arange(len(rows) + 1, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), len(rows), [None, offsets, pa.py_buffer(np.ascontiguousarray(rows))])


def with_a_next(element: BoundType, keys: Bytes) -> Mask:
    """`has_next` of each row."""
    if element.type.kind is TypeKind.DATE:
        return np.logical_not(is_infinite(integers_of(keys), INFINITE_DAYS))
    return np.ones(len(keys), np.bool_)


def next_keys(element: BoundType, keys: Bytes) -> Bytes:
    """The keys of the next values; raises as `next_key`."""
    numbers = integers_of(keys)
    if (numbers == element.last).any():
        raise out_of_range(element)
    return integer_keys(numbers + 1).reshape(len(keys), element.width)
