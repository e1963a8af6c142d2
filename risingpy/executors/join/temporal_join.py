"""TemporalJoin: joins a left row that comes with the rows that a table has for it now.

Later changes of the table do not change the result. So a left row that goes must retract the pairs that it once made,
which the table may no longer give: the memo stores them, unless the left input only grows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, ops_of
from risingpy.executors.join.keys import can_match, canonical_keys, number_keys
from risingpy.executors.join.output import JoinOutput, JoinShape
from risingpy.executors.join.side import ROWS_PER_PAGE, Changed, SideRows
from risingpy.functions.aggregate.grouping import group_by
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]


class TemporalJoinExecutor:
    """Gives `columns` of `table`, found by `left_key`. `memo` stores pairs by the left columns `memo_columns`.

    With `matched`, positions among `columns`, all rows of the table are read, and those meet a left row whose columns
    there equal its `left_key`; `key_types` are the types of both.

    `errors` counts the conditions that failed; a failed condition counts as false.
    """

    def __init__(
        self,
        *,
        shape: JoinShape,
        table: StateTable,
        columns: Sequence[int],
        left_key: Sequence[int],
        key_types: Sequence[SqlType],
        memo: StateTable | None,
        memo_columns: Sequence[int],
        empty: pa.Table,
        matched: Sequence[int] | None = None,
    ) -> None:
        self._output = JoinOutput(shape)
        self._table = table
        self._columns = columns
        self._left_key = left_key
        self._key_types = key_types
        self._memo = memo
        self._memo_columns = memo_columns
        self._empty = empty
        self._matched = matched
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        rows, ops = SideRows(columns_of(changes), np.zeros(changes.num_rows, np.int64)), ops_of(changes)
        self._take_back(rows.take(ops == DELETE))
        came = rows.take(ops == INSERT)
        if self._matched is None:
            self._look_up(came)
        elif len(came):
            self._meet_all(came, self._matched)
        self.errors = self._output.errors
        return self._output.chunk(self._empty)

    def _look_up(self, rows: SideRows) -> None:
        key = canonical_keys([rows.columns[i] for i in self._left_key], self._key_types)
        matchable = can_match(key, [False] * len(key), len(rows))
        self._output.show_all(INSERT, 0, rows.take(~matchable), np.zeros(int((~matchable).sum()), np.int64))
        rows = rows.take(matchable)
        groups = group_by([column.filter(pa.array(matchable)) for column in key], self._key_types, len(rows))
        rows = SideRows(rows.columns, groups.codes)
        if not len(rows):
            return
        matches = np.zeros(len(rows), np.int64)
        given = len(self._output.pieces)
        for owners, columns in self._table.scan_prefix_pages(groups.keys, ROWS_PER_PAGE):
            found = Changed.of(SideRows([columns[i] for i in self._columns], owners), groups.number)
            matches += self._output.meet(INSERT, 0, rows, found)
        self._remember(self._output.pieces[given:])
        self._output.show_all(INSERT, 0, rows, matches)

    def _meet_all(self, rows: SideRows, matched: Sequence[int]) -> None:
        """Joins the rows with all of the table that is on this shard, a page at a time."""
        types, none_safe = self._key_types, [False] * len(matched)
        own = canonical_keys([rows.columns[i] for i in self._left_key], types)
        own_can = can_match(own, none_safe, len(rows))
        for count, columns in self._table.scan_pages(ROWS_PER_PAGE):
            found = [columns[i] for i in self._columns]
            other = canonical_keys([found[i] for i in matched], types)
            # The numbers of keys are those of this page: a page has few keys beside those of the left rows.
            keys, left, right = number_keys(own, other, types, (len(rows), count))
            right_can = can_match(other, none_safe, count)
            met = Changed.of(SideRows(found, right).take(right_can), keys.number)
            given = len(self._output.pieces)
            self._output.meet(INSERT, 0, SideRows(rows.columns, left).take(own_can), met)
            self._remember(self._output.pieces[given:])

    def _take_back(self, rows: SideRows) -> None:
        if not len(rows):
            return
        assert self._memo is not None, "a row was taken back from an input that only grows"
        prefix = [rows.columns[i] for i in self._memo_columns]
        rows = SideRows(rows.columns, np.arange(len(rows)))
        matches = np.zeros(len(rows), np.int64)
        forgotten = []
        for owners, columns in self._memo.scan_prefix_pages(prefix, ROWS_PER_PAGE):
            matches += self._output.give_pairs(DELETE, rows, owners, columns[len(prefix) :])
            forgotten.append(columns)
        self._output.show_all(DELETE, 0, rows, matches)
        for columns in forgotten:
            self._memo.apply_changes(np.full(len(columns[0]), DELETE, np.int8), columns)

    def _remember(self, pieces: Sequence[pa.Table]) -> None:
        """Stores the pairs that the inserted rows have made."""
        if self._memo is None:
            return
        width = self._output.shape.left_width
        for piece in pieces:
            found = columns_of(piece)
            kept = [found[i] for i in self._memo_columns] + found[width:]
            self._memo.apply_changes(np.full(len(kept[0]), INSERT, np.int8), kept)
