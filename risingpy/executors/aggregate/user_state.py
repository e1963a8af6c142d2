"""Users' aggregates in Python: with one state per group, or over all rows of a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.aggregate.calls import InputByGroup, Mask, Results
from risingpy.functions.aggregate.ordered import GroupFunction, Integers
from risingpy.functions.python import call_worker
from risingpy.functions.topics.python_functions import fold
from risingpy.storage.engine.state_table import StateTable


class UserStateCall:
    """`group key → pickled state`, of an aggregate that can retract rows or whose input never does."""

    def __init__(self, definition: str, arguments: tuple[int, ...], filter: int | None, table: StateTable) -> None:
        self._definition = definition
        self._arguments = arguments
        self._filter = filter
        self._table = table
        self._new: list[pa.Array] = []

    def update(self, rows: InputByGroup) -> Results:
        _, stored = self._table.get_rows(rows.groups.keys)
        given = [pa.array(rows.groups.codes), pa.array(rows.ops), *(rows.columns[k] for k in self._arguments)]
        changes = pa.record_batch(given, names=[f"a{k}" for k in range(len(given))])
        if self._filter is not None:
            changes = changes.filter(rows.columns[self._filter].fill_null(False))
        states = pa.record_batch(stored, names=["state"])
        answer, (changed,) = call_worker("change", self._definition, [states, changes])
        new_state, old, new = changed.columns
        self._new = [new_state]
        return Results(old, new, int(answer["errors"]))

    def store(self, keys: Sequence[pa.Array], keep: Mask) -> None:
        self._table.apply(np.where(keep, 1, -1).astype(np.int8), [*keys, *self._new])


def group_function_of(definition: str) -> GroupFunction:
    """The aggregate over all rows of each group."""

    def folded(owners: Integers, groups: int, columns: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        sizes = pa.array(np.bincount(owners, minlength=groups).astype(np.int64))
        return fold(definition, sizes, columns, tolerant=True)

    return folded
