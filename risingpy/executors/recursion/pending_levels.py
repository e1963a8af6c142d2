"""Changes of a recursion that wait for their level's turn. A chunk's first column is the level."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import cast

import numpy as np
import pyarrow as pa

from risingpy.executors.few_rows.chunk import Chunk, FewRows, OpRow, joined, table_of
from risingpy.storage.codec.column_buffers import whole


class PendingLevels:
    """Takes each chunk apart once, when it comes; what waits is not touched again."""

    def __init__(self) -> None:
        self._by_level: defaultdict[int, list[Chunk]] = defaultdict(list)

    @property
    def lowest(self) -> int | None:
        """The lowest level that has changes; None if none has."""
        return min(self._by_level, default=None)

    def add(self, changes: Chunk) -> None:
        """Adds changes of any levels, in their order."""
        if not changes.num_rows:
            return
        if isinstance(changes, FewRows):
            self._add_few(changes)
            return
        levels = np.asarray(whole(changes.column(1)).to_numpy(), np.int64)
        if (levels == levels[0]).all():
            self._by_level[int(levels[0])].append(changes)
            return
        order = np.argsort(levels, kind="stable")
        changes, levels = changes.take(pa.array(order)), levels[order]
        bounds = [0, *(np.flatnonzero(np.diff(levels)) + 1).tolist(), len(levels)]
        for begin, end in pairwise(bounds):
            self._by_level[int(levels[begin])].append(changes.slice(begin, end - begin))

    def _add_few(self, changes: FewRows) -> None:
        found: defaultdict[int, list[OpRow]] = defaultdict(list)
        for op, row in changes.rows:
            found[cast("int", row[0])].append((op, row))
        for level, rows in found.items():
            self._by_level[level].append(FewRows(changes.types, rows))

    def take(self, level: int) -> Chunk | None:
        """The changes of a level, which are taken away; None if there are none."""
        chunks = self._by_level.pop(level, None)
        return None if chunks is None else joined(chunks)

    def take_all(self) -> Chunk | None:
        """All that waits, the lowest level first."""
        chunks = [chunk for level in sorted(self._by_level) for chunk in self._by_level[level]]
        self._by_level.clear()
        return joined(chunks) if chunks else None


def lowest_level(changes: Chunk) -> int:
    """That of some changes, of which there is one at least."""
    return int(np.asarray(whole(table_of(changes).column(1)).to_numpy(), np.int64).min())
