"""EXTRACT as DuckDB SQL: `extract_<field>` is numeric, exact to the microsecond, or the nanosecond of timestamp_ns.

Of ±infinity, what comes again and again (months, hours) is NULL. What grows for ever is infinite, which this numeric
cannot be: an error.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql.casts import cast
from risingpy.functions.evaluation.sql.text import own_call, quoted, raised
from risingpy.functions.signatures import EXTRACT_FIELDS
from risingpy.functions.topics.times.parts import YEARLY_PARTS
from risingpy.plan.expressions import Call, Cast
from risingpy.types import BIGINT, NUMERIC, SqlType, TypeKind
from risingpy.types.date_units import MICROS_OF_DAY

_GROWING = (*YEARLY_PARTS, "epoch", "julian")
_MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
_EPOCH = "CAST('1970-01-01' AS DATE)"
_NANOS_OF_MINUTE = 60_000_000_000
_MICROS_DIGITS = "DECIMAL(21,0)"  # of a bigint; its product with a millionth has 28 digits


def _extract(field: str) -> Callable[[Call, list[str]], str]:
    def compile_extract(call: Call, args: list[str]) -> str:
        source, value = call.args[0].type, args[0]
        if source.kind is TypeKind.TIMESTAMP_NS:
            return _of_nanos(field, value, call.type.duckdb)
        finite = _of_finite(field, value, source, call.type.duckdb)
        if source.kind not in _MOMENTS:
            return finite
        if field not in _GROWING:
            return f"CASE WHEN isfinite({value}) THEN {finite} END"
        infinite = _infinite_number(field, value, call.type)
        if field not in YEARLY_PARTS:
            return f"CASE WHEN isinf({value}) THEN {infinite} ELSE {finite} END"
        yearly = own_call("yearly_part", [quoted(field), value], BIGINT)
        before_christ = f"{value} < CAST('0001-01-01' AS {source.duckdb})"
        return (
            f"CASE WHEN isinf({value}) THEN {infinite} WHEN {before_christ}"
            f" THEN CAST({yearly} AS {call.type.duckdb}) ELSE {finite} END"
        )

    return compile_extract


def _infinite_number(field: str, value: str, type_: SqlType) -> str:
    if type_.is_wide:
        return own_call("wide_of_text", [f"CASE WHEN {value} > {_EPOCH} THEN 'Infinity' ELSE '-Infinity' END"], type_)
    return raised("22003", quoted(f"the {field} of infinity is infinite, which numeric cannot be here"), type_)


def _of_finite(field: str, value: str, source: SqlType, target: str) -> str:
    match field:
        case "epoch" if source.kind is TypeKind.DATE:
            return f"CAST(CAST({value} - {_EPOCH} AS BIGINT) * 86400 AS {target})"
        case "epoch":
            return _millionths(_epoch_micros(value, source), target)
        case "second":
            return _millionths(f"datepart('microseconds', {value})", target)
        case "milliseconds":
            return _fraction(f"datepart('microseconds', {value})", "0.001", "DECIMAL(4,3)", target)
        case "julian":
            return _julian(value, source, target)
        case "century" | "millennium" | "decade" if source.kind is TypeKind.INTERVAL:
            years = {"century": 100, "millennium": 1000, "decade": 10}[field]
            return f"CAST(datepart('year', {value}) // {years} AS {target})"
    return f"CAST(datepart('{field}', {value}) AS {target})"


def _of_nanos(field: str, value: str, target: str) -> str:
    """A part of a timestamp_ns, which is never infinite, nor before Christ."""
    nanos = f"epoch_ns({value})"
    of_minute = f"((({nanos} % {_NANOS_OF_MINUTE}) + {_NANOS_OF_MINUTE}) % {_NANOS_OF_MINUTE})"
    match field:
        case "epoch":
            return _fraction(nanos, "0.000000001", "DECIMAL(10,9)", target)
        case "second":
            return _fraction(of_minute, "0.000000001", "DECIMAL(10,9)", target)
        case "milliseconds":
            return _fraction(of_minute, "0.000001", "DECIMAL(7,6)", target)
        case "microseconds":
            return _fraction(of_minute, "0.001", "DECIMAL(4,3)", target)
        case "nanoseconds":
            return f"CAST({of_minute} AS {target})"
    moment = f"make_timestamp(epoch_us({value}))"  # the microsecond that it lies in
    if field == "julian":
        day = 1000 * MICROS_OF_DAY
        of_day = f"((({nanos} % {day}) + {day}) % {day})"
        return _julian_number(f"datepart('julian', CAST({moment} AS DATE))", of_day, day)
    return f"CAST(datepart('{field}', {moment}) AS {target})"


def _epoch_micros(value: str, source: SqlType) -> str:
    if source.kind is TypeKind.INTERVAL:
        # A year is 365.25 days, the months beyond whole years are 30: six hours and five days a year more.
        return f"(epoch_us({value}) + datepart('year', {value}) * {5 * MICROS_OF_DAY + MICROS_OF_DAY // 4})"
    return f"epoch_us({value})"


def _millionths(micros: str, target: str) -> str:
    return _fraction(micros, "0.000001", "DECIMAL(7,6)", target)


def _fraction(micros: str, factor: str, factor_type: str, target: str) -> str:
    return f"CAST(CAST({micros} AS {_MICROS_DIGITS}) * CAST({factor} AS {factor_type}) AS {target})"


def _julian(value: str, source: SqlType, target: str) -> str:
    if source.kind is TypeKind.DATE:
        return f"CAST(datepart('julian', {value}) AS {target})"
    days = f"datepart('julian', CAST({value} AS DATE))"
    part = f"(epoch_us({value}) - epoch_us(CAST(CAST({value} AS DATE) AS TIMESTAMP)))"
    return _julian_number(days, part, MICROS_OF_DAY)


def _julian_number(days: str, part: str, day: int) -> str:
    """Whole days, and a part of a day that has so many units."""
    whole, units, all_units = (
        own_call("wide_of_numbers", [f"CAST({n} AS BIGINT)"], NUMERIC) for n in (days, part, day)
    )
    return own_call("wide_add", [whole, own_call("wide_divide", [units, all_units], NUMERIC)], NUMERIC)


def grows_for_ever(call: Call) -> bool:
    """Whether the call is a part of a moment that is infinite of infinity, such as its year."""
    field = call.function.removeprefix("extract_")
    return field != call.function and field in _GROWING and call.args[0].type.kind in _MOMENTS


def part_as_float(part: Call, converted: Cast, args: list[str]) -> str:
    """The cast of such a part to a float, as in date_part: infinity is a float."""
    (value,) = args
    target = converted.type.duckdb
    finite = cast(_extract(part.function.removeprefix("extract_"))(part, args), part.type, converted.type)
    infinite = f"CAST(CASE WHEN {value} > {_EPOCH} THEN 'Infinity' ELSE '-Infinity' END AS {target})"
    return f"CASE WHEN isinf({value}) THEN {infinite} ELSE {finite} END"


DATE_AND_TIME: dict[str, Callable[[Call, list[str]], str]] = {
    f"extract_{field}": _extract(field)
    for fields in EXTRACT_FIELDS.values()
    for field in fields
    if not field.startswith("timezone")
}
