"""The parts of a statement with INSERT, UPDATE or DELETE in its WITH: what they read, and what they change once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from risingpy.batch import StatementReads, group_by_key
from risingpy.executors.change_chunk import columns_of
from risingpy.frontend.constraints.deferred import look_at_deferred
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.reads import CommittedSnapshot
from risingpy.plan.catalog import Table


@contextmanager
def parts_of_one(session: StatementContext) -> Iterator[StatementReads]:
    """Around the parts, in an open transaction that has locked what they rewrite: all read what is there now.

    Foreign keys are looked at when all parts have run: one part may bring what a row of another refers to.
    """
    deferral = session.transaction.deferral
    snapshot = session.snapshot()
    try:

        def take_snapshot(relation_ids: frozenset[int] | None) -> CommittedSnapshot:
            snapshot.view.acquire()
            return snapshot

        own, count = session.transaction.so_far()
        reads = StatementReads(take_snapshot, own, count)
        deferral.of_statement, session.parts = set(), reads
        yield reads
        put_off, deferral.of_statement = deferral.of_statement, None
        session.parts = None  # the constraints are about what the parts have left
        look_at_deferred(session, put_off)
    finally:
        deferral.of_statement, session.parts = None, None
        snapshot.view.release()


def untouched(session: StatementContext, relation: Table, found: pa.Table) -> pa.Table:
    """Of rows that begin with rows of the relation, those that no earlier part of the statement has changed.

    As in PostgreSQL, only one of the changes of a row takes place, and the other part does not count the row.
    """
    if session.parts is None:
        return found
    chunks = session.transaction.changes_since(session.parts.changes, relation.relation_id)
    if not chunks or not found.num_rows:
        return found
    written = pa.concat_tables(chunks)
    names = [f"c{index}" for index in range(len(relation.columns))]
    changed = pa.table(list(columns_of(written)), names=names)
    rows = pa.table(found.columns[: len(names)], names=names)
    codes, _ = group_by_key(relation, pa.concat_tables([rows, changed.cast(rows.schema)]))
    is_left = ~np.isin(codes[: rows.num_rows], codes[rows.num_rows :])
    return found.filter(pa.array(is_left))
