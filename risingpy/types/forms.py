"""The text and binary forms of every SQL type, one value or one column at a time.

A kind of type has a module with the functions of `TypeForms`; this one picks the module. What a client sees, what a
literal in a statement means, what COPY reads and writes: all of it comes from here.

Python values are those of `Literal`: bool, int, float, Decimal, str, bytes, date, time, datetime (UTC for
timestamptz), FarDate and FarMoment beyond these, NanoMoment for timestamp_ns, MonthDayNano, tuples for arrays and
structs. NULL is the caller's business, except in columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.types import (
    array,
    boolean,
    bytea,
    character,
    composite,
    date_and_time,
    exact_numeric,
    floating,
    int256,
    integer,
    interval,
    jsonb,
    object_id,
    vector,
)
from risingpy.types.clocks import timestamp_ns
from risingpy.types.enums import enumeration
from risingpy.types.families import TypeKind
from risingpy.types.hexadecimals import macaddr, uuid
from risingpy.types.packed import bit_string, float_vector, network_address
from risingpy.types.ranges import forms as range_forms
from risingpy.types.ranges import multirange_forms
from risingpy.types.ranges.elements import ELEMENTS
from risingpy.types.ranges.multiranges import MULTIRANGE_KINDS
from risingpy.types.sql_type import SqlType
from risingpy.types.system_families import SYSTEM_FAMILIES
from risingpy.types.system_types import is_by_name


class TypeForms(Protocol):
    """What the module of a kind of type gives. NULL never reaches the functions of one value."""

    def parse(self, type_: SqlType, text: str, time_zone: str, /) -> object:
        """The value that `text` means; only timestamptz reads the time zone. Raises what `parse_text` raises."""

    def format_value(self, type_: SqlType, value: object, time_zone: str, /) -> str:
        """The text that PostgreSQL 15 shows of a value."""

    def encode(self, type_: SqlType, value: object, /) -> bytes:
        """The binary form of a value, as PostgreSQL's send function gives it."""

    def decode(self, type_: SqlType, data: bytes, /) -> object:
        """The value of a binary form. Raises 22P03 for bytes that are none."""

    def text_column(self, type_: SqlType, array: pa.Array, time_zone: str, /) -> pa.Array:
        """The texts of a column as an Arrow string array of the same length; NULLs stay."""

    def binary_column(self, type_: SqlType, array: pa.Array, /) -> npt.NDArray[np.generic] | pa.Array:
        """The binary forms of a column: items of a NumPy array, arbitrary where the column is NULL, or Arrow binary."""

    def parse_plain(self, type_: SqlType, texts: pa.Array, /) -> tuple[pa.Array, pa.Array | None]:
        """A column of texts read in one go: the values, and a mask of the rows that are decided (None: all are).

        `parse` reads the other rows one by one; it reads all if this raises ArrowInvalid or SqlError.
        """


_READ_ONE_BY_ONE = 256  # rows; of more, those with a text that is no value are looked for by halving

_FORMS: dict[TypeKind, TypeForms] = {
    TypeKind.BOOLEAN: boolean,
    TypeKind.SMALLINT: integer,
    TypeKind.INTEGER: integer,
    TypeKind.BIGINT: integer,
    TypeKind.REAL: floating,
    TypeKind.DOUBLE: floating,
    TypeKind.NUMERIC: exact_numeric,
    TypeKind.VARCHAR: character,
    TypeKind.UNKNOWN: character,
    TypeKind.BYTEA: bytea,
    TypeKind.DATE: date_and_time,
    TypeKind.TIME: date_and_time,
    TypeKind.TIMESTAMP: date_and_time,
    TypeKind.TIMESTAMPTZ: date_and_time,
    TypeKind.TIMESTAMP_NS: timestamp_ns,
    TypeKind.INTERVAL: interval,
    TypeKind.CHARACTER: character,
    TypeKind.UUID: uuid,
    TypeKind.MACADDR: macaddr,
    TypeKind.INET: network_address,
    TypeKind.CIDR: network_address,
    TypeKind.BIT: bit_string,
    TypeKind.VARBIT: bit_string,
    TypeKind.VECTOR: float_vector,
    TypeKind.INT256: int256,
    TypeKind.JSONB: jsonb,
    TypeKind.ARRAY: array,
    TypeKind.STRUCT: composite,
    TypeKind.MAP: composite,
    TypeKind.ENUM: enumeration,
    **dict.fromkeys(ELEMENTS, range_forms),
    **dict.fromkeys(MULTIRANGE_KINDS, multirange_forms),
}
_SYSTEM_FORMS: dict[str, TypeForms] = {
    **{name: object_id for name, family in SYSTEM_FAMILIES.items() if family.is_oid},
    **{name: vector for name, family in SYSTEM_FAMILIES.items() if family.element},
}


def _forms(type_: SqlType) -> TypeForms:
    if type_.system in _SYSTEM_FORMS and not is_by_name(type_):
        return _SYSTEM_FORMS[type_.system]
    return _FORMS[type_.kind]


def parse_text(type_: SqlType, text: str, *, time_zone: str = "UTC") -> object:
    """The value that `text` means as a literal of the type.

    Raises InvalidTextRepresentation (22P02, 22007 and 22008 for dates and times), NumericValueOutOfRange
    (22003), StringTooLong (22001) or FeatureNotSupported (a date such as today), in PostgreSQL's words.
    """
    return _forms(type_).parse(type_, text, time_zone)


def format_text(type_: SqlType, value: object, *, time_zone: str = "UTC") -> str:
    """The text that PostgreSQL 15 shows of a value."""
    return _forms(type_).format_value(type_, value, time_zone)


def encode_binary(type_: SqlType, value: object) -> bytes:
    """The binary form of a value."""
    return _forms(type_).encode(type_, value)


def decode_binary(type_: SqlType, data: bytes) -> object:
    """The value of a binary form; raises 22P03 for bytes that are none."""
    return _forms(type_).decode(type_, data)


def text_column(type_: SqlType, array: pa.Array, *, time_zone: str = "UTC") -> pa.Array:
    """The text forms of a column, as an Arrow string array; NULLs stay. No Python loop over ordinary values."""
    return _forms(type_).text_column(type_, array, time_zone)


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic] | pa.Array:
    """The binary forms of a column: a NumPy array whose items are the bytes, or an Arrow binary array.

    A NumPy array holds something arbitrary where the column is NULL; an Arrow array keeps the NULLs.
    """
    return _forms(type_).binary_column(type_, array)


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The ordinary ones of a column of texts as values, and which rows these are (`TypeForms.parse_plain`)."""
    return _forms(type_).parse_plain(type_, texts)


def parse_column(type_: SqlType, texts: pa.Array, *, time_zone: str = "UTC") -> pa.Array:
    """A string column as values of the type; raises as `parse_text` does.

    Each family's `parse_plain` reads the ordinary forms in one go and says which rows it has decided (None: all);
    the others go through `parse_text`, one by one.
    """
    try:
        values, decided = parse_plain(type_, texts)
    except (pa.ArrowInvalid, SqlError):
        values, decided = pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
    if decided is None or pc.all(decided, min_count=0).as_py():
        return values
    rest = pc.invert(decided)
    parsed = [parse_text(type_, text, time_zone=time_zone) for text in texts.filter(rest).to_pylist()]
    return replace_rows(values, rest, pa.array(parsed, type_.arrow))


def parse_rows(type_: SqlType, texts: pa.Array, *, time_zone: str = "UTC") -> tuple[pa.Array, Mapping[int, str]]:
    """As `parse_column`, but a text that is no value becomes NULL: the values, and what is wrong, by row.

    What is wrong costs no more than its own rows: the ordinary ones are read in one go all the same.
    """
    try:
        values, decided = parse_plain(type_, texts)
    except (pa.ArrowInvalid, SqlError):  # some text that looks ordinary is no value: the 13th month, say
        if len(texts) > _READ_ONE_BY_ONE:
            middle = len(texts) // 2
            first, wrong = parse_rows(type_, texts.slice(0, middle), time_zone=time_zone)
            second, more = parse_rows(type_, texts.slice(middle), time_zone=time_zone)
            wrong = {**wrong, **{row + middle: reason for row, reason in more.items()}}
            return pa.concat_arrays([first, second]), wrong
        values, decided = pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
    if decided is None or pc.all(decided, min_count=0).as_py():
        return values, {}
    rest = pc.invert(decided)
    parsed: list[object] = []
    failed: dict[int, str] = {}
    for row, text in zip(pc.indices_nonzero(rest).to_pylist(), texts.filter(rest).to_pylist(), strict=True):
        try:
            parsed.append(parse_text(type_, text, time_zone=time_zone))
        except SqlError as error:
            parsed.append(None)
            failed[row] = str(error)
    return replace_rows(values, rest, pa.array(parsed, type_.arrow)), failed


def replace_rows(values: pa.Array, mask: pa.Array, replacements: pa.Array) -> pa.Array:
    """`values` with the rows of `mask` replaced, in order. (pc.replace_with_mask does not know every type.)"""
    chosen = mask.to_numpy(zero_copy_only=False)
    index = np.arange(len(values), dtype=np.int64)
    index[chosen] = len(values) + np.arange(len(replacements))
    return pa.concat_arrays([values, replacements]).take(pa.array(index))
