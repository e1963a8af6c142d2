"""Compares wide numerics by their keys, which 1.0 and 1.00 share, and shows of a group's equal numbers one.

    Filter(n = m; t)            =>  Filter(numeric_key(n) = numeric_key(m); t)
    Sort(n; t)                  =>  Project(t.*; Sort(k; Project(t.*, numeric_key(n) AS k; t)))
    Agg(group n, sum(m); t)     =>  Project(of_key(k, s), sum; Agg(group k, sum(m), scale_bits(n) AS s; Project(…; t)))
    count(DISTINCT n)           =>  count(DISTINCT numeric_key(n))
    sum(DISTINCT n)             =>  with_scale(sum(DISTINCT trim_scale(n)), scale_bits(n))

Keys are byte strings of SQL type bytea, so that nothing after this rule needs to know that equal numbers may look
different. Of a group's numbers the one with the fewest decimals is shown; PostgreSQL shows that which came first.
Arrays and structs with such numbers inside have keys likewise (`numeric_keys`), and a group of them shows the fewest
decimals too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from risingpy.executors.aggregate import SPREADS
from risingpy.executors.expression.nodes import Call, Case, Cast, Expr, InputRef, Literal, operands, with_operands
from risingpy.executors.expression.numeric_results import numeric_of
from risingpy.optimizer.logical import (
    AggCall,
    Aggregate,
    Field,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    Schema,
    Sort,
    SortKey,
    TopN,
)
from risingpy.optimizer.rewrite import column_references, map_expressions, plan_inputs, with_inputs
from risingpy.types import BIGINT, BOOLEAN, BYTEA, NUMERIC, SqlType, array_of
from risingpy.types.wide_numeric import key_of

_COMPARISONS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "in", "in_list", "is_distinct_from", "is_not_distinct_from"}
    | {"array_contains", "array_overlaps", "array_position", "array_positions"}
)
_ORDERED_BY_LAST = frozenset({"arg_min", "arg_max"})  # of whose last argument nothing is shown


def numeric_keys(plan: LogicalPlan) -> LogicalPlan:
    inputs = plan_inputs(plan)
    match plan:
        case Limit(input=Sort() as sort) if _wide_keys(sort.keys, sort.schema):
            keyed = _Keyed(numeric_keys(sort.input))
            keys = keyed.sort_keys(sort.keys)
            return _restored(replace(plan, input=Sort(keyed.plan(), keys)), plan.schema)
    rewritten = [numeric_keys(each) for each in inputs]
    if any(new is not old for new, old in zip(rewritten, inputs, strict=True)):
        plan = with_inputs(plan, rewritten)
    plan = map_expressions(plan, _compared_by_keys)
    match plan:
        case Sort() | TopN() | OverWindow():
            return _ordered(plan)
        case Aggregate():
            return _grouped(plan)
        case _:
            return plan


def is_keyed(type_: SqlType) -> bool:
    """Whether there are wide numerics in values of the type."""
    return type_.is_wide or any(map(is_keyed, type_.items))


def key_type(type_: SqlType) -> SqlType:
    """The type of its values' keys."""
    return BYTEA if type_.is_wide else replace(type_, items=tuple(map(key_type, type_.items)))


def key_of_expression(expr: Expr) -> Expr:
    """What the expression's value is compared by."""
    if not is_keyed(expr.type):
        return expr
    if isinstance(expr, Literal) and expr.type.is_wide:
        return Literal(_key_of_value(expr.value), BYTEA)
    if isinstance(expr, Literal) and isinstance(expr.value, tuple) and expr.type == array_of(NUMERIC):
        return Literal(tuple(map(_key_of_value, expr.value)), key_type(expr.type))
    return Call("numeric_key" if expr.type.is_wide else "numeric_keys", (expr,), key_type(expr.type))


def _key_of_value(value: object) -> bytes | None:
    return key_of(value) if isinstance(value, bytes) else None


def _compared_by_keys(expr: Expr) -> Expr:
    parts = operands(expr)
    changed: Sequence[Expr] = [_compared_by_keys(part) for part in parts]
    if isinstance(expr, Call) and (expr.function in _COMPARISONS or expr.function.startswith(("any_", "all_"))):
        changed = [key_of_expression(part) for part in changed]
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return expr
    return with_operands(expr, changed)


@dataclass(slots=True)
class _Keyed:
    """An input, and the columns to put behind its own: keys of some of them, and what else is computed."""

    input: LogicalPlan
    extra: list[Expr] = field(default_factory=list)

    def column(self, expr: Expr) -> int:
        """Where a computed column stands."""
        if isinstance(expr, InputRef):
            return expr.index
        if expr not in self.extra:
            self.extra.append(expr)
        return len(self.input.schema) + self.extra.index(expr)

    def reference(self, index: int) -> InputRef:
        return InputRef(index, self.input.schema[index].type)

    def key(self, index: int) -> int:
        """The column by which the column at `index` is compared: itself, or its key."""
        return self.column(key_of_expression(self.reference(index)))

    def sort_keys(self, keys: Sequence[SortKey]) -> tuple[SortKey, ...]:
        return tuple(replace(key, index=self.key(key.index)) for key in keys)

    def plan(self) -> LogicalPlan:
        """The input with the columns."""
        if not self.extra:
            return self.input
        schema = (*self.input.schema, *(Field("key", expr.type, hidden=True) for expr in self.extra))
        return Project(self.input, (*column_references(self.input), *self.extra), schema)


def _wide_keys(keys: Sequence[SortKey], schema: Schema) -> bool:
    return any(is_keyed(schema[key.index].type) for key in keys)


def _restored(plan: LogicalPlan, schema: Schema) -> LogicalPlan:
    """The plan's first columns."""
    return Project(plan, tuple(InputRef(i, each.type) for i, each in enumerate(schema)), schema)


def _ordered(plan: Sort | TopN | OverWindow) -> LogicalPlan:
    keyed = _Keyed(plan.input)
    match plan:
        case Sort():
            changed: LogicalPlan = replace(plan, keys=keyed.sort_keys(plan.keys))
        case TopN():
            group_key = tuple(keyed.key(index) for index in plan.group_key)
            changed = replace(plan, group_key=group_key, keys=keyed.sort_keys(plan.keys))
        case OverWindow():
            return _windowed(plan, keyed)
    if not keyed.extra:
        return plan
    return _restored(with_inputs(changed, [keyed.plan()]), plan.schema)


def _windowed(plan: OverWindow, keyed: _Keyed) -> LogicalPlan:
    """An order by value, of a frame with an offset, needs the number itself; equal ones are peers of it anyway."""
    partition = tuple(keyed.key(index) for index in plan.partition_by)
    by_value = any(bound.offset is not None for call in plan.calls for bound in (call.frame.start, call.frame.end))
    order = plan.order_by if by_value else keyed.sort_keys(plan.order_by)
    if not keyed.extra:
        return plan
    input = keyed.plan()
    width, calls = len(plan.input.schema), plan.schema[len(plan.input.schema) :]
    made = OverWindow(input, partition, order, plan.calls, (*input.schema, *calls))
    shown = [*range(width), *range(len(input.schema), len(made.schema))]
    return Project(made, tuple(InputRef(i, made.schema[i].type) for i in shown), plan.schema)


def _grouped(plan: Aggregate) -> LogicalPlan:
    keyed, calls = _Keyed(plan.input), _Calls()
    group_key = tuple(keyed.key(index) for index in plan.group_key)
    shown: list[Callable[[], Expr]] = []
    for place, (index, key) in enumerate(zip(plan.group_key, group_key, strict=True)):
        shown.append(calls.group(keyed.reference(index), place, is_same=index == key))
    shown += [calls.result(call, keyed) for call in plan.calls]
    if not keyed.extra and calls.made == list(plan.calls):
        return plan
    input = keyed.plan()
    groups = tuple(input.schema[index] for index in group_key)
    schema = (*groups, *(Field(call.function, call.type) for call in calls.made))
    calls.first = len(groups)
    made = Aggregate(input, group_key, tuple(calls.made), schema)
    return Project(made, tuple(expr() for expr in shown), plan.schema)


@dataclass(slots=True)
class _Calls:
    """The calls of an aggregation by keys; what shows the query's results is made when their places are known."""

    made: list[AggCall] = field(default_factory=list)
    first: int = 0

    def group(self, column: InputRef, place: int, *, is_same: bool) -> Callable[[], Expr]:
        """A group column as the query shows it."""
        if is_same:
            return lambda: InputRef(place, column.type)
        key = InputRef(place, key_type(column.type))
        if not column.type.is_wide:
            return lambda: Call("numbers_of_keys", (key,), column.type)
        bits = self._add(AggCall("scale_bits", (column.index,), BIGINT))
        return lambda: Call("wide_of_key", (key, bits()), NUMERIC)

    def result(self, call: AggCall, keyed: _Keyed) -> Callable[[], Expr]:
        """A call as the query shows it."""
        # What is DISTINCT is ordered by its arguments, as they are: array_agg tells 1.0 from 1.00.
        if not call.distinct or call.function in _ORDERED_BY_LAST:
            call = replace(call, order_by=keyed.sort_keys(call.order_by))
        if call.function in _ORDERED_BY_LAST:
            return self._add(replace(call, args=(*call.args[:-1], keyed.key(call.args[-1]))))
        if not call.distinct or not any(is_keyed(keyed.input.schema[arg].type) for arg in call.args):
            return self._add(call)
        if call.function == "count":
            return self._add(replace(call, args=tuple(keyed.key(arg) for arg in call.args)))
        if call.function in SPREADS:
            trimmed = Call("trim_scale", (keyed.reference(call.args[0]),), NUMERIC)
            return self._add(replace(call, args=(keyed.column(trimmed),)))
        if call.function not in ("sum", "avg"):
            return self._add(call)
        return self._distinct_sum(call, keyed)

    def _distinct_sum(self, call: AggCall, keyed: _Keyed) -> Callable[[], Expr]:
        (arg,) = call.args
        trimmed = keyed.column(Call("trim_scale", (keyed.reference(arg),), NUMERIC))
        total = self._add(replace(call, function="sum", args=(trimmed,), type=NUMERIC))
        bits = self._add(AggCall("scale_bits", (arg,), BIGINT, filter=call.filter))

        def scaled() -> Expr:
            return Call("wide_with_scale", (total(), bits()), NUMERIC)

        if call.function == "sum":
            return scaled
        count = self._add(replace(call, function="count", args=(keyed.key(arg),), type=BIGINT))

        def average() -> Expr:
            number = Cast(Cast(count(), numeric_of(BIGINT)), NUMERIC)
            empty = Call("eq", (count(), Literal(0, BIGINT)), BOOLEAN)
            return Case(((empty, Literal(None, NUMERIC)),), Call("divide", (scaled(), number), NUMERIC), NUMERIC)

        return average

    def _add(self, call: AggCall) -> Callable[[], Expr]:
        self.made.append(call)
        place = len(self.made) - 1
        return lambda: InputRef(self.first + place, call.type)
