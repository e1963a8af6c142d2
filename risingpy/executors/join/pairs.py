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

    Gives the positions of both. Pairs are numbered row by row, so a piece may begin or end inside a row's matches.
    """
    matches = index.matches(codes)
    ends = np.cumsum(matches)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, limit):
        last = min(first + limit, total)
        rows = np.arange(np.searchsorted(ends, first, "right"), np.searchsorted(ends, last, "left") + 1)
        begins = ends[rows] - matches[rows]
        taken = np.minimum(ends[rows], last) - np.maximum(begins, first)
        places = np.arange(first, last) + np.repeat(index.starts[codes[rows]] - begins, taken)
        yield np.repeat(rows, taken), index.order[places]
