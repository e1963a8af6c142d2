"""What datagen makes of a column's options: `fields.COLUMN.kind`, `.start`, `.min` and so on.

A field is a column, a field of a struct (`fields.s.x.kind`) or the element of an array (`fields.a._.kind`). What is not
said has RisingWave's defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.generators.options import moment_option, whole_option
from risingpy.connectors.generators.random_values import (
    Numbers,
    random_fractions,
    random_integers,
    random_texts,
    salt_of,
)
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from risingpy.types import INTERVAL, SqlType, TypeKind
from risingpy.types.forms import parse_column

FIELD_OPTIONS = ("kind", "start", "end", "min", "max", "length", "max_past", "max_past_mode", "basetime", "seed")
LOWEST, HIGHEST = -(1 << 15), (1 << 15) - 1  # of numbers without min and max
LENGTH = 10  # of texts and arrays
LONGEST = 1_000  # characters, or values within arrays, of a row: an epoch has a million rows, an Arrow array 2 GB
PAST = "1 day"
DAY = 86_400_000_000  # microseconds

_BITS = {TypeKind.SMALLINT: 16, TypeKind.INTEGER: 32, TypeKind.BIGINT: 64}
_OTHER_NUMBERS = (TypeKind.REAL, TypeKind.DOUBLE, TypeKind.NUMERIC)
_TIMES = (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.DATE)


class GeneratedField(Protocol):
    """Makes a field's values: a function of the rows' numbers."""

    def values(self, numbers: Numbers) -> pa.Array:
        """A value for each number, of the type's Arrow type."""
        ...


@dataclass(frozen=True, slots=True)
class _Sequence:
    type: SqlType
    start: int

    def values(self, numbers: Numbers) -> pa.Array:
        return _of_type(pa.array(numbers + self.start), self.type)


@dataclass(frozen=True, slots=True)
class _RandomInteger:
    type: SqlType
    salt: int
    low: int
    high: int

    def values(self, numbers: Numbers) -> pa.Array:
        return _of_type(pa.array(random_integers(numbers, self.salt, self.low, self.high)), self.type)


@dataclass(frozen=True, slots=True)
class _RandomFloat:
    type: SqlType
    salt: int
    low: float
    high: float

    def values(self, numbers: Numbers) -> pa.Array:
        spread = random_fractions(numbers, self.salt) * (self.high - self.low) + self.low
        return _of_type(pa.array(spread if self.type.kind is not TypeKind.NUMERIC else spread.round(2)), self.type)


@dataclass(frozen=True, slots=True)
class _RandomText:
    salt: int
    length: int

    def values(self, numbers: Numbers) -> pa.Array:
        return random_texts(numbers, self.salt, self.length)


@dataclass(frozen=True, slots=True)
class _RandomBoolean:
    salt: int

    def values(self, numbers: Numbers) -> pa.Array:
        return pa.array(random_integers(numbers, self.salt, 0, 1).astype(bool))


@dataclass(frozen=True, slots=True)
class _RandomTime:
    """Up to `past` microseconds before a moment: of row g, `base` microseconds and g times `gap` nanoseconds.

    A row has `a_row` values, since it may be within an array.
    """

    type: SqlType
    salt: int
    base: int
    gap: int
    past: int
    a_row: int

    def values(self, numbers: Numbers) -> pa.Array:
        ago = random_integers(numbers, self.salt, 0, self.past)
        moments = self.base + numbers // self.a_row * self.gap // 1_000 - ago
        if self.type.kind is TypeKind.DATE:
            return pa.array((moments // DAY).astype(np.int32)).cast(self.type.arrow)
        return pa.array(moments).cast(self.type.arrow)


@dataclass(frozen=True, slots=True)
class _Array:
    element: GeneratedField
    length: int

    def values(self, numbers: Numbers) -> pa.Array:
        inner = (numbers[:, None] * self.length + np.arange(self.length, dtype=np.int64)).ravel()
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * np.int32(self.length)
        return pa.ListArray.from_arrays(pa.array(offsets), self.element.values(inner))


@dataclass(frozen=True, slots=True)
class _Struct:
    names: tuple[str, ...]
    fields: tuple[GeneratedField, ...]

    def values(self, numbers: Numbers) -> pa.Array:
        return pa.StructArray.from_arrays([field.values(numbers) for field in self.fields], list(self.names))


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options `fields.…`, by field and name, and the times of rows, which times count back from.

    Row g is `gap` nanoseconds after row g − 1; row 0 is at `begin`, in microseconds since 1970.
    """

    by_field: Mapping[str, Mapping[str, str]]
    begin: int
    gap: int

    def rows(self) -> int | None:
        """How many rows there are until the first sequence ends; None without one. Raises InvalidParameterValue."""
        found = [self._rows_of(path) for path, own in self.by_field.items() if own.get("kind") == "sequence"]
        return min(found, default=None)

    def fields(self, columns: Sequence[tuple[str, SqlType]]) -> list[GeneratedField]:
        """What makes each column. Raises InvalidParameterValue for wrong options, FeatureNotSupported for a type."""
        return [self._field(name.lower(), type_) for name, type_ in columns]

    def check(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        """As `fields`, and each option must name a field. Raises InvalidParameterValue."""
        self.fields(columns)
        known = {path for name, type_ in columns for path in _paths(name.lower(), type_)}
        for path, own in self.by_field.items():
            if path not in known:
                raise InvalidParameterValue(f'option "fields.{path}.{next(iter(own))}" is of no column')

    def _rows_of(self, path: str) -> int:
        start, end = self._sequence(path)
        return (end - start + 1) // self._values_of_a_row(path)

    def _values_of_a_row(self, path: str) -> int:
        """How many values a row has of a field, which may be within arrays. Raises InvalidParameterValue."""
        found = 1
        for array in _arrays_around(path):
            found *= max(self._length(array), 1)
        if found > LONGEST:
            raise InvalidParameterValue(f'a row has more than {LONGEST} values of field "{path}"')
        return found

    def _sequence(self, path: str) -> tuple[int, int]:
        own = self._own(path)
        start = whole_option(own, f"fields.{path}.start", 0, -(1 << 62), 1 << 62)
        return start, whole_option(own, f"fields.{path}.end", max(HIGHEST, start), start - 1, 1 << 62)

    def _length(self, path: str) -> int:
        return whole_option(self._own(path), f"fields.{path}.length", LENGTH, 0, LONGEST)

    def _own(self, path: str) -> dict[str, str]:
        """A field's options by their full names."""
        return {f"fields.{path}.{name}": text for name, text in self.by_field.get(path, {}).items()}

    def _field(self, path: str, type_: SqlType) -> GeneratedField:
        if type_.kind is TypeKind.ARRAY:
            self._values_of_a_row(f"{path}._")
            return _Array(self._field(f"{path}._", type_.element), self._length(path))
        if type_.kind is TypeKind.STRUCT:
            pairs = zip(type_.names, type_.items, strict=True)
            return _Struct(type_.names, tuple(self._field(f"{path}.{name.lower()}", item) for name, item in pairs))
        own = self.by_field.get(path, {})
        kind = own.get("kind", "random")
        if kind not in ("sequence", "random"):
            raise InvalidParameterValue(f'option "fields.{path}.kind" is sequence or random, not "{kind}"')
        if kind == "sequence":
            return self._checked_sequence(path, type_)
        return self._random(path, type_)

    def _checked_sequence(self, path: str, type_: SqlType) -> GeneratedField:
        if type_.kind not in _BITS and type_.kind not in _OTHER_NUMBERS:
            raise InvalidParameterValue(f'column "{path}" is of type {type_.name}: sequences are of numbers')
        start, end = self._sequence(path)
        self._check_range(path, type_, start, end)
        return _Sequence(type_, start)

    def _random(self, path: str, type_: SqlType) -> GeneratedField:
        own = self._own(path)
        salt = salt_of(self.by_field.get(path, {}).get("seed", ""), path)
        if type_.kind in _BITS:
            low, high = self._limits(path, LOWEST, HIGHEST)
            self._check_range(path, type_, round(low), round(high))
            return _RandomInteger(type_, salt, round(low), round(high))
        if type_.kind in _OTHER_NUMBERS:
            return _RandomFloat(type_, salt, *self._limits(path, LOWEST, HIGHEST))
        if type_.kind is TypeKind.VARCHAR:
            most = LONGEST // self._values_of_a_row(path)
            length = whole_option(own, f"fields.{path}.length", min(LENGTH, type_.length or LENGTH, most), 0, most)
            return _RandomText(salt, length if type_.length is None else min(length, type_.length))
        if type_.kind is TypeKind.BOOLEAN:
            return _RandomBoolean(salt)
        if type_.kind in _TIMES:
            return self._time(path, type_, salt)
        raise FeatureNotSupported(f"datagen makes no values of type {type_.name}")

    def _time(self, path: str, type_: SqlType, salt: int) -> GeneratedField:
        own = self.by_field.get(path, {})
        mode = own.get("max_past_mode", "absolute").lower()
        if mode not in ("absolute", "relative"):
            raise InvalidParameterValue(f'option "fields.{path}.max_past_mode" is absolute or relative, not "{mode}"')
        base = moment_option(self._own(path), f"fields.{path}.basetime")
        past = _microseconds(f"fields.{path}.max_past", own.get("max_past", PAST))
        if mode == "relative" and base is None:
            return _RandomTime(type_, salt, self.begin, self.gap, past, self._values_of_a_row(path))
        return _RandomTime(type_, salt, self.begin if base is None else base, 0, past, 1)

    def _limits(self, path: str, low: int, high: int) -> tuple[float, float]:
        own = self.by_field.get(path, {})
        found = [_number(f"fields.{path}.{name}", own.get(name), default) for name, default in _named(low, high)]
        if found[0] > found[1]:
            raise InvalidParameterValue(f'option "fields.{path}.min" is greater than "fields.{path}.max"')
        return found[0], found[1]

    @staticmethod
    def _check_range(path: str, type_: SqlType, low: int, high: int) -> None:
        bits = _BITS.get(type_.kind, 64)
        if not -(1 << bits - 1) <= low <= high + 1 <= 1 << bits - 1:
            raise InvalidParameterValue(f'values of column "{path}" are out of range for type {type_.name}')


def _named(low: int, high: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("min", low), ("max", high)


def _number(name: str, text: str | None, default: int) -> float:
    """A number; a whole one stays an int, since a bigint has more digits than a float."""
    if text is None:
        return default
    try:
        found = int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError as error:
        raise InvalidParameterValue(f'option "{name}" is a number, not "{text}"') from error
    if not math.isfinite(found):
        raise InvalidParameterValue(f'option "{name}" is a number, not "{text}"')
    return found


def _microseconds(name: str, text: str) -> int:
    """The length of an interval, with months of 30 days."""
    try:
        interval = parse_column(INTERVAL, pa.array([text]))[0].as_py()
    except (SqlError, pa.ArrowInvalid) as error:
        raise InvalidParameterValue(f'option "{name}" is an interval, not "{text}"') from error
    return max(int((interval.months * 30 + interval.days) * DAY + interval.nanoseconds // 1_000), 0)


def _of_type(values: pa.Array, type_: SqlType) -> pa.Array:
    if type_.kind is TypeKind.NUMERIC:
        texts = pc.cast(values, pa.string())
        return parse_column(type_, texts) if type_.is_wide else pc.cast(texts, type_.arrow)
    return pc.cast(values, type_.arrow)


def _paths(path: str, type_: SqlType) -> list[str]:
    """A field and all within it."""
    if type_.kind is TypeKind.ARRAY:
        return [path, *_paths(f"{path}._", type_.element)]
    inner = zip(type_.names, type_.items, strict=True) if type_.kind is TypeKind.STRUCT else ()
    return [path, *(found for name, item in inner for found in _paths(f"{path}.{name.lower()}", item))]


def _arrays_around(path: str) -> list[str]:
    """The arrays that a field is within: what stands before each `_` of its path."""
    parts = path.split(".")
    return [".".join(parts[:k]) for k, part in enumerate(parts) if part == "_"]
