"""TopN: gives the rows of each group that an ORDER BY … OFFSET … LIMIT selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, deletes_first, make_chunk, ops_of
from risingpy.executors.ordered.ordered_rows import KeyedRows, match_rows, same_as_before
from risingpy.functions.aggregate.grouping import Groups, canonical_column, group_by
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Window:
    """The positions from `offset` to `offset + limit` (None: to the end), with the last one's ties if `with_ties`."""

    offset: int
    limit: int | None
    with_ties: bool

    @property
    def reach(self) -> int:
        """How many leading rows of a group decide which rows are inside."""
        return self.offset + (self.limit or 0)


class TopNExecutor:
    """Output: the changes of the rows inside the window of their group.

    The table holds the whole group, because a deletion inside the window brings in the next row. If the input only
    grows (`append_only`), no row comes back in, and the table holds only the rows within the window's reach.
    `ordered` is the number of the table's key columns that are the group key and the order.
    """

    def __init__(
        self,
        *,
        table: StateTable,
        group_key: Sequence[int],
        group_types: Sequence[SqlType],
        ordered: int,
        window: Window,
        append_only: bool,
    ) -> None:
        self._table = table
        self._group_key = group_key
        self._group_types = group_types
        self._key = [column.index for column in table.schema.key]
        self._ordered = self._key[:ordered]
        self._window = window
        self._append_only = append_only

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = deletes_first(inputs[0])
        ops, columns = ops_of(changes), columns_of(changes)
        for index, type_ in zip(self._group_key, self._group_types, strict=True):
            columns[index] = canonical_column(columns[index], type_)
        groups = group_by([columns[k] for k in self._group_key], self._group_types, len(ops))
        stored = self._leading_rows(groups, ops)
        rows = match_rows(self._table.schema, stored, columns, ops, groups.codes)
        was, _ = self._inside(rows, rows.old >= 0)
        is_, kept = self._inside(rows, rows.new >= 0)
        self._write(rows, kept, ops, columns)
        return self._difference(rows, was, is_)

    def _leading_rows(self, groups: Groups, ops: npt.NDArray[np.int8]) -> pa.Table:
        """The stored rows at the head of each group; a row may be in the result twice."""
        # An epoch that deletes d rows of a group moves at most d rows up into the window. So the first reach + d stored
        # rows decide the window before and after: once the deleted ones are out, they still fill the reach, or they
        # are the whole group. With ties, all rows equal to the last of these are needed as well.
        if self._append_only and self._window.with_ties:
            return self._table.scan_prefix(groups.keys)
        deleted = np.bincount(groups.codes[ops == DELETE], minlength=groups.number)
        limits = self._window.reach + deleted
        rows = self._table.scan_prefix(groups.keys, limits)
        if not self._window.with_ties or not rows.num_rows:
            return rows
        owners = whole(rows.column("_prefix")).to_numpy()
        last = np.flatnonzero(np.append(owners[1:] != owners[:-1], True))
        counts = np.bincount(owners, minlength=groups.number)
        last = last[counts[owners[last]] == limits[owners[last]]]  # other groups have been read to their end
        if not len(last):
            return rows
        ends = rows.take(pa.array(last))
        ties = self._table.scan_prefix([whole(ends.column(k)) for k in self._ordered])
        of_group = owners[last][whole(ties.column("_prefix")).to_numpy()]
        ties = ties.set_column(ties.num_columns - 1, "_prefix", pa.array(of_group, pa.int64()))
        return pa.concat_tables([rows, ties])

    def _inside(self, rows: KeyedRows, present: Mask) -> tuple[Mask, Mask]:
        """Which of the `present` keys are inside the window, and which are within its reach (ties included)."""
        positions = rows.positions(present)
        window = self._window
        within = present & (positions < window.reach)
        if window.with_ties:
            within = rows.with_ties(present, within & (positions == window.reach - 1), within, self._ordered)
        if window.limit is None:
            return present & (positions >= window.offset), within
        return within & (positions >= window.offset), within

    def _write(self, rows: KeyedRows, kept: Mask, ops: npt.NDArray[np.int8], columns: Sequence[pa.Array]) -> None:
        if not self._append_only:
            self._table.apply_changes(ops, columns)
            return
        gone = rows.old[(rows.old >= 0) & ~kept]
        come = rows.new[(rows.new >= rows.stored) & kept]
        written = np.concatenate([gone, come])
        signs = np.concatenate([np.full(len(gone), DELETE, np.int8), np.full(len(come), INSERT, np.int8)])
        self._table.apply_changes(signs, rows.take(written))

    def _difference(self, rows: KeyedRows, was: Mask, is_: Mask) -> pa.Table:
        same = was & is_
        same[same] = same_as_before(rows, np.flatnonzero(same))
        gone, come = rows.old[was & ~same], rows.new[is_ & ~same]
        signs = np.concatenate([np.full(len(gone), DELETE, np.int8), np.full(len(come), INSERT, np.int8)])
        return make_chunk(signs, rows.take(np.concatenate([gone, come])))
