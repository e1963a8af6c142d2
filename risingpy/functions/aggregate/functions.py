"""Maps aggregate functions to their value states."""

from __future__ import annotations

from risingpy.errors import InternalError
from risingpy.functions.aggregate.bits import BitCounts
from risingpy.functions.aggregate.large_sums import LargeSum
from risingpy.functions.aggregate.layout import types_of
from risingpy.functions.aggregate.moments import REGRESSIONS, SPREADS, FloatSpread, NumericSpread, Regression
from risingpy.functions.aggregate.scale_counts import ScaleBits
from risingpy.functions.aggregate.sums import ExactSum, FloatSum, IntervalSum
from risingpy.functions.aggregate.value_state import BooleanState, Count, Extreme, ValueState
from risingpy.functions.aggregate.vector_sums import VectorSum
from risingpy.functions.aggregate.wide_sums import WideSum
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
        case "vector_sum" | "vector_avg":
            return VectorSum(average=function == "vector_avg")
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
