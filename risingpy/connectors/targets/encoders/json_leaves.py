"""The JSON form of each type: what stands in the messages of FORMAT … ENCODE JSON. As RisingWave's.

type                        value                        PLAIN, UPSERT           DEBEZIUM
boolean, integers, floats   true, 7, 1.5; NaN: null      the same
numeric, rw_int256          1.50                         "1.50"
varchar, char, uuid, macaddr, inet, cidr, bit, ranges    the text
vector                                                   [1, 2.5]
bytea                       \\x616263                     "YWJj" (Base64)
date                        1970-01-02                   719164 (days of CE)     1 (days since 1970)
time                        00:00:01                     1000 (ms)               1000000 (us)
timestamp                   1970-01-01 00:00:01.5        1500 (ms)
timestamptz                 1970-01-01 00:00:01.5+00     "1970-01-01T00:00:01.500000Z", or as asked for
timestamp_ns                the text                the text
interval                    1 day 02:00:00               "P0Y0M1DT2H0M0S"
jsonb                       {"a": 1}                     "{\\"a\\": 1}", or {"a": 1} if asked for
arrays, structs, maps                                    arrays, objects, objects
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.encoders.changes import array_of_chunks
from risingpy.connectors.targets.encoders.leaves import infinite_moments
from risingpy.errors import SqlError
from risingpy.types import REAL, SqlType, TypeKind
from risingpy.types.far_moments import NEAR_MICROS
from risingpy.types.forms import text_column
from risingpy.types.packed.float_vector import lists_of

_MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
_DAYS_OF_CE_AT_EPOCH = 719_163
_MICROS_OF_SECOND = 1_000_000
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_PARTS = ("Y", "M", "DT", "H", "M", "S")


class DateForm(Enum):
    """What a date is counted from."""

    DAYS_OF_CE = "ce"
    DAYS_OF_EPOCH = "epoch"


class TimestamptzForm(Enum):
    """`timestamptz.handling.mode`."""

    UTC_STRING = "utc_string"
    UTC_WITHOUT_SUFFIX = "utc_without_suffix"
    MICRO = "micro"
    MILLI = "milli"


@dataclass(frozen=True, slots=True)
class JsonForms:
    """The choices that a format or its options make. `json_as_json`: jsonb is JSON and not a text of JSON."""

    date: DateForm = DateForm.DAYS_OF_CE
    time_in_micros: bool = False
    timestamptz: TimestamptzForm = TimestamptzForm.UTC_STRING
    json_as_json: bool = False


@dataclass(frozen=True, slots=True)
class JsonLeaves:
    """A `leaves.Leaf`: arrays that DuckDB's `to_json` writes as the table above says."""

    forms: JsonForms
    connection: duckdb.DuckDBPyConnection

    def __call__(self, type_: SqlType, array: pa.Array) -> pa.Array:
        if type_.kind in _MOMENTS:  # as of floats, JSON has no infinity
            array = pc.if_else(infinite_moments(array), pa.scalar(None, array.type), array)
        match type_.kind:
            case TypeKind.BOOLEAN | TypeKind.SMALLINT | TypeKind.INTEGER | TypeKind.BIGINT:
                return array
            case TypeKind.REAL | TypeKind.DOUBLE:
                return _finite(type_, array)
            case TypeKind.VECTOR:
                return _numbers(array)
            case TypeKind.BYTEA:
                return self._base64(array)
            case TypeKind.DATE:
                days = array.cast(pa.int32())
                return pc.add(days, _DAYS_OF_CE_AT_EPOCH) if self.forms.date is DateForm.DAYS_OF_CE else days
            case TypeKind.TIME:
                micros = array.cast(pa.int64())
                return micros if self.forms.time_in_micros else _floor_divide(micros, 1000)
            case TypeKind.TIMESTAMP:
                return _floor_divide(array.cast(pa.int64()), 1000)
            case TypeKind.TIMESTAMPTZ:
                return _timestamptz(array, self.forms.timestamptz)
            case TypeKind.INTERVAL:
                return iso_intervals(array)
            case TypeKind.JSONB if self.forms.json_as_json:
                return pa.ExtensionArray.from_storage(pa.json_(pa.utf8()), _on_one_line(array))
        return text_column(type_, array)

    def _base64(self, array: pa.Array) -> pa.Array:
        return query_column(self.connection, pa.table({"v": array}), "SELECT to_base64(v) FROM rows")


def _on_one_line(array: pa.Array) -> pa.Array:
    """Texts of JSON without line breaks, which stand between values only: a message may be a line."""
    return pc.replace_substring_regex(array, r"[\n\r]", " ")


def query_column(connection: duckdb.DuckDBPyConnection, rows: pa.Table, query: str) -> pa.Array:
    """The only column of a query of the table `rows`, in the order of the rows."""
    result = connection.from_arrow(rows).query("rows", query)
    assert result is not None
    return array_of_chunks(result.to_arrow_table().column(0))


def _finite(type_: SqlType, array: pa.Array) -> pa.Array:
    """JSON has no NaN and no infinity. A real is the shortest decimal that reads back as the same real."""
    finite = pc.is_finite(array)
    if not pc.all(finite, min_count=0).as_py():
        array = pc.if_else(finite, array, pa.scalar(None, array.type))
    return text_column(type_, array).cast(pa.float64()) if type_.kind is TypeKind.REAL else array


def _numbers(array: pa.Array) -> pa.Array:
    """Vectors as lists of the shortest decimals that read back as their reals."""
    lists = lists_of(array)
    items = text_column(REAL, lists.values).cast(pa.float64())
    return pa.Array.from_buffers(pa.list_(pa.float64()), len(lists), lists.buffers()[:2], children=[items])


def _floor_divide(array: pa.Array, divisor: int) -> pa.Array:
    """Rounds down, also before 1970. (Arrow's division rounds toward zero.)"""
    numbers = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    return pa.array(numbers // divisor, mask=pc.is_null(array).to_numpy(zero_copy_only=False))


def _timestamptz(array: pa.Array, form: TimestamptzForm) -> pa.Array:
    match form:
        case TimestamptzForm.MICRO:
            return array.cast(pa.int64())
        case TimestamptzForm.MILLI:
            return _floor_divide(array.cast(pa.int64()), 1000)
    low, high = (pa.scalar(limit, pa.int64()) for limit in NEAR_MICROS)
    numbers = array.cast(pa.int64())
    if pc.any(pc.or_(pc.less(numbers, low), pc.greater(numbers, high)), min_count=0).as_py():
        message = "a timestamp outside of the years 1 to 9999 has no form as a text of ISO 8601"
        raise SqlError(message, sqlstate="22008", hint="The option timestamptz.handling.mode = 'micro' writes numbers.")
    texts = array.cast(pa.timestamp("us")).cast(pa.string())
    if form is TimestamptzForm.UTC_WITHOUT_SUFFIX:
        return texts
    with_t = pc.replace_substring(texts, " ", "T", max_replacements=1)
    return pc.binary_join_element_wise(with_t, "Z", "")


def iso_intervals(array: pa.Array) -> pa.Array:
    """Intervals as `P1Y2M3DT4H5M6.7S`, every part with its own sign."""
    raw = array.buffers()[1]
    if raw is None or not len(array):
        return pa.nulls(len(array), pa.string())
    fields = np.frombuffer(raw, _INTERVAL)[array.offset : array.offset + len(array)]
    months = fields["months"].astype(np.int64)
    nanos = fields["nanos"]
    micros = np.abs(nanos) // 1000
    seconds = micros // _MICROS_OF_SECOND
    years, rest = np.sign(months) * (np.abs(months) // 12), np.fmod(months, 12)
    sign = np.where(nanos < 0, "-", "")
    clock = [seconds // 3600, seconds // 60 % 60]
    pieces: list[pa.Array | str] = ["P"]
    for number, unit in zip((years, rest, fields["days"]), _PARTS, strict=False):
        pieces += [pc.cast(pa.array(number), pa.string()), unit]
    for number, unit in zip(clock, _PARTS[3:], strict=False):
        pieces += [_signed(number, sign), unit]
    last = micros % (60 * _MICROS_OF_SECOND)
    pieces += [pa.array(np.where(last != 0, sign, "")), pc.cast(pa.array(seconds % 60), pa.string())]
    pieces += [_fraction(micros % _MICROS_OF_SECOND), "S"]
    texts = pc.binary_join_element_wise(*pieces, "")
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.string()))


def _signed(number: npt.NDArray[np.int64], sign: npt.NDArray[np.str_]) -> pa.Array:
    signs = pa.array(np.where(number != 0, sign, ""))
    return pc.binary_join_element_wise(signs, pc.cast(pa.array(number), pa.string()), "")


def _fraction(micros: npt.NDArray[np.int64]) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(pa.array(micros), pa.string()), 6, padding="0")
    return pc.ascii_rtrim(pc.ascii_rtrim(pc.binary_join_element_wise(".", digits, ""), characters="0"), characters=".")
