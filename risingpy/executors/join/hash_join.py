"""HashJoin: joins two inputs by key, and by a further condition if there is one.

Let −X be the rows of a side that go in the epoch, +X those that come, and X those that stay:

    pairs that go      −L ⋈ (R ∪ −R)  ∪  L ⋈ −R
    pairs that come    +L ⋈ (R ∪ +R)  ∪  L ⋈ +R

No pair is in both, so the output is consolidated without a further pass. Of the rows that stay, the join reads only
those whose key is among the other side's changes.

Outer, semi and anti joins also give a row by itself, if it has no match (a semi join: if it has one). So they need each
row's number of matches before and after the epoch. For rows that come or go, the join counts their pairs as it makes
them. A row that stays meets only the other side's changes, so a degree table stores its number of matches, and the
epoch corrects that number by the matches that go and come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT
from risingpy.executors.join.changes import JoinSides
from risingpy.executors.join.output import JoinOutput, JoinShape
from risingpy.executors.join.side import JoinedSide, SideRows


class HashJoinExecutor:
    """`errors` counts the conditions that failed; a failed condition counts as false."""

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

    def _alone(self, op: int, side: int, rows: SideRows) -> None:
        self._output.show_all(op, side, rows, np.zeros(len(rows), np.int64))

    def _meet_kept(self, side: int, own: JoinedSide, other: JoinedSide) -> None:
        """Joins the rows of a side that stay with the other side's changes."""
        codes = np.concatenate([other.went.rows.codes, other.came.rows.codes])
        for rows in own.kept_rows(codes):
            lost = self._output.meet(DELETE, side, rows, other.went)
            won = self._output.meet(INSERT, side, rows, other.came)
            # A side has no degree table if its rows never come out by themselves, or if the other side has at most one
            # row per key. Then `lost` and `won` are themselves the numbers of matches of each row that they change.
            if own.degrees is None:
                self._output.show_changes(side, rows, lost, won)
            else:
                before = own.stored_degrees(rows)
                after = before - lost + won
                changed = before != after
                own.note_degrees(rows.take(changed), after[changed])
                self._output.show_changes(side, rows, before, after)
