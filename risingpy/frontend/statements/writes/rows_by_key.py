"""The newest rows of keys, under the locks of those rows alone.

So statements on different rows share one fsync and one epoch, and none waits for the epoch of another: the newest row
is the transaction's own, else the last one in the log, else the committed one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.writing.pending_rows import PendingRow
from risingpy.meta.writing.row_keys import RowKey, keys_of
from risingpy.plan.catalog import Index, Table


def row_keys(table: Table, rows: pa.Table) -> list[RowKey]:
    """The keys of rows, which have at least the key's columns, called by their positions: c0…"""
    return keys_of(table, [rows.column(f"c{index}") for index in table.primary_key])


def with_rows(table: Table, keys: pa.Table) -> pa.Table:
    """The keys of rows, but for those with which an outer join says that it has no row.

    The columns are called by their positions in the table. Where all of a key may be NULL nobody can tell; a lock of
    that key is one too many then.
    """
    strict = next((place for place in table.primary_key if table.refuses_null(place)), None)
    return keys if strict is None else keys.filter(pc.is_valid(keys.column(f"c{strict}")))


def equal_key(table: Table, place: int, left: str, right: str) -> str:
    """The condition that two texts have the same value of a key's column; NULLs are equal if it may be NULL."""
    is_strict = table.refuses_null(place) or place not in table.primary_key
    return f"{left} {'=' if is_strict else 'IS NOT DISTINCT FROM'} {right}"


@contextmanager
def rows_locked(session: StatementContext, table: Table, keys: Sequence[RowKey]) -> Iterator[None]:
    """Locks the rows of these keys: until the transaction ends, or without one for this statement."""
    each = set(keys)
    if session.transaction.is_open:
        session.transaction.hold_rows(table.relation_id, list(each), session.cancelled)
        yield
        return
    writes, process_id = session.database.writes, session.startup.process_id
    of_table, of_rows = writes.row_locks(table.relation_id, list(each), session.cancelled, process_id=process_id)
    try:
        yield
    finally:
        of_rows.release()
        of_table.release()


def newest_changes(
    session: StatementContext, table: Table, keys: Sequence[RowKey], index: Index | None = None
) -> list[PendingRow | None]:
    """What the transaction, or else the log, has last for each key; None: what the committed state has.

    This session has locked the keys: primary ones, or with an `index` those of that unique index. Waits for rows of
    large statements, and for those in a form of the table before an ALTER.
    """
    found = session.transaction.own_rows(table, keys, index)
    asked = [place for place, each in enumerate(found) if each is None]
    if asked:
        relation_id, of = (table.relation_id, None) if index is None else (index.relation_id, table.relation_id)
        wanted = keys if len(asked) == len(keys) else [keys[place] for place in asked]
        logged = session.database.writes.pending_rows(relation_id, wanted, session.cancelled, of=of)
        for place, each in zip(asked, logged, strict=True):
            found[place] = each
    stale = [each.lsn for each in found if each is not None and each.version != table.version]
    if not stale:
        return found
    session.database.reads.wait_for_lsn(max(stale), session.cancelled)
    return [None if each is None or each.version != table.version else each for each in found]


def newest_rows(session: StatementContext, table: Table, rows: pa.Table, *, are_new: bool = False) -> pa.Table:
    """The newest row of each key that has one: all columns, c0…, in no order. This session has locked them.

    `rows` have at least the key's columns, called by their positions, and no key twice. `are_new`: they have all
    columns, and mostly keys that no row has, which is found out faster.
    """
    newest = newest_changes(session, table, row_keys(table, rows))
    found = [each.row() for each in newest if each is not None]
    committed = [place for place, each in enumerate(newest) if each is None]
    if committed:
        asked = rows if len(committed) == rows.num_rows else rows.take(pa.array(committed))
        if are_new and not found and not session.has_committed(table, asked):
            return rows.slice(0, 0)
        found.append(session.committed_rows(table, asked))
    return found[0] if len(found) == 1 else pa.concat_tables(found)
