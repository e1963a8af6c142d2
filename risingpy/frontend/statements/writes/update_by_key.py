"""UPDATE and DELETE of one row by its primary key: they lock the row alone, and change the newest one."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.batch import RowRewrite
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.command import Parameters
from risingpy.frontend.constraints.by_key import can_go_by_key, looked_at_by_key
from risingpy.frontend.constraints.guarded import is_guarded, statement_locks
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.returning import returned, returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.locked_write import newest_form
from risingpy.frontend.statements.writes.planned_rewrite import PlannedRewrite
from risingpy.frontend.statements.writes.rows_by_key import newest_rows, row_keys, rows_locked
from risingpy.frontend.written_rows import completed, write_rewritten
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
    guarded = is_guarded(session.database.reads.catalog, table)
    if planned.by_key is None or (guarded and not can_go_by_key(session, table, 1)):
        return None
    if session.transaction.has_large_change(table.relation_id):
        return None
    try:
        key = planned.by_key.key(parameters)
    except KeyError:
        return None
    fields = returning_fields(bound.returning)
    if key is None:  # it is NULL, or no value of the column's type
        return Result(CommandTag(verb, 0), fields, returned(session, bound.returning, _no_rows(table), parameters))
    with rows_locked(session, table, row_keys(table, key)), statement_locks(session):
        newest = planned.for_form(session, newest_form(session, bound, bind))  # no ALTER can come now
        if newest.by_key is None:
            return None
        row = newest_rows(session, newest.bound.relation, key)
        old, new = _rewritten(session, newest, newest.by_key, row, parameters)
        if newest.bound.has_new:
            new = completed(session, newest.bound.relation, new)
        coming = new if newest.bound.has_new else new.slice(0, 0)
        if guarded and old.num_rows and not looked_at_by_key(session, newest.bound.relation, old, coming):
            return None
        answer = returned(session, newest.bound.returning, new, parameters)
        kept = new if newest.bound.has_new else None
        write_rewritten(session, newest.bound.relation, old, kept, looks_at_keys=not guarded)
    return Result(CommandTag(verb, old.num_rows), fields, answer)


def _rewritten(
    session: StatementContext, planned: PlannedRewrite, rewrite: RowRewrite, row: pa.Table, parameters: Parameters
) -> tuple[pa.Table, pa.Table]:
    """The row and the one that it becomes; none of both if there is none, or WHERE does not select it."""
    computed = rewrite.rewritten(row, parameters) if row.num_rows else (row, row)
    if computed is not None:
        return computed
    found = session.run_to_table(planned.of_row, parameters, row)
    old, new = found.columns[: row.num_columns], found.columns[-row.num_columns :]
    return pa.table(old, names=row.column_names), pa.table(new, names=row.column_names)


def _no_rows(table: Table) -> pa.Table:
    """No rows, of all columns."""
    return pa.table({f"c{i}": pa.array([], column.type.arrow) for i, column in enumerate(table.columns)})
