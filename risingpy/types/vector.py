"""int2vector and oidvector: arrays of one dimension that count from 0, in text their elements between blanks.

In binary they are arrays (`array.py`) whose lower bound is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.types import array as arrays
from risingpy.types import forms
from risingpy.types.sql_type import SqlType

_LOWER_BOUND = slice(16, 20)  # of the first dimension, after the counts, the OID of the elements and the length
_ZERO = bytes(4)


def parse(type_: SqlType, text: str, time_zone: str) -> tuple[object, ...]:
    """The elements; raises what their type raises."""
    return tuple(forms.parse_text(type_.element, part) for part in text.split())


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The elements with a blank between two; no braces."""
    return " ".join(map(str, cast(Sequence[object], value)))


def encode(type_: SqlType, value: object) -> bytes:
    """The array's form with lower bound 0. An empty vector has no dimension, so no bound either."""
    data = bytearray(arrays.encode(type_, value))
    if value:
        data[_LOWER_BOUND] = _ZERO
    return bytes(data)


def decode(type_: SqlType, data: bytes) -> tuple[object, ...]:
    """The elements as a tuple; any lower bound is taken. Raises 22P03 as for arrays."""
    return arrays.decode(type_, data)


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay."""
    return pc.binary_join(pc.cast(array, pa.list_(pa.string())), " ")


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """As `encode` writes them, as Arrow binary; NULLs stay."""
    encoded = arrays.binary_column(type_, array)
    at_zero = pc.binary_replace_slice(encoded, _LOWER_BOUND.start, _LOWER_BOUND.stop, _ZERO)
    return pc.if_else(pc.equal(pc.list_value_length(array), 0), encoded, at_zero)


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`: every row goes through `parse`."""
    return pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
