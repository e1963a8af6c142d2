"""Fills a new table, or the copy that replaces a table under another key, with the rows of a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from risingpy.batch import PreparedQuery
from risingpy.executors.change_chunk import INSERT, make_chunk
from risingpy.frontend.command import Parameters
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.written_rows import check_written, inserted
from risingpy.meta.schema.primary_key import NewKey
from risingpy.meta.writing.dml_log import TableChange
from risingpy.plan.catalog import Table

_ROWS_PER_GROUP = 200_000  # of the log: an epoch takes a group as a whole, so one must not need much memory


def filling(
    session: StatementContext, query: PreparedQuery, parameters: Parameters, written: Callable[[int], None]
) -> Callable[[Table], int]:
    """A function that writes the query's rows to a table, group by group, and returns the lsn of the last one.

    The query has the table's visible columns. `written` is told how many rows each group has.
    """

    def fill(table: Table) -> int:
        kept: list[pa.RecordBatch] = []
        lsn = rows = 0
        for batch in session.run_query(query, parameters):
            kept.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS_PER_GROUP:
                written(rows)
                lsn, rows = _write(session, table, kept), 0
                kept.clear()
        written(rows)
        return _write(session, table, kept) if rows else lsn

    return fill


def replace_by_copy(session: StatementContext, change: NewKey, query: PreparedQuery) -> None:
    """Puts a copy of a table, with the query's rows under the new key, in the table's place.

    In a transaction with schema changes the rows are read before, and are a part of it.
    """
    if not session.scope.schema.is_there:
        fill = filling(session, query, (), lambda count: None)
        session.ddl.add_primary_key(change, fill, session.cancelled)
        return
    kept = session.run_to_table(query, ())
    session.ddl.add_primary_key(change, lambda copy: 0, session.cancelled)
    copy = session.database.reads.catalog.find(change.table.name, change.table.schema_name, ())
    assert isinstance(copy, Table)
    write_kept(session, copy, kept.to_batches())


def write_own(
    session: StatementContext,
    table: Table,
    query: PreparedQuery,
    parameters: Parameters,
    written: Callable[[int], None],
) -> None:
    """Writes the query's rows to a table as a part of the transaction, which ends with it if none is open."""
    kept = [batch for batch in session.run_query(query, parameters) if batch.num_rows]
    written(sum(batch.num_rows for batch in kept))
    if session.transaction.is_open:
        write_kept(session, table, kept)


def write_kept(session: StatementContext, table: Table, batches: Sequence[pa.RecordBatch]) -> None:
    """Writes rows of all visible columns to a table as a part of the open transaction."""
    if any(batch.num_rows for batch in batches):
        change, transaction = _change(session, table, batches), session.transaction
        check_written(transaction.written_rows + change.chunk.num_rows, transaction.written_bytes + change.chunk.nbytes)
        transaction.write(change)


def _write(session: StatementContext, table: Table, batches: Sequence[pa.RecordBatch]) -> int:
    change = _change(session, table, batches)
    return session.database.writes.write([change], session.cancelled, process_id=session.startup.process_id)


def _change(session: StatementContext, table: Table, batches: Sequence[pa.RecordBatch]) -> TableChange:
    rows = inserted(session, table, pa.Table.from_batches(batches), looks_at_rules=False)
    chunk = make_chunk(np.full(rows.num_rows, INSERT, np.int8), rows.columns)
    return TableChange(table.relation_id, table.version, chunk, rules=table.rules)
