"""Value states: they accumulate rows (`accumulate`) and other states (`merge`), and give a result.

States are columns with one row per group, of the types that `layout.state_types` gives. A state with NULL in all
columns is the empty state. Everything is exact, because a state must be able to retract what it has added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InternalError
from risingpy.functions.aggregate.append_only_extremes import group_extremes
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.kernels import add_integers, add_signs
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]


class ValueState(Protocol):
    """One aggregate function over one argument type."""

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        """The change of each group's state by `rows`; `arguments` has a column per argument."""
        ...

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        """The sum of the states of each group; `codes[i]` is the group of the i-th state."""
        ...

    def plus(self, states: Sequence[pa.Array], others: Sequence[pa.Array]) -> list[pa.Array]:
        """The sum of two states for each group, the empty one among them or not."""
        groups = len(others[0])
        both = [pa.concat_arrays([a, b]) for a, b in zip(states, others, strict=True)]
        return self.merge(np.concatenate([np.arange(groups)] * 2), groups, both)

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        """Each state's result, and how many failed (too large for the result's type) and are NULL."""
        ...


@dataclass(frozen=True, slots=True)
class Count(ValueState):
    """count(*) and count(x)."""

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        for argument in arguments:  # none for count(*)
            rows, _ = present(rows, argument)
        return [pa.array(signed_counts(rows))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [merged_integers(codes, groups, states[0])]

    def plus(self, states: Sequence[pa.Array], others: Sequence[pa.Array]) -> list[pa.Array]:
        return [pa.array(integers_of(states[0]) + integers_of(others[0]))]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        (count,) = states
        return count.fill_null(0) if count.null_count else count, 0


@dataclass(frozen=True, slots=True)
class BooleanState(ValueState):
    """bool_and and bool_or, as counts of true and of false."""

    function: str

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        is_true = argument.to_numpy(zero_copy_only=False).astype(bool)
        return [pa.array(signed_counts(rows.select(is_true))), pa.array(signed_counts(rows.select(~is_true)))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [merged_integers(codes, groups, state) for state in states]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        true, false = (integers_of(state) for state in states)
        value = false == 0 if self.function == "bool_and" else true > 0
        return pa.array(value, mask=true + false == 0), 0


@dataclass(frozen=True, slots=True)
class Extreme(ValueState):
    """min and max of an input that only grows."""

    function: str
    type: SqlType

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        if len(rows.signs) and rows.signs.min() < 0:
            raise InternalError(f"a row was taken back from an append-only {self.function}")
        return [group_extremes(rows.codes, rows.groups, arguments[0], self.type, self.function)]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [group_extremes(codes, groups, states[0], self.type, self.function)]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        return states[0], 0


def present(rows: GroupedRows, argument: pa.Array) -> tuple[GroupedRows, pa.Array]:
    """The rows whose argument is not NULL, and their arguments."""
    if argument.null_count == 0:
        return rows, argument
    valid = argument.is_valid()
    return rows.select(valid.to_numpy(zero_copy_only=False)), argument.filter(valid)


def signed_counts(rows: GroupedRows) -> Integers:
    """Rows inserted less rows deleted, per group."""
    counts = np.zeros(rows.groups, np.int64)
    add_signs(rows.codes, rows.signs, counts)
    return counts


def integers_of(column: pa.Array) -> Integers:
    """A bigint column with NULLs as 0."""
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


def merged_integers(codes: Integers, groups: int, column: pa.Array) -> pa.Array:
    """Sums of a bigint column per group."""
    sums = np.zeros(groups, np.int64)
    add_integers(codes, np.ones(len(codes), np.int8), integers_of(column), sums)
    return pa.array(sums)
