"""Keeps shared storage small, and quick to read, while epochs go on: merges, snapshots, `m/…`, vacuum.

One thread of the leader's. Rows of snapshots come from its own stores, pinned at a committed epoch, so nothing is read
from shared storage for them. What it writes counts when the journal names it; a crash leaves objects for the vacuum.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from risingpy.errors import SqlError
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.ranges import Ranges
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.stored_rows import rows_of
from risingpy.storage.journal.compaction import (
    DEFAULT_THRESHOLDS,
    DueMerge,
    Thresholds,
    due_merges,
    due_tables,
    merge,
    put_parts,
)
from risingpy.storage.journal.entries import SnapshotEntry, TableSnapshot
from risingpy.storage.journal.journal import Journal
from risingpy.storage.journal.leadership import refuse_later_term
from risingpy.storage.journal.vacuum import DEFAULT_AGES, Ages, vacuum
from risingpy.storage.journal.version import Version, decode_version, encode_version, version_name
from risingpy.storage.objects.object_store import put_own

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
VACUUM_SECONDS = 3600.0
SLOTS_PER_VERSION = 1000  # a reader gets these records one by one


@dataclass(slots=True)
class _Due:
    merges: list[DueMerge]
    tables: frozenset[int]
    mentioned: frozenset[int]
    slot: int
    version: bytes | None


class Compactor:
    """Begins with `start`; `close` waits for what it is doing."""

    def __init__(
        self,
        journal: Journal,
        acquire_view: Callable[[], ReadView],
        *,
        thresholds: Thresholds = DEFAULT_THRESHOLDS,
        ages: Ages = DEFAULT_AGES,
    ) -> None:
        """`acquire_view` gives the newest published epoch; it is released here."""
        self._journal = journal
        self._acquire_view = acquire_view
        self._thresholds = thresholds
        self._ages = ages
        self._last_version = -SLOTS_PER_VERSION
        self._looked_at = -1  # the slot after which nothing has come: an idle database costs nothing here
        self._vacuumed = time.monotonic()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="compactor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout=60)

    def look(self) -> None:
        """Does what is due."""
        if self._slot() == self._looked_at:
            return
        due = self._due()
        for each in due.merges:
            self._journal.append(merge(self._journal.objects, each))
        if due.tables:
            self._journal.append(self._snapshot(due.tables, due.mentioned))
        if due.merges or due.tables:
            due = self._due(with_version=True)
        if due.version is not None:
            put_own(self._journal.objects, version_name(due.slot), due.version)
            self._last_version = due.slot
        self._looked_at = due.slot

    def vacuum(self) -> int:
        """Deletes what nobody needs any more; returns how many objects."""
        due = self._due(with_version=True)
        assert due.version is not None
        newest = decode_version(version_name(due.slot), due.version)
        objects, term = self._journal.objects, self._journal.term
        return vacuum(objects, newest, time.time(), lambda: refuse_later_term(objects, term), self._ages)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_SECONDS) and self._journal.lost is None:
            try:
                self.look()
                if time.monotonic() - self._vacuumed > VACUUM_SECONDS:
                    self._vacuumed = time.monotonic()
                    LOG.info("vacuum: %d objects deleted", self.vacuum())
            except SqlError as error:
                if self._journal.lost is None:
                    LOG.warning("shared storage is not compacted for now: %s", error)
            except Exception:
                LOG.exception("shared storage is not compacted for now")

    def _slot(self) -> int:
        found: list[int] = []
        self._journal.look_at(lambda version: found.append(version.slot))
        return found[0]

    def _due(self, *, with_version: bool = False) -> _Due:
        found: list[_Due] = []

        def look(version: Version) -> None:
            is_old = version.slot - self._last_version >= SLOTS_PER_VERSION
            found.append(
                _Due(
                    due_merges(version, self._thresholds),
                    due_tables(version, self._thresholds),
                    frozenset(table_id for delta in version.deltas for table_id in delta.tables),
                    version.slot,
                    encode_version(version) if with_version or is_old else None,
                )
            )

        self._journal.look_at(look)
        return found[0]

    def _snapshot(self, due: Collection[int], mentioned: Collection[int]) -> SnapshotEntry:
        view = self._acquire_view()
        try:
            # Tables that are gone are written with the others, without rows: then no delta is kept for their sake.
            gone = set(mentioned) - view.statistics().keys()
            tables = [
                self._table(view, table_id, shard) for table_id in sorted({*due, *gone}) for shard in range(view.shards)
            ]
        finally:
            view.release()
        return SnapshotEntry(tuple(tables))

    def _table(self, view: ReadView, table_id: int, shard: int) -> TableSnapshot:
        parts = put_parts(self._journal.objects, table_id, shard, view.epoch, _rows(view, table_id, shard))
        return TableSnapshot(table_id, shard, view.epoch, parts)


def _rows(view: ReadView, table_id: int, shard: int) -> Iterator[WriteBatch]:
    with rows_of(view.snapshots[shard]) as rows:
        for page in rows.read(Ranges.of_prefix(table_prefix(table_id))):
            if len(page):
                yield WriteBatch(page.keys, page.values)
