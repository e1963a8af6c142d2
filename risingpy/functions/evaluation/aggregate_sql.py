"""SQL for the aggregates that DuckDB has, for batch queries, and for windows in batch queries and views."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InternalError
from risingpy.functions.evaluation.duckdb_sql import compile_expression
from risingpy.functions.evaluation.sql.text import own_call
from risingpy.functions.numeric_results import NumericRule, numeric_of, numeric_result
from risingpy.functions.topics.numbers.wide_kernels import LIMBS
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, NUMERIC, SqlType, TypeKind
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.interval import MICROS_LIMIT


def plain_aggregate_sql(
    function: str,
    args: Sequence[str],
    arg_types: Sequence[SqlType],
    result: SqlType,
    *,
    distinct: bool = False,
    suffix: str = "",
    exact: bool = False,
    over: bool = False,
) -> str:
    """The call over arguments given as SQL; `suffix` follows it: ` FILTER (…)`, ` OVER (…)`, or both.

    With `exact`, sums of floats are those of a view's aggregation; DuckDB's depend on the order of the rows. This does
    not apply `over` a window, where it would gather a list for every row.
    """
    if exact and arg_types and arg_types[0].is_float:
        if function == "sum":
            return _exact_sum(args[0], result, distinct, suffix)
        if function == "avg":
            total = _exact_sum(f"CAST({args[0]} AS DOUBLE)", DOUBLE, distinct, suffix)
            count = _plain_call("count", args[0], BIGINT, distinct, suffix)
            return f"({total} / CAST({count} AS DOUBLE))"  # the sum of nothing is NULL
    if function == "sum" and arg_types[0].is_wide:
        if over:
            return _wide_sum_over(args[0], suffix)
        name = "wide_sum_of_distinct" if distinct else "wide_sum"
        return own_call(name, [f"list({'DISTINCT ' if distinct else ''}{args[0]}){suffix}"], result)
    if function == "avg":
        return _average(args[0], arg_types[0], result, distinct=distinct, suffix=suffix, over=over)
    if function == "count" and not args:
        return f"count(*){suffix}"
    return _plain_call(function, ", ".join(args), result, distinct, suffix)


def _plain_call(function: str, argument: str, result: SqlType, distinct: bool, suffix: str) -> str:
    if function == "sum" and result.kind is TypeKind.INT256:
        return own_call("list_sum_int256", [f"list({'DISTINCT ' if distinct else ''}{argument}){suffix}"], result)
    if function == "sum" and result.kind is TypeKind.INTERVAL:
        if distinct:
            return own_call("list_sum_interval", [f"list(DISTINCT {argument}){suffix}"], result)
        return _interval_sum(argument, suffix)
    unique = "DISTINCT " if distinct else ""
    return f"CAST({function}({unique}{argument}){suffix} AS {result.duckdb})"


def _exact_sum(argument: str, result: SqlType, distinct: bool, suffix: str) -> str:
    name = "list_sum_real" if result.kind is TypeKind.REAL else "list_sum"
    total = own_call(name, [f"list({'DISTINCT ' if distinct else ''}{argument}){suffix}"], DOUBLE)
    return total if result.kind is TypeKind.DOUBLE else f"CAST({total} AS {result.duckdb})"


def _wide_sum_over(argument: str, suffix: str) -> str:
    """The wide sum, composed of the sums of the limbs over the window."""
    limbs = (own_call("wide_limb", [argument, str(k)], BIGINT) for k in range(LIMBS))
    sums = [f"CAST(sum({limb}){suffix} AS BIGINT)" for limb in limbs]
    kinds = f"bit_or({own_call('wide_kind_bit', [argument], BIGINT)}){suffix}"
    return own_call("wide_of_limbs", [*sums, kinds], NUMERIC)


def _interval_sum(argument: str, suffix: str) -> str:
    """The sum of intervals, which DuckDB lacks: sums of their months, days and microseconds.

    Hours of more than 292 years, which Arrow's intervals cannot hold, go to the days, as in `sums.carried`.
    """
    months = f"sum(12 * date_part('year', {argument}) + date_part('month', {argument})){suffix}"
    days = f"sum(date_part('day', {argument})){suffix}"
    clock = (
        f"3600000000 * date_part('hour', {argument}) + 60000000 * date_part('minute', {argument})"
        f" + date_part('microseconds', {argument})"
    )
    micros = f"CAST(sum({clock}){suffix} AS BIGINT)"
    too_many = f"abs({micros}) >= {MICROS_LIMIT}"
    rest = f"CASE WHEN {too_many} THEN {micros} % {MICROS_OF_DAY} ELSE {micros} END"
    whole = f"(CASE WHEN {too_many} THEN ({micros} - {micros} % {MICROS_OF_DAY}) // {MICROS_OF_DAY} ELSE 0 END)"
    parts = f"to_months(CAST({months} AS INTEGER))", f"to_days(CAST({days} + {whole} AS INTEGER))"
    return f"({parts[0]} + {parts[1]} + to_microseconds({rest}))"


def _average(argument: str, argument_type: SqlType, result: SqlType, *, distinct: bool, suffix: str, over: bool) -> str:
    """The quotient of sum and count, as a view computes it; NULL without rows."""
    if argument_type.is_float:
        argument = f"CAST({argument} AS DOUBLE)"
    total_type = _total_type(argument_type)
    texts = [
        plain_aggregate_sql(
            "sum", [argument], [argument_type], total_type, distinct=distinct, suffix=suffix, over=over
        ),
        _plain_call("count", argument, BIGINT, distinct, suffix),
    ]
    total, count = InputRef(0, total_type), InputRef(1, BIGINT)
    if total_type.kind is TypeKind.NUMERIC:
        divided: Expr = _quotient(total, Cast(count, numeric_of(BIGINT)))
    else:
        divided = Call("divide", (total, Cast(count, DOUBLE)), total_type)
    if divided.type != result:
        divided = Cast(divided, result)
    is_empty = Call("eq", (count, Literal(0, BIGINT)), BOOLEAN)
    case = Case(((is_empty, Literal(None, result)),), divided, result)
    return compile_expression(case, texts.__getitem__)


def _quotient(total: Expr, count: Expr) -> Expr:
    return Call("divide", (total, count), numeric_result(NumericRule.DIVIDE, (total.type, count.type)))


def _total_type(argument: SqlType) -> SqlType:
    match argument.kind:
        case TypeKind.REAL | TypeKind.DOUBLE:
            return DOUBLE
        case TypeKind.INTERVAL:
            return argument
        case TypeKind.SMALLINT | TypeKind.INTEGER | TypeKind.BIGINT | TypeKind.NUMERIC:
            return numeric_result(NumericRule.SUM, (argument,))
        case _:
            raise InternalError(f"avg of {argument}")
