"""INSERT of few rows into a table with unique or foreign keys: it locks the keys of the rows, and no table alone."""

from __future__ import annotations

import pyarrow as pa

from risingpy.frontend.constraints.by_key import can_go_by_key, looked_at_by_key
from risingpy.frontend.constraints.guarded import is_guarded
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.rows_by_key import newest_rows, row_keys
from risingpy.frontend.written_rows import paired, write_rewritten
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Table


def inserted_by_key(session: StatementContext, table: Table, rows: pa.Table) -> bool:
    """Writes new rows (all columns) of a guarded table. False if it is not guarded, or must be held alone for them."""
    if not rows.num_rows or not is_guarded(session.database.reads.catalog, table):
        return False
    if not can_go_by_key(session, table, rows.num_rows):
        return False
    try:
        session.transaction.lock(table.relation_id, LockMode.KEYS, session.cancelled)
        replaced = rows.slice(0, 0)
        if table.primary_key:
            keys = row_keys(table, rows)
            if len(set(keys)) < len(keys):
                return False
            session.transaction.hold_rows(table.relation_id, keys, session.cancelled)
            replaced, rows = paired(table, newest_rows(session, table, rows, are_new=True), rows)
        if not looked_at_by_key(session, table, replaced, rows):
            return False
        write_rewritten(session, table, replaced, rows, by_key=True)
        return True
    finally:
        session.transaction.release_statement_locks()
