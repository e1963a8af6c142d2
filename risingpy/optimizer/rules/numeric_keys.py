"""Compares wide numerics by their keys, which 1.0 and 1.00 share, and shows of a group's equal numbers one.

jsonb has keys too (`storage/kernels/json_keys.py`), in PostgreSQL's order: what is said here of numbers inside other
values is true of jsonb, and a group of equal ones shows the one whose text is the first.

    Filter(n = m; t)            =>  Filter(numeric_key(n) = numeric_key(m); t)
    Sort(n; t)                  =>  Project(t.*; Sort(k; Project(t.*, numeric_key(n) AS k; t)))
    Agg(group n, sum(m); t)     =>  Project(of_key(k, s), sum; Agg(group k, sum(m), scale_bits(n) AS s; Project(…; t)))
    count(DISTINCT n)           =>  count(DISTINCT numeric_key(n))
    sum(DISTINCT n)             =>  with_scale(sum(DISTINCT trim_scale(n)), scale_bits(n))
    array_agg(DISTINCT n)       =>  firsts_of_keys(array_agg(DISTINCT ROW(numeric_key(n), n)))
    mode(n)                     =>  first_of_key(array_agg(DISTINCT ROW(numeric_key(n), n)), mode(numeric_key(n)))

Keys are byte strings of SQL type bytea, so that nothing after this rule needs to know that equal numbers may look
different. Of a group's numbers the one with the fewest decimals is shown; PostgreSQL shows that which came first.

Arrays and structs with such numbers inside have keys likewise (`numeric_keys`), and a group of them shows the first in
the order of their bytes. That order is not the order of the values, other than for a number by itself: {1.00,1} is less
than {1.0,2}, whose bytes come first. So the extremes of arrays and rows are taken by keys too:

    min(a)                      =>  first_value(a ORDER BY numeric_keys(a))
    min(a) OVER w               =>  arg_min(a, numeric_keys(a)) OVER w
    least(a, b)                 =>  CASE WHEN numeric_keys(a) <= numeric_keys(b) THEN a … END
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from risingpy.functions.numeric_results import numeric_of
from risingpy.optimizer.rewrite import column_references, map_expressions, plan_inputs, with_inputs
from risingpy.plan.aggregate_families import SPREADS
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, operands, with_operands
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    Field,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    Recursion,
    Schema,
    Sort,
    SortKey,
    TopN,
)
from risingpy.plan.window_calls import FRAMELESS, FrameUnits, WindowCall
from risingpy.types import BIGINT, BOOLEAN, BYTEA, NUMERIC, VARCHAR, SqlType, TypeKind, array_of, struct_of
from risingpy.types.system_types import is_json
from risingpy.types.wide_numeric import key_of

_COMPARISONS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "in", "in_list", "is_distinct_from", "is_not_distinct_from"}
    | {"array_contains", "array_overlaps", "array_position", "array_positions", "width_bucket_array"}
)
_OF_JSON = {
    f"{word}jsonb_{name}": f"{word}{name}" for word in ("", "any_", "all_") for name in ("lt", "le", "gt", "ge")
}
_OF_JSON |= {f"{word}jsonb_{name}": f"{word}{name}" for word in ("any_", "all_") for name in ("eq", "ne")}
# Where both sides have columns, keys make it a condition to hash by. A comparison with a constant reads the texts.
_EQUAL_JSON = {"jsonb_eq": "eq", "jsonb_ne": "ne"}
_ARG_EXTREMES = {"min": "arg_min", "max": "arg_max"}
_NOT_BEATEN = {"greatest": "ge", "least": "le"}
_ORDERED_BY_LAST = frozenset({"arg_min", "arg_max"})  # of whose last argument nothing is shown


def numeric_keys(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the same output columns, in which no operator compares the bytes of wide numerics or jsonb.

    A Limit on a Sort is rewritten with it, so that both still meet and make a TopN.
    """
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
        case Recursion(distinct=True) if any(is_keyed(each.type) for each in plan.schema):
            columns = (InputRef(i, each.type) for i, each in enumerate(plan.schema))
            return replace(plan, keys=tuple(map(key_of_expression, columns)))
        case _:
            return plan


def is_keyed(type_: SqlType) -> bool:
    """Whether values of the type contain wide numerics or jsonb."""
    return type_.is_wide or type_.kind is TypeKind.JSONB or any(map(is_keyed, type_.items))


def key_type(type_: SqlType) -> SqlType:
    """The type of the keys of the type's values."""
    if type_.is_wide or type_.kind is TypeKind.JSONB:
        return BYTEA
    return replace(type_, items=tuple(map(key_type, type_.items)))


def key_of_expression(expr: Expr) -> Expr:
    """The expression of the key by which the expression's values are compared."""
    if not is_keyed(expr.type):
        return expr
    if isinstance(expr, Literal) and expr.type.is_wide:
        return Literal(_key_of_value(expr.value), BYTEA)
    if isinstance(expr, Literal) and isinstance(expr.value, tuple) and expr.type == array_of(NUMERIC):
        return Literal(tuple(map(_key_of_value, expr.value)), key_type(expr.type))
    if expr.type.kind is TypeKind.JSONB and not is_json(expr.type):  # the kernels read no text with blanks
        return Call("jsonb_key", (expr,), BYTEA)
    return Call("numeric_key" if expr.type.is_wide else "numeric_keys", (expr,), key_type(expr.type))


def _key_of_value(value: object) -> bytes | None:
    return key_of(value) if isinstance(value, bytes) else None


def _compared_by_keys(expr: Expr) -> Expr:
    parts = operands(expr)
    changed: Sequence[Expr] = [_compared_by_keys(part) for part in parts]
    if isinstance(expr, Call) and expr.function in _OF_JSON:
        return _comparison(_OF_JSON[expr.function], *changed)
    if isinstance(expr, Call) and expr.function in _EQUAL_JSON and not any(isinstance(p, Literal) for p in parts):
        return _comparison(_EQUAL_JSON[expr.function], *changed)
    if isinstance(expr, Call) and expr.function.removeprefix("any_").removeprefix("all_") in _COMPARISONS:
        changed = [key_of_expression(part) for part in changed]
    if isinstance(expr, Call) and expr.function == "rw_vnode":  # as tables are spread that have these columns as keys
        changed = [key_of_expression(part) if part.type.has_json else part for part in changed]
    if not all(new is old for new, old in zip(changed, parts, strict=True)):
        expr = with_operands(expr, changed)
    # `wide_least` and `wide_greatest` handle plain numbers.
    if isinstance(expr, Call) and is_keyed(expr.type) and not expr.type.is_wide:
        if expr.function == "nullif":
            return Case(((_comparison("eq", *expr.args), Literal(None, expr.type)),), expr.args[0], expr.type)
        if expr.function in _NOT_BEATEN:
            return _extreme(expr, _NOT_BEATEN[expr.function])
    return expr


def _comparison(function: str, left: Expr, right: Expr) -> Expr:
    """The comparison of the keys."""
    return Call(function, (key_of_expression(left), key_of_expression(right)), BOOLEAN)


def _extreme(call: Call, not_beaten: str) -> Expr:
    """The first argument that no other beats, without regard to NULLs; NULL if all are NULL."""
    branches = []
    for place, arg in enumerate(call.args):
        condition: Expr = Call("is_not_null", (arg,), BOOLEAN)
        for other in (*call.args[:place], *call.args[place + 1 :]):
            absent = Call("is_null", (other,), BOOLEAN)
            stands = Call("or", (absent, _comparison(not_beaten, arg, other)), BOOLEAN)
            condition = Call("and", (condition, stands), BOOLEAN)
        branches.append((condition, arg))
    return Case(tuple(branches), Literal(None, call.type), call.type)


@dataclass(slots=True)
class _Keyed:
    """An input, and the columns to add after its own: keys of some of them, and other computed columns."""

    input: LogicalPlan
    extra: list[Expr] = field(default_factory=list)

    def column(self, expr: Expr) -> int:
        """The position of a computed column."""
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
        """The input with the added columns."""
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
    """Orders windows by keys. A frame in RANGE needs the number itself, so such calls have their own window."""
    partition = tuple(keyed.key(index) for index in plan.partition_by)
    order = keyed.sort_keys(plan.order_by)
    calls = [_extreme_over(call, keyed) for call in plan.calls]
    if not keyed.extra:
        return plan
    made, width = keyed.plan(), len(plan.input.schema)
    places = {i: i for i in range(width)}
    for by_value, keys in ((False, order), (True, plan.order_by)):
        chosen = [place for place, call in enumerate(calls) if _is_by_value(call) == by_value]
        if chosen:
            places |= {width + place: len(made.schema) + i for i, place in enumerate(chosen)}
            fields = tuple(plan.schema[width + place] for place in chosen)
            made = OverWindow(made, partition, keys, tuple(calls[i] for i in chosen), (*made.schema, *fields))
    return Project(made, tuple(InputRef(places[i], each.type) for i, each in enumerate(plan.schema)), plan.schema)


def _is_by_value(call: WindowCall) -> bool:
    frame = call.frame
    has_offset = frame.start.offset is not None or frame.end.offset is not None
    return call.function not in FRAMELESS and frame.units is FrameUnits.RANGE and has_offset


def _extreme_over(call: WindowCall, keyed: _Keyed) -> WindowCall:
    """min or max of arrays or rows as the value with the least or greatest key."""
    if call.function not in _ARG_EXTREMES or not is_keyed(call.type) or call.type.is_wide:
        return call
    key = key_of_expression(call.args[0])
    args = (*call.args, InputRef(keyed.column(key), key.type))
    return replace(call, function=_ARG_EXTREMES[call.function], args=args)


def _grouped(plan: Aggregate) -> LogicalPlan:
    keyed, calls = _Keyed(plan.input), _Calls()
    group_key = tuple(keyed.key(index) for index in plan.group_key)
    shown: list[Callable[[], Expr]] = []
    for place, (index, key) in enumerate(zip(plan.group_key, group_key, strict=True)):
        shown.append(calls.group(keyed.reference(index), place, keyed, is_same=index == key))
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
    """The calls of an aggregation by keys. Each result is a function, called once the calls' positions are known."""

    made: list[AggCall] = field(default_factory=list)
    first: int = 0

    def group(self, column: InputRef, place: int, keyed: _Keyed, *, is_same: bool) -> Callable[[], Expr]:
        """The expression of a group column's original value."""
        if is_same:
            return lambda: InputRef(place, column.type)
        key = InputRef(place, key_type(column.type))
        if not column.type.is_wide:
            order = keyed.column(Cast(column, VARCHAR)) if column.type.has_json else column.index
            return self._add(AggCall("first_value", (column.index,), column.type, order_by=(SortKey(order),)))
        bits = self._add(AggCall("scale_bits", (column.index,), BIGINT))
        return lambda: Call("wide_of_key", (key, bits()), NUMERIC)

    def result(self, call: AggCall, keyed: _Keyed) -> Callable[[], Expr]:
        """The expression of a call's result."""
        # A DISTINCT call is ordered by its arguments themselves: array_agg tells 1.0 from 1.00.
        if not call.distinct or call.function in _ORDERED_BY_LAST:
            call = replace(call, order_by=keyed.sort_keys(call.order_by))
        if call.function in _ORDERED_BY_LAST:
            return self._add(replace(call, args=(*call.args[:-1], keyed.key(call.args[-1]))))
        if call.function == "mode" and is_keyed(call.type):
            return self._mode(call, keyed)
        if call.function in _ARG_EXTREMES and is_keyed(call.type) and not call.type.is_wide:
            order = SortKey(keyed.key(call.args[0]), descending=call.function == "max")
            return self._add(replace(call, function="first_value", distinct=False, order_by=(order,)))
        if not call.distinct or not any(is_keyed(keyed.input.schema[arg].type) for arg in call.args):
            return self._add(call)
        if call.function == "count":
            return self._add(replace(call, args=tuple(keyed.key(arg) for arg in call.args)))
        if call.function in SPREADS:
            trimmed = Call("trim_scale", (keyed.reference(call.args[0]),), NUMERIC)
            return self._add(replace(call, args=(keyed.column(trimmed),)))
        if call.function == "array_agg":
            pairs = self._pairs(call, keyed)
            return lambda: Call("firsts_of_keys", (pairs(),), call.type)
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

    def _mode(self, call: AggCall, keyed: _Keyed) -> Callable[[], Expr]:
        """The most frequent key, and a value that has it."""
        (arg,) = call.args
        key = keyed.key(arg)
        most = self._add(replace(call, args=(key,), type=key_type(call.type)))
        pairs = self._pairs(replace(call, function="array_agg", order_by=(SortKey(arg),)), keyed)
        return lambda: Call("first_of_key", (pairs(), most()), call.type)

    def _pairs(self, call: AggCall, keyed: _Keyed) -> Callable[[], Expr]:
        """Distinct pairs of key and value, in the order in which the call has the values."""
        (arg,) = call.args
        value: Expr = keyed.reference(arg)
        key = key_of_expression(value)
        if value.type.kind is TypeKind.JSONB:  # the pairs are kept in keys; the value is the text of the same form
            value = Cast(value, VARCHAR)
        type_ = struct_of(("key", "value"), (key.type, value.type))
        pair = Call("row", (key, value), type_)
        absent = Call("is_null", (value,), BOOLEAN)  # for NULLS FIRST and LAST a pair of NULLs would be no NULL
        column = keyed.column(Case(((absent, Literal(None, type_)),), pair, type_))
        order = tuple(replace(key, index=column) for key in call.order_by[:1])
        return self._add(replace(call, args=(column,), type=array_of(type_), distinct=True, order_by=order))

    def _add(self, call: AggCall) -> Callable[[], Expr]:
        self.made.append(call)
        place = len(self.made) - 1
        return lambda: InputRef(self.first + place, call.type)
