"""The connector: what CREATE SOURCE and CREATE TABLE ask, and the loop of its thread."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from risingpy.connectors.mysql_cdc import upstream
from risingpy.connectors.mysql_cdc.binlog import BinlogStream
from risingpy.connectors.mysql_cdc.options import mysql_cdc_options
from risingpy.connectors.mysql_cdc.positions import Position, position_of
from risingpy.connectors.mysql_cdc.receiver import BinlogReceiver
from risingpy.connectors.mysql_cdc.snapshot import take_snapshot
from risingpy.connectors.mysql_cdc.upstream import connected
from risingpy.connectors.pushed import PushedRows, PushedTable, UpstreamDescription
from risingpy.connectors.stopped_tables import parsed_offset
from risingpy.errors import SourceUnavailable


class MysqlCdcConnector:
    """`connector = 'mysql-cdc'`. Exactly once: rows and position are logged together, and none is skipped."""

    name = "mysql-cdc"

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        self._options = mysql_cdc_options(options)

    def options_at_creation(self) -> Mapping[str, str]:
        return {}

    def check(self, *, is_followed: bool = False) -> None:
        with connected(self._options, read_timeout=upstream.STATEMENT_SECONDS) as connection:
            upstream.check_server(connection)

    def describe(self, upstream_name: str) -> UpstreamDescription:
        with connected(self._options, read_timeout=upstream.STATEMENT_SECONDS) as connection:
            return upstream.describe(connection, self._options, upstream_name)

    def run(self, rows: PushedRows, stopping: threading.Event) -> None:
        known = rows.tables()
        begins: dict[int, Position] = {}
        try:
            if rows.last_offset() is None:
                with connected(self._options) as connection:
                    rows.group().commit(str(upstream.end_of_log(connection)))
            while not stopping.is_set():
                known = rows.tables()
                begins |= self._snapshots([each for each in known if each.table_id not in begins], rows, stopping)
                with connected(self._options) as asking, connected(self._options) as connection:
                    start = position_of(parsed_offset(rows.last_offset() or "")[0])
                    stream = BinlogStream(connection, self._options, start)
                    taken = [table for table in known if not table.is_new or table.table_id in begins]
                    receiver = BinlogReceiver(stream, rows, taken, begins, partial(upstream.end_of_log, asking))
                    try:
                        receiver.run(known, stopping)
                    finally:
                        upstream.end(asking, connection.thread_id())
                    begins = receiver.begins
        except BaseException as error:
            for table in known:
                if table.is_new:  # another snapshot would not know which of the rows that are here have gone since
                    rows.refused(table.table_id, str(error))
            raise

    def forget(self) -> None:
        """The server keeps its binary log for a time of its own choice, and nothing for us."""

    def _snapshots(
        self, tables: Sequence[PushedTable], rows: PushedRows, stopping: threading.Event
    ) -> dict[int, Position]:
        """Gives new tables their rows: from which position on the log's transactions come after them."""
        begins: dict[int, Position] = {}
        for table in tables:
            if not table.is_new or stopping.is_set():
                continue
            try:
                position = take_snapshot(self._options, table, rows, partial(_gives_up, table, rows, stopping))
            except SourceUnavailable as error:
                rows.refused(table.table_id, str(error))
                continue
            if position is not None:
                begins[table.table_id] = position
        return begins


def _gives_up(table: PushedTable, rows: PushedRows, stopping: threading.Event) -> bool:
    return stopping.is_set() or all(each.table_id != table.table_id for each in rows.tables())
