"""Strict reads of one row by its key that take the long way: they, too, wait for no epoch.

The newest row of a key is the transaction's own, else the last one in the log, else the committed one: as for UPDATE of
one row (`statements/writes/rows_by_key.py`), but without the row's lock. A statement that is acknowledged while the row
is read may be missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from risingpy.batch import Direct, PreparedQuery, direct_rows, key_table
from risingpy.frontend.command import Parameters
from risingpy.frontend.parameters.kinds import Visibility
from risingpy.frontend.statements.writes.rows_by_key import newest_rows
from risingpy.meta.writing.row_keys import log_has_newest_rows
from risingpy.plan.catalog import Table

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext


def newest_row(context: SessionContext, query: PreparedQuery, parameters: Parameters) -> pa.RecordBatch | None:
    """The answer of a lookup by key whose table the log has rows of; None if the query must wait, or need not."""
    answer = query.plan.answer
    if query.plan.custom or not isinstance(answer, Direct) or not isinstance(answer.get.relation, Table):
        return None
    table, reads = answer.get.relation, context.database.reads
    is_own = table.relation_id in context.transaction.changed_tables
    is_strict = context.settings.get("visibility_mode") == Visibility.STRICT
    if not is_strict or not (is_own or reads.lacks_rows_of((table.relation_id,))):
        return None
    state = reads.state
    if state.partial is not None or table.relation_id in state.set_aside or table.has_stopped or table.has_no_answer:
        return None
    if context.transaction.has_large_change(table.relation_id) or not log_has_newest_rows(reads.catalog, table):
        return None
    try:
        keys = key_table(answer.get, parameters)
    except KeyError:
        return None
    if keys is None:
        return None
    row = newest_rows(context, table, keys)
    if reads.catalog.relations.get(table.relation_id) is not table:  # altered meanwhile: the plan is stale
        return None
    columns = [row.column(index).combine_chunks() for index in answer.get.columns]
    found = pa.RecordBatch.from_arrays(columns, [f"c{place}" for place in range(len(columns))])
    return direct_rows(answer, found, parameters)
