"""oid, xid, regclass and its siblings: a number from 0 to 4294967295, in text as its digits, in binary as 4 bytes.

A column of them is of bigints. Where a client is shown the name of a regclass, the binder has made a text of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.types.sql_type import SqlType

_BYTES = 4
_END = 1 << 32


def parse(type_: SqlType, text: str, time_zone: str) -> int:
    """As PostgreSQL, which takes a negative number for one that is counted from the end. Raises 22P02 and 22003."""
    word = text.strip()
    if not word.removeprefix("-").removeprefix("+").isdecimal():
        raise InvalidTextRepresentation(f'invalid input syntax for type {type_.name}: "{text}"')
    number = int(word)
    if not -(_END >> 1) <= number < _END:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type {type_.name}')
    return number % _END


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The digits, for regclass and its siblings too."""
    return str(value)


def encode(type_: SqlType, value: object) -> bytes:
    """Four bytes, big-endian; a negative number wraps, as a cast of it to oid does."""
    assert isinstance(value, int)
    return (value % _END).to_bytes(_BYTES, "big")


def decode(type_: SqlType, data: bytes) -> int:
    """A number from 0 to 4294967295. Raises 22P03 for another length than 4 bytes."""
    if len(data) != _BYTES:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    return int.from_bytes(data, "big")


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """The digits; NULLs stay."""
    return pc.cast(array, pa.string())


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic]:
    """Big-endian u32 items; 0 where the column is NULL."""
    return np.ascontiguousarray(pc.fill_null(array, 0).to_numpy(zero_copy_only=False).astype(">u4"))


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Nine digits at most, which always fit; see `forms.parse_column`."""
    plain = pc.match_substring_regex(texts, "^[0-9]{1,9}$")
    numbers = pc.cast(pc.if_else(plain, texts, pa.scalar(None, pa.string())), type_.arrow)
    return numbers, pc.or_kleene(plain, pc.is_null(texts))
