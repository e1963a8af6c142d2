"""Which value state an aggregate function has."""

from __future__ import annotations

from risingpy.errors import InternalError
from risingpy.executors.aggregate.bits import BitCounts
from risingpy.executors.aggregate.large_sums import LargeSum
from risingpy.executors.aggregate.layout import types_of
from risingpy.executors.aggregate.moments import REGRESSIONS, SPREADS, FloatSpread, NumericSpread, Regression
from risingpy.executors.aggregate.scale_counts import ScaleBits
from risingpy.executors.aggregate.sums import ExactSum, FloatSum, IntervalSum
from risingpy.executors.aggregate.value_state import BooleanState, Count, Extreme, ValueState
from risingpy.executors.aggregate.wide_sums import WideSum
from risingpy.types import SqlType, TypeKind


def value_state(function: str, arguments: tuple[SqlType, ...], result_type: SqlType) -> ValueState:
    """The state of a function of arguments of these types."""
    match function:
        case "count":
            return Count()
        case "sum" if arguments[0].is_float:
            return FloatSum(result_type)
        case "sum" if arguments[0].kind is TypeKind.INTERVAL:
            return IntervalSum()
        case "sum" if arguments[0].kind is TypeKind.INT256:
            return LargeSum()
        case "sum" if arguments[0].is_wide:
            return WideSum()
        case "sum":
            return ExactSum(types_of(function, arguments), result_type)
        case "min" | "max":
            return Extreme(function, arguments[0])
        case "bool_and" | "bool_or":
            return BooleanState(function)
        case "bit_and" | "bit_or" | "bit_xor":
            return BitCounts(function, result_type)
        case "scale_bits":
            return ScaleBits()
        case _ if function in SPREADS and arguments[0].is_float:
            return FloatSpread(function)
        case _ if function in SPREADS:
            return NumericSpread(function, arguments[0])
        case _ if function in REGRESSIONS:
            return Regression(function)
    raise InternalError(f"no value state for the aggregate {function}")
