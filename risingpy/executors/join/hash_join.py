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

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT
from risingpy.executors.join.changes import JoinSides
from risingpy.executors.join.output import JoinOutput, JoinShape
from risingpy.executors.join.side import JoinedSide, Rows


class HashJoinExecutor:
    """`errors`: conditions that failed; they count as false."""

    def __init__(self, *, shape: JoinShape, sides: JoinSides, empty: pa.Table) -> None:
        self._output = JoinOutput(shape)
        self._sides = sides
        self._empty = empty
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        left, right = self._sides.changed(inputs, self._alone)
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

    def _alone(self, op: int, side: int, rows: Rows) -> None:
        self._output.show_all(op, side, rows, np.zeros(len(rows), np.int64))

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
