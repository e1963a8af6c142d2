"""Makes the calls of aggregation executors from the plan's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from risingpy.errors import InternalError
from risingpy.executors.aggregate.calls import Call, MaterializedInputCall, PartialInput, ValueCall, ValueInput
from risingpy.executors.aggregate.functions import value_state
from risingpy.executors.aggregate.layout import AggregateCall, partial_types
from risingpy.executors.aggregate.value_state import ValueState
from risingpy.executors.local_agg import LocalCall
from risingpy.storage.shard_store import EpochTransaction
from risingpy.storage.table_schema import TableSchema
from risingpy.types import SqlType


class PlannedCall(AggregateCall, Protocol):
    """The planner's AggCall."""

    @property
    def type(self) -> SqlType: ...
    @property
    def distinct(self) -> bool: ...
    @property
    def filter(self) -> int | None: ...


class PlannedState(Protocol):
    """The planner's AggState."""

    @property
    def table(self) -> TableSchema: ...
    @property
    def materialized_input(self) -> bool: ...
    @property
    def input_columns(self) -> tuple[int, ...]: ...


def local_calls(calls: Sequence[PlannedCall], input_types: Sequence[SqlType]) -> list[LocalCall]:
    """The calls of a LocalAgg."""
    return [
        LocalCall(value_state(call.function, partial_types(call, input_types), call.type), _value_input(call))
        for call in calls
    ]


def state_calls(
    calls: Sequence[PlannedCall], states: Sequence[PlannedState], *, from_partials: bool
) -> Callable[[EpochTransaction], list[Call]]:
    """The calls of a HashAgg or a SimpleAgg, given the epoch's transaction."""
    makers = [_state_call(call, state, from_partials) for call, state in zip(calls, states, strict=True)]
    return lambda transaction: [make(transaction) for make in makers]


@dataclass(frozen=True, slots=True)
class _ValueCallMaker:
    plan: PlannedState
    state: ValueState
    input: ValueInput | PartialInput

    def __call__(self, transaction: EpochTransaction) -> Call:
        return ValueCall(self.state, self.input, transaction.state_table(self.plan.table))


@dataclass(frozen=True, slots=True)
class _MaterializedInputMaker:
    plan: PlannedState
    call: PlannedCall

    def __call__(self, transaction: EpochTransaction) -> Call:
        columns = self.plan.input_columns
        argument = self.plan.table.read_prefix  # the column behind the group key
        return MaterializedInputCall(
            transaction.state_table(self.plan.table), columns, argument, self.call.filter
        )


def _state_call(call: PlannedCall, state: PlannedState, from_partials: bool) -> Callable[[EpochTransaction], Call]:
    if call.distinct:
        raise InternalError("DISTINCT aggregates do not stream")
    if state.materialized_input:
        return _MaterializedInputMaker(state, call)
    types = tuple(state.table.columns[index].type for index in state.table.value_columns)
    kept = value_state(call.function, types, call.type)
    return _ValueCallMaker(state, kept, PartialInput(call.args) if from_partials else _value_input(call))


def _value_input(call: PlannedCall) -> ValueInput:
    return ValueInput(call.args[0] if call.args else None, call.filter)
