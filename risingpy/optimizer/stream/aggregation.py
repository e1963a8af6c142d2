"""Plans GROUP BY, DISTINCT and global aggregates.

    Aggregate(input)  =>  Project(HashAgg(Exchange(LocalAgg(input))))

* avg becomes sum and count, and a division in the Project. Equal calls are computed once. A count(*) is added: it tells
  when a group becomes empty. If the Project would change nothing, there is none.
* Two phases: LocalAgg merges each epoch's delta per group before the exchange, so that a group crosses it once per
  shard and epoch, however many rows it has. This needs states that can be merged: every call must keep a value state.
* If a group's rows are already on one shard, there is no exchange, and no LocalAgg.
* Without GROUP BY, a SimpleAgg on one shard replaces the HashAgg.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from risingpy.errors import FeatureNotSupported
from risingpy.functions.aggregate.layout import partial_types, state_types
from risingpy.functions.numeric_results import NumericRule, numeric_of, numeric_result
from risingpy.functions.python.definition import definition_of
from risingpy.optimizer.explain.tree import call_text, column_names
from risingpy.optimizer.stream.distribution import SINGLE, brings_together, hash_by
from risingpy.optimizer.stream.projection import projected, select_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.watermarks import watermarks_first
from risingpy.optimizer.stream.window_close import check_window_close
from risingpy.plan import logical
from risingpy.plan.aggregate_families import OF_VECTORS, REGRESSIONS, SPREADS
from risingpy.plan.aggregates import AggState, DedupState, HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import PYTHON_AGGREGATE, AggCall, Field
from risingpy.plan.operators import Exchange, StreamPlan
from risingpy.plan.properties import ColumnIndex, DistributionKind
from risingpy.plan.state_tables import dedup_state, materialized_input_state, value_state
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTERVAL, SqlType, TypeKind

_VALUE_STATE = SPREADS | REGRESSIONS | {"count", "sum", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"}
_VALUE_STATE |= OF_VECTORS | {"scale_bits"}
_EXTREME = frozenset({"min", "max"})  # these have a value state only if the input only grows
_MATERIALIZED = frozenset(
    {"string_agg", "array_agg", "first_value", "last_value", "mode", "percentile_cont", "percentile_disc"}
    | {PYTHON_AGGREGATE}
)
# DISTINCT does not change the results of these.
_BLIND_TO_DUPLICATES = frozenset({"min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "scale_bits"})
COUNT_ROWS = AggCall("count", (), BIGINT)


def plan_aggregate(
    aggregate: logical.Aggregate,
    input: StreamPlan,
    job: str,
    allocate: Callable[[], int],
    *,
    emit_on_window_close: bool = False,
) -> StreamPlan:
    """The stream plan of `aggregate` over `input`: its columns come first, then hidden ones.

    `allocate` gives the state tables' ids. Raises FeatureNotSupported, naming the call that does not stream.
    """
    calls = _StreamCalls.of(aggregate, input)
    group_key = watermarks_first(input, tuple(dict.fromkeys(aggregate.group_key)))
    if emit_on_window_close:
        check_window_close(input, group_key)
    operator = _Aggregation(input, group_key, tuple(calls.physical), job, allocate, emit_on_window_close).plan()
    outputs: list[Expr] = [
        InputRef(group_key.index(column), input.properties.schema[column].type) for column in aggregate.group_key
    ]
    outputs += [result(len(group_key)) for result in calls.results]
    return projected(operator, outputs)


@dataclass(slots=True)
class _StreamCalls:
    """The calls that the operator computes, and how the results of the query's calls are made of theirs.

    `results[i]`, called with the number of group columns before the calls, is the expression of the query's i-th call.
    """

    input: StreamPlan
    physical: list[AggCall] = field(default_factory=list)
    results: list[Callable[[int], Expr]] = field(default_factory=list)

    @classmethod
    def of(cls, aggregate: logical.Aggregate, input: StreamPlan) -> _StreamCalls:
        calls = cls(input)
        for call in aggregate.calls:
            call = _without_distinct(call)
            if call.function == "avg":
                calls.results.append(calls._average(call))
            elif call.function in _VALUE_STATE | _EXTREME | _MATERIALIZED:
                calls.results.append(calls._reference(calls._position(call)))
            else:
                raise _unsupported(f"the aggregate {call.function}")
        calls._position(COUNT_ROWS)
        return calls

    def _position(self, call: AggCall) -> int:
        """The position of the call among those that are computed; equal calls share one."""
        if call not in self.physical:
            self.physical.append(call)
        return self.physical.index(call)

    def _reference(self, position: int) -> Callable[[int], Expr]:
        return lambda groups: InputRef(groups + position, self.physical[position].type)

    def _average(self, call: AggCall) -> Callable[[int], Expr]:
        """avg = CASE WHEN count = 0 THEN NULL ELSE sum / count END"""
        total = self._position(replace(call, function="sum", type=_sum_type(self.input, call)))
        count = self._position(replace(call, function="count", type=BIGINT))
        sum_of, count_of = self._reference(total), self._reference(count)
        return lambda groups: _quotient(sum_of(groups), count_of(groups), call)


def _sum_type(input: StreamPlan, call: AggCall) -> SqlType:
    """The type of PostgreSQL's sum, so that the query's own sum is the same call; but a sum of reals is double here."""
    argument = input.properties.schema[call.args[0]].type
    match argument.kind:
        case TypeKind.SMALLINT | TypeKind.INTEGER:
            return BIGINT
        case TypeKind.REAL | TypeKind.DOUBLE:
            return DOUBLE
        case TypeKind.INTERVAL:
            return INTERVAL
        case _:
            return replace(numeric_result(NumericRule.SUM, (argument,)), declared=argument.declared)


def _quotient(total: Expr, count: Expr, call: AggCall) -> Expr:
    if total.type.is_float or total.type.kind is TypeKind.INTERVAL:
        divided: Expr = Call("divide", (total, Cast(count, DOUBLE)), total.type)
    else:
        args = (_as_numeric(total), _as_numeric(count))
        divided = Call("divide", args, numeric_result(NumericRule.DIVIDE, (args[0].type, args[1].type)))
    if divided.type != call.type:
        divided = Cast(divided, call.type)
    is_empty = Call("eq", (count, Literal(0, BIGINT)), BOOLEAN)
    return Case(((is_empty, Literal(None, call.type)),), divided, call.type)


def _as_numeric(value: Expr) -> Expr:
    return value if value.type.kind is TypeKind.NUMERIC else Cast(value, numeric_of(value.type))


def _without_distinct(call: AggCall) -> AggCall:
    return replace(call, distinct=False) if call.function in _BLIND_TO_DUPLICATES else call


def _unsupported(construct: str) -> FeatureNotSupported:
    return FeatureNotSupported(
        f"{construct} in a materialized view is not supported yet", hint="Query it with SELECT instead."
    )


@dataclass(frozen=True, slots=True)
class _Aggregation:
    """Chooses the operators for distinct calls over distinct group columns."""

    input: StreamPlan
    group_key: tuple[ColumnIndex, ...]
    calls: tuple[AggCall, ...]
    job: str
    allocate: Callable[[], int]
    emit_on_window_close: bool

    def plan(self) -> HashAgg | SimpleAgg:
        """Output: the group key, then one column per call."""
        if brings_together(self.input.properties.distribution, self.group_key):
            return self._one_phase(self.input, self.group_key, self.calls)
        if all(self._adds_up(call) for call in self.calls):
            return self._two_phase()
        return self._shuffled()

    def _keeps_value(self, call: AggCall) -> bool:
        append_only = self.input.properties.append_only
        if call.function == PYTHON_AGGREGATE:  # with an ORDER BY the rows must be stored, to be read in order
            return not call.order_by and (append_only or definition_of(call.definition).retracts)
        return call.function in _VALUE_STATE or (call.function in _EXTREME and append_only)

    def _adds_up(self, call: AggCall) -> bool:
        """Whether the call can be computed in two phases."""
        return self._keeps_value(call) and not call.distinct and call.function != PYTHON_AGGREGATE

    def _two_phase(self) -> HashAgg | SimpleAgg:
        """Merges each shard's delta per group before the exchange."""
        types = [field.type for field in self.input.properties.schema]
        fields = [self.input.properties.schema[i] for i in self.group_key]
        calls = []
        for call, name in zip(self.calls, self._call_names(), strict=True):
            partials = partial_types(call, types)
            args = tuple(range(len(fields), len(fields) + len(partials)))
            calls.append(replace(call, args=args, filter=None))
            fields += [Field(name, type_, hidden=True) for type_ in partials]
        fields.append(Field("count_change", BIGINT, hidden=True))
        local = derived(LocalAgg(self.input, self.group_key, self.calls, underived(tuple(fields))))
        group_key = tuple(range(len(self.group_key)))
        return self._one_phase(exchange(local, group_key), group_key, tuple(calls), from_partials=True)

    def _shuffled(self) -> HashAgg | SimpleAgg:
        """Sends the rows themselves, without the columns that nothing here reads."""
        used = {*self.group_key, *self.input.properties.stream_key}
        for call in self.calls:
            used.update(call.columns_read)
        kept = sorted(used)
        position = {column: i for i, column in enumerate(kept)}
        calls = tuple(call.moved(position) for call in self.calls)
        group_key = tuple(position[column] for column in self.group_key)
        return self._one_phase(exchange(select_columns(self.input, kept), group_key), group_key, calls)

    def _one_phase(
        self,
        input: StreamPlan,
        group_key: tuple[ColumnIndex, ...],
        calls: tuple[AggCall, ...],
        *,
        from_partials: bool = False,
    ) -> HashAgg | SimpleAgg:
        group = [self.input.properties.schema[i] for i in self.group_key]
        results = [Field(n, c.type) for n, c in zip(self._call_names(), self.calls, strict=True)]
        properties = underived((*group, *results))
        row_count = self.calls.index(COUNT_ROWS)
        # The states' key begins with the group key, so their distribution is that of the output.
        probe = HashAgg(input, group_key, calls, (), row_count, from_partials, properties)
        distribution = derived(probe).properties.distribution.columns
        states = self._states(input, group_key, calls, distribution)
        dedups = self._dedups(input, group_key, calls, distribution)
        if group_key:
            eowc = self.emit_on_window_close
            return derived(replace(probe, states=states, dedups=dedups, emit_on_window_close=eowc))
        return derived(SimpleAgg(input, calls, states, row_count, from_partials, properties, dedups))

    def _states(
        self,
        input: StreamPlan,
        group_key: tuple[ColumnIndex, ...],
        calls: Sequence[AggCall],
        distribution: tuple[ColumnIndex, ...],
    ) -> tuple[AggState, ...]:
        types = [field.type for field in self.input.properties.schema]
        group = [self.input.properties.schema[i] for i in self.group_key]
        states = []
        for call, original in zip(calls, self.calls, strict=True):
            table_id = self.allocate()
            if self._keeps_value(original):
                arguments = [types[i] for i in original.args]
                kept = state_types(original, types)
                states.append(value_state(table_id, self.job, group, distribution, arguments, kept))
            else:
                states.append(
                    materialized_input_state(table_id, self.job, input.properties, group_key, call, distribution)
                )
        return tuple(states)

    def _dedups(
        self,
        input: StreamPlan,
        group_key: tuple[ColumnIndex, ...],
        calls: Sequence[AggCall],
        distribution: tuple[ColumnIndex, ...],
    ) -> tuple[DedupState, ...]:
        """One for each list of arguments of distinct calls."""
        filters: dict[tuple[ColumnIndex, ...], dict[ColumnIndex | None, None]] = {}
        for call in calls:
            if call.distinct:
                filters.setdefault(call.args, {})[call.filter] = None
        schema = input.properties.schema
        return tuple(
            dedup_state(self.allocate(), self.job, schema, group_key, args, tuple(own), distribution)
            for args, own in filters.items()
        )

    def _call_names(self) -> list[str]:
        columns = column_names(self.input.properties.schema)
        return [call_text(call, columns) for call in self.calls]


def exchange(input: StreamPlan, columns: tuple[ColumnIndex, ...]) -> Exchange:
    """Moves rows with equal `columns` to the same shard; without columns, all rows to one shard."""
    properties = replace(input.properties, distribution=hash_by(columns) if columns else SINGLE)
    if isinstance(input, Exchange) and input.properties.distribution.kind is not DistributionKind.BROADCAST:
        return Exchange(input.input, properties)  # rows move once
    return derived(Exchange(input, properties))
