"""Which rows of two sides have the same key. Keys are numbers from 0, `codes[i]` is that of row i."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

# Joined rows are made so many at a time: what a condition refuses never takes up more memory than this.
ROWS_PER_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Index:
    """Rows by key: those of key k are `order[starts[k] : starts[k] + counts[k]]`."""

    order: Integers
    starts: Integers
    counts: Integers

    @classmethod
    def of(cls, codes: Integers, keys: int) -> Index:
        counts = np.bincount(codes, minlength=keys)
        return cls(np.argsort(codes, kind="stable"), np.cumsum(counts) - counts, counts)

    def matches(self, codes: Integers) -> Integers:
        """How many rows each of `codes` meets."""
        return self.counts[codes]


def pairs(codes: Integers, index: Index, limit: int) -> Iterator[tuple[Integers, Integers]]:
    """Every row of `codes` with every row of `index` of the same key, as positions, at most `limit` pairs at a time."""
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
