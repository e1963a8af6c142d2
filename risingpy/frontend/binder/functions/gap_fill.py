"""GAP_FILL in FROM: a relation's rows, and rows of its own in the gaps of time between them.

    GAP_FILL(t, at, interval[, LOCF(a)][, INTERPOLATE(b)][, KEEPNULL(c)][, PARTITION_BY(p, …)])

    =>  Project(at or the element; a or the last a; …)
          ProjectSet(generate_series(last at, at - 1 µs, interval))      its first element stands for the row itself
            OverWindow(partition p, order at; lag(at), lag(a), lag(b))

A row fills the gap between the row before it and itself. So the last row of a partition is final when it comes, and
EMIT ON WINDOW CLOSE gives rows as soon as it gives them without GAP_FILL. (The construct is RisingWave's, and so is the
meaning of its strategies; PostgreSQL has none.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from risingpy.errors import DatatypeMismatch, InvalidParameterValue, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.special import extracted
from risingpy.frontend.binder.functions.table_functions import bind_list
from risingpy.frontend.binder.plans import project_set, references
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of, name_of, position_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, widened
from risingpy.optimizer.rules.constant_folding import fold
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import Field, LogicalPlan, OverWindow, Project, SortKey
from risingpy.plan.window_calls import WindowCall
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, INTERVAL, NUMERIC, SqlType, TypeKind
from risingpy.types.date_units import MICROS_OF_DAY

_STRATEGIES = ("locf", "interpolate", "keepnull")
_PARTITION_BY = "partition_by"
_FORM = "GAP_FILL(table, time column, interval, LOCF | INTERPOLATE | KEEPNULL(column), …[, PARTITION_BY(column, …)])"
_MICROSECOND = pa.MonthDayNano([0, 0, 1000])


@dataclass(slots=True)
class _Fills:
    """What the arguments after the interval say: columns, each once, and their strategies."""

    strategies: dict[int, str] = field(default_factory=dict)
    partition_by: tuple[int, ...] = ()


def bind_gap_fill(
    context: BindContext, arguments: Sequence[exp.Expr], plan: LogicalPlan, scope: Scope, position: int
) -> LogicalPlan:
    """`plan`'s columns, of its rows and of those in the gaps; `arguments` are those after the relation's name."""
    if len(arguments) < 2:
        raise SyntaxError_(f"GAP_FILL takes a table, its time column and an interval: {_FORM}", position=position)
    binder = ExpressionBinder(context, scope, "GAP_FILL")
    time = _time(binder, arguments[0])
    interval = _interval(binder, arguments[1])
    return _GapFill(binder, plan, time, interval, _fills(binder, arguments[2:], time), position).plan()


class _GapFill:
    """The plan of one GAP_FILL: `time` and the columns of `fills` are columns of `input`."""

    def __init__(
        self,
        binder: ExpressionBinder,
        input: LogicalPlan,
        time: InputRef,
        interval: pa.MonthDayNano,
        fills: _Fills,
        position: int,
    ) -> None:
        self._binder = binder
        self._input = input
        self._time = time
        self._interval = interval
        self._fills = fills
        self._position = position
        self._columns = references(input.schema)
        carried = [index for index, strategy in fills.strategies.items() if strategy != "keepnull"]
        self._lagging = list(dict.fromkeys([time.index, *carried]))  # the columns of the row before that are read

    def plan(self) -> LogicalPlan:
        calls = tuple(WindowCall("lag", (self._columns[i],), self._columns[i].type) for i in self._lagging)
        added = tuple(Field("lag", call.type, hidden=True) for call in calls)
        order_by = (SortKey(self._time.index),)
        window = OverWindow(self._input, self._fills.partition_by, order_by, calls, (*self._input.schema, *added))
        placed, number = project_set(window, [self._moments()], ["moment"], outer=True)
        values = tuple(self._value(column, number) for column in self._columns)
        schema = tuple(replace(each, type=value.type) for each, value in zip(self._input.schema, values, strict=True))
        return Project(placed, values, schema)

    def _moments(self) -> Expr:
        """The times from the row before on, as long as they lie before the row's own: the first is not filled.

        One element, whatever it is, if there is no row before or if it has the same time. NULL if the row has no time.
        """
        last, time = self._last(self._time.index), self._time
        after = Call("gt", (time, last), BOOLEAN)
        before = self._operator("-", time, Literal(_MICROSECOND, INTERVAL))
        first = Case(((after, last),), time, time.type)
        end = Case(((after, before),), time, time.type)
        return self._series(first, end)

    def _series(self, first: Expr, end: Expr) -> Expr:
        args = [Operand(each, self._position) for each in (first, end, Literal(self._interval, INTERVAL))]
        return bind_list(self._binder, "generate_series", args, self._position)

    def _value(self, column: InputRef, number: int) -> Expr:
        """The column in a row of the output: its own value where the element's number is 1 or NULL."""
        if column.index in self._fills.partition_by:
            return column
        is_filled = Call("gt", (InputRef(number, BIGINT), Literal(1, BIGINT)), BOOLEAN)
        filled = self._filled(column, number)
        own = column if filled.type == column.type else widened(column)
        return Case(((is_filled, filled),), own, own.type)

    def _filled(self, column: InputRef, number: int) -> Expr:
        if column.index == self._time.index:
            return InputRef(number + 1, column.type)
        match self._fills.strategies.get(column.index):
            case "locf":
                return self._last(column.index)
            case "interpolate":
                return self._interpolated(column, number)
        return Literal(None, column.type)

    def _interpolated(self, column: InputRef, number: int) -> Expr:
        """The k-th of n equal steps from the last value to this one: (last · (n − k) + this · k) / n.

        With one division, numeric and integers are rounded only once. A step is one of the interval's, and the way
        from the last filled row to this row counts as one, however short it is.
        """
        type_ = DOUBLE if column.type.kind in (TypeKind.REAL, TypeKind.DOUBLE) else NUMERIC
        k = self._cast(self._operator("-", InputRef(number, BIGINT), Literal(1, BIGINT)), type_)
        n = self._cast(self._steps(), type_)
        last, this = self._cast(self._last(column.index), type_), self._cast(column, type_)
        back = self._operator("*", last, self._operator("-", n, k))
        sum_ = self._operator("+", back, self._operator("*", this, k))
        value = Operand(self._operator("/", sum_, n), self._position)
        # Between two numerics of any digits, such as sums of integers, is one with digits after the point.
        is_any = column.type.kind is TypeKind.NUMERIC and not column.type.declared
        return self._binder.context.coercer.assign(value, NUMERIC if is_any else column.type)

    def _steps(self) -> Expr:
        """How many elements the series of moments has, by arithmetic where its steps are of one length."""
        last, interval = self._last(self._time.index), self._interval
        if interval.months or (interval.days and self._time.type.kind is TypeKind.TIMESTAMPTZ):
            args = [Operand(self._moments(), self._position)]
            return self._binder.calls.function("cardinality", args, self._position)
        distance = self._operator("-", self._time, last)
        seconds = extracted(self._binder, "epoch", Operand(distance, self._position), "extract", self._position)
        micros = self._cast(self._operator("*", seconds, Literal(1_000_000, INTEGER)), BIGINT)
        step = Literal(interval.days * MICROS_OF_DAY + interval.nanoseconds // 1000, BIGINT)
        behind = self._operator("/", self._operator("-", micros, Literal(1, BIGINT)), step)
        return self._operator("+", behind, Literal(1, BIGINT))

    def _last(self, index: int) -> InputRef:
        """A column of the row before."""
        return InputRef(len(self._columns) + self._lagging.index(index), self._columns[index].type)

    def _operator(self, symbol: str, *args: Expr) -> Expr:
        operands = [Operand(arg, self._position) for arg in args]
        return self._binder.calls.operator(symbol, operands, self._position)

    def _cast(self, expr: Expr, type_: SqlType) -> Expr:
        return self._binder.context.coercer.coerce(Operand(expr, self._position), type_, Context.EXPLICIT)


def _column(binder: ExpressionBinder, tree: exp.Expr, what: str) -> InputRef:
    if isinstance(tree, exp.Column):
        bound = binder.bind(tree).expr
        if isinstance(bound, InputRef):
            return bound
    raise SyntaxError_(f"{what} must be a column of the table", position=begin_of(tree))


def _time(binder: ExpressionBinder, tree: exp.Expr) -> InputRef:
    time = _column(binder, tree, "GAP_FILL: the second argument")
    if time.type.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ):
        return time
    message = f"GAP_FILL needs a time column of type timestamp or timestamptz, not {time.type.kind.value}"
    hint = (
        "Cast the column to timestamp in a view or a CTE, and fill its gaps."
        if time.type.kind in (TypeKind.DATE, TypeKind.TIMESTAMP_NS)
        else None
    )
    raise DatatypeMismatch(message, hint=hint, position=begin_of(tree))


def _interval(binder: ExpressionBinder, tree: exp.Expr) -> pa.MonthDayNano:
    expr = fold(binder.context.coercer.coerce(binder.bind(tree), INTERVAL, Context.IMPLICIT))
    match expr:
        case Literal(pa.MonthDayNano() as value):
            parts = (value.months, value.days, value.nanoseconds // 1000)
            if min(parts) < 0 or not any(parts):
                raise InvalidParameterValue("GAP_FILL: the interval must be positive", position=begin_of(tree))
            return value
    raise InvalidParameterValue("GAP_FILL needs a constant interval", position=begin_of(tree))


def _fills(binder: ExpressionBinder, arguments: Sequence[exp.Expr], time: InputRef) -> _Fills:
    fills = _Fills()
    for tree in arguments:
        name = name_of(tree.this) if isinstance(tree, exp.Anonymous) else ""
        if name not in (*_STRATEGIES, _PARTITION_BY):
            message = "GAP_FILL: a fill strategy is LOCF, INTERPOLATE or KEEPNULL of a column"
            raise SyntaxError_(message, hint=_FORM, position=begin_of(tree))
        shown = name.upper()
        if name == _PARTITION_BY and (fills.partition_by or not tree.expressions):
            raise SyntaxError_("GAP_FILL takes one PARTITION_BY, of one column or more", position=position_of(tree))
        if name != _PARTITION_BY and len(tree.expressions) != 1:
            raise SyntaxError_(f"GAP_FILL: {shown} takes one column", position=position_of(tree))
        for each in tree.expressions:
            column = _column(binder, each, f"GAP_FILL: an argument of {shown}")
            if column.index == time.index:
                message = f"GAP_FILL: the time column cannot be in {shown}"
                raise InvalidParameterValue(message, position=begin_of(each))
            if column.index in fills.strategies or column.index in fills.partition_by:
                message = f'GAP_FILL: column "{each.name}" is named more than once'
                raise InvalidParameterValue(message, position=begin_of(each))
            if name == _PARTITION_BY:
                fills.partition_by = (*fills.partition_by, column.index)
                continue
            if name == "interpolate" and not column.type.is_numeric:
                message = f"GAP_FILL: INTERPOLATE needs a column of numbers, not of type {column.type}"
                raise DatatypeMismatch(message, position=begin_of(each))
            fills.strategies[column.index] = name
    return fills
