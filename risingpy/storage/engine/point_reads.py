"""Single rows of a read view, by their stored keys: what a prepared SELECT by key costs is this, and its messages."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.storage.engine.lmdb_environment import Snapshot
from risingpy.storage.engine.row_reading import read_points
from risingpy.storage.engine.stored_rows import rows_of
from risingpy.storage.engine.undo_record import ROWS


class PointReads:
    """Reads from snapshots of all shards, in any thread, a row at a time."""

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self._snapshots = snapshots
        self._with_runs: list[frozenset[int] | None] = [None] * len(snapshots)  # of each shard, once it is known

    @property
    def shards(self) -> int:
        return len(self._snapshots)

    def value(self, shard: int, table_id: int, key: bytes) -> bytes | None:
        """The value of a stored key, which is not long; None if there is no such row.

        Who does not hold the view must be ready for SnapshotReleased.
        """
        snapshot, with_runs = self._snapshots[shard], self._with_runs[shard]
        if with_runs is None:
            with rows_of(snapshot) as rows:
                with_runs = self._with_runs[shard] = frozenset(rows.waiting())
        if table_id not in with_runs:
            return snapshot.get(key, db=ROWS)
        with rows_of(snapshot) as rows:
            found: bytes | None = read_points(rows, pa.array([key], pa.binary()), may_be_long=False).values[0].as_py()
        return found
