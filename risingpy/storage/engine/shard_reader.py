"""The tables of one shard as a pinned epoch has them, for executors: a `ShardWriter` that nobody writes with."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from risingpy.errors import InternalError
from risingpy.storage.engine.few_writes import FewWrites
from risingpy.storage.engine.lmdb_environment import Snapshot
from risingpy.storage.engine.mem_table import Drained
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.transactions import StoreTransaction
from risingpy.storage.tuning import StoreTuning


class ShardReader:
    """Reads a snapshot. For one thread, in a `with`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._use = snapshot.use()
        self._rows: StoredRows | None = None

    def __enter__(self) -> ShardReader:
        self._rows = StoredRows(self._snapshot.environment, self._use.__enter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rows = None
        self._use.__exit__(kind, error, trace)

    @property
    def tuning(self) -> StoreTuning:
        """That of the environment."""
        return self._snapshot.environment.tuning

    @property
    def rows(self) -> StoredRows:
        """The state."""
        if self._rows is None:
            raise InternalError("a pinned epoch is read after its end")
        return self._rows

    @property
    def transaction(self) -> StoreTransaction:
        """The LMDB transaction of `rows`."""
        return self.rows.transaction

    def in_order(self, table_id: int) -> StoredRows:
        """The same: who reads a snapshot in order merges what waits to be merged as it reads."""
        return self.rows

    def write_few(self, writes: Sequence[FewWrites]) -> None:
        """InternalError, likewise."""
        raise InternalError("a pinned epoch is written to")

    def write(self, writes: Drained) -> None:
        """InternalError: a pinned epoch is not written to."""
        raise InternalError("a pinned epoch is written to")
