"""The connector: what CREATE SOURCE and CREATE TABLE ask, and the loop of its thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial

from psycopg.errors import ObjectInUse

from risingpy.connectors.postgres_cdc import upstream
from risingpy.connectors.postgres_cdc.followed_tables import FollowedTables
from risingpy.connectors.postgres_cdc.options import PostgresCdcOptions, postgres_cdc_options
from risingpy.connectors.postgres_cdc.receiver import Receiver
from risingpy.connectors.postgres_cdc.replication import ReplicationStream, lsn_of, replicating, shown_lsn
from risingpy.connectors.postgres_cdc.snapshot import create_slot, take_snapshot
from risingpy.connectors.postgres_cdc.upstream_connection import connected
from risingpy.connectors.pushed import PushedRows, PushedTable, UpstreamDescription
from risingpy.connectors.stopped_tables import parsed_offset
from risingpy.errors import SourceUnavailable

_STATEMENT_SECONDS = 4  # of what CREATE and DROP ask


class PostgresCdcConnector:
    """`connector = 'postgres-cdc'`. Exactly once: no position is confirmed that is not in our log, and none skipped."""

    name = "postgres-cdc"

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        self._options = postgres_cdc_options(options)

    def options_at_creation(self) -> Mapping[str, str]:
        return {"slot.name": self._options.slot}

    def check(self, *, is_followed: bool = False) -> None:
        """The server can be followed. Makes the publication if it is missing."""
        with connected(self._options) as connection:
            connection.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
            upstream.check_server(connection, self._options, is_followed=is_followed)

    def describe(self, upstream_name: str) -> UpstreamDescription:
        with connected(self._options) as connection:
            connection.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
            return upstream.describe(connection, self._options, upstream_name)

    def run(self, rows: PushedRows, stopping: threading.Event) -> None:
        known = rows.tables()
        begins: dict[int, int] = {}
        try:
            if not _has_slot(self._options, rows, stopping):
                return
            while not stopping.is_set():
                known = rows.tables()
                begins |= self._snapshots([each for each in known if each.table_id not in begins], rows, stopping)
                with connected(self._options) as asking, replicating(self._options) as connection:
                    stream = ReplicationStream(connection, self._options, _position(rows))
                    taken = [table for table in known if not table.is_new or table.table_id in begins]
                    followed = FollowedTables(
                        asking, self._options.publication, taken, follows_columns=self._options.follows_columns
                    )
                    receiver = Receiver(stream, rows, followed, begins, partial(upstream.end_of_log, asking))
                    receiver.run(known, stopping)
                    begins = receiver.begins
        except BaseException as error:
            for table in known:
                if table.is_new:  # another snapshot would not know which of the rows that are here have gone since
                    rows.refused(table.table_id, str(error))
            raise

    def forget(self) -> None:
        """Drops the slot: PostgreSQL would keep its log for it for ever."""
        query = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s"
        deadline = time.monotonic() + _STATEMENT_SECONDS
        with connected(self._options) as connection:
            connection.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
            while True:
                try:
                    connection.execute(query, (self._options.slot,))
                    return
                except ObjectInUse:  # PostgreSQL has not yet noticed the end of the stream
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)

    def _snapshots(self, tables: Sequence[PushedTable], rows: PushedRows, stopping: threading.Event) -> dict[int, int]:
        """Gives new tables their rows: from which position on the stream's transactions come after them."""
        begins: dict[int, int] = {}
        for table in tables:
            if not table.is_new or stopping.is_set():
                continue
            try:
                position = take_snapshot(self._options, table, rows, stopping)
            except SourceUnavailable as error:
                rows.refused(table.table_id, str(error))
                continue
            if position is not None:
                begins[table.table_id] = position
        return begins


def _has_slot(options: PostgresCdcOptions, rows: PushedRows, stopping: threading.Event) -> bool:
    """Makes the slot the first time; False if it was stopped meanwhile.

    Later it must be there, and not be ahead: what it has let go of cannot be had again.
    """
    offset = rows.last_offset()
    if offset is not None:
        offset, _ = parsed_offset(offset)
    with connected(options) as connection:
        query = "SELECT confirmed_flush_lsn::text, wal_status FROM pg_replication_slots WHERE slot_name = %s"
        found = connection.execute(query, (options.slot,)).fetchone()
    if found is None and offset is not None:
        raise _lost(options, "is gone", offset)
    if found is None:
        with replicating(options) as connection:
            made = create_slot(connection, options.slot, "NOEXPORT_SNAPSHOT", stopping.is_set, None)
        if made is None:
            return False
        offset = shown_lsn(made[0])
        rows.group().commit(offset)
        return True
    confirmed, status = found
    if status == "lost":
        raise _lost(options, "has lost the log that it needs", offset or confirmed)
    if offset is None:
        rows.group().commit(str(confirmed))
    elif lsn_of(confirmed) > lsn_of(offset):
        raise _lost(options, f"was moved on to {confirmed}", offset)
    return True


def _position(rows: PushedRows) -> int:
    return lsn_of(parsed_offset(rows.last_offset() or "0/0")[0])


def _lost(options: PostgresCdcOptions, what: str, offset: str) -> SourceUnavailable:
    hint = "Drop the source and its tables, and create them again."
    return SourceUnavailable(f'replication slot "{options.slot}" {what}: changes after {offset} are lost', hint=hint)
