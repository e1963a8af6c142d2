"""AsOfJoin: joins each left row with the nearest right row of its key.

One right row that comes or goes can change the partner of many left rows. So the executor reads the stored right rows
of every key that changes on either side, and the stored left rows of every key that changes on the right.
It sorts both sides together by key and value, once with the right rows before the epoch and once with those after it.
In that order a left row's partner is the last right row before it, or the first one after it, according to the
comparison. A stored left row comes out only if the two partners differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.executors.join.changes import JoinSides
from risingpy.executors.join.side import JoinedSide, SideRows
from risingpy.functions.aggregate.grouping import canonical_column, encoded_rows
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.types import BIGINT, SMALLINT, SqlType

Integers = npt.NDArray[np.int64]
_NONE = -1  # the position of no partner


class AsOfJoinExecutor:
    """`left_column comparison right_column` is the inequality; both columns are of `value_type`.

    `right_types` are the types of all right columns. Of right rows with equal values, the nearest is the first by the
    columns `ties`, then by the stream key.
    """

    def __init__(
        self,
        *,
        sides: JoinSides,
        left_column: int,
        comparison: str,
        right_column: int,
        value_type: SqlType,
        right_types: Sequence[SqlType],
        ties: Sequence[int],
        is_outer: bool,
        empty: pa.Table,
    ) -> None:
        self._sides = sides
        self._left_column = left_column
        self._comparison = comparison
        self._right_column = right_column
        self._value_type = value_type
        self._right_types = right_types
        self._ties = ties
        self._is_outer = is_outer
        self._empty = empty
        self._pieces: list[pa.Table] = []

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        left, right = self._sides.changed(inputs, self._alone)
        codes = np.concatenate([side.rows.codes for joined in (left, right) for side in (joined.went, joined.came)])
        kept = [*right.kept_rows(codes)]
        before, after = _together([*kept, right.went.rows]), _together([*kept, right.came.rows])
        identities = _identities(right, before, after)
        self._give(DELETE, left.went.rows, before, self._nearest(left.went.rows, before, right))
        self._give(INSERT, left.came.rows, after, self._nearest(left.came.rows, after, right))
        for rows in left.kept_rows(np.concatenate([right.went.rows.codes, right.came.rows.codes])):
            old, new = self._nearest(rows, before, right), self._nearest(rows, after, right)
            changes = _identity(identities[0], old) != _identity(identities[1], new)
            self._give(DELETE, rows.take(changes), before, old[changes])
            self._give(INSERT, rows.take(changes), after, new[changes])
        left.write()
        right.write()
        return pa.concat_tables(self._pieces) if self._pieces else self._empty

    def _alone(self, op: int, side: int, rows: SideRows) -> None:
        """Gives the left rows whose key equals no other, because of a NULL."""
        if side == 0:
            self._give(op, rows, None, np.full(len(rows), _NONE, np.int64))

    def _nearest(self, rows: SideRows, partners: SideRows, right: JoinedSide) -> Integers:
        """The position in `partners` of each row's nearest, or _NONE."""
        nearest: Integers = np.full(len(rows), _NONE, np.int64)
        own = np.flatnonzero(rows.columns[self._left_column].is_valid().to_numpy(zero_copy_only=False))
        theirs = np.flatnonzero(partners.columns[self._right_column].is_valid().to_numpy(zero_copy_only=False))
        if not len(own) or not len(theirs):
            return nearest
        # The sort must place a right row of an equal value where the comparison finds or misses it:
        #   left >= right looks back and includes equality, so it must find the right row before the left one
        #   left <  right looks ahead and excludes equality, so it must miss the right row: that stands before, too
        #   for > and <= the right row stands after the left one, by the same reasoning.
        right_first = self._comparison in (">=", "<")
        keys = pa.concat_arrays(
            [
                self._sort_keys(partners.take(theirs), self._right_column, not right_first, right),
                self._sort_keys(rows.take(own), self._left_column, right_first, None),
            ]
        )
        order = sort_indices(keys)
        # One pass for all left rows: a running maximum of the right rows' places is the last one before each place,
        # a running minimum from the end is the next one. The place may belong to another key: `same` drops those.
        is_partner = order < len(theirs)
        places = np.arange(len(order))
        if self._comparison in (">", ">="):
            found = np.maximum.accumulate(np.where(is_partner, places, -1))
        else:
            found = np.minimum.accumulate(np.where(is_partner, places, len(order))[::-1])[::-1]
        asking = np.flatnonzero(~is_partner)
        found = found[asking]
        there = (found >= 0) & (found < len(order))
        asking, found = asking[there], found[there]
        in_order = theirs[order[is_partner]]
        chosen = (np.cumsum(is_partner) - 1)[found]  # positions in `in_order`
        answers = in_order[self._firsts(partners.take(in_order))[chosen]]
        asked = own[order[asking] - len(theirs)]
        same = partners.codes[answers] == rows.codes[asked]
        nearest[asked[same]] = answers[same]
        return nearest

    def _sort_keys(self, rows: SideRows, column: int, is_later: bool, side: JoinedSide | None) -> pa.BinaryArray:
        """Keys that sort by join key, value, and side; right rows (`side` is given) then by ties and stream key."""
        values = canonical_column(rows.columns[column], self._value_type)
        columns = [pa.array(rows.codes), values, pa.repeat(pa.scalar(int(is_later), pa.int16()), len(rows))]
        types = [BIGINT, self._value_type, SMALLINT]
        if side is None:
            return encoded_rows(columns, types, len(rows))
        for i in self._ties:
            columns.append(canonical_column(rows.columns[i], self._right_types[i]))
            types.append(self._right_types[i])
        keys = encoded_rows(columns, types, len(rows))
        return pc.binary_join_element_wise(keys, side.identities(rows), pa.scalar(b"", pa.binary()))

    def _firsts(self, rows: SideRows) -> Integers:
        """For each of the sorted right rows, the position of the first one with the same key and value."""
        values = canonical_column(rows.columns[self._right_column], self._value_type)
        keys = encoded_rows([pa.array(rows.codes), values], [BIGINT, self._value_type], len(rows))
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
        firsts: Integers = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
        return firsts

    def _give(self, op: int, rows: SideRows, partners: SideRows | None, nearest: Integers) -> None:
        if not self._is_outer:
            rows, nearest = rows.take(nearest != _NONE), nearest[nearest != _NONE]
        if not len(rows):
            return
        if partners is None:
            other = [pa.nulls(len(rows), type_.arrow) for type_ in self._right_types]
        else:
            places = pa.array(nearest, mask=nearest == _NONE)
            other = [column.take(places) for column in partners.columns]
        self._pieces.append(make_chunk(np.full(len(rows), op, np.int8), [*rows.columns, *other]))


def _together(parts: Sequence[SideRows]) -> SideRows:
    columns = [pa.concat_arrays(list(each)) for each in zip(*(part.columns for part in parts), strict=True)]
    return SideRows(columns, np.concatenate([part.codes for part in parts]))


def _identities(side: JoinedSide, before: SideRows, after: SideRows) -> tuple[Integers, Integers]:
    """A number for each row of `before` and of `after`; a row that is in both has the same number in both.

    Both begin with the kept rows, in the same order. Rows that came get numbers that no row of `before` has.
    """
    kept = len(before) - len(side.went.rows)
    came = np.arange(len(after))
    came[kept:] += len(before)
    return np.arange(len(before)), came


def _identity(identities: Integers, positions: Integers) -> Integers:
    found = np.full(len(positions), _NONE, np.int64)
    has = positions != _NONE
    found[has] = identities[positions[has]]
    return found
