"""TUMBLE and HOP in FROM: a relation's rows with the time windows that they lie in.

    TUMBLE(t, at, size[, offset])        every row once, with window_start and window_end
    HOP(t, at, slide, size[, offset])    every row size / slide times: windows begin every slide, as long as size

    HOP(t, at, '1 min', '5 min')  =>  Project(…, start - 1 min · copy AS window_start, … AS window_end)
                                        Expand(5 copies; Filter(at IS NOT NULL; t))

Windows are counted from 1970-01-01 plus the offset. (RisingWave has them; PostgreSQL has date_bin.)
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
from sqlglot import exp

from risingpy.errors import DatatypeMismatch, InvalidParameterValue, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.plans import references
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Context
from risingpy.optimizer.rules.constant_folding import fold
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import Expand, Field, Filter, LogicalPlan, Project
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTERVAL, TIMESTAMP, TIMESTAMPTZ, SqlType, TypeKind

_MAX_COPIES = 1000  # windows that a row lies in
_NANOSECONDS_PER_DAY = 86_400_000_000_000


def bind_time_window(
    context: BindContext, name: str, arguments: Sequence[exp.Expr], plan: LogicalPlan, scope: Scope, position: int
) -> LogicalPlan:
    """`plan`'s columns, window_start and window_end; `arguments` are those behind the relation's name."""
    intervals = 1 if name == "tumble" else 2
    if not 1 + intervals <= len(arguments) <= 2 + intervals:
        form = "TUMBLE(table, column, size)" if name == "tumble" else "HOP(table, column, slide, size)"
        raise SyntaxError_(f"{name.upper()} takes a table, a column and intervals: {form}", position=position)
    binder = ExpressionBinder(context, scope, name.upper())
    time = _time(binder, arguments[0], name)
    lengths = [_interval(binder, each, name) for each in arguments[1:]]
    for each, tree in zip(lengths[:intervals], arguments[1:], strict=False):
        if _nanoseconds(each) <= 0:
            raise InvalidParameterValue(f"{name.upper()}: a window's length must be positive", position=begin_of(tree))
    offset = lengths[intervals] if len(lengths) > intervals else pa.MonthDayNano([0, 0, 0])
    slide, size = lengths[0], lengths[intervals - 1]
    if name == "tumble":
        start = _binned(slide, time, offset)
        return _with_window(plan, references(plan.schema), start, size)
    copies, rest = divmod(_nanoseconds(size), _nanoseconds(slide))
    if rest or copies > _MAX_COPIES:
        message = f"HOP: the size must be 1 to {_MAX_COPIES} times the slide"
        raise InvalidParameterValue(message, position=begin_of(arguments[2]))
    known = Filter(plan, Call("is_not_null", (time,), BOOLEAN))
    expanded = Expand(known, copies, (*plan.schema, Field("copy", BIGINT, hidden=True)))
    copy = Cast(InputRef(len(plan.schema), BIGINT), DOUBLE)
    back = Call("multiply", (Literal(slide, INTERVAL), copy), INTERVAL)
    start = Call("subtract", (_binned(slide, time, offset), back), _plain(time.type))
    return _with_window(expanded, references(plan.schema), start, size)


def _with_window(plan: LogicalPlan, columns: Sequence[InputRef], start: Expr, size: pa.MonthDayNano) -> LogicalPlan:
    end = Call("add", (start, Literal(size, INTERVAL)), start.type)
    window = Field("window_start", start.type), Field("window_end", end.type)
    return Project(plan, (*columns, start, end), (*plan.schema[: len(columns)], *window))


def _time(binder: ExpressionBinder, tree: exp.Expr, name: str) -> Expr:
    operand = binder.bind(tree)
    match operand.type.kind:
        case TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ:
            return operand.expr
        case TypeKind.DATE:
            return Cast(operand.expr, TIMESTAMP)
    message = f"{name.upper()} needs a column of type date, timestamp or timestamptz, not {operand.type.kind.value}"
    hint = "Cast the column to timestamp in a view or a CTE." if operand.type.kind is TypeKind.TIMESTAMP_NS else None
    raise DatatypeMismatch(message, hint=hint, position=operand.position)


def _interval(binder: ExpressionBinder, tree: exp.Expr, name: str) -> pa.MonthDayNano:
    expr = fold(binder.context.coercer.coerce(binder.bind(tree), INTERVAL, Context.IMPLICIT))
    match expr:
        case Literal(pa.MonthDayNano() as value) if value.months == 0:
            return value
    message = f"{name.upper()} needs constant intervals without months"
    raise InvalidParameterValue(message, position=begin_of(tree))


def _nanoseconds(interval: pa.MonthDayNano) -> int:
    return int(interval.days) * _NANOSECONDS_PER_DAY + int(interval.nanoseconds)


def _binned(size: pa.MonthDayNano, time: Expr, offset: pa.MonthDayNano) -> Expr:
    """The beginning of the window of this size that the time lies in."""
    zone = UTC if time.type.kind is TypeKind.TIMESTAMPTZ else None
    origin: Expr = Literal(datetime(1970, 1, 1, tzinfo=zone), _plain(time.type))
    if _nanoseconds(offset):
        origin = Call("add", (origin, Literal(offset, INTERVAL)), origin.type)
    return Call("date_bin", (Literal(size, INTERVAL), time, origin), origin.type)


def _plain(type_: SqlType) -> SqlType:
    return TIMESTAMPTZ if type_.kind is TypeKind.TIMESTAMPTZ else TIMESTAMP
