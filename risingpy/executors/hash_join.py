"""HashJoin: joins two inputs by key, with a condition beside it.

With −X and +X for the rows of a side that go and come in the epoch, and X for those that stay:

    pairs that go      −L ⋈ (R ∪ −R)  ∪  L ⋈ −R
    pairs that come    +L ⋈ (R ∪ +R)  ∪  L ⋈ +R

No pair is in both, so the output is consolidated as it is made. Of the rows that stay only those are read whose key
is among the other side's changes. Where rows show whether they have a match (outer, semi and anti joins), the numbers
of matches before and after decide; of rows that stay, the number before is their stored degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, Ops, columns_of, ops_of
from risingpy.executors.join.keys import can_match, canonical_keys, number_keys
from risingpy.executors.join.output import JoinOutput, JoinShape
from risingpy.executors.join.side import Changed, JoinedSide, Rows, SideLayout
from risingpy.storage.state_table import StateTable
from risingpy.types import SqlType


class HashJoinExecutor:
    """`tables` and `degrees` are the left and the right side's.

    `errors`: conditions that failed; they count as false.
    """

    def __init__(
        self,
        *,
        shape: JoinShape,
        layouts: tuple[SideLayout, SideLayout],
        key_types: Sequence[SqlType],
        null_safe: Sequence[bool],
        tables: tuple[StateTable, StateTable],
        degrees: tuple[StateTable | None, StateTable | None],
        empty: pa.Table,
    ) -> None:
        self._output = JoinOutput(shape)
        self._layouts = layouts
        self._key_types = key_types
        self._null_safe = null_safe
        self._tables = tables
        self._degrees = degrees
        self._empty = empty
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        left, right = self._sides(inputs)
        self._meet_kept(0, left, right)
        self._meet_kept(1, right, left)
        left.went.matches += self._output.meet(DELETE, 0, left.went.rows, right.went)
        left.came.matches += self._output.meet(INSERT, 0, left.came.rows, right.came)
        for side, joined in enumerate((left, right)):
            self._output.show_all(DELETE, side, joined.went.rows, joined.went.matches)
            self._output.show_all(INSERT, side, joined.came.rows, joined.came.matches)
            joined.write()
        self.errors = self._output.errors
        return self._output.chunk(self._empty)

    def _sides(self, inputs: Sequence[pa.Table]) -> tuple[JoinedSide, JoinedSide]:
        """Both sides with their changes, less the rows that cannot match, which are dealt with here."""
        left, right = (self._matchable(side, chunk) for side, chunk in enumerate(inputs))
        keys, *codes = number_keys(left.key, right.key, self._key_types, (len(left.ops), len(right.ops)))
        joined = []
        for side, changes in enumerate((left, right)):
            rows = Rows(changes.columns, codes[side])
            went, came = (Changed.of(rows.take(changes.ops == op), keys.number) for op in (DELETE, INSERT))
            joined.append(JoinedSide(self._layouts[side], self._tables[side], self._degrees[side], keys, went, came))
        return joined[0], joined[1]

    def _matchable(self, side: int, chunk: pa.Table) -> _Changes:
        columns, ops = columns_of(chunk), ops_of(chunk)
        key = canonical_keys([columns[i] for i in self._layouts[side].key], self._key_types)
        matchable = can_match(key, self._null_safe, len(ops))
        if matchable.all():
            return _Changes(columns, ops, key)
        alone = Rows(columns, np.zeros(len(ops), np.int64)).take(~matchable)
        for op in (DELETE, INSERT):
            rows = alone.take(ops[~matchable] == op)
            self._output.show_all(op, side, rows, np.zeros(len(rows), np.int64))
        kept = pa.array(matchable)
        return _Changes([c.filter(kept) for c in columns], ops[matchable], [c.filter(kept) for c in key])

    def _meet_kept(self, side: int, own: JoinedSide, other: JoinedSide) -> None:
        """Joins the rows of a side that stay with the other side's changes."""
        codes = np.concatenate([other.went.rows.codes, other.came.rows.codes])
        for rows in own.kept_rows(codes):
            lost = self._output.meet(DELETE, side, rows, other.went)
            won = self._output.meet(INSERT, side, rows, other.came)
            if own.degrees is None:  # then, if it matters at all, the other side has but one row per key
                self._output.show_changes(side, rows, lost, won)
            else:
                before = own.stored_degrees(rows)
                after = before - lost + won
                changed = before != after
                own.note_degrees(rows.take(changed), after[changed])
                self._output.show_changes(side, rows, before, after)


@dataclass(frozen=True, slots=True)
class _Changes:
    """A side's changes; `key` are the join key's columns in their canonical form."""

    columns: list[pa.Array]
    ops: Ops
    key: list[pa.Array]
