"""INSERT … ON CONFLICT: looks up the keys of the new rows under a lock, and logs what is to change.

The lock is that of the rows, if they are few, or else that of the table.

As in PostgreSQL, rows are taken one after another, and a row conflicts with what stood before the statement and with
what the statement has inserted. All of it is computed at once: rows are grouped by their keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.batch import PreparedQuery, group_by_key
from risingpy.errors import CardinalityViolation
from risingpy.frontend.binder.dml.insert import BoundInsert
from risingpy.frontend.command import Command, Parameters, PlainUpsert
from risingpy.frontend.constraints.by_key import can_go_by_key, looked_at_by_key
from risingpy.frontend.constraints.guarded import guarded, is_guarded, statement_locks
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.returning import returned, returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.arbiters import Arbiter, all_arbiters, arbiter_of, free_rows
from risingpy.frontend.statements.writes.locked_write import locked, newest_form
from risingpy.frontend.statements.writes.rows_by_key import (
    newest_rows,
    row_keys,
    rows_locked,
)
from risingpy.frontend.unique_keys import check_unique
from risingpy.frontend.written_rows import check_writable, completed, inserted, write_rewritten
from risingpy.meta.writing.row_keys import MOST_KEYS, log_has_newest_rows
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, Table
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import GivenRows, LogicalPlan, Project

Places = npt.NDArray[np.int64]
RowsWithKeys = Callable[[Table, pa.Table], pa.Table]
"""The rows of a table that stand now and have the keys of the given rows, and perhaps others."""


@dataclass(frozen=True, slots=True)
class _Queries:
    """`source` gives the rows to insert; `update` the new rows of pairs, None for DO NOTHING.

    `columns` are the pairs' columns that are all that `update` gives (`SET a = excluded.a`): it need not run then.
    `may_lock_rows`: what happens to a key depends on its row alone. `outputs` are the update's, if it has no WHERE.
    """

    source: PreparedQuery
    update: PreparedQuery | None
    columns: tuple[int, ...] | None
    may_lock_rows: bool
    outputs: tuple[Expr, ...] | None = None

    def plain(self, relation: Table) -> PlainUpsert | None:
        """What the short path may do of it; None if it depends on more than the row of a key."""
        if not self.may_lock_rows or (self.update is not None and self.outputs is None):
            return None
        return PlainUpsert(self.source, relation, None if self.outputs is None else self.outputs[1:])

    def changed(self, session: StatementContext, pairs: pa.Table, parameters: Parameters) -> pa.Table:
        """The numbers and new rows of the pairs that change, ordered by number."""
        assert self.update is not None
        if self.columns is None:
            return session.run_to_table(self.update, parameters, pairs).sort_by("c0")
        return pa.table(
            [pairs.column(index) for index in self.columns], names=[f"c{i}" for i in range(len(self.columns))]
        )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The rows that go, those that come in their stead, and those that come anew, all columns.

    `order` are the places of the rows that come (first `new`, then `fresh`) in the order in which they were proposed.
    """

    old: pa.Table
    new: pa.Table
    fresh: pa.Table
    order: Places

    @property
    def coming(self) -> pa.Table:
        return pa.concat_tables([self.new, self.fresh])


def inserting_or_updating(
    session: StatementContext, planned: BoundInsert, bind: Callable[[Catalog], BoundInsert]
) -> Command:
    """The command of an INSERT with ON CONFLICT. Its tag counts the rows that were inserted and those updated.

    Raises CardinalityViolation (21000) if DO UPDATE meets a row twice.
    """
    planned_queries = _planned(session, planned, session.database.reads.catalog)

    def run(parameters: Parameters) -> Result:
        check_writable(session, "INSERT")
        by_key = None
        if session.parts is None:
            by_key = _run_by_key(session, planned, planned_queries, bind, parameters)
        if by_key is not None:
            return by_key
        with guarded(session, planned.relation), locked(session, planned, bind) as bound:
            queries = planned_queries if bound is planned else _planned(session, bound)
            proposed = inserted(session, bound.relation, session.run_to_table(queries.source, parameters))
            written = _written(session, bound, queries, parameters, proposed, session.rows_with_keys, by_key=False)
            assert written is not None
            return written

    takes_constants = planned_queries.source.takes_constants(len(planned.parameter_types))
    fields = returning_fields(planned.returning)
    upserts = planned_queries.plain(planned.relation) if planned.returning is None else None
    return Command(run, fields, planned.parameter_types, takes_constants=takes_constants, upserts=upserts)


def _planned(session: StatementContext, bound: BoundInsert, catalog: Catalog | None = None) -> _Queries:
    assert bound.on_conflict is not None
    source = session.planned(optimize(bound.plan, session.check), catalog)
    current = session.database.reads.catalog
    has_newest = log_has_newest_rows(current, bound.relation)
    meets_others = bound.on_conflict.any_key and bool(current.unique_indexes_of(bound.relation.relation_id))
    has_newest = has_newest and bound.on_conflict.arbiter is None and not meets_others
    if bound.on_conflict.update is None:
        return _Queries(source, None, None, has_newest)
    update = optimize(bound.on_conflict.update, session.check)
    planned = session.planned(update, catalog)
    needs_row_only = planned.relations == frozenset() and not bound.on_conflict.moves_keys
    outputs = update.expressions if isinstance(update, Project) and isinstance(update.input, GivenRows) else None
    return _Queries(source, planned, _columns_alone(update), needs_row_only and has_newest, outputs)


def _run_by_key(
    session: StatementContext,
    planned: BoundInsert,
    queries: _Queries,
    bind: Callable[[Catalog], BoundInsert],
    parameters: Parameters,
) -> Result | None:
    """Runs the statement with the rows locked. None if it must lock the table."""
    table = planned.relation
    if not queries.may_lock_rows or session.transaction.has_large_change(table.relation_id):
        return None
    proposed = inserted(session, table, session.run_to_table(queries.source, parameters))
    is_free = not is_guarded(session.database.reads.catalog, table)
    if proposed.num_rows > MOST_KEYS or not (is_free or can_go_by_key(session, table, proposed.num_rows)):
        return None
    with rows_locked(session, table, row_keys(table, proposed)), statement_locks(session):
        bound = newest_form(session, planned, bind)
        if bound is not planned:  # the rows are locked, so no ALTER comes now
            return _run_by_key(session, bound, _planned(session, bound), bind, parameters)

        def standing(relation: Table, keys: pa.Table) -> pa.Table:
            return newest_rows(session, relation, keys)

        return _written(session, planned, queries, parameters, proposed, standing, by_key=True)


def _written(
    session: StatementContext,
    bound: BoundInsert,
    queries: _Queries,
    parameters: Parameters,
    proposed: pa.Table,
    rows_with_keys: RowsWithKeys,
    *,
    by_key: bool,
) -> Result | None:
    """Writes what the proposed rows (all columns) change, and answers. The rows of their keys are locked.

    `by_key`: only they are. Then None if constraints need more than that.
    """
    outcome = _outcome(session, bound, proposed, queries, parameters, rows_with_keys)
    coming = outcome.coming
    looks = not by_key
    needs_look = by_key and coming.num_rows and is_guarded(session.database.reads.catalog, bound.relation)
    if needs_look and not looked_at_by_key(session, bound.relation, outcome.old, coming):
        return None
    answer = returned(session, bound.returning, coming.take(pa.array(outcome.order)), parameters)
    write_rewritten(session, bound.relation, outcome.old, coming, looks_at_keys=looks)
    return Result(CommandTag("INSERT 0", coming.num_rows), returning_fields(bound.returning), answer)


def _columns_alone(update: LogicalPlan) -> tuple[int, ...] | None:
    """The columns of pairs that are all that the plan gives; None if it computes something, or leaves pairs out."""
    match update:
        case Project(GivenRows(), outputs):
            columns = tuple(output.index for output in outputs if isinstance(output, InputRef))
            return columns if len(columns) == len(outputs) else None
    return None


def _outcome(
    session: StatementContext,
    bound: BoundInsert,
    proposed: pa.Table,
    queries: _Queries,
    parameters: Parameters,
    rows_with_keys: RowsWithKeys,
) -> _Outcome:
    """What the proposed rows (all columns) change."""
    nothing, relation, conflict = proposed.slice(0, 0), bound.relation, bound.on_conflict
    assert conflict is not None
    catalog = session.database.reads.catalog
    if conflict.any_key and catalog.unique_indexes_of(relation.relation_id):
        rows = free_rows(session, relation, proposed, all_arbiters(catalog, relation))
        return _Outcome(nothing, nothing, rows, np.arange(rows.num_rows))
    arbiter = arbiter_of(relation, conflict.arbiter)
    if not arbiter.keyed.primary_key or not proposed.num_rows:
        return _Outcome(nothing, nothing, proposed, np.arange(proposed.num_rows))
    if conflict.arbiter is not None:
        rows_with_keys = partial(arbiter.standing, session)
    proposed_keys = arbiter.keys(session, proposed)
    groups, firsts = arbiter.groups(proposed_keys)
    standing = rows_with_keys(relation, proposed.take(pa.array(firsts)))
    standing_keys = arbiter.keys(session, standing)
    place_of_group = _places_of(arbiter, proposed_keys.take(pa.array(firsts)), standing_keys)
    places = place_of_group[groups]  # of the row that stands with the key of each proposed row; -1: none does
    fresh = np.flatnonzero(places[firsts] < 0)
    fresh = firsts[fresh]  # the first row of each key that no row has
    if queries.update is None:
        rows = proposed.take(pa.array(np.sort(fresh)))
        if conflict.arbiter is not None and relation.primary_key and rows.num_rows:
            check_unique(session, relation, nothing, rows)
        return _Outcome(nothing, nothing, rows, np.arange(rows.num_rows))
    if len(fresh) < np.count_nonzero(places < 0):
        raise _second_time()
    meeting = np.flatnonzero(places >= 0)
    pairs = _beside(standing.take(pa.array(places[meeting])), proposed.take(pa.array(meeting)))
    pairs = pairs.append_column(f"c{pairs.num_columns}", pa.array(meeting))
    changed = queries.changed(session, pairs, parameters)
    updating = changed.column("c0").to_numpy()
    _check_once(groups, meeting, updating)
    old = standing.take(pa.array(places[updating]))
    new = _complete(session, relation, changed)
    rows = proposed.take(pa.array(fresh))
    moved = old.num_rows and not _keys(relation, old).equals(_keys(relation, new))
    if relation.primary_key and (moved or (conflict.arbiter is not None and rows.num_rows)):
        check_unique(session, relation, old, pa.concat_tables([new, rows]))
    return _Outcome(old, new, rows, np.argsort(np.concatenate([updating, fresh])))


def _places_of(arbiter: Arbiter, keys: pa.Table, standing: pa.Table) -> Places:
    """For each key the place of the row that stands with it, or -1. `standing` are the keys of these rows."""
    codes, _ = group_by_key(arbiter.keyed, pa.concat_tables([keys, standing]))
    places = np.full(int(codes.max()) + 1, -1, np.int64)
    places[codes[keys.num_rows :]] = np.arange(standing.num_rows)
    return places[codes[: keys.num_rows]]


def _complete(session: StatementContext, relation: Table, changed: pa.Table) -> pa.Table:
    """The new rows as the table stores them, of what the update's query gives."""
    names = [f"c{index}" for index in range(len(relation.columns))]
    return completed(session, relation, pa.table(changed.columns[1:], names=names))


def _check_once(groups: Places, meeting: Places, updating: Places) -> None:
    """Raises CardinalityViolation if a row comes after one of its key that has updated what stands.

    `groups` has the key of each proposed row; `meeting` and `updating` are places of proposed rows, ascending.
    """
    first_update = np.full(len(groups), len(groups))  # by key; far after all rows
    np.minimum.at(first_update, groups[updating], updating)
    if np.any(meeting > first_update[groups[meeting]]):
        raise _second_time()


def _second_time() -> CardinalityViolation:
    return CardinalityViolation(
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
        hint="Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )


def _keys(relation: Table, rows: pa.Table) -> pa.Table:
    return rows.select([f"c{part.index}" for part in relation.table.key])


def _beside(left: pa.Table, right: pa.Table) -> pa.Table:
    columns = [*left.columns, *right.columns]
    return pa.table(columns, names=[f"c{index}" for index in range(len(columns))])
