"""Single rows of a read view, by their stored keys: what a prepared SELECT by key costs is this, and its messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyarrow as pa

from risingpy.storage.engine.lmdb_environment import Snapshot
from risingpy.storage.engine.ranges import Ranges
from risingpy.storage.engine.row_reading import read_all, read_points
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
        snapshot = self._snapshots[shard]
        if not self._has_runs(shard, table_id):
            return snapshot.get(key, db=ROWS)
        with rows_of(snapshot) as rows:
            found: bytes | None = read_points(rows, pa.array([key], pa.binary()), may_be_long=False).values[0].as_py()
        return found

    def values(self, shard: int, table_id: int, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each of a few keys, as `value`."""
        snapshot = self._snapshots[shard]
        if not self._has_runs(shard, table_id):
            return snapshot.get_each(keys, db=ROWS)
        with rows_of(snapshot) as rows:
            found = read_points(rows, pa.array(keys, pa.binary()), may_be_long=False).values
        return cast("list[bytes | None]", found.to_pylist())

    def has_prefix(self, shard: int, table_id: int, prefix: bytes) -> bool:
        """Whether a stored key begins with `prefix`, which is shorter than what is stored of long keys. As `value`."""
        return self.are_there(shard, table_id, (prefix,), whole=False)[0]

    def are_there(self, shard: int, table_id: int, keys: Sequence[bytes], *, whole: bool) -> list[bool]:
        """Whether each of the keys is stored, or without `whole` begins few of them. As `value` and `has_prefix`."""
        snapshot = self._snapshots[shard]
        if not self._has_runs(shard, table_id):
            return snapshot.are_there(keys, db=ROWS, whole=whole)
        asked = pa.array(keys, pa.binary())
        with rows_of(snapshot) as rows:
            if whole:
                values = read_points(rows, asked, may_be_long=False).values
                return cast("list[bool]", values.is_valid().to_pylist())
            found = frozenset(read_all(rows, Ranges.of_prefixes(asked)).numbers.tolist())
        return [number in found for number in range(len(keys))]

    def _has_runs(self, shard: int, table_id: int) -> bool:
        with_runs = self._with_runs[shard]
        if with_runs is None:
            with rows_of(self._snapshots[shard]) as rows:
                with_runs = self._with_runs[shard] = frozenset(rows.waiting())
        return table_id in with_runs
