"""Values of enums: in text and in binary the label, in columns its number (`enum_type.py`)."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation
from risingpy.types.enums.enum_type import EnumLabel
from risingpy.types.families import TypeKind
from risingpy.types.sql_type import VARCHAR, SqlType


def labels_of(type_: SqlType) -> tuple[EnumLabel, ...]:
    """The labels of an enum, in order."""
    assert type_.enum is not None
    return type_.enum.labels


def parse(type_: SqlType, text: str, time_zone: str) -> int:
    """The number of the label `text`, which counts to the letter. Raises 22P02 for any other text."""
    for label in labels_of(type_):
        if label.text == text:
            return label.number
    raise InvalidTextRepresentation(f'invalid input value for enum {type_.name}: "{text}"')


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The label."""
    return next(label.text for label in labels_of(type_) if label.number == value)


def encode(type_: SqlType, value: object) -> bytes:
    """The label in UTF-8."""
    return format_value(type_, value, "UTC").encode()


def decode(type_: SqlType, data: bytes) -> int:
    """The number of the label that the bytes are. Raises 22P02 if they are none."""
    return parse(type_, data.decode(errors="replace"), "UTC")


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """The labels; NULLs stay."""
    labels = labels_of(type_)
    numbers = pa.array([label.number for label in labels], pa.int64())
    places = pc.index_in(array, value_set=numbers)
    return pa.array([label.text for label in labels], pa.string()).take(places)


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """The labels in UTF-8; NULLs stay."""
    return text_column(type_, array, "UTC").cast(pa.binary())


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """All texts that are labels; see `forms.parse_column`."""
    labels = labels_of(type_)
    places = pc.index_in(texts, value_set=pa.array([label.text for label in labels], pa.string()))
    numbers = pa.array([label.number for label in labels], pa.int64()).take(places)
    return numbers, pc.or_(pc.is_valid(places), pc.is_null(texts))


def without_enums(type_: SqlType) -> SqlType:
    """The type with varchars in the places of enums: that of the labels."""
    if type_.kind is TypeKind.ENUM:
        return VARCHAR
    return replace(type_, items=tuple(map(without_enums, type_.items))) if type_.items else type_
