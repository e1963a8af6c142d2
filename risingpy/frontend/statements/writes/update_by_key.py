"""UPDATE and DELETE of one row by its primary key: they lock the row, and read what the log has last for it.

So statements on different rows share one fsync and one epoch, and none waits for the epoch of another: the newest row
is the transaction's own, else the last one in the log, else the committed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from risingpy.batch import OneRow, RowRewrite
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.command import Parameters
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.returning import returned, returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.locked_write import newest_form
from risingpy.frontend.statements.writes.planned_rewrite import PlannedRewrite
from risingpy.frontend.written_rows import completed, write_rewritten
from risingpy.meta.writing.row_keys import RowKey
from risingpy.plan.catalog import Catalog, Table


def run_by_key(
    session: StatementContext,
    verb: str,
    planned: PlannedRewrite,
    bind: Callable[[Catalog], BoundRewrite],
    parameters: Parameters,
) -> Result | None:
    """Runs the statement. None if it must lock the table: it does not fix a key, or not one that is known beforehand.

    So it does, too, if the transaction has written many rows to the table at once.
    """
    bound, table = planned.bound, planned.bound.relation
    if planned.by_key is None or session.transaction.has_large_change(table.relation_id):
        return None
    try:
        key = planned.by_key.key(parameters)
    except KeyError:
        return None
    fields = returning_fields(bound.returning)
    if key is None:  # it is NULL, or no value of the column's type
        return Result(CommandTag(verb, 0), fields, returned(session, bound.returning, _no_rows(table), parameters))
    with _locked(session, table, key):
        newest = planned.for_form(session, newest_form(session, bound, bind))  # no ALTER can come now
        if newest.by_key is None:
            return None
        old, new = _rewritten(session, newest, newest.by_key, key, parameters)
        if newest.bound.has_new:
            new = completed(session, newest.bound.relation, new)
        answer = returned(session, newest.bound.returning, new, parameters)
        write_rewritten(session, newest.bound.relation, old, new if newest.bound.has_new else None)
    return Result(CommandTag(verb, old.num_rows), fields, answer)


def _rewritten(
    session: StatementContext, planned: PlannedRewrite, rewrite: RowRewrite, key: RowKey, parameters: Parameters
) -> tuple[pa.Table, pa.Table]:
    """The newest row and the one that it becomes; none of both if there is none, or WHERE does not select it."""
    row = _newest(session, rewrite, key, parameters)
    if not row.num_rows:
        return row, row
    computed = rewrite.rewritten(row, parameters)
    if computed is not None:
        return computed
    found = session.run_over_row(planned.query, parameters, OneRow(rewrite.table, row))
    width = len(rewrite.table.columns)
    names = [f"c{index}" for index in range(width)]
    return pa.table(found.columns[:width], names=names), pa.table(found.columns[-width:], names=names)


def _no_rows(table: Table) -> pa.Table:
    """No rows, of all columns."""
    return pa.table({f"c{i}": pa.array([], column.type.arrow) for i, column in enumerate(table.columns)})


def _newest(session: StatementContext, rewrite: RowRewrite, key: RowKey, parameters: Parameters) -> pa.Table:
    """The row of the key, if there is one. This session holds the key's lock."""
    table = rewrite.table
    pending = session.transaction.own_row(table, key)
    if pending is None:
        pending = session.database.writes.pending_row(table.relation_id, key, session.cancelled)
    if pending is not None and pending.version == table.version:
        return pending.row()
    if pending is not None:  # in a form of the table before an ALTER
        session.database.reads.wait_for_lsn(pending.lsn, session.cancelled)
    snapshot = session.database.reads.snapshot()
    try:
        return rewrite.committed_row(snapshot, parameters)
    finally:
        snapshot.view.release()


@contextmanager
def _locked(session: StatementContext, table: Table, key: RowKey) -> Iterator[None]:
    """Locks the row: until the transaction ends, or without one for this statement."""
    if session.transaction.is_open:
        session.transaction.hold_row(table.relation_id, key, session.cancelled)
        yield
        return
    writes, process_id = session.database.writes, session.startup.process_id
    of_table, of_row = writes.row_lock(table.relation_id, key, session.cancelled, process_id=process_id)
    try:
        yield
    finally:
        of_row.release()
        of_table.release()
