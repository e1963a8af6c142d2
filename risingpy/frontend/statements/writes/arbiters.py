"""The keys by which ON CONFLICT finds the row that a new one meets: the primary key, or a unique index.

Rows are grouped by an arbiter as the storage groups them by their key. Where NULLs are distinct, a row with a NULL in
the key meets no other one. Keys that are expressions are computed beside the row's columns. Of a partial index there is
one more such key, which is NULL for rows that the index has not:

    UNIQUE INDEX (lower(a)) WHERE b > 0
        =>   rows (a, b) as (a, b, CASE WHEN b > 0 THEN true END, CASE WHEN b > 0 THEN lower(a) END)
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
from risingpy.plan.catalog.index_keys import keys_if_indexed, predicate_of
from risingpy.plan.expressions import Case, Expr, InputRef, Literal
from risingpy.plan.logical import Field
from risingpy.types import BOOLEAN

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arbiter:
    """`keyed` is the table as if the arbiter's columns were its key. `index` is None for the primary key.

    The table's columns are followed by the `computed` ones there. A row with a NULL at one of the positions `alone`
    meets no other row.
    """

    keyed: Table
    index: Index | None = None
    computed: tuple[Expr, ...] = ()
    alone: tuple[int, ...] = ()

    def keys(self, session: StatementContext, rows: pa.Table) -> pa.Table:
        """The keys of rows, which have all columns of the table."""
        if self.computed:
            first = len(self.keyed.columns)
            fields = tuple(Field(f"c{place}", each.type) for place, each in enumerate(self.computed))
            values = session.evaluate(self.computed, fields, rows, ())
            for place, column in enumerate(values.columns, first):
                rows = rows.append_column(f"c{place}", column)
        return rows.select([f"c{place}" for place in self.keyed.primary_key])

    def groups(self, keys: pa.Table) -> tuple[Numbers, Numbers]:
        """As `group_by_key`: each row's group, and the first row of each group. `keys` are those of the rows."""
        groups, firsts = group_by_key(self.keyed, keys)
        nulls = np.zeros(keys.num_rows, np.bool_)
        for place in self.alone:
            nulls |= keys.column(f"c{place}").is_null().to_numpy()
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
    """The arbiter of ON CONFLICT: the primary key, or a unique index."""
    if index is None:
        return Arbiter(table)
    rule, is_there = index.index.unique, predicate_of(index.index, table)
    assert rule is not None
    keys, computed, places = keys_if_indexed(index.index, table), list[Expr](), list[int]()
    if is_there is not None:
        keys = [Case(((is_there, Literal(True, BOOLEAN)),), Literal(None, BOOLEAN), BOOLEAN), *keys]
    for key in keys:
        if isinstance(key, InputRef):
            places.append(key.index)
        else:
            places.append(len(table.columns) + len(computed))
            computed.append(key)
    alone = places if rule.nulls_distinct else places[: 0 if is_there is None else 1]
    keyed = keyed_by(table, places, [each.type for each in computed])
    return Arbiter(keyed, index, tuple(computed), tuple(alone))


def all_arbiters(catalog: Catalog, table: Table) -> list[Arbiter]:
    """Those of ON CONFLICT DO NOTHING without a target."""
    own = [arbiter_of(table, None)] if table.primary_key else []
    return [*own, *(arbiter_of(table, index) for index in catalog.unique_indexes_of(table.relation_id))]


def free_rows(session: StatementContext, table: Table, rows: pa.Table, arbiters: Sequence[Arbiter]) -> pa.Table:
    """The rows, in their order, that DO NOTHING inserts: they meet no row that stands, and none that comes before.

    A row that is left out is in nobody's way. So rows are decided in rounds: those that are first in all their groups
    among the rows that are left come in, and all others of these groups stay out.
    """
    left = np.ones(rows.num_rows, np.bool_)
    grouped = []
    for arbiter in arbiters:
        keys = arbiter.keys(session, rows)
        groups, firsts = arbiter.groups(keys)
        found = arbiter.standing(session, table, rows.take(pa.array(firsts)))
        if found.num_rows:
            left &= ~_meeting(arbiter, keys, arbiter.keys(session, found))
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


def _meeting(arbiter: Arbiter, keys: pa.Table, standing: pa.Table) -> npt.NDArray[np.bool_]:
    codes, _ = group_by_key(arbiter.keyed, pa.concat_tables([keys, standing]))
    return np.isin(codes[: keys.num_rows], codes[keys.num_rows :])
