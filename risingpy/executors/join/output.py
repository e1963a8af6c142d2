"""A join's output: pairs of rows, and rows of one side that come out by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, consolidated, make_chunk
from risingpy.executors.join.intervals import IntervalBounds, overlapping
from risingpy.executors.join.pairs import ROWS_PER_PIECE
from risingpy.executors.join.side import Changed, SideRows
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.statement_limits import BYTES_OF_OUTPUT_ROW, current_limits
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PAIRS_FOR_EACH_ROW = 8  # up to so many, the condition is asked of all pairs: sorting bounds costs about as much


class Shows(Enum):
    """Which of a side's rows come out by themselves, not as part of a pair."""

    NONE = "none"
    MATCHED = "matched"  # semi joins
    UNMATCHED = "unmatched"  # outer joins, with NULLs for the other side; anti joins

    def shown(self, matches: Integers) -> Mask:
        """Which rows come out, by their numbers of matches."""
        match self:
            case Shows.MATCHED:
                return np.greater(matches, 0)
            case Shows.UNMATCHED:
                return np.equal(matches, 0)
            case Shows.NONE:
                return np.zeros(len(matches), np.bool_)


@dataclass(frozen=True, slots=True)
class JoinShape:
    """`types` are the output's: the left columns, then the right columns, then the mark if `marks_side`.

    `gives_pairs`: pairs come out (not in semi and anti joins). `condition` reads the columns at `condition_columns`,
    in that order; if it is None, rows match by their keys alone. `intervals`: it is true only where these overlap.
    """

    left_width: int
    types: tuple[SqlType, ...]
    gives_pairs: bool
    left_shows: Shows
    right_shows: Shows
    marks_side: bool
    condition: Evaluator | None
    condition_columns: tuple[int, ...] = ()
    intervals: IntervalBounds | None = None

    @property
    def shows(self) -> tuple[Shows, Shows]:
        return self.left_shows, self.right_shows


@dataclass(slots=True)
class JoinOutput:
    """Collects an epoch's output. `errors` counts the conditions that failed; a failed condition counts as false."""

    shape: JoinShape
    pieces: list[pa.Table] = field(default_factory=list)
    errors: int = 0
    _bytes: int = 0
    _has_lone_rows: bool = False
    _has_empty_partners: bool = False

    def meet(self, op: int, side: int, rows: SideRows, others: Changed) -> Integers:
        """Joins `rows` of `side` (0 left, 1 right) with the other side's `others`, and puts the pairs out with `op`.

        Returns how many matches each of `rows` has, and adds to `others.matches`.
        """
        if not len(rows) or not len(others.rows):
            return np.zeros(len(rows), np.int64)
        if self.shape.condition is None and not self.shape.gives_pairs:
            own = np.bincount(rows.codes, minlength=others.keys)
            others.matches += own[others.rows.codes]
            return others.index.matches(rows.codes)
        matches = np.zeros(len(rows), np.int64)
        for i, j in self._candidates(side, rows, others):
            i, j = self._matching(side, rows, i, others.rows, j)
            matches += np.bincount(i, minlength=len(rows))
            others.matches += np.bincount(j, minlength=len(others.rows))
            if self.shape.gives_pairs and len(i):
                self._give_pairs(op, len(i), _oriented(side, rows.take(i).columns, others.rows.take(j).columns))
        return matches

    def _candidates(self, side: int, rows: SideRows, others: Changed) -> Iterator[tuple[Integers, Integers]]:
        """Pairs of equal key, without those whose intervals are apart where looking for them costs less than asking."""
        bounds = self.shape.intervals
        counts = np.bincount(rows.codes, minlength=others.keys), np.bincount(others.rows.codes, minlength=others.keys)
        if bounds is None or counts[0] @ counts[1] <= PAIRS_FOR_EACH_ROW * (len(rows) + len(others.rows)):
            yield from others.pairs(rows, ROWS_PER_PIECE)
            return
        own, failed = bounds.of(side, rows.columns, len(rows))
        theirs, failed_there = bounds.of(1 - side, others.rows.columns, len(others.rows))
        self.errors += failed + failed_there
        yield from overlapping(own, rows.codes, theirs, others.rows.codes, ROWS_PER_PIECE)

    def _matching(
        self, side: int, rows: SideRows, i: Integers, others: SideRows, j: Integers
    ) -> tuple[Integers, Integers]:
        """The pairs that satisfy the condition."""
        condition = self.shape.condition
        if condition is None:
            return i, j
        left, right = (rows, others) if side == 0 else (others, rows)
        left_rows, right_rows = (pa.array(i), pa.array(j)) if side == 0 else (pa.array(j), pa.array(i))
        columns = [
            left.columns[c].take(left_rows)
            if c < self.shape.left_width
            else right.columns[c - self.shape.left_width].take(right_rows)
            for c in self.shape.condition_columns
        ]
        numbered = make_chunk(np.ones(len(i), np.int8), [*columns, pa.array(np.arange(len(i)))])
        passed, errors = condition.evaluate(numbered)
        self.errors += errors
        kept = passed.column(passed.num_columns - 1).to_numpy()
        return (i, j) if len(kept) == len(i) else (i[kept], j[kept])

    def give_pairs(self, op: int, rows: SideRows, owners: Integers, partners: Sequence[pa.Array]) -> Integers:
        """Puts out pairs of left rows and known partners, with `op`. Partner i belongs to the row at `owners[i]`.

        Returns how many partners each row has.
        """
        self._give_pairs(op, len(owners), [*rows.take(owners).columns, *partners])
        return np.bincount(owners, minlength=len(rows))

    def show_all(self, op: int, side: int, rows: SideRows, matches: Integers) -> None:
        """Puts out, with `op`, those of a side's rows that come out by themselves at their number of `matches`."""
        self._show(op, side, rows, self.shape.shows[side].shown(matches))

    def show_changes(self, side: int, rows: SideRows, before: Integers, after: Integers) -> None:
        """Puts out the rows that begin or cease to come out by themselves, by their numbers of matches."""
        shows = self.shape.shows[side]
        old, new = shows.shown(before), shows.shown(after)
        self._show(DELETE, side, rows, old & ~new)
        self._show(INSERT, side, rows, new & ~old)

    def _show(self, op: int, side: int, rows: SideRows, mask: Mask) -> None:
        if not mask.any():
            return
        shown = rows.take(mask)
        if not self.shape.gives_pairs:
            self._give(op, len(shown), shown.columns, mark=0)
            return
        left_types = self.shape.types[: self.shape.left_width]
        right_types = self.shape.types[self.shape.left_width : len(self.shape.types) - self.shape.marks_side]
        missing = [pa.nulls(len(shown), t.arrow) for t in (right_types if side == 0 else left_types)]
        self._give(op, len(shown), _oriented(side, shown.columns, missing), mark=1 + side)
        self._has_lone_rows = True

    def _give(self, op: int, rows: int, columns: Sequence[pa.Array], mark: int) -> None:
        """Puts out so many rows: a pair of rows without columns is one, too."""
        marked = [pa.repeat(pa.scalar(mark, pa.int32()), rows)] if self.shape.marks_side else []
        piece = make_chunk(np.full(rows, op, np.int8), [*columns, *marked])
        self._bytes += piece.nbytes + rows * BYTES_OF_OUTPUT_ROW
        current_limits().check(self._bytes, "what a join gives in one epoch")
        self.pieces.append(piece)

    def _give_pairs(self, op: int, rows: int, columns: Sequence[pa.Array]) -> None:
        self._give(op, rows, columns, mark=0)
        split = self.shape.left_width
        for shows, partner in ((self.shape.left_shows, columns[split:]), (self.shape.right_shows, columns[:split])):
            if shows is Shows.UNMATCHED and all(column.null_count for column in partner):
                self._has_empty_partners = True

    def chunk(self, empty: pa.Table) -> pa.Table:
        """The collected output; `empty` if there is none."""
        if not self.pieces:
            return empty
        output = self.pieces[0] if len(self.pieces) == 1 else pa.concat_tables(self.pieces)
        if self._has_lone_rows and self._has_empty_partners and not self.shape.marks_side:
            # A pair with a partner of only NULLs looks like a row without a partner: the two may cancel.
            return consolidated(output, self.shape.types)
        return output


def _oriented(side: int, own: Sequence[pa.Array], other: Sequence[pa.Array]) -> list[pa.Array]:
    return [*own, *other] if side == 0 else [*other, *own]
