"""The rows of WITH MUTUALLY RECURSIVE: the sum of the weights that each row has at each level."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.executors.recursion.derived_rows import Derivations, Levelled


class WeightedRows:
    """A row comes with its weight, as its last column, and so it is read; a level at which that is 0 does not have it.

    A change of a row's weight takes the row with the old one back.
    """

    def __init__(self, derivations: Derivations) -> None:
        self._derivations = derivations

    def update(self, level: int, changes: pa.Table) -> tuple[Levelled, Levelled | None]:
        """As LevelRows."""
        counted = self._derivations.add(level, changes)
        columns = self._derivations.layout.in_order(counted.identity, counted.carried)
        changed = counted.before != counted.after
        gone, come = np.flatnonzero(changed & (counted.before != 0)), np.flatnonzero(changed & (counted.after != 0))
        rows = np.concatenate([gone, come])
        weights = np.concatenate([counted.before[gone], counted.after[come]]).astype(np.int32)
        ops = np.repeat(np.array([-1, 1], np.int8), [len(gone), len(come)])
        levels, taken = np.full(len(rows), level, np.int64), pa.array(rows)
        return Levelled(ops, levels, [*(column.take(taken) for column in columns), pa.array(weights)]), None
