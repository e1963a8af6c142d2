"""EXTRACT as DuckDB SQL: `extract_<field>` is numeric, exact to the microsecond."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql_text import own_call
from risingpy.functions.signatures import EXTRACT_FIELDS
from risingpy.plan.expressions import Call
from risingpy.types import NUMERIC, SqlType, TypeKind
from risingpy.types.date_units import MICROS_OF_DAY

_MICROS_DIGITS = "DECIMAL(21,0)"  # of a bigint; its product with a millionth has 28 digits


def _extract(field: str) -> Callable[[Call, list[str]], str]:
    def compile_extract(call: Call, args: list[str]) -> str:
        source, value = call.args[0].type, args[0]
        target = call.type.duckdb
        match field:
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

    return compile_extract


def _epoch_micros(value: str, source: SqlType) -> str:
    if source.kind is TypeKind.DATE:
        return f"epoch_us(CAST({value} AS TIMESTAMP))"
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
    numbers = (own_call("wide_of_numbers", [f"CAST({n} AS BIGINT)"], NUMERIC) for n in (days, part, MICROS_OF_DAY))
    whole, micros, day = numbers
    return own_call("wide_add", [whole, own_call("wide_divide", [micros, day], NUMERIC)], NUMERIC)


DATE_AND_TIME: dict[str, Callable[[Call, list[str]], str]] = {
    f"extract_{field}": _extract(field)
    for fields in EXTRACT_FIELDS.values()
    for field in fields
    if not field.startswith("timezone")
}
