"""A table's rows at an exact position of the binary log.

MariaDB tells the position of a consistent snapshot. MySQL does not: there, a lock holds up all commits for the moment
in which the snapshot begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pymysql
from pymysql.cursors import SSCursor

from risingpy.connectors.mysql_cdc.options import MysqlCdcOptions
from risingpy.connectors.mysql_cdc.positions import Position
from risingpy.connectors.mysql_cdc.upstream import (
    MysqlColumn,
    MysqlTable,
    connected,
    current_shape,
    end_of_log,
    quoted,
    quoted_table,
    shape_of_text,
)
from risingpy.connectors.pushed import PushedRows, PushedTable
from risingpy.connectors.row_chunks import BadRows, chunk_of, note_missing, parsed, shown_row
from risingpy.errors import SourceUnavailable

CHUNK_ROWS = 20_000
LOCK_SECONDS = 2  # for which other statements may hold up a lock
TRIES = 5  # of a snapshot during which the table is altered
# The table was altered; or an ALTER waits for us, and our read for the ALTER: all is released, so that it can run.
_TRIED_AGAIN = frozenset((1412, 1205))


def take_snapshot(
    options: MysqlCdcOptions, table: PushedTable, rows: PushedRows, gives_up: Callable[[], bool]
) -> Position | None:
    """Logs the table's rows; returns the position from which on the log's transactions come after them.

    None if the caller gives up. Raises SourceUnavailable; then some rows may be logged.
    """
    for tried in range(TRIES):
        try:
            with (
                connected(options) as guard,
                connected(options, conv={}, cursorclass=SSCursor) as connection,
            ):
                _hold(guard, table, whole=tried > 0)
                position = _begin(connection)
                if not _copy(connection, table, rows, gives_up):
                    return None
                return position
        except SourceUnavailable as error:
            if not (isinstance(error.__cause__, pymysql.Error) and error.__cause__.args[0] in _TRIED_AGAIN):
                raise
    raise SourceUnavailable(f'table "{table.upstream}" is altered again and again upstream')


def altered(table: PushedTable, now: MysqlTable) -> str | None:
    """Why a copy cannot follow the table as it is now; None if it can."""
    created = shape_of_text(table.shape)
    if not now.columns:
        return f'table "{table.upstream}" was dropped upstream'
    for column in table.columns:
        before, after = created.column(column.name), now.column(column.name)
        if after is None:
            return f'column "{column.name}" was dropped or renamed upstream'
        if before is None or _of_values(before) != _of_values(after):
            return f'the type of column "{column.name}" was changed upstream to {after.column_type}'
    if set(created.key) != set(now.key):
        return f'the primary key of table "{table.upstream}" was changed upstream'
    return None


def _of_values(column: MysqlColumn) -> tuple[str, str]:
    return column.column_type, column.character_set


def _begin(connection: pymysql.Connection) -> Position:
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}")
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        cursor.execute("SHOW STATUS LIKE 'binlog_snapshot_%'")
        found = dict(cursor.fetchall())
        if found.get("Binlog_snapshot_file"):
            return Position(str(found["Binlog_snapshot_file"]), int(found["Binlog_snapshot_position"]))
        cursor.execute("ROLLBACK")
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    position = end_of_log(connection)
    with connection.cursor() as cursor:
        cursor.execute("UNLOCK TABLES")
    return position


def _hold(connection: pymysql.Connection, table: PushedTable, *, whole: bool) -> None:
    """Nobody alters the table while the connection is open. Raises SourceUnavailable if somebody has already.

    An ALTER between the snapshot's position and its first read might change what is read, and come in the log again.
    With `whole`, a column that was added counts, too: the log will not tell of it any more.
    """
    connection.begin()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {quoted_table(table.upstream)} LIMIT 0")
    now = current_shape(connection, table.upstream)
    reason = altered(table, now)
    if reason is None and whole and len(now.columns) > len(shape_of_text(table.shape).columns):
        reason = f'a column was added to table "{table.upstream}" upstream while it was copied'
    if reason is not None:
        raise SourceUnavailable(reason)


def _copy(connection: pymysql.Connection, table: PushedTable, rows: PushedRows, gives_up: Callable[[], bool]) -> bool:
    """Logs all rows; False if the caller gives up."""
    shape = shape_of_text(table.shape)
    columns = [shape.column(column.name) for column in table.columns]
    shown = ", ".join(_shown(column) for column in columns if column is not None)
    group, first = rows.group(), 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {shown} FROM {quoted_table(table.upstream)}")
        while True:
            fetched = cursor.fetchmany(CHUNK_ROWS)
            if not fetched:
                return True
            if gives_up():
                return False
            group.add(table.table_id, _chunk(table, fetched, rows, first))
            first += len(fetched)
            group.commit(None)


def _shown(column: MysqlColumn) -> str:
    """The column in a SELECT, as a text that says the whole value."""
    name = quoted(column.name)
    match column.data_type:
        case "float":
            return f"CAST({name} AS DOUBLE)"  # FLOAT itself is shown with six digits
        case "bit":
            return f"{name} + 0"
        case "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob":
            return f"CONCAT('\\\\x', HEX({name}))"
        case _:
            return name


def _chunk(table: PushedTable, fetched: Sequence[tuple[object, ...]], rows: PushedRows, first: int) -> pa.Table:
    texts = [pa.array(values, pa.string()) for values in zip(*fetched, strict=True)]
    ops, reasons = np.ones(len(fetched), np.int8), BadRows()
    columns = parsed(table, ops, texts, reasons)
    note_missing(table, ops, columns, reasons)
    return chunk_of(
        table, ops, columns, reasons,
        rows=rows, position=lambda row: first + row, text=lambda row: shown_row(texts, row),
    )  # fmt: skip
