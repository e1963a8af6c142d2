"""LocalAgg, HashAgg and SimpleAgg of a few rows: calls of count and sum, whose states are a number or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.executors.aggregate.calls import PartialInput, ValueInput
from risingpy.executors.change_chunk import DELETE, INSERT
from risingpy.executors.epoch.operator_tree import FragmentEpoch, NotFew
from risingpy.executors.few_rows.chunk import FewRows, OpRow
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.codec.python_rows import KeyWriter, LongRow
from risingpy.storage.codec.python_values import PythonRow
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.codec.value_encoding import VERSION_BYTE
from risingpy.storage.engine.state_table import StateTable

State: TypeAlias = Any  # of a call: what `FewState` says

_LOW = (1 << 128) - 1
_VERSION, _THERE = bytes((VERSION_BYTE,)), b"\1"


class FewState(Protocol):
    """One aggregate function, as a `ValueState` has it, of a state in Python.

    `columns` of a state are those of its table and of a LocalAgg's output; `of_columns` reads them.
    """

    @property
    def empty(self) -> State: ...

    def added(self, state: State, op: int, argument: Any) -> State:
        """The state with a row that comes or goes, whose argument, if the function has one, is not NULL."""
        ...

    def plus(self, state: State, other: State) -> State: ...

    def columns(self, state: State) -> tuple[int, ...]: ...

    def of_columns(self, columns: Sequence[Any]) -> State: ...

    def result(self, state: State) -> Any:
        """The result; None for NULL, also if it is too large for its type."""
        ...

    def is_too_large(self, state: State) -> bool: ...


@dataclass(frozen=True, slots=True)
class FewCount:
    """`value_state.Count`."""

    empty: int = 0

    def added(self, state: int, op: int, argument: Any) -> int:
        return state + op

    def plus(self, state: int, other: int) -> int:
        return state + other

    def columns(self, state: int) -> tuple[int, ...]:
        return (state,)

    def of_columns(self, columns: Sequence[Any]) -> int:
        return columns[0] or 0

    def result(self, state: int) -> int:
        return state

    def is_too_large(self, state: int) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class FewSum:
    """`sums.ExactSum`: the sum, and how many rows it is of. `limit`: the least number too large for the result."""

    wide: bool
    limit: int
    least: int
    empty: tuple[int, int] = (0, 0)

    def added(self, state: tuple[int, int], op: int, argument: int) -> tuple[int, int]:
        return state[0] + op * argument, state[1] + op

    def plus(self, state: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        return state[0] + other[0], state[1] + other[1]

    def columns(self, state: tuple[int, int]) -> tuple[int, ...]:
        total, count = state
        low = total & _LOW
        signed = low - _LOW - 1 if low >> 127 else low
        return (signed, total >> 128, count) if self.wide else (signed, count)

    def of_columns(self, columns: Sequence[Any]) -> tuple[int, int]:
        low, count = columns[0] or 0, columns[-1] or 0
        return ((low & _LOW) + ((columns[1] or 0) << 128) if self.wide else low), count

    def result(self, state: tuple[int, int]) -> int | None:
        total, count = state
        return total if count and self.least <= total < self.limit else None

    def is_too_large(self, state: tuple[int, int]) -> bool:
        return bool(state[1]) and not self.least <= state[0] < self.limit


class StateCodec:
    """The values of a state table as `value_encoding` has them, of integers of these widths in bytes."""

    def __init__(self, widths: Sequence[int]) -> None:
        self._widths = widths
        starts = list(accumulate((1 + width for width in widths), initial=1))
        self._tags = starts[:-1]
        self._places = [(start + 1, start + 1 + width) for start, width in zip(self._tags, widths, strict=True)]
        self._length = starts[-1]

    def encode(self, columns: Sequence[int]) -> bytes:
        parts = [_VERSION]
        for value, width in zip(columns, self._widths, strict=True):
            parts += (_THERE, value.to_bytes(width, "little", signed=True))
        return b"".join(parts)

    def decode(self, stored: bytes) -> list[int]:
        """NotFew if a column is NULL, which none is, or it is no such value: that is a matter of columns."""
        if (
            len(stored) != self._length
            or stored[0] != VERSION_BYTE
            or not all([stored[tag] == 1 for tag in self._tags])
        ):
            raise NotFew
        return [int.from_bytes(stored[start:end], "little", signed=True) for start, end in self._places]


@dataclass(frozen=True, slots=True)
class FewCall:
    """One call: its state, and `added`, which gives the state with a row of the input and its sign."""

    state: FewState
    added: Callable[[State, int, PythonRow], State]

    @classmethod
    def of(cls, state: FewState, read: ValueInput | PartialInput) -> FewCall:
        return cls(state, _of_partials(state, read) if isinstance(read, PartialInput) else _of_rows(state, read))


def _of_partials(state: FewState, read: PartialInput) -> Callable[[State, int, PythonRow], State]:
    """A partial change has its sign in itself."""
    columns = read.columns
    return lambda before, op, row: state.plus(before, state.of_columns([row[column] for column in columns]))


def _of_rows(state: FewState, read: ValueInput) -> Callable[[State, int, PythonRow], State]:
    filter_, argument = read.filter, read.arguments[0] if read.arguments else None

    def added(before: State, op: int, row: PythonRow) -> State:
        if filter_ is not None and not row[filter_]:
            return before
        if argument is None:
            return state.added(before, op, None)
        value = row[argument]
        return before if value is None else state.added(before, op, value)

    return added


class _Groups:
    """The groups of some rows, in the order in which they appear, and which of them each row is of."""

    def __init__(self, rows: list[OpRow], group_key: Sequence[int]) -> None:
        places: dict[PythonRow, int] = {}
        self.members = [
            (places.setdefault(tuple([row[column] for column in group_key]), len(places)), op, row) for op, row in rows
        ]
        self.keys = list(places)

    def added(self, call: FewCall, states: list[State]) -> list[State]:
        """The states of a call, one for each group, with the rows."""
        states = states.copy()
        for place, op, row in self.members:
            states[place] = call.added(states[place], op, row)
        return states


@dataclass(frozen=True, slots=True)
class FewLocalAgg:
    """Merges the rows into one partial state change per group, as `LocalAggExecutor` does."""

    group_key: Sequence[int]
    calls: Sequence[FewCall]
    types: Sequence[pa.DataType]

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        (changes,) = inputs
        groups = _Groups(changes.rows, self.group_key)
        rows = groups.keys
        for call in self.calls:
            states = groups.added(call, [call.state.empty] * len(rows))
            rows = [row + call.state.columns(state) for row, state in zip(rows, states, strict=True)]
        counts = [0] * len(rows)
        for place, op, _ in groups.members:
            counts[place] += op
        return FewRows(self.types, [(INSERT, (*row, count)) for row, count in zip(rows, counts, strict=True)])


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A call of a HashAgg, with its state table."""

    call: FewCall
    table: TableSchema
    codec: StateCodec
    prefix: bytes

    @classmethod
    def of(cls, call: FewCall, table: TableSchema, widths: Sequence[int]) -> StoredCall:
        return cls(call, table, StateCodec(widths), table_prefix(table.table_id))


class _Updated(NamedTuple):  # which is made in a third of a frozen dataclass's time
    """One call's states of each group: as they are stored, and the results before and after."""

    stored: Sequence[bytes | None]
    new: Sequence[State]
    before: Sequence[Any]
    after: Sequence[Any]


@dataclass(frozen=True, slots=True)
class FewHashAgg:
    """Keeps one result per call and group, as `HashAggExecutor` does.

    Or, as `SimpleAggExecutor`, one row: without a group key, all rows are of one group, which is always there.
    """

    group_key: Sequence[int]
    keys: KeyWriter
    calls: Sequence[StoredCall]
    row_count: int
    types: Sequence[pa.DataType]

    def __call__(self, epoch: FragmentEpoch, inputs: Sequence[FewRows]) -> FewRows:
        (changes,) = inputs
        if not changes.rows:  # the one group of a SimpleAgg is made in the first epoch, even then
            raise NotFew
        groups = _Groups(changes.rows, self.group_key)
        try:
            keys = [self.keys.write(group) for group in groups.keys]
        except LongRow as error:
            raise NotFew from error
        tables = [epoch.transaction.state_table(call.table) for call in self.calls]
        # Nothing is written before all is known: NotFew must not leave half of it.
        updated = [_updated(call, table, groups, keys) for call, table in zip(self.calls, tables, strict=True)]
        counter = updated[self.row_count]
        if min(counter.after) < 0:
            raise InternalError("more rows of a group were deleted than inserted")
        existed = [value is not None for value in counter.stored]
        exists = [count > 0 or not self.group_key for count in counter.after]
        for call, table, each in zip(self.calls, tables, updated, strict=True):
            encode, columns, prefix = call.codec.encode, call.call.state.columns, call.prefix
            for key, stays, stored, state in zip(keys, exists, each.stored, each.new, strict=True):
                table.put_stored(prefix + key, encode(columns(state)) if stays else None, stored)
        epoch.errors += _too_large(self.calls, updated)
        return FewRows(self.types, _changed(groups.keys, updated, existed, exists))


def _updated(call: StoredCall, table: StateTable, groups: _Groups, keys: list[bytes]) -> _Updated:
    state, decode, prefix = call.call.state, call.codec.decode, call.prefix
    stored = table.get_stored([prefix + key for key in keys])
    old = [state.empty if value is None else state.of_columns(decode(value)) for value in stored]
    new = groups.added(call.call, old)
    return _Updated(stored, new, [state.result(each) for each in old], [state.result(each) for each in new])


def _too_large(calls: Sequence[StoredCall], updated: Sequence[_Updated]) -> int:
    """How many of the new results are NULL because they are too large."""
    return sum(
        after is None and call.call.state.is_too_large(state)
        for call, each in zip(calls, updated, strict=True)
        for state, after in zip(each.new, each.after, strict=True)
    )


def _changed(
    groups: list[PythonRow], updated: Sequence[_Updated], existed: Sequence[bool], exists: Sequence[bool]
) -> list[OpRow]:
    """-1 of the old and +1 of the new row, for groups that came, went, or whose results changed."""
    gone: list[OpRow] = []
    came: list[OpRow] = []
    for number, (group, was, stays) in enumerate(zip(groups, existed, exists, strict=True)):
        old = (*group, *[each.before[number] for each in updated])
        new = (*group, *[each.after[number] for each in updated])
        if old == new and was == stays:
            continue
        if was:
            gone.append((DELETE, old))
        if stays:
            came.append((INSERT, new))
    return gone + came
