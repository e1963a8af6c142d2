"""Window functions as DuckDB SQL, with PostgreSQL's errors for the arguments that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.functions.evaluation.aggregate_sql import plain_aggregate_sql
from risingpy.functions.evaluation.duckdb_sql import compile_expression
from risingpy.functions.evaluation.sql.casts import cast
from risingpy.functions.evaluation.sql.text import own_call
from risingpy.plan.aggregate_families import OF_VECTORS, REGRESSIONS, SPREADS
from risingpy.plan.expressions import Expr, Literal
from risingpy.plan.window_calls import (
    DEFAULT_FRAME,
    FRAMELESS,
    VALUE_FUNCTIONS,
    BoundKind,
    Frame,
    FrameBound,
    FrameExclusion,
    FrameUnits,
    WindowCall,
)
from risingpy.types import MAX_PRECISION, NARROW_NUMERIC, SqlType, TypeKind

Column = Callable[[int], str]

_DUCKDB_NAMES = {"approx_count_distinct": "count"}  # ours is exact, so DuckDB's approximation would differ
_REVERSE = {"ASC": "DESC", "DESC": "ASC", "FIRST": "LAST", "LAST": "FIRST"}
_OTHER_END = {"first_value": "last_value", "last_value": "first_value"}
_IN_ORDER = frozenset({"array_agg", "string_agg", "nth_value"})  # others take a frame's rows in any order
_POSITIVE_ARGUMENT = {"ntile": (0, "22014"), "nth_value": (1, "22016")}  # which argument, and the SQLSTATE


def window_sql(
    call: WindowCall, column: Column, partition_by: Sequence[str], order_by: Sequence[tuple[str, str, SqlType]]
) -> str:
    """The call; `column` gives the SQL of an input column.

    `partition_by` are SQL expressions; `order_by` too, each with its direction (`DESC NULLS LAST`) and type.
    """
    check_window_call(call)
    if _ends_before(call):
        return _backward_sql(call, column, partition_by, order_by)
    args = [compile_expression(arg, column) for arg in call.args]
    over = f" OVER ({_window(call, column, partition_by, order_by)})"
    condition = "" if call.filter is None else f" FILTER (WHERE {column(call.filter)})"
    if call.function not in FRAMELESS | VALUE_FUNCTIONS:
        if call.function in SPREADS | REGRESSIONS | OF_VECTORS | {"array_agg"}:
            return _of_list(call, args, condition + over)
        if call.function == "string_agg" and not _is_text(call.args[1]):
            return _joined(args[0], args[1], "" if call.filter is None else f" AND {column(call.filter)}", over)
        types = [arg.type for arg in call.args]
        function = _DUCKDB_NAMES.get(call.function, call.function)
        distinct = call.function == "approx_count_distinct"
        return plain_aggregate_sql(
            function, args, types, call.type, distinct=distinct, suffix=condition + over, over=True
        )
    nulls = " IGNORE NULLS" if call.ignore_nulls else ""
    return f"CAST({call.function}({', '.join(args)}{nulls}){over} AS {call.type.duckdb})"


def _ends_before(call: WindowCall) -> bool:
    """Whether the frame is all that lies so much before the row: DuckDB takes such frames for shorter ones."""
    frame = call.frame
    by_value = frame.units is FrameUnits.RANGE and call.function not in FRAMELESS
    return by_value and (frame.start.kind, frame.end.kind) == (BoundKind.UNBOUNDED_PRECEDING, BoundKind.PRECEDING)


def _backward_sql(
    call: WindowCall, column: Column, partition_by: Sequence[str], order_by: Sequence[tuple[str, str, SqlType]]
) -> str:
    """The call over the same frame, seen from the other end: it begins at the offset, and the order is the reverse.

    DuckDB 2.0 searches the end of a frame near the end of the frame before, also where that one is of other rows: with
    UNBOUNDED PRECEDING it stops within a group of peers. For the beginning of a frame its search is right.
    """
    turned = FrameBound(BoundKind.FOLLOWING, call.frame.end.offset)
    frame = replace(call.frame, start=turned, end=FrameBound(BoundKind.UNBOUNDED_FOLLOWING))
    back = replace(call, frame=frame)
    order = [(text, " ".join(_REVERSE.get(word, word) for word in way.split()), type_) for text, way, type_ in order_by]
    if call.function in _OTHER_END:
        return window_sql(replace(back, function=_OTHER_END[call.function]), column, partition_by, order)
    if call.function not in _IN_ORDER:
        return window_sql(back, column, partition_by, order)
    value, *others = [compile_expression(arg, column) for arg in call.args]
    nulls_count = call.function == "array_agg" or (call.function == "nth_value" and not call.ignore_nulls)
    conditions = [] if nulls_count else [f"{value} IS NOT NULL"]
    conditions += [] if call.filter is None else [column(call.filter)]
    condition = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    over = f"{condition} OVER ({_window(back, column, partition_by, order)})"
    match call.function:
        case "array_agg":
            return f"list_reverse(list({value}){over})"
        case "nth_value":
            return f"CAST(list_reverse(list({value}){over})[{others[0]}] AS {call.type.duckdb})"
        case _ if _is_text(call.args[1]):
            return f"array_to_string(list_reverse(list({value}){over}), {others[0]})"
    return _texts_joined(f"list_reverse(list({_with_separator(value, others[0])}){over})")


def _of_list(call: WindowCall, args: Sequence[str], suffix: str) -> str:
    """The function that a view applies to the list of a group's arguments, applied to the list of a frame's."""
    if call.function == "array_agg":
        return f"list({args[0]}){suffix}"
    values = args[0] if len(args) == 1 else f"{{{', '.join(f'a{i}: {value}' for i, value in enumerate(args))}}}"
    numeric = "_numeric" if call.type.kind is TypeKind.NUMERIC else ""
    return own_call(f"list_{call.function}{numeric}", [f"list({values}){suffix}"], call.type)


def _is_text(separator: Expr) -> bool:
    """True for a constant that is not NULL."""
    return isinstance(separator, Literal) and separator.value is not None


def _joined(text: str, separator: str, condition: str, over: str) -> str:
    """string_agg with a separator per row, where DuckDB needs a constant. Cuts the frame's first separator off."""
    return _texts_joined(f"list({_with_separator(text, separator)}) FILTER (WHERE {text} IS NOT NULL{condition}){over}")


def _with_separator(text: str, separator: str) -> str:
    return f"{{t: {text}, s: coalesce({separator}, '')}}"


def _texts_joined(parts: str) -> str:
    joined = f"array_to_string([pair.s || pair.t FOR pair IN {parts}], '')"
    return f"substr({joined}, length(({parts})[1].s) + 1)"


def _window(
    call: WindowCall, column: Column, partition_by: Sequence[str], order_by: Sequence[tuple[str, str, SqlType]]
) -> str:
    partition = [f"PARTITION BY {', '.join(partition_by)}"] if partition_by else []
    frame = call.frame
    frameless = call.function in FRAMELESS
    offsets = [] if frameless or frame.units is not FrameUnits.RANGE else _offsets(frame)
    keys = [f"{_widened(text, type_, offsets) if offsets else text} {way}" for text, way, type_ in order_by]
    order = [f"ORDER BY {', '.join(keys)}"] if keys else []
    return " ".join([*partition, *order, *([] if frameless or frame == DEFAULT_FRAME else [_frame(frame, column)])])


def _offsets(frame: Frame) -> list[Expr]:
    return [bound.offset for bound in (frame.start, frame.end) if bound.offset is not None]


def _widened(text: str, type_: SqlType, offsets: Sequence[Expr]) -> str:
    """The value to which offsets are added, in a type in which no sum overflows, and none is rounded."""
    if type_.is_wide:
        return cast(text, type_, NARROW_NUMERIC)
    if type_.kind is TypeKind.NUMERIC:
        # Left alone, DuckDB rounds the offset where a column of 38 digits leaves no room for its decimals.
        decimals = max(offset.type.scale or 0 for offset in offsets)
        return text if decimals <= (type_.scale or 0) else f"CAST({text} AS DECIMAL({MAX_PRECISION},{decimals}))"
    return f"CAST({text} AS HUGEINT)" if type_.is_integer else text


def _frame(frame: Frame, column: Column) -> str:
    """`ROWS BETWEEN … AND … EXCLUDE …`"""
    start, end = _bound(frame.start, column), _bound(frame.end, column)
    text = f"{frame.units.value} BETWEEN {start} AND {end}"
    return text if frame.exclusion is FrameExclusion.NO_OTHERS else f"{text} EXCLUDE {frame.exclusion.value}"


def _bound(bound: FrameBound, column: Column) -> str:
    if bound.offset is None:
        return bound.kind.value
    return f"{compile_expression(bound.offset, column)} {bound.kind.value}"


def _check_offset(bound: FrameBound, which: str) -> None:
    match bound.offset:
        case Literal(None):
            raise SqlError(f"frame {which} offset must not be null", sqlstate="22004")
        case Literal(value) if _is_negative(value):
            raise SqlError(f"frame {which} offset must not be negative", sqlstate="22013")


def _is_negative(value: object) -> bool:
    """True for an offset below zero: a number, or an interval whose parts are."""
    if isinstance(value, pa.MonthDayNano):
        months, days, nanoseconds = value
        return bool((months * 30 + days) * 86_400_000_000_000 + nanoseconds < 0)
    return isinstance(value, int | float | Decimal) and value < 0


def check_window_call(call: WindowCall) -> None:
    """Raises PostgreSQL's errors for constants that no row can make right: ntile and nth_value count from 1."""
    _check_offset(call.frame.start, "starting")
    _check_offset(call.frame.end, "ending")
    if call.function not in _POSITIVE_ARGUMENT:
        return
    position, sqlstate = _POSITIVE_ARGUMENT[call.function]
    match call.args[position]:
        case Literal(int(value)) if value <= 0:
            raise SqlError(f"argument of {call.function} must be greater than zero", sqlstate=sqlstate)
