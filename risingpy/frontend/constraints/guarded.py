"""Tables with constraints about other rows (UNIQUE, FOREIGN KEY, or one that refers to them), and the locks they need.

A statement that writes to such a table holds it alone, and so it holds the tables whose rows its own change (ON DELETE
CASCADE, say). A table to which its rows refer may be read by others, but not changed. All of them are locked in the
order of their ids before the statement begins, so that two statements outside of transactions never wait for each
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.table_locks import LockMode
from risingpy.plan.catalog import Catalog, ForeignKey, Table


def enforced_keys(table: Table) -> list[ForeignKey]:
    """The table's foreign keys that are looked at, oldest first."""
    return [each for each in table.constraints if isinstance(each, ForeignKey) and each.enforced]


def enforced_keys_to(catalog: Catalog, table_id: int) -> list[tuple[Table, ForeignKey]]:
    """The foreign keys to a table that are looked at, and their tables, oldest first."""
    return [(child, key) for child, key in catalog.foreign_keys_to(table_id) if key.enforced]


def is_guarded(catalog: Catalog, table: Table) -> bool:
    """Whether other rows decide if a row may be written to the table, or taken from it."""
    return table.relation_id in catalog.guarded_tables


def locks_of(catalog: Catalog, table: Table) -> dict[int, LockMode]:
    """The locks that a statement needs which writes to the table, by the ids of tables."""
    modes = {table.relation_id: LockMode.ALONE}
    left = [table]
    while left:
        written = left.pop()
        for child, _ in enforced_keys_to(catalog, written.relation_id):
            if modes.get(child.relation_id) is not LockMode.ALONE:
                modes[child.relation_id] = LockMode.ALONE
                left.append(child)
        for key in enforced_keys(written):
            modes.setdefault(key.table_id, LockMode.SHARED)
    return modes


@contextmanager
def statement_locks(session: StatementContext) -> Iterator[None]:
    """Without an open transaction, what a statement has locked is released at its end, though it may write nothing."""
    try:
        yield
    finally:
        session.transaction.release_statement_locks()


@contextmanager
def guarded(session: StatementContext, table: Table) -> Iterator[None]:
    """Holds all that a statement needs which writes to the table, if that is guarded; waits until epochs have its rows.

    The locks go with the transaction, without one at the end of the statement.
    """
    catalog = session.database.reads.catalog
    if not is_guarded(catalog, table):
        yield
        return
    modes = locks_of(catalog, table)
    try:
        for table_id in sorted(modes):
            session.transaction.lock(table_id, modes[table_id], session.cancelled)
        session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)
        yield
    finally:
        session.transaction.release_statement_locks()
