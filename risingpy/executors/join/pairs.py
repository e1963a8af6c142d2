"""Finds the rows of two sides that have the same key. Keys are numbers from 0; `codes[i]` is the key of row i."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

# So many pairs are made at a time: pairs that the condition refuses never take more memory than this.
ROWS_PER_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class RowsByKey:
    """Rows by key: the rows of key k are `order[starts[k] : starts[k] + counts[k]]`."""

    order: Integers
    starts: Integers
    counts: Integers

    @classmethod
    def of(cls, codes: Integers, keys: int) -> RowsByKey:
        counts = np.bincount(codes, minlength=keys)
        return cls(np.argsort(codes, kind="stable"), np.cumsum(counts) - counts, counts)

    def matches(self, codes: Integers) -> Integers:
        """For each of `codes`, the number of indexed rows with that key."""
        return self.counts[codes]


def pairs(codes: Integers, index: RowsByKey, limit: int) -> Iterator[tuple[Integers, Integers]]:
    """Pairs every row of `codes` with every row of `index` of the same key, at most `limit` pairs at a time.

    Gives the positions of both.
    """
    yield from PartnerRuns(np.arange(len(codes)), index.order, index.starts[codes], index.matches(codes)).pieces(limit)


@dataclass(frozen=True, slots=True)
class PartnerRuns:
    """The partners of each row are one run of the others: `others[starts[k] : starts[k] + counts[k]]` of `rows[k]`."""

    rows: Integers
    others: Integers
    starts: Integers
    counts: Integers

    def pieces(self, limit: int) -> Iterator[tuple[Integers, Integers]]:
        """The pairs, at most `limit` at a time: the positions of both.

        Pairs are numbered row by row, so a piece may begin or end inside a row's partners.
        """
        ends = np.cumsum(self.counts)
        total = int(ends[-1]) if len(ends) else 0
        for first in range(0, total, limit):
            last = min(first + limit, total)
            taking = np.arange(np.searchsorted(ends, first, "right"), np.searchsorted(ends, last, "left") + 1)
            begins = ends[taking] - self.counts[taking]
            taken = np.minimum(ends[taking], last) - np.maximum(begins, first)
            places = np.arange(first, last) + np.repeat(self.starts[taking] - begins, taken)
            yield np.repeat(self.rows[taking], taken), self.others[places]
