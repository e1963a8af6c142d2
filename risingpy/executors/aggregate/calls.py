"""An aggregate's calls in one epoch: they compute each group's change, and update the states.

`ValueCall` keeps one state value per group: enough for count, sum and avg, whose states can be subtracted from. A min
cannot: once its row is retracted, the next one is not in the state. `materialized_input` and `distinct` keep more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.grouping import GroupedRows, Groups
from risingpy.functions.aggregate.value_state import ValueState
from risingpy.storage.engine.state_table import StateTable

Mask = npt.NDArray[np.bool_]
Ops = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Results:
    """One call's results before and after the epoch, a value per group; `errors` of the new ones failed (NULL)."""

    old: pa.Array
    new: pa.Array
    errors: int = 0


@dataclass(frozen=True, slots=True)
class InputByGroup:
    """An input chunk by group: `columns` are the input's, with the group columns in canonical form."""

    groups: Groups
    ops: Ops
    columns: Sequence[pa.Array]


class StatefulCall(Protocol):
    """A call with its state table."""

    def update(self, rows: InputByGroup) -> Results:
        """Applies `rows`, and returns each group's result before and after them. At most once per epoch and call."""
        ...

    def store(self, keys: Sequence[pa.Array], keep: Mask) -> None:
        """Writes the states of the groups in `keep` and deletes those of the others, after `update`."""
        ...


@dataclass(frozen=True, slots=True)
class ValueInput:
    """Which columns of the input a value-state call reads: its arguments (none: count(*)) and its filter."""

    arguments: tuple[int, ...]
    filter: int | None

    def partials(self, state: ValueState, rows: InputByGroup) -> list[pa.Array]:
        """The change of each group's state."""
        grouped = GroupedRows(rows.groups.codes, rows.ops, rows.groups.number)
        arguments = [rows.columns[argument] for argument in self.arguments]
        if self.filter is not None:
            passed = rows.columns[self.filter].fill_null(False)
            mask = passed.to_numpy(zero_copy_only=False)
            if not mask.all():
                grouped = grouped.select(mask)
                arguments = [argument.filter(passed) for argument in arguments]
        return state.accumulate(grouped, arguments)


@dataclass(frozen=True, slots=True)
class PartialInput:
    """The columns of a LocalAgg's output that hold a call's partial state changes."""

    columns: tuple[int, ...]

    def partials(self, state: ValueState, rows: InputByGroup) -> list[pa.Array]:
        """The change of each group's state: its partial changes merged."""
        parts = [rows.columns[k] for k in self.columns]
        if len(rows.ops) == rows.groups.number:  # one row per group, and groups are numbered by first appearance
            return parts
        return state.merge(rows.groups.codes, rows.groups.number, parts)


class ValueCall:
    """`group key → state`. After `update`, `existed` says which groups had a state before."""

    def __init__(self, state: ValueState, input: ValueInput | PartialInput, table: StateTable) -> None:
        self._state = state
        self._input = input
        self._table = table
        self.existed: Mask = np.empty(0, np.bool_)
        self._new: list[pa.Array] = []

    def update(self, rows: InputByGroup) -> Results:
        changes = self._input.partials(self._state, rows)
        self.existed, stored = self._table.get_rows(rows.groups.keys)
        self._new = self._state.plus(stored, changes) if self.existed.any() else changes
        old, _ = self._state.result(stored)
        new, errors = self._state.result(self._new)
        return Results(old, new, errors)

    def store(self, keys: Sequence[pa.Array], keep: Mask) -> None:
        self._table.apply(np.where(keep, 1, -1).astype(np.int8), [*keys, *self._new])
