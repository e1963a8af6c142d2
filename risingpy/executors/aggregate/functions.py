"""Which value state an aggregate function has."""

from __future__ import annotations

from risingpy.errors import InternalError
from risingpy.executors.aggregate.bits import BitCounts
from risingpy.executors.aggregate.sums import ExactSum, FloatSum, IntervalSum
from risingpy.executors.aggregate.value_state import BooleanState, Count, Extreme, ValueState
from risingpy.types import SqlType, TypeKind

_INTERVAL_SUM_COLUMNS = 4


def value_state(function: str, types: tuple[SqlType, ...], result_type: SqlType) -> ValueState:
    """The state of a function whose columns have `types` (`layout.state_types`)."""
    match function:
        case "count":
            return Count()
        case "sum" if types[0].kind is TypeKind.BYTEA:
            return FloatSum(result_type)
        case "sum" if len(types) == _INTERVAL_SUM_COLUMNS:
            return IntervalSum()
        case "sum" if types[0].kind is TypeKind.NUMERIC:
            return ExactSum(types, result_type)
        case "min" | "max":
            return Extreme(function, types[0])
        case "bool_and" | "bool_or":
            return BooleanState(function)
        case "bit_and" | "bit_or" | "bit_xor":
            return BitCounts(function, result_type)
    raise InternalError(f"no value state for the aggregate {function}")
