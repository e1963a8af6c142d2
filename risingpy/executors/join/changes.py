"""An epoch's changes of both sides of a join, by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, Ops, columns_of, ops_of
from risingpy.executors.join.keys import can_match, canonical_keys, number_keys
from risingpy.executors.join.side import Changed, JoinedSide, SideLayout, SideRows
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType

Alone = Callable[[int, int, SideRows], None]  # gets the rows that cannot match: op, side (0 left, 1 right), rows


@dataclass(frozen=True, slots=True)
class JoinSides:
    """Both sides, left and right, with their tables in this epoch."""

    layouts: tuple[SideLayout, SideLayout]
    key_types: Sequence[SqlType]
    null_safe: Sequence[bool]
    tables: tuple[StateTable, StateTable]
    degrees: tuple[StateTable | None, StateTable | None]

    def changed(self, inputs: Sequence[pa.Table], alone: Alone) -> tuple[JoinedSide, JoinedSide]:
        """The sides with their changes. Rows that cannot match are not among them: they are passed to `alone`."""
        left, right = (self._matchable(side, chunk, alone) for side, chunk in enumerate(inputs))
        keys, *codes = number_keys(left.key, right.key, self.key_types, (len(left.ops), len(right.ops)))
        joined = []
        for side, changes in enumerate((left, right)):
            rows = SideRows(changes.columns, codes[side])
            went, came = (Changed.of(rows.take(changes.ops == op), keys.number) for op in (DELETE, INSERT))
            joined.append(JoinedSide(self.layouts[side], self.tables[side], self.degrees[side], keys, went, came))
        return joined[0], joined[1]

    def _matchable(self, side: int, chunk: pa.Table, alone: Alone) -> _Changes:
        columns, ops = columns_of(chunk), ops_of(chunk)
        key = canonical_keys([columns[i] for i in self.layouts[side].key], self.key_types)
        matchable = can_match(key, self.null_safe, len(ops))
        if matchable.all():
            return _Changes(columns, ops, key)
        unmatched = SideRows(columns, np.zeros(len(ops), np.int64)).take(~matchable)
        for op in (DELETE, INSERT):
            alone(op, side, unmatched.take(ops[~matchable] == op))
        kept = pa.array(matchable)
        return _Changes([c.filter(kept) for c in columns], ops[matchable], [c.filter(kept) for c in key])


@dataclass(frozen=True, slots=True)
class _Changes:
    """A side's changes; `key` are the join key's columns in their canonical form."""

    columns: list[pa.Array]
    ops: Ops
    key: list[pa.Array]
