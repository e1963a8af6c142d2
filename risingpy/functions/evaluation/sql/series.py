"""generate_series and range as DuckDB SQL: lists of numbers or moments, of which range leaves out the end."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.functions.evaluation.sql.casts import cast
from risingpy.functions.evaluation.sql.text import own_call, quoted, raised
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import INTEGER, NUMERIC, TypeKind


def _generate_series(call: Call, args: list[str]) -> str:
    """From the first to the second, both included; NULL if any is NULL. A step of zero is an error."""
    element = call.type.element
    start, stop = args[:2]
    if element.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        step = args[2]
        if not _has_one_sign(call.args[2]):
            return own_call("generate_series_by_steps", args, call.type)
        failure = raised("22023", "'step size cannot equal zero'", call.type)
        series = f"CASE WHEN {step} = to_seconds(0) THEN {failure} ELSE generate_series({start}, {stop}, {step}) END"
        for name, bound in (("stop", stop), ("start", start)):
            message = quoted(f"{name} value cannot be infinity")
            series = f"CASE WHEN isinf({bound}) THEN {raised('22023', message, call.type)} ELSE {series} END"
        return f"CAST({series} AS {call.type.duckdb})"
    if element.kind is TypeKind.NUMERIC:
        numbers = [cast(value, arg.type, NUMERIC) for value, arg in zip(args, call.args, strict=True)]
        one = cast("1", INTEGER, NUMERIC)
        return own_call(f"wide_{call.function}", [*numbers, one][:3], call.type)
    step = args[2] if len(args) > 2 else "1"
    failure = raised("22023", "'step size cannot equal zero'", call.type)
    wide = [f"CAST({arg} AS BIGINT)" for arg in (start, stop, step)]
    function = "range" if call.function == "range" else "generate_series"
    series = f"CAST({function}({', '.join(wide)}) AS {call.type.duckdb})"
    known = f"{start} IS NOT NULL AND {stop} IS NOT NULL AND {step} IS NOT NULL"
    return f"CASE WHEN {step} = 0 THEN {failure} WHEN {known} THEN {series} END"


def _has_one_sign(step: Expr) -> bool:
    """Whether a step's months, days and time lead the same way, as DuckDB needs it; False of one that is computed."""
    if not isinstance(step, Literal) or not isinstance(step.value, pa.MonthDayNano):
        return isinstance(step, Literal) and step.value is None
    parts: tuple[int, ...] = (step.value.months, step.value.days, step.value.nanoseconds)
    return min(parts) >= 0 or max(parts) <= 0


def _range(call: Call, args: list[str]) -> str:
    """Without the end; DuckDB's range of integers and ours of numerics leave it out themselves."""
    series = _generate_series(call, args)
    if call.type.element.is_numeric:
        return series
    return f"list_filter({series}, lambda moment: moment <> {args[1]})"


SERIES: dict[str, Callable[[Call, list[str]], str]] = {"generate_series": _generate_series, "range": _range}
