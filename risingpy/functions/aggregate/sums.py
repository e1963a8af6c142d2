"""sum: exact over integers, numerics and floating-point numbers, by part over intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.exact_sums import rounded, sum_floats, sum_sums
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.kernels import add_integers, add_wide
from risingpy.functions.aggregate.value_state import (
    ValueState,
    integers_of,
    merged_integers,
    present,
    signed_counts,
)
from risingpy.types import REAL, SqlType, TypeKind
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.interval import MICROS_LIMIT

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_NUMERIC_LIMIT = 10**38  # the first number too long for numeric
_LIMIT_HIGH = _NUMERIC_LIMIT >> 64
_INTERVAL_PARTS = 3
_MAX_INT32 = 2**31 - 1
_NANOS_OF_MICRO = 1000
_MODULUS = 2**61
_INVERSE_OF_125 = pow(125, -1, _MODULUS)


@dataclass(frozen=True, slots=True)
class ExactSum(ValueState):
    """Integers and numerics: 128 bits of the unscaled sum in a numeric column, above them a bigint if `wide`."""

    types: tuple[SqlType, ...]
    result_type: SqlType

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        sums = np.zeros(3 * rows.groups, np.int64)
        if pa.types.is_decimal(argument.type):
            add_wide(rows.codes, rows.signs, _words(argument), 2, sums)
        else:
            add_wide(rows.codes, rows.signs, integers_of(argument.cast(pa.int64())), 1, sums)
        return self._columns(sums, pa.array(signed_counts(rows)))

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        sums = np.zeros(3 * groups, np.int64)
        add_wide(codes, np.ones(len(codes), np.int8), self._three_words(states), 3, sums)
        return self._columns(sums, merged_integers(codes, groups, states[-1]))

    def plus(self, states: Sequence[pa.Array], others: Sequence[pa.Array]) -> list[pa.Array]:
        groups = len(others[0])
        sums = np.zeros(3 * groups, np.int64)
        codes, signs = np.arange(groups), np.ones(groups, np.int8)
        for each in (states, others):
            add_wide(codes, signs, self._three_words(each), 3, sums)
        return self._columns(sums, pa.array(integers_of(states[-1]) + integers_of(others[-1])))

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        empty = integers_of(states[-1]) == 0
        words = _words(states[0]).reshape(-1, 2)
        top = integers_of(states[1]) if self._wide else words[:, 1] >> 63
        too_large = ~empty & _exceeds(words, top, self.result_type.kind)
        null = empty | too_large
        if self.result_type.kind is TypeKind.NUMERIC:
            column = fixed(words, self.result_type.arrow, null)
        else:
            column = pa.array(np.ascontiguousarray(words[:, 0]), mask=null)
        return column, int(too_large.sum())

    def _three_words(self, states: Sequence[pa.Array]) -> Integers:
        """Each state's sum in three words, low one first; 0 for the empty state."""
        words = np.empty((len(states[0]), 3), np.int64)
        words[:, :2] = _words(states[0]).reshape(-1, 2)
        words[:, 2] = integers_of(states[1]) if self._wide else words[:, 1] >> 63
        if states[0].null_count:
            words[states[0].is_null().to_numpy(zero_copy_only=False)] = 0
        return words.reshape(-1)

    @property
    def _wide(self) -> bool:
        return len(self.types) == 3

    def _columns(self, sums: Integers, count: pa.Array) -> list[pa.Array]:
        words = sums.reshape(-1, 3)
        low = fixed(np.ascontiguousarray(words[:, :2]), self.types[0].arrow, None)
        return [low, *([pa.array(np.ascontiguousarray(words[:, 2]))] if self._wide else []), count]


@dataclass(frozen=True, slots=True)
class FloatSum(ValueState):
    """real and double precision: the finite values' exact sum (`exact_sums`), the others counted by kind."""

    result_type: SqlType

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        values = np.asarray(argument.to_numpy(zero_copy_only=False), np.float64)
        everything = signed_counts(rows)
        others = np.zeros((3, rows.groups), np.int64)
        finite = np.isfinite(values)
        if not finite.all():
            kinds = (np.isnan(values), np.isposinf(values), np.isneginf(values))
            others = np.stack([signed_counts(rows.select(kind)) for kind in kinds])
            rows, values = rows.select(finite), values[finite]
        total = sum_floats(rows.codes, rows.signs, rows.groups, values)
        return [total, *(pa.array(counts) for counts in (everything, *others))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        total, *counts = states
        return [sum_sums(codes, groups, total), *(merged_integers(codes, groups, column) for column in counts)]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        count, nan, plus, minus = (integers_of(column) for column in states[1:])
        total = rounded(states[0], single=self.result_type == REAL)
        empty = count == 0
        undefined = (nan > 0) | ((plus > 0) & (minus > 0))
        infinite = (plus > 0) | (minus > 0)
        too_large = ~empty & ~undefined & ~infinite & ~np.isfinite(total)
        shown = np.where(undefined, np.nan, np.where(plus > 0, np.inf, np.where(minus > 0, -np.inf, total)))
        column = pa.array(shown, mask=empty | too_large).cast(self.result_type.arrow, safe=False)
        return column, int(too_large.sum())


@dataclass(frozen=True, slots=True)
class IntervalSum(ValueState):
    """Months, days and nanoseconds, each on its own, as PostgreSQL adds intervals.

    Hours of more than 292 years, which the nanoseconds of an interval cannot hold, go to the days: see `carried`.
    """

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        sums = np.zeros((_INTERVAL_PARTS, rows.groups), np.int64)
        months, days, nanoseconds = _interval_parts(argument)
        whole = nanoseconds - nanoseconds % _NANOS_OF_MICRO  # a Python function may have given fractions
        for part, values in zip(sums, (months, days, whole), strict=True):
            add_integers(rows.codes, rows.signs, values, part)
        return [pa.array(column) for column in (*sums, signed_counts(rows))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [merged_integers(codes, groups, state) for state in states]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        months, days, nanoseconds, count = (integers_of(state) for state in states)
        empty = count == 0
        days, nanoseconds = carried(days, nanoseconds)
        too_large = ~empty & ((np.abs(months) > _MAX_INT32) | (np.abs(days) > _MAX_INT32))
        parts = np.empty((len(count), 2), np.int64)
        parts.view(np.int32)[:, 0] = months
        parts.view(np.int32)[:, 1] = days
        parts[:, 1] = nanoseconds
        return fixed(parts, pa.month_day_nano_interval(), empty | too_large), int(too_large.sum())


def carried(days: Integers, nanoseconds: Integers) -> tuple[Integers, Integers]:
    """Days and nanoseconds of sums of whole microseconds, which may have wrapped: with the days of too many hours.

    The state keeps the low 64 bits of the sum of nanoseconds, 1000 = 8 * 125 times that of microseconds. As 125
    has an inverse modulo 2^61, the bits tell the microseconds modulo 2^61: sums of up to 36,558 years are exact.
    """
    eighths = nanoseconds.view(np.uint64) >> np.uint64(3)
    micros = (eighths * np.uint64(_INVERSE_OF_125) & np.uint64(_MODULUS - 1)).astype(np.int64)
    micros = np.where(micros >= _MODULUS // 2, micros - _MODULUS, micros)
    too_many = np.abs(micros) >= MICROS_LIMIT
    if not too_many.any():
        return days, nanoseconds
    whole = np.where(too_many, np.sign(micros) * (np.abs(micros) // MICROS_OF_DAY), 0)
    return days + whole, (micros - whole * MICROS_OF_DAY) * _NANOS_OF_MICRO


def integers_of_words(column: pa.Array) -> Integers:
    """The values of a column of integers or numerics as int64 words, low one first: one each, two for a numeric."""
    return _words(column) if pa.types.is_decimal(column.type) else integers_of(column.cast(pa.int64()))


def _words(column: pa.Array) -> Integers:
    """The unscaled 128-bit values as int64 words, low one first."""
    if len(column) == 0:
        return np.empty(0, np.int64)
    words = np.frombuffer(column.buffers()[1], np.int64)
    return words[2 * column.offset : 2 * (column.offset + len(column))]


def fixed(data: Integers, arrow_type: pa.DataType, null: Mask | None) -> pa.Array:
    """A column of 16-byte values."""
    validity = None
    if null is not None and null.any():
        validity = pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(arrow_type, len(data), [validity, pa.py_buffer(data)])


def _exceeds(words: Integers, top: Integers, kind: TypeKind) -> Mask:
    """Whether a 192-bit number, its low words and its top one, is too large for a bigint or a numeric."""
    low, high = words[:, 0], words[:, 1]
    outside: Mask = top != high >> 63
    if kind is TypeKind.BIGINT:
        outside |= high != low >> 63
        return outside
    near = (high >= _LIMIT_HIGH) | (high <= -_LIMIT_HIGH)
    if near.any():
        unsigned = np.ascontiguousarray(low).view(np.uint64)
        outside |= _greater(high, unsigned, _NUMERIC_LIMIT - 1) | ~_greater(high, unsigned, -_NUMERIC_LIMIT)
    return outside


def _greater(high: Integers, low: npt.NDArray[np.uint64], bound: int) -> Mask:
    """Whether (high, low) > bound."""
    bound_high, bound_low = np.int64(bound >> 64), np.uint64(bound & (2**64 - 1))
    greater: Mask = (high > bound_high) | ((high == bound_high) & (low > bound_low))
    return greater


def _interval_parts(column: pa.Array) -> tuple[Integers, Integers, Integers]:
    if len(column) == 0:
        empty = np.empty(0, np.int64)
        return empty, empty, empty
    wide = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    months_days = np.ascontiguousarray(wide[:, :1]).view(np.int32)
    months, days = (months_days[:, k].astype(np.int64) for k in (0, 1))
    return months, days, np.ascontiguousarray(wide[:, 1])
