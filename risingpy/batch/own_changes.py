"""Applies a transaction's uncommitted writes to the committed rows that its own queries read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from risingpy.batch.row_keys import group_by_key
from risingpy.executors.change_chunk import INSERT, columns_of, ops_of
from risingpy.executors.relation.conflicts import ConflictRule, standing_rows
from risingpy.plan.catalog import Table
from risingpy.plan.operators import ConflictBehavior


class OwnChanges(Protocol):
    """A transaction, as queries see it."""

    @property
    def changed_tables(self) -> frozenset[int]:
        """The tables that it has written to."""

    def changes_of(self, table: Table) -> list[pa.Table]:
        """The chunks that it has written to a table so far. Raises StalePlan if the table was altered after that."""


@dataclass(frozen=True, slots=True)
class EarlierChanges:
    """What a transaction had written up to a moment, by table (`OwnChanges`)."""

    chunks: Mapping[int, list[pa.Table]]

    @property
    def changed_tables(self) -> frozenset[int]:
        return frozenset(self.chunks)

    def changes_of(self, table: Table) -> list[pa.Table]:
        return self.chunks.get(table.relation_id, [])


def overlaid(relation: Table, rows: pa.Table, changes: Sequence[pa.Table]) -> pa.Table:
    """A table's rows (all columns, c0…) as they will be after `changes`, by the table's rule for conflicts."""
    written = pa.concat_tables(changes)
    base = pa.table([pa.array(np.full(rows.num_rows, INSERT, np.int8)), *rows.columns], names=written.column_names)
    everything = pa.concat_tables([base, written.cast(base.schema)])
    codes, firsts = group_by_key(relation, everything)
    places = {column.column_id: i for i, column in enumerate(relation.columns)}
    rule = ConflictRule(
        keep_first=relation.on_conflict is ConflictBehavior.IGNORE,
        fill_nulls=relation.on_conflict is ConflictBehavior.FILL,
        versions=tuple(places[each] for each in relation.version_columns),
    )
    stands, columns = standing_rows(rule, ops_of(everything), columns_of(everything), codes, len(firsts))
    return pa.table(columns, names=rows.column_names).filter(pa.array(stands))
