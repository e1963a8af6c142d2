"""smallint, integer, bigint: decimal text, big-endian binary."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.types.plain_texts import read_as_they_are
from risingpy.types.sql_type import SqlType

_SYNTAX = re.compile(r"\s*([+-]?)0*([0-9]+)\s*(.*)", re.ASCII | re.DOTALL)
_MAX_DIGITS = 20
# 18 digits always fit an int64, so that the cast below cannot fail for bigint.
_PLAIN = "^-?[0-9]{1,18}$"


def parse(type_: SqlType, text: str, time_zone: str) -> int:
    """Raises InvalidTextRepresentation, or NumericValueOutOfRange for a number that does not fit."""
    match = _SYNTAX.match(text)
    if match is None:
        raise InvalidTextRepresentation(f'invalid input syntax for type {type_}: "{text}"')
    sign, digits, rest = match.groups()
    bound = 1 << (8 * type_.arrow.byte_width - 1)
    # Too many digits fit nothing, and int() of a megabyte of them would take seconds.
    value = int(digits) if len(digits) <= _MAX_DIGITS else bound + 1
    value = -value if sign == "-" else value
    if not -bound <= value < bound:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type {type_}')
    if rest:
        raise InvalidTextRepresentation(f'invalid input syntax for type {type_}: "{text}"')
    return value


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The decimal digits, `-` before a negative number."""
    return str(value)


def encode(type_: SqlType, value: object) -> bytes:
    """Two's complement, big-endian, as many bytes as the type has."""
    assert isinstance(value, int)
    return value.to_bytes(type_.arrow.byte_width, "big", signed=True)


def decode(type_: SqlType, data: bytes) -> int:
    """Any width of 2, 4 or 8 bytes that PostgreSQL's integer of this type has."""
    if len(data) != type_.arrow.byte_width:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return int.from_bytes(data, "big", signed=True)


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """Decimal digits; NULLs stay."""
    return pc.cast(array, pa.string())


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic]:
    """Big-endian integers of the type's width; 0 where the column is NULL."""
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values.astype(f">i{type_.arrow.byte_width}"))


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`. Arrow would take `0x1F` too: characters and pattern keep it out."""
    found = read_as_they_are(texts, type_.arrow, b"0123456789-")
    if found is not None:
        return found, None
    plain = pc.match_substring_regex(texts, _PLAIN)
    numbers = pc.cast(pc.if_else(plain, texts, pa.scalar(None, pa.string())), pa.int64())
    bound = 1 << (8 * type_.arrow.byte_width - 1)
    fits = pc.and_(pc.greater_equal(numbers, -bound), pc.less_equal(numbers, bound - 1))
    plain = pc.and_kleene(plain, fits)
    if type_.arrow.byte_width < 8:
        numbers = pc.if_else(pc.fill_null(plain, False), numbers, pa.scalar(None, pa.int64())).cast(type_.arrow)
    return numbers, pc.or_kleene(plain, pc.is_null(texts))
