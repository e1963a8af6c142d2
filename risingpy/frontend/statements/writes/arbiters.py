"""The keys by which ON CONFLICT finds the row that a new one meets: the primary key, or a unique index.

Rows are grouped by an arbiter as the storage groups them by their key. Where NULLs are distinct, a row with a NULL in
the key meets no other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.batch import group_by_key, keyed_by
from risingpy.frontend.binder.ddl.constraint_plans import rows_with_given_keys
from risingpy.frontend.statement_context import StatementContext
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, Index, Table
from risingpy.plan.expressions import InputRef

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arbiter:
    """`keyed` is the table as if the arbiter's columns were its key. `index` is None for the primary key."""

    keyed: Table
    index: Index | None = None

    def groups(self, rows: pa.Table) -> tuple[Numbers, Numbers]:
        """As `group_by_key`: each row's group, and the first row of each group."""
        groups, firsts = group_by_key(self.keyed, rows)
        rule = None if self.index is None else self.index.index.unique
        if rule is None or not rule.nulls_distinct:
            return groups, firsts
        nulls = np.zeros(rows.num_rows, np.bool_)
        for place in self.keyed.primary_key:
            nulls |= rows.column(place).is_null().to_numpy()
        if not nulls.any():
            return groups, firsts
        alone = len(groups) + np.arange(len(groups), dtype=np.int64)
        _, firsts, groups = np.unique(np.where(nulls, alone, groups), return_index=True, return_inverse=True)
        return groups.astype(np.int64), firsts.astype(np.int64)

    def standing(self, session: StatementContext, table: Table, rows: pa.Table) -> pa.Table:
        """The rows of the table, which this session holds, that have the keys of `rows`; all columns."""
        if self.index is None:
            return session.rows_with_keys(table, rows)
        plan = optimize(rows_with_given_keys(table, self.index.index), session.check)
        return session.run_to_table(session.planned(plan), (), rows)


def arbiter_of(table: Table, index: Index | None) -> Arbiter:
    """The arbiter of ON CONFLICT: the primary key, or a unique index of columns."""
    if index is None:
        return Arbiter(table)
    places = {column.column_id: place for place, column in enumerate(table.columns)}
    columns = [key.expression for key in index.index.keys]
    key = [places[column.index] for column in columns if isinstance(column, InputRef)]
    return Arbiter(keyed_by(table, key), index)


def all_arbiters(catalog: Catalog, table: Table) -> list[Arbiter]:
    """Those of ON CONFLICT DO NOTHING without a target. Indexes on expressions are none."""
    indexes = catalog.unique_indexes_of(table.relation_id)
    plain = [i for i in indexes if all(isinstance(key.expression, InputRef) for key in i.index.keys)]
    own = [arbiter_of(table, None)] if table.primary_key else []
    return [*own, *(arbiter_of(table, index) for index in plain)]


def free_rows(session: StatementContext, table: Table, rows: pa.Table, arbiters: Sequence[Arbiter]) -> pa.Table:
    """The rows, in their order, that DO NOTHING inserts: they meet no row that stands, and none that comes before.

    A row that is left out is in nobody's way. So rows are decided in rounds: those that are first in all their groups
    among the rows that are left come in, and all others of these groups stay out.
    """
    left = np.ones(rows.num_rows, np.bool_)
    grouped = []
    for arbiter in arbiters:
        groups, firsts = arbiter.groups(rows)
        found = arbiter.standing(session, table, rows.take(pa.array(firsts)))
        if found.num_rows:
            left &= ~_meeting(arbiter, rows, found)
        grouped.append(groups)
    chosen = np.zeros(rows.num_rows, np.bool_)
    while left.any():
        places = np.flatnonzero(left)
        first = np.ones(len(places), np.bool_)
        for groups in grouped:
            is_first = np.zeros(len(places), np.bool_)
            is_first[np.unique(groups[places], return_index=True)[1]] = True
            first &= is_first
        winners = places[first]
        chosen[winners] = True
        for groups in grouped:
            left &= ~np.isin(groups, groups[winners])
    return rows.take(pa.array(np.flatnonzero(chosen)))


def _meeting(arbiter: Arbiter, rows: pa.Table, standing: pa.Table) -> npt.NDArray[np.bool_]:
    names = [f"c{place}" for place in arbiter.keyed.primary_key]
    codes, _ = group_by_key(arbiter.keyed, pa.concat_tables([rows.select(names), standing.select(names)]))
    return np.isin(codes[: rows.num_rows], codes[rows.num_rows :])
