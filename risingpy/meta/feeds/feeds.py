"""The feeds of all pushed sources. The catalog says which there are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from risingpy.connectors.registry import is_pushed
from risingpy.connectors.secrets.vault import Vault
from risingpy.errors import SourceUnavailable, UndefinedTable
from risingpy.meta.cancellation import Cancelled, check_of
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.rejected_messages import RejectedMessages
from risingpy.meta.epochs.source_offsets import ANSWER_SECONDS
from risingpy.meta.epochs.waiters import WAIT_SLICE_SECONDS, Waiters
from risingpy.meta.feeds.feed import Feed
from risingpy.meta.feeds.feed_rows import AlterCopy, FeedRows, FeedStatus
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.catalog import Catalog, ExternalSource, Table

STOP_SECONDS = 5.0  # how long the end of a source or of the server waits for a feed's thread


class Feeds:
    """Starts a thread for each pushed source that `follow` tells it of. Any thread may call it."""

    def __init__(
        self,
        published: PublishedState,
        waiters: Waiters,
        log: DmlLog,
        rejected: RejectedMessages,
        vault: Vault,
        alter: AlterCopy,
    ) -> None:
        self._alter = alter
        self._published = published
        self._vault = vault
        self._waiters = waiters
        self._log = log
        self._rejected = rejected
        self._guard = threading.Lock()
        self._feeds: dict[int, Feed] = {}
        self._ending: list[Feed] = []  # of dropped sources
        self._closed = False

    def follow(self, catalog: Catalog) -> None:
        """The catalog has changed, or epochs begin to run: from then on the sources may send."""
        sources = {source_id: each for source_id, each in catalog.sources.items() if is_pushed(dict(each.options))}
        with self._guard:
            if self._closed:
                return
            for source_id in self._feeds.keys() - sources.keys():
                dropped = self._feeds.pop(source_id)
                dropped.stop(forgets=True)
                self._ending.append(dropped)
            for source_id, source in sources.items():
                tables = (each for each in catalog.relations.values() if isinstance(each, Table))
                readers = [table for table in tables if table.pushed_by == source_id]
                feed = self._feeds.get(source_id)
                if feed is not None:
                    feed.renew(source)
                    feed.rows.follow(readers)
                else:
                    feed = self._feeds[source_id] = Feed(source, self._vault, partial(self._rows, source_id))
                    feed.rows.follow(readers)
                    feed.start()

    def until_taken_in(self, source_id: int, table_id: int, cancelled: Cancelled) -> int:
        """Waits until a new table has the rows of its upstream; returns the position of the log that has them.

        Raises SqlError if it cannot have them, SourceUnavailable if the other side does not answer.
        """
        while True:
            self._waiters.refuse_if_down()
            with self._guard:
                feed = self._feeds.get(source_id)
            if feed is None:
                raise UndefinedTable("the source was dropped meanwhile")
            if feed.rows.outcome(table_id, WAIT_SLICE_SECONDS):
                return self._log.last_lsn
            if feed.rows.status.failure is not None:
                raise SourceUnavailable(f'source "{feed.source.name}" stands still: {feed.rows.status.failure}')
            check_of(cancelled)()

    def until_read(self, cancelled: Cancelled) -> None:
        """Waits until the log has all rows that the other sides have now. Leaves out those that do not answer."""
        with self._guard:
            feeds = [feed for feed in self._feeds.values() if feed.rows.tables()]
        deadline = time.monotonic() + ANSWER_SECONDS
        ends = [(feed, feed.rows.end_now(max(deadline - time.monotonic(), 0.0))) for feed in feeds]
        for feed, end in ends:
            while end is not None and not feed.rows.wait_for(end, WAIT_SLICE_SECONDS):
                self._waiters.refuse_if_down()
                check_of(cancelled)()

    def until_forgotten(self) -> None:
        """Waits until the other sides know of the sources that were dropped, if they answer."""
        with self._guard:
            ending, self._ending = self._ending, []
        for feed in ending:
            feed.join(STOP_SECONDS)

    def status(self) -> Iterator[tuple[ExternalSource, FeedStatus]]:
        """What is known of each source."""
        with self._guard:
            feeds = list(self._feeds.values())
        for feed in feeds:
            yield feed.source, feed.rows.status

    def close(self) -> None:
        """Ends the threads, while the log is still open."""
        with self._guard:
            self._closed = True
            feeds = list(self._feeds.values())
            self._feeds.clear()
        for feed in feeds:
            feed.stop(forgets=False)
        for feed in feeds:
            feed.join(STOP_SECONDS)

    def _rows(self, source_id: int, stopping: threading.Event, answers: Callable[[], None]) -> FeedRows:
        return FeedRows(
            source_id,
            published=self._published,
            waiters=self._waiters,
            log=self._log,
            rejected=self._rejected,
            stopping=stopping,
            answers=answers,
            alter=self._alter,
        )
