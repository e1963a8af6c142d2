"""Moments: what groups of differences contain at each level at which they change.

    level weight row         level until row            (one group; `until` is its next moment)
      0     1     a     =>     0     3    a
      3     1     b            3     5    a
      5    -1     a            3     5    b
                               5    NULL  b

A change is felt at its own level and at all later moments of its group. So the groups that have changes are read whole,
their contents are computed without the changes and with them, and what is not in both comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import columns_of, make_chunk, ops_of
from risingpy.executors.recursion.counted_rows import numbers_between
from risingpy.executors.recursion.derived_rows import Integers, RecursiveRowLayout
from risingpy.functions.aggregate.grouping import canonical_column, encoded_rows, group_by
from risingpy.plan.recursion.operators import MomentsOf
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable

_NO_MOMENT = -2  # for `until`; levels begin with -1


class MomentsExecutor:
    """Input: the level and the weight of rows, then their columns as `layout` has them.

    The group's are the first `grouped` of the identity. The table: `identity of the group, level, rest of the identity
    → carried columns, weight`. `gives` says what comes out (StreamMoments).
    """

    def __init__(self, *, table: StateTable, layout: RecursiveRowLayout, grouped: int, gives: MomentsOf) -> None:
        self._table = table
        self._layout = layout
        self._grouped = grouped
        self._gives = gives

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        entries = self._entries(inputs[0])
        self._write(entries)
        if self._gives.are_contents:
            return self._contents(entries)
        if self._gives is MomentsOf.GROUPS:
            return self._differences(entries, *(_crossings(entries, w) for w in (entries.before, entries.after)))
        ranks = self._ranks(entries)
        return self._differences(entries, *(_extremes(entries, w, ranks) for w in (entries.before, entries.after)))

    def _entries(self, changes: pa.Table) -> _Entries:
        """What the table and the changes have of all groups that have changes."""
        level, weight, *columns = columns_of(changes)
        layout, grouped = self._layout, self._grouped
        identity = [canonical_column(columns[i], layout.types[i]) for i in layout.identity]
        carried = [columns[i] for i in layout.carried]
        types = [layout.types[i] for i in (*layout.identity, *layout.carried)]
        groups = group_by(identity[:grouped], types[:grouped], changes.num_rows)
        *stored, known, owners = map(whole, self._table.scan_prefix(groups.keys).columns)
        came = [*identity[:grouped], level, *identity[grouped:], *carried]
        both = [pa.concat_arrays([old, new]) for old, new in zip(stored, came, strict=True)]
        codes, levels = np.concatenate([_integers(owners), groups.codes]), _integers(both[grouped])
        rest, forms = (
            group_by(both[begin + 1 : end + 1], types[begin:end], len(codes)).codes
            for begin, end in ((grouped, len(identity)), (len(identity), len(types)))
        )
        firsts, places = _distinct(codes, rest, levels)
        given = ops_of(changes).astype(np.int64) * _integers(weight)
        before, after = np.zeros((2, len(firsts)), np.int64)
        np.add.at(before, places[: len(known)], _integers(known))
        np.add.at(after, places, np.concatenate([_integers(known), given]))
        _, rows = _distinct(codes[firsts], rest[firsts])
        return _Entries(codes[firsts], rows, levels[firsts], forms[firsts], before, after, pa.array(firsts), both)

    def _write(self, entries: _Entries) -> None:
        changed = np.flatnonzero(entries.before != entries.after)
        weights = entries.after[changed]
        columns = entries.columns_of(changed)
        self._table.apply(np.where(weights != 0, 1, -1).astype(np.int8), [*columns, pa.array(weights)])

    def _ranks(self, entries: _Entries) -> Integers:
        """The places of the entries by the column after the group's: those that are best first, NULLs last."""
        index = self._layout.identity[self._grouped]
        column = entries.columns[self._grouped + 1].take(entries.places)  # the level is between
        keys = encoded_rows([column], [self._layout.types[index]], len(column))
        ranks = _integers(pc.rank(keys, sort_keys="ascending", tiebreaker="dense"))
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        return np.where(is_null, len(ranks) + 1, ranks if self._gives is MomentsOf.LEAST else -ranks)

    def _differences(self, entries: _Entries, old: _Weights, new: _Weights) -> pa.Table:
        """What differs between two lists of differences, in which each row has one weight at a level."""
        places, levels, weights = (np.concatenate(pair) for pair in zip(old, new, strict=True))
        firsts, codes = _distinct(entries.rows[places], levels, entries.forms[places])
        sums = np.zeros((2, len(firsts)), np.int64)
        np.add.at(sums, (np.repeat([0, 1], [len(old[0]), len(new[0])]), codes), weights)
        gone, come = (np.flatnonzero((sums[0] != sums[1]) & (side != 0)) for side in sums)
        picked = firsts[np.concatenate([gone, come])]
        changed = np.concatenate([sums[0][gone], sums[1][come]]).astype(np.int32)
        _, columns = self._in_order(entries.columns_of(places[picked]))
        return make_chunk(_ops(gone, come), [pa.array(levels[picked]), pa.array(changed), *columns])

    def _contents(self, entries: _Entries) -> pa.Table:
        once = self._gives is MomentsOf.DISTINCT_ROWS
        old, new = (_contents(entries, weights, once=once) for weights in (entries.before, entries.after))
        levels, until, places, counts = (np.concatenate(pair) for pair in zip(old, new, strict=True))
        firsts, codes = _distinct(entries.rows[places], levels, until, entries.forms[places])
        count = np.zeros((2, len(firsts)), np.int64)
        sides = np.repeat([0, 1], [len(old[0]), len(new[0])])
        np.add.at(count, (sides, codes), counts)
        (lost, lost_numbers), (found, found_numbers) = (numbers_between(count.min(0), side) for side in count)
        picked = firsts[np.concatenate([lost, found])]
        _, columns = self._in_order(entries.columns_of(places[picked]))
        moments = [pa.array(levels[picked]), pa.array(until[picked], mask=until[picked] == _NO_MOMENT)]
        numbers = pa.array(np.concatenate([lost_numbers, found_numbers]))
        return make_chunk(_ops(lost, found), [*moments, *columns, *(() if once else (numbers,))])

    def _in_order(self, columns: Sequence[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
        """The level, and a row's columns as the input has them, of columns of the table."""
        grouped, end = self._grouped, 1 + len(self._layout.identity)
        identity = [*columns[:grouped], *columns[grouped + 1 : end]]
        return columns[grouped], self._layout.in_order(identity, columns[end:])


@dataclass(frozen=True, slots=True)
class _Entries:
    """Rows of groups at levels, in this order; equal numbers stand for equal groups, rows (without the level), forms.

    `before` and `after` are the weights. `places` are their rows in `columns`, which are those of the table.
    """

    groups: Integers
    rows: Integers
    levels: Integers
    forms: Integers
    before: Integers
    after: Integers
    places: pa.Array
    columns: Sequence[pa.Array]

    def columns_of(self, entries: Integers) -> list[pa.Array]:
        """The columns of some entries."""
        taken = self.places.take(pa.array(entries))
        return [column.take(taken) for column in self.columns]


_Contents = tuple[Integers, Integers, Integers, Integers]
"""Rows at moments: the level, the next moment, an entry that is such a row, how often it is there."""


def _contents(entries: _Entries, weights: Integers, *, once: bool) -> _Contents:
    """What the groups contain at each of their moments. A row is shown as at the least level at which it comes."""
    there = np.flatnonzero(weights)
    groups, levels, rows = entries.groups[there], entries.levels[there], entries.rows[there]
    firsts, moment = _distinct(groups, levels)
    ends = np.searchsorted(groups[firsts], groups[firsts], side="right")
    follows = np.append(levels[firsts], 0)[1:]
    until = np.where(np.arange(1, len(firsts) + 1) < ends, follows, _NO_MOMENT)
    # An entry is felt at its own moment and at all later ones of its group, which come next.
    own, number = numbers_between(moment, ends[moment] if len(moment) else moment)
    shown, pair = _distinct(rows[own], number)
    counts = np.zeros(len(shown), np.int64)
    np.add.at(counts, pair, weights[there][own])
    begins = np.flatnonzero(np.diff(rows, prepend=-1))  # entries are in the order of rows, and by level
    least = there[begins[np.cumsum(np.diff(rows, prepend=-1) != 0) - 1]] if len(rows) else there
    kept = counts > 0
    moments, places = number[shown[kept]], least[own[shown[kept]]]
    return levels[firsts][moments], until[moments], places, np.ones(len(places), np.int64) if once else counts[kept]


_Weights = tuple[Integers, Integers, Integers]
"""Differences: an entry that is the row, the level, the weight."""


def _crossings(entries: _Entries, weights: Integers) -> _Weights:
    """1 where the sum of a group's weights becomes positive, -1 where it ends being so. An entry is a group's level."""
    sums = np.cumsum(weights)
    begins = np.flatnonzero(np.diff(entries.groups, prepend=-1))
    offsets = np.repeat((sums - weights)[begins], np.diff(np.append(begins, len(weights))))
    after = sums - offsets
    crossed = (after > 0).astype(np.int64) - (after - weights > 0)
    there = np.flatnonzero(crossed)
    return there, entries.levels[there], crossed[there]


def _extremes(entries: _Entries, weights: Integers, ranks: Integers) -> _Weights:
    """The first row by `ranks` of each group at each moment: it comes there, and goes at the group's next moment."""
    levels, until, places, _ = _contents(entries, weights, once=True)
    order = np.lexsort((ranks[places], levels, entries.groups[places]))
    groups, sorted_levels = entries.groups[places[order]], levels[order]
    is_first = (np.diff(groups, prepend=-1) != 0) | (np.diff(sorted_levels, prepend=_NO_MOMENT) != 0)
    best = order[is_first]
    ends = best[until[best] != _NO_MOMENT]
    signs = np.repeat([1, -1], [len(best), len(ends)])
    return places[np.concatenate([best, ends])], np.concatenate([levels[best], until[ends]]), signs


def _distinct(*columns: Integers) -> tuple[Integers, Integers]:
    """The first place of each distinct row, in the order of rows; and for each row the number of its like there."""
    order = np.lexsort(columns[::-1])
    begins = np.zeros(len(order), np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= np.diff(column[order]) != 0
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(begins) - 1
    return order[begins], numbers


def _integers(column: pa.Array) -> Integers:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)


def _ops(lost: Integers, found: Integers) -> np.ndarray:
    return np.repeat(np.array([-1, 1], np.int8), [len(lost), len(found)])
