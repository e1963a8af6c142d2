"""Pairs of rows whose intervals may overlap, found in sorted bounds instead of among all pairs.

    a.low <= b.high AND b.low <= a.high     two intervals overlap
    a.low <= b.x AND b.x <= a.high          a point lies in an interval: one whose bounds are equal

Two intervals overlap if the one that begins later begins before the other ends. So the pairs are those whose right row
begins within the left one, and those whose left row begins within the right one, after its beginning: no pair is both.
With the beginnings sorted, each row's partners are one run of them. That takes O((n + m) log n + pairs), where all
pairs take n · m. Bounds become ranks over both sides first, so that a key's number and a rank are one integer.

An interval that ends before it begins follows no such rule (`low <= high` of the other side may still be true on both
ends), and meets all rows of its key. A bound that is NULL makes a comparison NULL, so its row meets none. The pairs are
candidates: the whole condition is asked of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import make_chunk
from risingpy.executors.join.pairs import PartnerRuns
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.joins import IntervalOverlap
from risingpy.storage.codec.column_buffers import whole

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class IntervalBounds:
    """Computes the bounds of each side's rows, as an `IntervalOverlap` names them."""

    def __init__(self, overlap: IntervalOverlap) -> None:
        self._evaluators = tuple(Evaluator(None, [each.low, each.high]) for each in (overlap.left, overlap.right))

    def of(self, side: int, columns: Sequence[pa.Array], count: int) -> tuple[list[pa.Array], int]:
        """The columns `low` and `high` of a side's rows (0 left, 1 right), and how many failed, which are NULL."""
        chunk = make_chunk(np.ones(count, np.int8), columns)
        bounds, errors = self._evaluators[side].evaluate(chunk)
        return [whole(column) for column in bounds.columns[1:]], errors


def overlapping(
    bounds: Sequence[pa.Array], codes: Integers, others: Sequence[pa.Array], other_codes: Integers, limit: int
) -> Iterator[tuple[Integers, Integers]]:
    """Pairs of equal code whose intervals may overlap, at most `limit` at a time: the positions of both.

    `bounds` and `others` are the columns `low` and `high` of the two sides.
    """
    ranked, most = _ranks([*bounds, *others])
    one = _Intervals.of(codes, ranked[0], ranked[1], most)
    other = _Intervals.of(other_codes, ranked[2], ranked[3], most)
    for runs, is_swapped in (
        (one.runs_of_begins(other, after_own=False), False),
        (other.runs_of_begins(one, after_own=True), True),
        (one.odd_runs(np.concatenate([other.ordered, other.odd]), other), False),
        (other.odd_runs(one.ordered, one), True),
    ):
        for i, j in runs.pieces(limit):
            yield (j, i) if is_swapped else (i, j)


@dataclass(frozen=True, slots=True)
class _Intervals:
    """One side. `ordered` are the positions of rows that begin before they end, by code and low bound; `odd` others.

    `first`, `low`, `high` and `last` are integers of all rows: the beginning of the row's code, its bounds, and the end
    of its code.
    """

    ordered: Integers
    odd: Integers
    first: Integers
    low: Integers
    high: Integers
    last: Integers

    @classmethod
    def of(cls, codes: Integers, low: Integers, high: Integers, most: int) -> _Intervals:
        first = codes * (most + 2)
        meets = (low >= 0) & (high >= 0)
        ordered = np.flatnonzero(meets & (low <= high))
        starts = first + 1 + low
        ordered = ordered[np.argsort(starts[ordered], kind="stable")]
        return cls(ordered, np.flatnonzero(meets & (low > high)), first, starts, first + 1 + high, first + most + 1)

    def runs_of_begins(self, other: _Intervals, *, after_own: bool) -> PartnerRuns:
        """For each ordered row, the other side's that begin within it; with `after_own`, not at its own beginning."""
        begins, rows = other.low[other.ordered], self.ordered
        start = np.searchsorted(begins, self.low[rows], "right" if after_own else "left")
        end = np.searchsorted(begins, self.high[rows], "right")
        return PartnerRuns(rows, other.ordered, start, np.maximum(end - start, 0))

    def odd_runs(self, others: Integers, other: _Intervals) -> PartnerRuns:
        """For each odd row, all of the `others` of its code."""
        by_code = others[np.argsort(other.first[others], kind="stable")]
        codes = other.first[by_code]
        start = np.searchsorted(codes, self.first[self.odd], "left")
        end = np.searchsorted(codes, self.last[self.odd], "left")
        return PartnerRuns(self.odd, by_code, start, end - start)


def _ranks(columns: Sequence[pa.Array]) -> tuple[list[Integers], int]:
    """For each value its place among the distinct values of all columns, from 0; -1 for NULL. And the highest place."""
    both = pa.concat_arrays(columns)
    valid = both.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(both.type):  # NaN is one value, above all others, and so are 0 and -0
        _, places = np.unique(both.to_numpy(zero_copy_only=False), return_inverse=True)
    else:
        places = pc.rank(both, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    ranks = np.where(valid, places, -1).astype(np.int64)
    ends = np.cumsum([len(column) for column in columns])
    return [ranks[end - len(column) : end] for column, end in zip(columns, ends, strict=True)], int(
        ranks.max(initial=0)
    )
