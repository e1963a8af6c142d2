"""OverWindow: window functions over partitions that change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, deletes_first, distinct_rows, make_chunk, ops_of
from risingpy.executors.ordered.kept_tail import KeptTail
from risingpy.executors.ordered.ordered_rows import KeyedRows, match_rows
from risingpy.executors.ordered.window_functions import Partitions, WindowFunctions
from risingpy.functions.aggregate.grouping import Groups, canonical_column, group_by
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import encode_keys
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]


class OverWindowExecutor:
    """Output: the input's columns, then the functions' results; only rows that came, went or have a new result.

    If the functions look at a bounded number of neighbours, only those are read: a change costs the same in a large
    partition. Otherwise the whole partition is read.

    The table holds the output. `ordered` is the number of its key's columns that partition and order the rows.
    Rows with NULL in one of the `awaited` output columns are stored but not given. `passed` is an output column and an
    array of one value: stored rows below it are as good as deleted.
    `comes_in_order`: rows only come, each after all that its partition has. If the functions look at a bounded number
    of neighbours, the table keeps no more rows of a partition than a row to come needs; with a `tail`, it keeps that.
    """

    def __init__(
        self,
        *,
        table: StateTable,
        partition_by: Sequence[int],
        partition_types: Sequence[SqlType],
        ordered: int,
        functions: WindowFunctions,
        result_types: Sequence[SqlType],
        awaited: Sequence[int] = (),
        passed: tuple[int, pa.Array] | None = None,
        comes_in_order: bool = False,
        tail: KeptTail | None = None,
    ) -> None:
        self._table = table
        self._partition_by = partition_by
        self._partition_types = partition_types
        self._ordered = [column.index for column in table.schema.key][:ordered]
        self._functions = functions
        self._result_types = result_types
        self._awaited = awaited
        self._passed = passed
        self._comes_in_order = comes_in_order
        self._tail = tail if comes_in_order and functions.reach is None else None
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = deletes_first(inputs[0])
        ops, columns = ops_of(changes), columns_of(changes)
        for index, type_ in zip(self._partition_by, self._partition_types, strict=True):
            columns[index] = canonical_column(columns[index], type_)
        groups = group_by([columns[k] for k in self._partition_by], self._partition_types, len(ops))
        stored = self._not_passed(self._stored(groups, columns))
        unknown = [pa.nulls(len(ops), type_.arrow) for type_ in self._result_types]
        rows = match_rows(self._table.schema, stored, [*columns, *unknown], ops, groups.codes)
        changed = self._changed(rows, len(columns))
        columns = columns_of(changed)
        self._table.apply_changes(ops_of(changed), columns)
        if self._comes_in_order:
            self._forget(rows)
        for column in self._awaited:
            changed = changed.filter(columns_of(changed)[column].is_valid())
        return changed

    def _stored(self, groups: Groups, columns: Sequence[pa.Array]) -> pa.Table:
        """The rows that the results need: the touched partitions, or what lies within reach of their changes."""
        reach = self._functions.reach
        if reach is None:
            return self._table.scan_prefix(groups.keys)
        schema = self._table.schema
        key = [columns[column.index] for column in schema.key]
        order = sort_indices(encode_keys(schema, key, np.zeros(len(groups.codes), np.uint16)))
        first, last = np.empty((2, groups.number), np.int64)
        first[groups.codes[order[::-1]]] = order[::-1]  # in descending order: the last write per group is its first
        last[groups.codes[order]] = order
        low, high = ([column.take(pa.array(rows)) for column in key] for rows in (first, last))
        return self._table.scan_around(low, high, len(self._partition_by), reach.before, reach.behind)

    def _forget(self, rows: KeyedRows) -> None:
        """Deletes the rows before the last ones of their partition, which are all that the results of later rows need.

        Of a partition that was read only these were there before, so what is read stays as small as what comes.
        """
        if self._tail is not None:
            self._keep_tail(rows, self._tail)
        reach = self._functions.reach
        if reach is None:
            return
        present = np.flatnonzero(rows.new >= 0)
        partition = np.cumsum(rows.begins)[present]
        last = np.flatnonzero(np.diff(partition, append=-1))
        places = np.arange(len(present))
        from_end = last[np.searchsorted(last, places)] - places
        gone = rows.new[present[from_end >= reach.before]]
        self._table.apply(np.full(len(gone), DELETE, np.int8), rows.take(gone))

    def _keep_tail(self, rows: KeyedRows, tail: KeptTail) -> None:
        present = rows.new >= 0
        if not present.any():
            return
        begins, peers_begin = rows.marks(present, self._ordered)
        places = rows.new[present]
        order = rows.columns[tail.column].take(pa.array(places))
        first = tail.begins(order, begins, peers_begin)
        gone = places[np.arange(len(places)) < first[np.cumsum(begins) - 1]]
        self._table.apply(np.full(len(gone), DELETE, np.int8), rows.take(gone))

    def _not_passed(self, stored: pa.Table) -> pa.Table:
        """The rows without those that will be deleted soon.

        A sweep deletes a closed session's rows in any order, over several epochs. What is left of it in between must
        not be taken for a session of its own, whose end would be another one.
        """
        if self._passed is None:
            return stored
        column, bound = self._passed
        return stored.filter(pc.invert(pc.less(stored.column(column), bound[0]).fill_null(False)))

    def _left_out(self, rows: KeyedRows, number: int | None) -> Integers:
        """For each partition, how many of its rows (or groups of peers) come before the first one that was read.

        That row's stored result of a call tells it: `number` is the column. If the row is touched, none come before it:
        at least one row before each change is read, if there is one.
        """
        starts = np.flatnonzero(rows.begins)
        if number is None:
            return np.zeros(len(starts), np.int64)
        untouched = ~rows.touched[starts]
        known = rows.columns[number].take(pa.array(rows.old[starts], mask=~untouched))
        return np.where(untouched, known.fill_null(1).to_numpy(zero_copy_only=False) - 1, 0).astype(np.int64)

    def _changed(self, rows: KeyedRows, width: int) -> pa.Table:
        """−1 of the rows with their old results, then +1 with the new ones."""
        was, is_ = rows.old >= 0, rows.new >= 0
        present = np.flatnonzero(is_)
        inputs = rows.take(rows.new[present])[:width]
        begins, peers_begin = rows.marks(is_, self._ordered)
        partitions = np.cumsum(rows.begins)[is_][begins] - 1  # those of which a row is left
        calls = (self._functions.number, None) if self._tail is None else (self._tail.number, self._tail.dense)
        left_out = [self._left_out(rows, None if i is None else width + i)[partitions] for i in calls]
        results, self.errors = self._functions.results(Partitions(inputs, begins, peers_begin, *left_out))
        place = np.cumsum(is_) - 1  # a key's position among the present ones
        # A row's result depends on `back` rows before it and `ahead` after it. So a change at position p can alter the
        # results from p − ahead to p + back, and these need the rows from p − ahead − back to p + back + ahead.
        # Results outside the first range are unchanged, but come out wrong here, for want of their neighbours: they are
        # not compared. If row numbers are among the results, a change alters all those after it.
        same = was & is_
        reach = self._functions.reach
        concerned = same
        if self._tail is not None:  # rows after it change no result, and what it looked back at is gone
            concerned = np.zeros_like(same)
        elif reach is not None:
            concerned = same & rows.near_touched(reach.ahead, None if reach.numbers else reach.back)
        both = np.flatnonzero(concerned)
        old = rows.take(rows.old[both])
        chosen = pa.array(place[both])
        new = [column.take(chosen) for column in (*inputs, *results)]
        same[both] = ~distinct_rows(old, new, len(both))
        gone, come = rows.take(rows.old[was & ~same]), pa.array(place[is_ & ~same])
        output = [
            pa.concat_arrays([before, after.take(come)])
            for before, after in zip(gone, (*inputs, *results), strict=True)
        ]
        signs = np.concatenate([np.full(len(gone[0]), DELETE, np.int8), np.full(len(come), INSERT, np.int8)])
        return make_chunk(signs, output)
