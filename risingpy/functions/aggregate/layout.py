"""The state columns of an aggregate call whose state is a value, and the columns that a LocalAgg sends.

Both are the same, because a state is the sum of its changes:

    call                                  columns
    count                                 number
    sum of integers, of numeric(p,s)      low 128 bits of the unscaled sum [, the 64 bits above], number of values
      (the upper bits where p > 28: a sum of fewer digits cannot leave 128 bits)
    sum of plain numeric                  its ten limbs, int64 each, none but the highest negative, numbers of values of
                                          each scale (scale_counts), number of values
    sum of rw_int256                      exact sum (exact_sums), number of values
    sum of real and double precision      exact sum of the finite values (exact_sums), numbers of values,
                                          of NaN, of Infinity and of -Infinity
    vector_sum, vector_avg                exact sum of each dimension, numbers of values, of their dimensions and
                                          of the squares of these (vector_sums)
    sum of interval                       months, days, nanoseconds, number of values
    min, max (input only grows)           the extreme
    bool_and, bool_or                     numbers of true and of false
    var_pop, …, stddev_samp               exact sums of the values and of their squares [, numbers of values of each
                                          scale], number of values [, of those that are not finite]
    covar_pop, …, corr, regr_slope, …     exact sums of y, x, y², x², xy, numbers of pairs and of those not finite
    bit_and, bit_or, bit_xor              numbers of values that have each bit, number of values
    scale_bits                            numbers of values of each scale (scale_counts)
    users' aggregates                     pickled (functions.python.aggregation); never sent
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InternalError
from risingpy.plan.aggregate_families import REGRESSIONS, SPREADS
from risingpy.plan.logical import AggCall
from risingpy.types import BIGINT, BYTEA, MAX_PRECISION, SqlType, TypeKind, array_of, numeric

# With so many digits, a 128-bit sum cannot overflow before a group has 10^10 rows.
_SAFE_PRECISION = 28


def state_types(call: AggCall, input_types: Sequence[SqlType]) -> tuple[SqlType, ...]:
    """The types of a call's state columns; `input_types` are those of the rows that are aggregated."""
    return types_of(call.function, [input_types[argument] for argument in call.args])


def types_of(function: str, arguments: Sequence[SqlType]) -> tuple[SqlType, ...]:
    """The types of the state columns of a function of such arguments."""
    match function:
        case "count":
            return (BIGINT,)
        case "sum":
            return _sum_types(arguments[0])
        case "vector_sum" | "vector_avg":
            return (array_of(BYTEA), BIGINT, BIGINT, BIGINT)
        case "min" | "max":
            return (arguments[0],)
        case "bool_and" | "bool_or":
            return (BIGINT, BIGINT)
        case "bit_and" | "bit_or" | "bit_xor":
            return (BYTEA, BIGINT)
        case "scale_bits":
            return (BYTEA,)
        case "python_aggregate":
            return (BYTEA,)
        case _ if function in SPREADS:
            if arguments[0].is_wide:
                return (BYTEA, BYTEA, BYTEA, BIGINT)
            return (BYTEA, BYTEA, BIGINT, BIGINT) if arguments[0].is_float else (BYTEA, BYTEA, BIGINT)
        case _ if function in REGRESSIONS:
            return (*[BYTEA] * 5, BIGINT, BIGINT)
    raise InternalError(f"no state for the aggregate {function}")


partial_types = state_types


def _sum_types(argument: SqlType) -> tuple[SqlType, ...]:
    if argument.is_float:
        return (BYTEA, BIGINT, BIGINT, BIGINT, BIGINT)
    if argument.kind is TypeKind.INTERVAL:
        return (BIGINT, BIGINT, BIGINT, BIGINT)
    if argument.is_wide:
        return (BYTEA, BYTEA, BIGINT)
    if argument.kind is TypeKind.INT256:
        return (BYTEA, BIGINT)
    if argument.kind is TypeKind.NUMERIC:
        unscaled = numeric(MAX_PRECISION, argument.scale or 0)
        if (argument.precision or MAX_PRECISION) > _SAFE_PRECISION:
            return (unscaled, BIGINT, BIGINT)
        return (unscaled, BIGINT)
    return (numeric(MAX_PRECISION, 0), BIGINT)
