"""Derives which columns of an operator's output have a watermark.

A watermark promises: after this epoch no row with a lesser value is inserted or retracted. It is known when the epoch
begins, the same on every shard (docs/decisions/018), so no messages have to be aligned between inputs and shards. Each
operator computes the bound of a column from the watermarks of the sources below, by an expression derived here:

    WATERMARK FOR ts AS ts - '5 s'; date_bin('1 min', ts) AS w   =>   w has date_bin('1 min', W)

Every operator applies its input before it uses a bound. So rows that an operator gives when the bound has passed them
still come in time for its readers in the same epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import assert_never

import pyarrow as pa

from risingpy.optimizer.join_condition import inequality
from risingpy.optimizer.stream.look_ahead import look_ahead, set_back
from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expression_trees import columns_read, conjuncts
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal, operands, with_operands
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import (
    Changelog,
    ConflictBehavior,
    Dml,
    EowcSort,
    Exchange,
    IntoTable,
    Materialize,
    Now,
    Share,
    SinkInput,
    Source,
    StreamChangeLog,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TableInputs,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.properties import Bounds, ColumnIndex, WatermarkBound, WatermarkColumn
from risingpy.plan.recursion.operators import (
    RecursivePlan,
)
from risingpy.plan.watermark_use import bounds_of_pair
from risingpy.plan.window_calls import WindowCall
from risingpy.types import BIGINT, VARCHAR, SqlType, TypeKind

# The types that a watermark may have: the meta service stores their values as integers.
WATERMARK_KINDS = frozenset(
    {
        *(TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT),
        *(TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ),
    }
)
_INTEGERS = frozenset({TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT})
_RISING_CASTS = frozenset(
    {
        (TypeKind.DATE, TypeKind.TIMESTAMP),
        (TypeKind.TIMESTAMP, TypeKind.DATE),
        (TypeKind.TIMESTAMP, TypeKind.TIMESTAMP),
        (TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMPTZ),
        *((a, b) for a in _INTEGERS for b in _INTEGERS),
    }
)
# Functions of a time or number and a constant step, in either order; for a timestamptz, the zone is the last argument.
_STEPS = frozenset(
    {"add", "subtract", "timestamp_plus", "timestamp_minus", "timestamptz_plus", "timestamptz_minus"}
    | {"date_plus_days", "date_minus_days"}
)
_STEPS_FIRST = frozenset({"add", "interval_plus_timestamp", "interval_plus_timestamptz", "days_plus_date"})
_STEPS_UP = frozenset({"add", "timestamp_plus", "timestamptz_plus", "date_plus_days"})  # with the column first
_STEPS_DOWN = frozenset({"subtract", "timestamp_minus", "timestamptz_minus", "date_minus_days"})
_KEEPS_LEFT = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI})
_KEEPS_RIGHT = frozenset({JoinKind.INNER, JoinKind.RIGHT})
_UTC = Literal("UTC", VARCHAR)


def watermark_columns(plan: StreamPlan) -> tuple[WatermarkColumn, ...]:
    """The columns with a watermark; `plan`'s inputs have their properties, `plan` itself need not."""
    if isinstance(plan, RecursivePlan):
        return ()
    match plan:
        case TableScan() | Dml() | Source() | TableInputs() | SinkInput() | IntoTable():  # given by the relation
            return plan.properties.watermarks
        case StreamValues() | SimpleAgg() | Now() | DynamicFilter():  # a row comes or goes when the bound passes it
            return ()
        case WatermarkFilter():
            type_ = plan.properties.schema[plan.column].type
            return (WatermarkColumn(plan.column, (WatermarkBound(plan.watermark_id, InputRef(0, type_), type_),)),)
        case (
            StreamFilter()
            | Exchange()
            | Share()
            | StreamExpand()
            | StreamProjectSet()
            | StreamChangeLog()
            | Dedup()
            | TemporalJoin()
        ):
            return plan.input.properties.watermarks  # each change is one of the input's
        case LocalTopN() | Changelog():
            return plan.input.properties.watermarks
        case Materialize():  # a write may replace, and so retract, an old row
            unchecked = plan.conflict is ConflictBehavior.NO_CHECK and plan.first_by is None
            kept = unchecked or plan.properties.append_only or plan.expiry is not None
            return plan.input.properties.watermarks if kept or _ignores(plan) else ()
        case StreamProject():
            found = ((i, expression_bounds(expression, plan.input)) for i, expression in enumerate(plan.expressions))
            return tuple(WatermarkColumn(i, bounds) for i, bounds in found if bounds)
        case HashAgg(emit_on_window_close=True):  # its rows were held: by other columns they come late
            return _moved(plan.input, plan.group_key[:1], range(1))
        case LocalAgg() | HashAgg():
            return _moved(plan.input, plan.group_key, range(len(plan.group_key)))
        case EowcSort():  # its rows were held: by other columns they come late
            return _moved(plan.input, (plan.column,), (plan.column,))
        case StreamTtl():  # rows end when the watermark has long passed them
            return ()
        case StreamTopN():  # a new row changes its group
            return _moved(plan.input, plan.group_key, plan.group_key)
        case StreamOverWindow():  # a new row changes its partition, from as far before it as the functions look ahead
            return _over_window(plan)
        case HashJoin() | AsOfJoin():
            return _joined(plan)
        case StreamUnion():
            return _of_all(plan)
        case _:
            assert_never(plan)


def watermarks_first(input: StreamPlan, key: tuple[ColumnIndex, ...]) -> tuple[ColumnIndex, ...]:
    """The key with its first watermark column in front, so that a range deletion can clean the state by it."""
    first = next((column for column in key if input.properties.watermark_of(column) is not None), None)
    return key if first is None else (first, *(column for column in key if column != first))


def _ignores(plan: Materialize) -> bool:
    return plan.conflict is ConflictBehavior.IGNORE and plan.input.properties.append_only


def _moved(
    input: StreamPlan, columns: Iterable[ColumnIndex], positions: Iterable[ColumnIndex]
) -> tuple[WatermarkColumn, ...]:
    """The watermarks of the input's `columns`, which are at `positions` in the output."""
    found = {}
    for column, position in zip(columns, positions, strict=True):
        watermark = input.properties.watermark_of(column)
        if watermark is not None:
            found[position] = replace(watermark, column=position)
    return tuple(found[position] for position in sorted(found))


def _over_window(plan: StreamOverWindow) -> tuple[WatermarkColumn, ...]:
    """The partition's columns, and the first one that orders it, less what the functions look ahead."""
    found = {each.column: each for each in _moved(plan.input, plan.partition_by, plan.partition_by)}
    first = plan.order_by[0] if plan.order_by else None
    if first is not None and not (first.descending or first.nulls_first or first.index in found):
        watermark = plan.input.properties.watermark_of(first.index)
        bounds = None if watermark is None else _looked_ahead(plan, watermark)
        if bounds:
            found[first.index] = WatermarkColumn(first.index, bounds)
    for number, call in enumerate(plan.calls):
        column = len(plan.input.properties.schema) + number
        bounds = _bounds_of_session_end(plan, call)
        if bounds:
            found[column] = WatermarkColumn(column, bounds)
    return tuple(found[column] for column in sorted(found))


def _bounds_of_session_end(plan: StreamOverWindow, call: WindowCall) -> Bounds | None:
    """A row changes its own session and the one that ends less than the gap before it: ends from `time - gap` on."""
    match call:
        case WindowCall("session_end", (InputRef(time), _, Literal() as gap)):
            watermark = plan.input.properties.watermark_of(time)
            return None if watermark is None else _set_back(watermark.bounds, gap, call.type)
    return None


def _set_back(bounds: Bounds, distance: Literal, type_: SqlType) -> Bounds | None:
    """The bounds less the distance; None if one has no such number or time."""
    moved = [(bound, set_back(bound.expression, distance, type_)) for bound in bounds]
    found = tuple(replace(bound, expression=expression) for bound, expression in moved if expression is not None)
    return found if len(found) == len(moved) else None


def _looked_ahead(plan: StreamOverWindow, watermark: WatermarkColumn) -> Bounds | None:
    """None if a change can reach rows however far before it."""
    bounds: dict[WatermarkBound, None] = dict.fromkeys(watermark.bounds)
    type_ = plan.input.properties.schema[watermark.column].type
    for call in plan.calls:
        ahead = look_ahead(call)
        if ahead is None or ahead.rows or ahead.groups:
            return None
        if ahead.distance is not None:
            moved = _set_back(watermark.bounds, ahead.distance, type_)
            if moved is None:
                return None
            bounds |= dict.fromkeys(moved)
    return tuple(bounds)


def _joined(plan: HashJoin | AsOfJoin) -> tuple[WatermarkColumn, ...]:
    """The watermarks of key columns: a pair changes only when a row with its key does, on either side.

    So have the times of an interval join and of an ASOF join (`_met_in_time`).
    """
    width = len(plan.left.properties.schema)
    shown = len(plan.properties.schema)
    found: dict[ColumnIndex, WatermarkColumn] = {}
    for number, (left, right) in enumerate(zip(plan.left_side.key, plan.right_side.key, strict=True)):
        bounds = bounds_of_pair(plan, number)
        if bounds is not None:
            for position in (left, width + right):
                if position < shown:
                    found.setdefault(position, WatermarkColumn(position, bounds))
    for each in _met_in_time(plan):
        found.setdefault(each.column, each)
    return tuple(found[position] for position in sorted(found))


def _met_in_time(plan: HashJoin | AsOfJoin) -> Iterable[WatermarkColumn]:
    """The watermarks of columns that must not be less than times of the other side.

        r.ts <= l.ts + '10 s', r.ts with watermark W   =>   a change of r changes rows from l.ts = W - '10 s' on

    Such a row changes with the other side, or when it changes itself. What an outer join fills with NULLs has no such
    column: it would be NULL, and never passed.
    """
    left, right = plan.left, plan.right
    width = len(left.properties.schema)
    if isinstance(plan, AsOfJoin):
        if plan.comparison in (">", ">="):
            type_ = left.properties.schema[plan.left_column].type
            yield from _not_less(InputRef(plan.left_column, type_), left, right, _plain(right, plan.right_column))
        return
    for part in () if plan.condition is None else conjuncts(plan.condition):
        compared = inequality(part, width)
        if compared is None:
            continue
        if compared.comparison in (">", ">=") and plan.kind in _KEEPS_LEFT:
            yield from _not_less(compared.left, left, right, compared.right)
        elif compared.comparison in ("<", "<=") and plan.kind in _KEEPS_RIGHT:
            for each in _not_less(compared.right, right, left, compared.left):
                yield replace(each, column=width + each.column)


def _plain(input: StreamPlan, column: ColumnIndex) -> InputRef:
    return InputRef(column, input.properties.schema[column].type)


def _not_less(larger: Expr, own: StreamPlan, other: StreamPlan, smaller: Expr) -> Iterable[WatermarkColumn]:
    """The watermark of the column in `larger >= smaller`, if `larger` is a column of `own`, perhaps with a step."""
    coming, going = expression_bounds(smaller, other), None
    distance: Literal | None = None
    match larger:
        case InputRef(column):
            going = own.properties.watermark_of(column)
        case Call(function, (InputRef(column), Literal() as step, *zone)) if function in _STEPS_UP:
            going = own.properties.watermark_of(column) if _is_step(larger, step, zone) else None
            distance = step
        case Call(function, (InputRef(column), Literal() as step, *zone)) if function in _STEPS_DOWN:
            # Of `ts - '5 s' >= W` the greater bound W + '5 s' is true, too; a step below zero would need it.
            is_known = _is_step(larger, step, zone) and _is_not_negative(step)
            going = own.properties.watermark_of(column) if is_known else None
    if not coming or going is None:
        return
    type_ = own.properties.schema[going.column].type
    moved = coming if distance is None else _set_back(coming, distance, type_)
    if moved is not None and all(bound.expression.type == type_ for bound in moved):
        yield WatermarkColumn(going.column, tuple(dict.fromkeys((*going.bounds, *moved))))


def _is_not_negative(step: Literal) -> bool:
    if isinstance(step.value, pa.MonthDayNano):
        return all(part >= 0 for part in step.value)
    return isinstance(step.value, int) and step.value >= 0


def _of_all(plan: StreamUnion) -> tuple[WatermarkColumn, ...]:
    first, *others = (each.properties for each in plan.inputs)
    found = []
    for watermark in first.watermarks:
        same = [each.watermark_of(watermark.column) for each in others]
        if all(same):
            bounds = dict.fromkeys(bound for each in (watermark, *same) if each is not None for bound in each.bounds)
            found.append(WatermarkColumn(watermark.column, tuple(bounds)))
    return tuple(found)


def expression_bounds(expression: Expr, input: StreamPlan) -> Bounds:
    """The bounds of an expression that never falls while a watermark column rises; none for any other."""
    match expression:
        case InputRef(index):
            watermark = input.properties.watermark_of(index)
            return () if watermark is None else watermark.bounds
        case Cast(argument, type_) if (argument.type.kind, type_.kind) in _RISING_CASTS:
            return _through(expression, expression_bounds(argument, input), 0)
        case Call(function, (time, step, *zone)) if function in _STEPS and _is_step(time, step, zone):
            return _through(expression, expression_bounds(time, input), 0)
        case Call(function, (step, time, *zone)) if function in _STEPS_FIRST and _is_step(time, step, zone):
            return _through(expression, expression_bounds(time, input), 1)
        case Call("coalesce", values):
            found = [expression_bounds(value, input) for value in values]
            return tuple(dict.fromkeys(chain.from_iterable(found))) if all(found) else ()
        case Call("date_bin", (step, time, origin)) if not columns_read(step) | columns_read(origin):
            return _through(expression, expression_bounds(time, input), 1)
        case Call("date_trunc", (field, time)) if time.type.kind is TypeKind.TIMESTAMP and not columns_read(field):
            return _through(expression, expression_bounds(time, input), 1)
        case Call("date_trunc_at", (Literal(), time, zone)) if zone == _UTC:
            return _through(expression, expression_bounds(time, input), 1)
        case Call("subtract", (time, Call("multiply", (Literal(), Cast(InputRef(copy)))) as multiple)):
            furthest = _furthest(multiple, copy, input)
            if furthest is None:
                return ()
            return _through(with_operands(expression, (time, furthest)), expression_bounds(time, input), 0)
        case _:
            return ()


def _through(expression: Expr, bounds: Bounds, operand: int) -> Bounds:
    """The bounds of an expression from those of one of its operands."""
    return tuple(replace(each, expression=_with_operand(expression, operand, each.expression)) for each in bounds)


def _with_operand(expression: Expr, operand: int, value: Expr) -> Expr:
    return with_operands(expression, [value if i == operand else part for i, part in enumerate(operands(expression))])


def _is_step(time: Expr, step: Expr, zone: Sequence[Expr]) -> bool:
    """Whether `step` is a constant by which all values of the type of `time` keep their order.

    A timestamptz has no such days or months: their lengths depend on the time zone.
    """
    match step:
        case Literal(pa.MonthDayNano() as length):
            whole = length.months == 0 and length.days == 0
            return time.type.kind is not TypeKind.TIMESTAMPTZ or whole or all(each == _UTC for each in zone)
        case Literal(int()):
            return step.type.kind in _INTEGERS
        case _:
            return False


def _furthest(multiple: Call, copy: ColumnIndex, input: StreamPlan) -> Expr | None:
    """The greatest value of HOP's `slide * copy number`; None if the column does not number copies."""
    copies = _copies(input, copy)
    slide, cast = multiple.args
    value = slide.value if isinstance(slide, Literal) else None
    if copies is None or not isinstance(value, pa.MonthDayNano) or min(value) < 0:
        return None
    return with_operands(multiple, (slide, with_operands(cast, (Literal(copies - 1, BIGINT),))))


def _copies(plan: StreamPlan, column: ColumnIndex) -> int | None:
    """How many copies there are, if the column numbers them."""
    match plan:
        case StreamExpand() if column == len(plan.properties.schema) - 1:
            return plan.copies
        case StreamFilter():
            return _copies(plan.input, column)
        case StreamProject() if isinstance(reference := plan.expressions[column], InputRef):
            return _copies(plan.input, reference.index)
        case _:
            return None
