"""What the connector of a pushed source calls: its tables, its last offset, and what it has left out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.pushed import AlteredOriginal, PushedColumn, PushedGroup, PushedTable
from risingpy.errors import InvalidTableDefinition, SqlError
from risingpy.executors.change_chunk import columns_of, make_chunk, ops_of
from risingpy.executors.epoch.source_reading import SAMPLE_BYTES, SAMPLES, GivenMessages, Rejected, RejectedMessage
from risingpy.meta.epochs.published_state import PublishedState
from risingpy.meta.epochs.rejected_messages import RejectedMessages
from risingpy.meta.epochs.waiters import Waiters
from risingpy.meta.feeds.feed_group import FeedGroup
from risingpy.meta.writing.dml_log import DmlLog
from risingpy.plan.catalog import Table

AlterCopy = Callable[[AlteredOriginal, threading.Event], str | None]
"""Gives a copy its original's columns, as `PushedRows.alter` does, unless it is cancelled."""


@dataclass(frozen=True, slots=True)
class FeedStatus:
    """How far the log has a source's rows, where they end (None: not known), and why the other side does not answer.

    `end` is not older than the question of number `answered`. `of_tables`: by id, why a table gets no more changes
    though the other side answers, or what it lacks.
    """

    position: int | None = None
    end: int | None = None
    failure: str | None = None
    answered: int = 0
    of_tables: Mapping[int, str] = field(default_factory=dict)

    def has_read_to(self, end: int) -> bool:
        """Whether the log has the rows up to `end`, or they do not come because of a failure."""
        return self.failure is not None or (self.position is not None and self.position >= end)


class FeedRows:
    """Implements `PushedRows` for one source. Other threads read `status`, and wait with `outcome`."""

    def __init__(
        self,
        source_id: int,
        *,
        published: PublishedState,
        waiters: Waiters,
        log: DmlLog,
        rejected: RejectedMessages,
        stopping: threading.Event,
        answers: Callable[[], None],
        alter: AlterCopy,
    ) -> None:
        """`answers` is called when the other side has shown that it is there."""
        self._alter = alter
        self._source_id = source_id
        self._published = published
        self._waiters = waiters
        self._log = log
        self._rejected = rejected
        self._stopping = stopping
        self._answers = answers
        self._changed = threading.Condition()
        self._tables: tuple[PushedTable, ...] = ()
        self._taken_in: set[int] = set()
        self._refused: dict[int, SqlError] = {}
        self._asked = 0
        self._format: MessageFormat | None = None
        self._decoder: tuple[Table, GivenMessages] | None = None
        self.status = FeedStatus()  # replaced as a whole, because other threads read it

    # For the connector's thread

    def last_offset(self) -> str | None:
        offset = self._log.last_offset(self._source_id)
        return self._published.state.committed.pushed.get(self._source_id) if offset is None else offset

    def tables(self) -> Sequence[PushedTable]:
        return self._tables

    def group(self) -> PushedGroup:
        log, published = self._log, self._published
        return FeedGroup(self._source_id, log, published, self._wait_for_lsn, self._stopping, self._decoded)

    def taken_in(self, table_id: int) -> None:
        with self._changed:
            self._taken_in.add(table_id)
            self._tables = tuple(_old(table) if table.table_id == table_id else table for table in self._tables)
            self._changed.notify_all()

    def refused(self, table_id: int, reason: str) -> None:
        with self._changed:
            if table_id in self._taken_in:
                return
            self._refused[table_id] = InvalidTableDefinition(reason)
            self._tables = tuple(table for table in self._tables if table.table_id != table_id)
            self._changed.notify_all()

    def alter(self, altered: AlteredOriginal) -> str | None:
        return self._alter(altered, self._stopping)

    def noted(self, reasons: Mapping[int, str]) -> None:
        self._set(replace(self.status, of_tables=dict(reasons)))

    def rejected(self, table: PushedTable, count: int, samples: Sequence[tuple[int, str, str]]) -> None:
        kept = [RejectedMessage(table.upstream, place, why, text[:SAMPLE_BYTES]) for place, why, text in samples]
        self._rejected.add([Rejected(self._source_id, table.table_id, count, tuple(kept[:SAMPLES]))])

    def asked(self) -> int:
        return self._asked

    def progress(self, position: int, end: int, answered: int) -> None:
        self._set(FeedStatus(position, max(position, end), None, answered, self.status.of_tables))
        self._answers()

    def use_format(self, message_format: MessageFormat | None) -> None:
        """How messages are decoded from now on; its options are in clear."""
        self._format, self._decoder = message_format, None

    def _decoded(self, table: Table, messages: pa.Table) -> pa.Table:
        """The changes that messages are to the table. Rows without a key have ids as those of a read source have."""
        assert table.source is not None and self._format is not None
        if self._decoder is None or self._decoder[0] is not table:
            self._decoder = table, GivenMessages(table.source, self._format)
        found = self._decoder[1].rows(messages, range(len(table.columns)))
        if found.rejected:
            self._rejected.add([Rejected(self._source_id, table.relation_id, found.rejected, found.samples)])
        if table.primary_key:
            return found.changes
        ops, columns = ops_of(found.changes), columns_of(found.changes)
        return make_chunk(ops, [*columns[:-1], pc.subtract(pa.scalar(-1, pa.int64()), columns[-1])])

    # For other threads

    def follow(self, tables: Sequence[Table]) -> None:
        """The catalog's tables that copy from the source, in the barrier loop's thread."""
        with self._changed:
            ids = {table.relation_id for table in tables}
            self._taken_in &= ids
            self._refused = {table_id: error for table_id, error in self._refused.items() if table_id in ids}
            wanted = tuple(self._pushed(table) for table in tables if table.relation_id not in self._refused)
            if wanted != self._tables:
                self._tables = wanted

    def failed(self, reason: str) -> None:
        """The other side does not answer."""
        self._set(replace(self.status, failure=reason))

    def end_now(self, seconds: float) -> int | None:
        """Where the other side's rows end now; None if it does not answer in time."""
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._changed.wait_for(lambda: self.status.answered >= mine or self.status.failure is not None, seconds)
            return self.status.end if self.status.failure is None and self.status.answered >= mine else None

    def wait_for(self, end: int, seconds: float) -> bool:
        """Whether the log has the rows up to `end`, or they do not come; after waiting for at most so long."""
        with self._changed:
            return self._changed.wait_for(lambda: self.status.has_read_to(end), seconds)

    def outcome(self, table_id: int, seconds: float) -> bool:
        """Whether a new table has its rows, after waiting for at most so long. Raises the reason if it cannot."""
        with self._changed:
            self._changed.wait_for(lambda: table_id in self._taken_in or table_id in self._refused, seconds)
            if table_id in self._refused:
                raise self._refused[table_id]
            return table_id in self._taken_in

    def _set(self, status: FeedStatus) -> None:
        with self._changed:
            if status != self.status:
                self.status = status
                self._changed.notify_all()

    def _pushed(self, table: Table) -> PushedTable:
        columns = tuple(PushedColumn(column.name, column.type, column.not_null) for column in table.columns)
        is_new = table.is_being_created and table.relation_id not in self._taken_in
        made = table.upstream
        if made is None:
            return PushedTable(table.relation_id, "", columns, table.primary_key, is_new)
        return PushedTable(
            table.relation_id, made.name, columns, table.primary_key, is_new, made.shape, made.all_columns
        )

    def _wait_for_lsn(self, lsn: int) -> None:
        self._waiters.until_lsn(lsn, self._stopping)


def _old(table: PushedTable) -> PushedTable:
    return replace(table, is_new=False)
