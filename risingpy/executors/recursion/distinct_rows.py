"""The rows of a recursion with UNION: each once, at the least level at which it is derived."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.recursion.derived_rows import Counted, Derivations, Integers, Levelled, Mask
from risingpy.storage.engine.state_table import StateTable


class DistinctRows:
    """`members` is the table `identity → level, carried`: which rows the step reads, and at which level."""

    def __init__(self, derivations: Derivations, members: StateTable) -> None:
        self._derivations = derivations
        self._members = members

    def update(self, level: int, changes: pa.Table) -> tuple[Levelled, Levelled | None]:
        """As LevelRows.

        A row that is a member at a lower level stays there: that level is final. One that this level gives no more
        leaves. One that a later level had comes to this. What is no member, and is not derived at this level, is
        looked at again at the next level that derives it: which may in its turn lose it within the same epoch.
        """
        counted = self._derivations.count(level, changes)
        found, (member_levels, *carried) = self._members.get_rows(counted.identity)
        levels = np.asarray(member_levels.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
        is_derived = counted.after > 0
        leaves = found & (levels == level) & ~is_derived
        comes = is_derived & (~found | (levels > level))
        goes = leaves | (comes & found)
        here = np.full(len(levels), level, np.int64)
        parts = [
            self._taken(counted.identity, kept, at, rows, op)
            for kept, at, rows, op in ((carried, levels, goes, -1), (counted.carried, here, comes, 1))
            if rows.any()
        ]
        self._write(counted, levels, carried, leaves)
        self._write(counted, here, counted.carried, comes)
        read = _joined(parts) if parts else self._taken(counted.identity, carried, levels, goes, -1)
        return read, self._looked_at_again(counted, ~is_derived & (leaves | ~found))

    def _taken(
        self, identity: Sequence[pa.Array], carried: Sequence[pa.Array], levels: Integers, rows: Mask, op: int
    ) -> Levelled:
        mask = pa.array(rows)
        columns = self._derivations.layout.in_order(identity, carried)
        ops = np.full(int(rows.sum()), op, np.int8)
        return Levelled(ops, levels[rows], [column.filter(mask) for column in columns])

    def _write(self, counted: Counted, levels: Integers, carried: Sequence[pa.Array], rows: Mask) -> None:
        """Puts the rows that are derived, and deletes those that are not."""
        if not rows.any():
            return
        ops = np.where(counted.after > 0, 1, -1).astype(np.int8)[rows]
        mask = pa.array(rows)
        written = [*counted.identity, pa.array(levels), *carried]
        self._members.apply(ops, [column.filter(mask) for column in written])

    def _looked_at_again(self, counted: Counted, rows: Mask) -> Levelled | None:
        if not rows.any():
            return None
        mask = pa.array(rows)
        identity = [column.filter(mask) for column in counted.identity]
        found, levels = self._derivations.least_levels(identity)
        carried = [column.filter(mask) for column in counted.carried]
        return self._taken(identity, carried, levels, found, 0)


def _joined(parts: Sequence[Levelled]) -> Levelled:
    if len(parts) == 1:
        return parts[0]
    columns = [pa.concat_arrays(each) for each in zip(*(part.columns for part in parts), strict=True)]
    return Levelled(
        np.concatenate([part.ops for part in parts]), np.concatenate([part.levels for part in parts]), columns
    )
