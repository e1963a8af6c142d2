"""Reads the newest committed state, and waits for later ones."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from risingpy.meta.cancellation import Cancelled
from risingpy.meta.epochs.published_state import ReadableState
from risingpy.meta.epochs.source_offsets import SourceOffsets
from risingpy.meta.epochs.waiters import LsnCall, Waiters
from risingpy.meta.feeds.feeds import Feeds
from risingpy.meta.schema.internal_tables import internal_tables
from risingpy.meta.state import MetaState
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.meta.writing.pending_rows import PendingRow
from risingpy.meta.writing.row_keys import RowKey
from risingpy.plan.catalog import DEFAULT_DATABASE_ID, Catalog
from risingpy.storage.engine.read_views import ReadView

Glance: TypeAlias = tuple[MetaState, ReadView]
"""A state and its view, which nobody holds: it may be released at any time. See `PublishedState.glance`."""


@dataclass(frozen=True, slots=True)
class CommittedSnapshot:
    """The catalog and the read view of one committed state. Release the view when done."""

    catalog: Catalog
    view: ReadView


class Reads:
    """Any thread may call these. Methods that block take a `cancelled` event and raise QueryCanceled."""

    def __init__(
        self, published: ReadableState, waiters: Waiters, log: DmlLog, sources: SourceOffsets, feeds: Feeds
    ) -> None:
        self._published = published
        self._waiters = waiters
        self._log = log
        self._sources = sources
        self._feeds = feeds
        self._end_of_earlier_runs = log.last_lsn
        self.database_id = DEFAULT_DATABASE_ID
        self._catalog: tuple[Catalog, Catalog] | None = None  # a state's catalog, and the same with internal tables

    def seen_from(self, database_id: int) -> Reads:
        """The same, with catalogs as another database sees them."""
        reads = copy.copy(self)
        reads.database_id = database_id
        return reads

    def on_draft(self, draft: ReadableState) -> Reads:
        """The same, with the catalog of a transaction that has changed it. New relations have no rows."""
        reads = Reads(draft, self._waiters, self._log, self._sources, self._feeds)
        return reads.seen_from(self.database_id)

    @property
    def state(self) -> MetaState:
        return self._published.state

    @property
    def seen_state(self) -> MetaState:
        """The newest state, with the catalog that `catalog` gives."""
        state = self._published.state
        return replace(state, catalog=self._readable(state))

    @property
    def catalog(self) -> Catalog:
        return self._readable(self._published.state)

    @property
    def committed_epoch(self) -> int:
        return self._published.state.committed.epoch

    @property
    def lsn_of_earlier_runs(self) -> int:
        """The end of the log when the server started; 0 once epochs have all of it.

        After a crash a client must find the writes that were acknowledged to it. So a session's reads wait for this
        position, as for its own writes.
        """
        return self._end_of_earlier_runs if self.state.committed.lsn < self._end_of_earlier_runs else 0

    def snapshot(self, relation_ids: Collection[int] = (), cancelled: Cancelled = None) -> CommittedSnapshot:
        """The newest catalog in which these relations can be read, and its view, acquired: the caller releases it."""
        if not self._published.has_whole(relation_ids):  # the server has just started: nothing is of before
            self._waiters.until(lambda state: state.partial is None, cancelled)
        state, view = self._published.acquire_view(relation_ids)
        return CommittedSnapshot(self._readable(state), view)

    def glance(self, table_ids: Collection[int]) -> Glance | None:
        """See `PublishedState.glance`; None, too, if the log has rows of these tables that the state has not."""
        if not table_ids:
            return self._published.glance()
        logged = self._log.last_lsn  # before the state is looked at
        found = self._published.glance()
        if found is None or logged <= found[0].committed.lsn:
            return found
        return found if self._log.last_lsn_of(table_ids) <= found[0].committed.lsn else None

    def pending_row(self, table_id: int, key: RowKey, of: int | None = None) -> PendingRow | int | None:
        """What the log has last for a row of a table, see `PendingRows.find`: all that is acknowledged, by anybody.

        Without the row's lock, the log may have more a moment later. Where it is None, look at the committed state
        after this: an epoch may just have taken the row.
        """
        return self._log.pending_row(table_id, key, of)

    def last_lsn_of(self, table_ids: Iterable[int]) -> int:
        """Where the log has the last rows of these tables, acknowledged by anybody: see `DmlLog.last_lsn_of`."""
        return self._log.last_lsn_of(table_ids)

    def call_at(self, call: LsnCall) -> None:
        """See `Waiters.call_at`."""
        self._waiters.call_at(call)

    def withdraw(self, call: LsnCall) -> bool:
        """See `Waiters.withdraw`."""
        return self._waiters.withdraw(call)

    def lacks_rows_of(self, table_ids: Collection[int]) -> bool:
        """Whether the log has rows of these tables that no published epoch has."""
        committed = self.state.committed.lsn
        return self._log.last_lsn > committed and self._log.last_lsn_of(table_ids) > committed

    def table_rows(self, table_id: int) -> int:
        """How many rows a table or view has in the newest committed epoch."""
        _, view = self._published.acquire_view()
        try:
            return view.rows_of(table_id)
        finally:
            view.release()

    def table_bytes(self, table_id: int) -> int:
        """How many bytes the values of a table's rows have in the newest committed epoch."""
        _, view = self._published.acquire_view()
        try:
            found = view.statistics().get(table_id)
        finally:
            view.release()
        return 0 if found is None else found.value_bytes

    def wait_for_lsn(self, lsn: int, cancelled: Cancelled = None) -> None:
        """Waits until the epoch that holds the log up to `lsn` is committed and readable."""
        self._waiters.until_lsn(lsn, cancelled)

    def wait_for_writes_below(self, relation_ids: Iterable[int], cancelled: Cancelled = None) -> None:
        """Waits until these relations have all that statements of any session had written, when it is called.

        It does not wait for writes that do not reach them.
        """
        if self._log.last_lsn <= self.state.committed.lsn:  # as most reads find it: no need to know the tables
            lsn = 0
        else:
            lsn = self._log.last_lsn_of(self.catalog.tables_below(relation_ids))
        if lsn > self.state.committed.lsn:
            self._waiters.until_lsn(lsn, cancelled)
        self.wait_for_set_aside(relation_ids, cancelled)

    def wait_for_set_aside(self, relation_ids: Iterable[int], cancelled: Cancelled = None) -> None:
        """Waits until these relations have what is committed now, if jobs that keep them are set aside.

        Not for those that are refreshed at intervals.
        """
        state = self.state
        if not state.set_aside:
            return
        behind = self.catalog.relations_below(relation_ids) & state.behind
        if behind:
            epoch = state.committed.epoch
            self._waiters.until(
                lambda later: all(
                    job not in later.set_aside or later.set_aside[job].position >= epoch for job in behind
                ),
                cancelled,
            )

    def flush(self, cancelled: Cancelled = None) -> int:
        """Waits until every view has all that was logged, and all that the sources had; returns the epoch."""
        self._feeds.until_read(cancelled)
        lsn = self._log.last_lsn
        ends = self._sources.newest(self.state)
        self._waiters.wake()
        return self._waiters.until_read(lsn, ends, cancelled, self._sources.answers).committed.epoch

    def _readable(self, state: MetaState) -> Catalog:
        """The state's catalog with the internal tables in it."""
        known = self._catalog  # one pair, replaced as a whole: other threads may do this at the same time
        if known is None or known[0] is not state.catalog or known[1].database_id != self.database_id:
            before = {} if known is None else known[1].internal_tables
            full = replace(state.catalog, internal_tables=internal_tables(state, before))
            known = state.catalog, full.seen_from(self.database_id)
            self._catalog = known
        return known[1]
