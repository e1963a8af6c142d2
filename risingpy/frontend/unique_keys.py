"""Refuses a statement that would give two rows the same primary key.

In the table's log the later write of a key wins, and INSERT relies on that. So without this check one of the two rows
would be lost silently.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.batch import group_by_key
from risingpy.frontend.constraints.violations import shown_key, unique_violation
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import Table
from risingpy.types.far_moments import value_of


def check_unique(session: StatementContext, relation: Table, old: pa.Table, new: pa.Table) -> None:
    """`old` and `new` are the rows before and after, all columns. Raises 23505, naming the first key met twice."""
    keys = [f"c{index}" for index in relation.primary_key]
    before, after = old.select(keys), new.select(keys)
    if before.equals(after):
        return
    _, firsts = group_by_key(relation, after)
    standing = session.rows_with_keys(relation, after.take(pa.array(firsts))).select(keys)
    # The stored rows that the statement does not change are exactly those that are not in `before`.
    codes, _ = group_by_key(relation, pa.concat_tables([before, standing, after]))
    taken, stay, come = np.split(codes, np.cumsum([before.num_rows, standing.num_rows]))
    remaining = stay[~np.isin(stay, taken)]
    everything = np.concatenate([remaining, come])
    _, firsts = np.unique(everything, return_index=True)
    twice = np.setdiff1d(np.arange(len(everything)), firsts)
    if len(twice):
        row = int(np.flatnonzero(come == everything[twice[0]])[0])
        _refuse(relation, after.slice(row, 1))


def _refuse(relation: Table, key: pa.Table) -> None:
    columns = [relation.columns[index] for index in relation.primary_key]
    values = [value_of(key.column(position), 0) for position in range(len(columns))]
    shown = shown_key([column.name for column in columns], [column.type for column in columns], values)
    raise unique_violation(relation, relation.key_constraint, shown)
