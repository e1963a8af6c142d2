"""Makes the calls of aggregation executors from the plan's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingpy.executors.aggregate.calls import PartialInput, StatefulCall, ValueCall, ValueInput
from risingpy.executors.aggregate.distinct import DistinctCall, SeenValues
from risingpy.executors.aggregate.local_agg import LocalCall
from risingpy.executors.aggregate.materialized_input import FirstRow, MaterializedInputCall, Reading, WholeGroup
from risingpy.executors.aggregate.user_state import UserStateCall, group_function_of
from risingpy.functions.aggregate.functions import value_state
from risingpy.functions.aggregate.ordered import counted_arguments, group_function
from risingpy.functions.aggregate.value_state import ValueState
from risingpy.plan.aggregates import AggState, HashAgg, SimpleAgg
from risingpy.plan.logical import AggCall
from risingpy.storage.engine.shard_store import EpochTransaction
from risingpy.types import SqlType

_FIRST_ROW = frozenset({"min", "max", "first_value", "last_value"})  # their result is in a group's first row


def local_calls(calls: Sequence[AggCall], input_types: Sequence[SqlType]) -> list[LocalCall]:
    """The calls of a LocalAgg."""
    return [
        LocalCall(value_state(call.function, tuple(input_types[k] for k in call.args), call.type), _value_input(call))
        for call in calls
    ]


def state_calls(
    plan: HashAgg | SimpleAgg, group_key: Sequence[int], input_types: Sequence[SqlType]
) -> Callable[[EpochTransaction], list[StatefulCall]]:
    """A function from the epoch's transaction to the calls of a HashAgg or a SimpleAgg."""
    makers = [_state_call(call, state, plan.from_partials) for call, state in zip(plan.calls, plan.states, strict=True)]

    def make(transaction: EpochTransaction) -> list[StatefulCall]:
        calls = [maker(transaction) for maker in makers]
        for planned in plan.dedups:
            types = [input_types[k] for k in planned.args]
            table = transaction.state_table(planned.table)
            dedup = SeenValues(table, group_key, planned.args, types, planned.filters)
            for k, call in enumerate(plan.calls):
                if call.distinct and call.args == planned.args:
                    calls[k] = DistinctCall(calls[k], dedup, call.filter)
        return calls

    return make


@dataclass(frozen=True, slots=True)
class _ValueCallMaker:
    plan: AggState
    state: ValueState
    input: ValueInput | PartialInput

    def __call__(self, transaction: EpochTransaction) -> StatefulCall:
        return ValueCall(self.state, self.input, transaction.state_table(self.plan.table))


@dataclass(frozen=True, slots=True)
class _MaterializedInputMaker:
    plan: AggState
    call: AggCall

    def __call__(self, transaction: EpochTransaction) -> StatefulCall:
        arguments = self.plan.arguments
        reading: Reading
        if self.call.function in _FIRST_ROW:
            reading = FirstRow(arguments[0])
        elif self.call.definition:
            reading = WholeGroup(arguments, group_function_of(self.call.definition))
        else:
            reading = WholeGroup(arguments, group_function(self.call.function, self.call.type))
        counted = tuple(arguments[k] for k in counted_arguments(self.call.function))
        table = transaction.state_table(self.plan.table)
        return MaterializedInputCall(table, self.plan.input_columns, counted, _own_filter(self.call), reading)


@dataclass(frozen=True, slots=True)
class _UserStateMaker:
    plan: AggState
    call: AggCall

    def __call__(self, transaction: EpochTransaction) -> StatefulCall:
        table = transaction.state_table(self.plan.table)
        return UserStateCall(self.call.definition, self.call.args, _own_filter(self.call), table)


def _state_call(call: AggCall, state: AggState, from_partials: bool) -> Callable[[EpochTransaction], StatefulCall]:
    if state.materialized_input:
        return _MaterializedInputMaker(state, call)
    if call.definition:
        return _UserStateMaker(state, call)
    kept = value_state(call.function, state.argument_types, call.type)
    return _ValueCallMaker(state, kept, PartialInput(call.args) if from_partials else _value_input(call))


def _value_input(call: AggCall) -> ValueInput:
    return ValueInput(call.args, _own_filter(call))


def _own_filter(call: AggCall) -> int | None:
    """The filter that the call itself applies. A distinct call has none: the dedup table has filtered its rows."""
    return None if call.distinct else call.filter
