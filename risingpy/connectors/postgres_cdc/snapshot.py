"""A table's rows at an exact position of the log, by a temporary slot that exports its snapshot.

A transaction is in the snapshot if and only if its commit record begins before the slot's consistent point. So the
stream's transactions from there on, and only these, come after the snapshot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from psycopg import pq, sql
from psycopg.errors import InvalidSchemaName, UndefinedTable
from pyarrow import csv

from risingpy.connectors.postgres_cdc.options import PostgresCdcOptions
from risingpy.connectors.postgres_cdc.replication import lsn_of, replicating
from risingpy.connectors.postgres_cdc.table_shapes import (
    CurrentTable,
    added_columns,
    current_tables,
    difference,
    shape_of_text,
)
from risingpy.connectors.postgres_cdc.upstream_connection import Connection, connected
from risingpy.connectors.pushed import PushedRows, PushedTable
from risingpy.connectors.row_chunks import BadRows, chunk_of, note_missing, parsed, shown_row
from risingpy.errors import SourceUnavailable
from risingpy.sockets import is_readable

CHUNK_BYTES = 8 << 20  # of COPY's text
SLOT_SECONDS = 30.0  # for which open transactions upstream may hold up a snapshot, and with it the other tables
LONGEST_NAME = 63
TRIES = 5  # of a snapshot during which the table is altered


def take_snapshot(
    options: PostgresCdcOptions, table: PushedTable, rows: PushedRows, stopping: threading.Event
) -> int | None:
    """Logs the table's rows; returns the position from which on the stream's transactions come after them.

    None if `stopping` was set, or the table was dropped. Raises SourceUnavailable; then some rows may be logged.
    """

    def gives_up() -> bool:
        return stopping.is_set() or all(each.table_id != table.table_id for each in rows.tables())

    for number in range(TRIES):
        name = f"{options.slot[: LONGEST_NAME - 24]}_{table.table_id}_{number}_snapshot"
        try:
            return _take_snapshot(options, name, table, rows, gives_up)
        except _Altered:
            continue
    raise SourceUnavailable(f'table "{table.upstream}" is altered or truncated again and again upstream')


class _Altered(Exception):
    """Somebody altered or truncated the table after the slot was made. The snapshot might show it empty."""


def _take_snapshot(
    options: PostgresCdcOptions, name: str, table: PushedTable, rows: PushedRows, gives_up: Callable[[], bool]
) -> int | None:
    """With a temporary slot of this name."""
    with replicating(options) as slot_connection:
        made = create_slot(slot_connection, f"{name} TEMPORARY", "EXPORT_SNAPSHOT", gives_up, SLOT_SECONDS)
        if made is None:
            return None
        position, snapshot = made
        with connected(options) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(snapshot))
            query = _locked_rows(connection, options, table)
            if not _copy(connection, query, table, rows, gives_up):
                return None
    return position


def create_slot(
    connection: Connection, name: str, export: str, gives_up: Callable[[], bool], seconds: float | None
) -> tuple[int, str] | None:
    """Makes a slot: (its consistent point, its snapshot). None if the caller gives up meanwhile.

    PostgreSQL waits until all transactions have ended that are open now. Raises SourceUnavailable after `seconds`.
    """
    pg = connection.pgconn
    pg.send_query(f"CREATE_REPLICATION_SLOT {name} LOGICAL pgoutput {export}".encode())
    deadline = None if seconds is None else time.monotonic() + seconds
    while pg.is_busy():
        is_readable(pg.socket, 0.1)
        pg.consume_input()
        if gives_up():
            pg.get_cancel().cancel()
            return None
        if deadline is not None and time.monotonic() > deadline:
            pg.get_cancel().cancel()
            raise SourceUnavailable(f"transactions upstream have been open for longer than {seconds:.0f} s")
    result = pg.get_result()
    if result is None or result.status != pq.ExecStatus.TUPLES_OK:
        said = b"" if result is None else result.error_message
        raise SourceUnavailable(said.decode(errors="replace").strip().removeprefix("ERROR:").strip())
    while pg.get_result() is not None:
        pass
    point, snapshot = result.get_value(0, 1), result.get_value(0, 2)
    assert point is not None
    return lsn_of(point.decode()), (snapshot or b"").decode()


def _locked_rows(connection: Connection, options: PostgresCdcOptions, table: PushedTable) -> sql.Composed:
    """The COPY of the table's columns. The table is as it was in the snapshot, and stays so while COPY runs.

    PostgreSQL reads rows as of the snapshot, but the table's definition as it is now, and finds no rows in a file
    that is newer than the snapshot. Raises _Altered; SourceUnavailable if the copy cannot follow the table any more.
    """
    created = shape_of_text(table.shape)
    follows = options.follows_columns and table.all_columns
    with connected(options) as current:
        now = _find(current, options, created.oid)
        if now is not None:
            lock = sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.Identifier(*now.place))
            try:
                connection.execute(lock)
            except (UndefinedTable, InvalidSchemaName) as error:
                raise _Altered from error
            now = _find(current, options, created.oid)
    numbers = {column.name: column.number for column in created.columns}
    copied = [numbers[column.name] for column in table.columns]
    reason = difference(table, copied, created, now)
    if reason is not None or now is None:
        raise SourceUnavailable(reason or table.upstream)
    added = added_columns(created, now.shape) if follows else ()
    if added:  # its values so far are in no message that comes after the snapshot
        raise SourceUnavailable(f'column "{added[0]}" was added upstream while the table was copied')
    then = _find(connection, options, created.oid)
    if then is None or then.shape != now.shape:
        raise _Altered
    names = {column.number: column.name for column in now.shape.columns}
    columns = sql.SQL(", ").join(sql.Identifier(names[number]) for number in copied)
    select_all = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)")
    return select_all.format(columns, sql.Identifier(*now.place))


def _find(connection: Connection, options: PostgresCdcOptions, oid: int) -> CurrentTable | None:
    return next(iter(current_tables(connection, options.publication, oids=[oid])), None)


def _copy(
    connection: Connection,
    query: sql.Composed,
    table: PushedTable,
    rows: PushedRows,
    gives_up: Callable[[], bool],
) -> bool:
    """Logs all rows; False if the caller gives up."""
    group, first = rows.group(), 0
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        for text in _chunks(copy):
            if gives_up():
                return False
            chunk = _chunk(table, text, rows, first)
            first += chunk.num_rows
            group.add(table.table_id, chunk)
            group.commit(None)
    return True


def _chunks(lines: Iterable[bytes | bytearray | memoryview]) -> Iterator[bytes]:
    """Whole lines, some MB of them at a time. PostgreSQL sends a line a message."""
    kept: list[bytes] = []
    size = 0
    for line in lines:
        kept.append(bytes(line))
        size += len(line)
        if size >= CHUNK_BYTES:
            yield b"".join(kept)
            kept, size = [], 0
    if kept:
        yield b"".join(kept)


def _chunk(table: PushedTable, text: bytes, rows: PushedRows, first: int) -> pa.Table:
    """The insertions of the rows of a CSV text, in which NULL is empty and all else in quotes."""
    names = [f"c{index}" for index in range(len(table.columns))]
    read = csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    texts = [column.combine_chunks() for column in read.columns]
    ops, reasons = np.ones(read.num_rows, np.int8), BadRows()
    columns = parsed(table, ops, texts, reasons)
    note_missing(table, ops, columns, reasons)
    return chunk_of(
        table, ops, columns, reasons,
        rows=rows, position=lambda row: first + row, text=lambda row: shown_row(texts, row),
    )  # fmt: skip
