"""What a transaction has put off: looked at before it commits, and at SET CONSTRAINTS … IMMEDIATE."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from risingpy.batch import group_by_key
from risingpy.executors.change_chunk import INSERT, columns_of, ops_of
from risingpy.frontend.constraints.enforcement import RowsChange, check_lost, check_reference, check_unique_key
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import ForeignKey, Table


def look_at_deferred(session: StatementContext, only: Collection[int] | None = None) -> None:
    """Looks at the constraints that were put off, or at those of them among `only`. Raises SqlError (23503, 23505).

    The transaction's rows that stand must refer to something, and nothing may refer to what it has taken away. No other
    row may have their unique keys.
    """
    deferral, catalog = session.transaction.deferral, session.database.reads.catalog
    asked = deferral.put_off if only is None else deferral.put_off.intersection(only)
    if not asked:
        return
    # Rows that others have committed, and no epoch has yet, count too.
    session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)
    for table in [each for each in catalog.relations.values() if isinstance(each, Table)]:
        for index in catalog.unique_indexes_of(table.relation_id):
            if index.constraint_id in asked:
                came, _ = _own_rows(session, table)
                if came is not None and came.num_rows:
                    check_unique_key(session, table, came, index)
        for key in table.constraints:
            if isinstance(key, ForeignKey) and key.constraint_id in asked:
                target = catalog.relations[key.table_id]
                assert isinstance(target, Table)
                came, _ = _own_rows(session, table)
                if came is not None and came.num_rows:
                    check_reference(session, catalog, RowsChange(table, came.slice(0, 0), came), key)
                _, went = _own_rows(session, target)
                if went is not None and went.num_rows:
                    check_lost(session, RowsChange(target, went, None), table, key)
    deferral.put_off -= set(asked)


def _own_rows(session: StatementContext, table: Table) -> tuple[pa.Table | None, pa.Table | None]:
    """(The rows that the transaction has put into a table and that stand, those that it took away); None: it did not
    write to the table."""
    chunks = session.transaction.changes_of(table)
    if not chunks:
        return None, None
    written = pa.concat_tables(chunks)
    rows = pa.table(list(columns_of(written)), names=[f"c{i}" for i in range(len(table.columns))])
    ops, (groups, _) = ops_of(written), group_by_key(table, rows)
    last = np.zeros(len(groups), bool)
    last[len(groups) - 1 - np.unique(groups[::-1], return_index=True)[1]] = True
    return rows.filter(pa.array(last & (ops == INSERT))), rows.filter(pa.array(ops != INSERT))
