"""The rows of a recursion with UNION ALL: each as often as it is derived, at every level."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.executors.recursion.derived_rows import Derivations, Integers, Levelled


class CountedRows:
    """Equal rows of a level are numbered from 0, as their last column."""

    def __init__(self, derivations: Derivations) -> None:
        self._derivations = derivations

    def update(self, level: int, changes: pa.Table) -> tuple[Levelled, Levelled | None]:
        """As LevelRows."""
        counted = self._derivations.count(level, changes)
        columns = self._derivations.layout.in_order(counted.identity, counted.carried)
        fewer, more = np.minimum(counted.before, counted.after), np.maximum(counted.before, counted.after)
        rows, numbers = numbers_between(fewer, more)
        came = (counted.after > counted.before)[rows]
        taken = pa.array(rows)
        ops = np.where(came, 1, -1).astype(np.int8)
        levels = np.full(len(rows), level, np.int64)
        return Levelled(ops, levels, [*(column.take(taken) for column in columns), pa.array(numbers)]), None


def numbers_between(low: Integers, high: Integers) -> tuple[Integers, Integers]:
    """Each position i with each of the numbers from low[i] up to, and without, high[i]."""
    lengths = high - low
    rows = np.repeat(np.arange(len(low)), lengths)
    starts = np.cumsum(lengths) - lengths
    return rows, np.arange(len(rows)) - np.repeat(starts, lengths) + np.repeat(low, lengths)
