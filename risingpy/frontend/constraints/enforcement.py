"""UNIQUE and FOREIGN KEY, by queries over the tables as a statement leaves them.

The statement's rows are written to the transaction first. Its queries then see each table as it will be, so one query
finds equal keys among the new rows, and between these and others. A row that is refused takes the statement, and with
it all that it has written.

As in PostgreSQL, unique keys are looked at when the rows are written, and foreign keys after it, in the order in which
they were made; what ON DELETE and ON UPDATE do is looked at in its turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.frontend.binder import bind_default
from risingpy.frontend.binder.ddl.constraint_plans import (
    given_rows,
    keys_met_twice,
    partly_null,
    places_of,
    referring_to_lost,
    referring_with_new_keys,
    without_referenced,
)
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.constraints.guarded import enforced_keys, enforced_keys_to
from risingpy.frontend.constraints.many_rows import have_new_keys, refer_to_rows
from risingpy.frontend.constraints.unique_lookup import can_look_up, looked_up_twice
from risingpy.frontend.constraints.violations import (
    columns_by_id,
    key_names,
    missing_reference,
    mixed_nulls,
    shown_key,
    still_referenced,
    unique_violation,
)
from risingpy.frontend.statement_context import StatementContext
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, ForeignKey, Index, Table
from risingpy.plan.catalog.constraints import ReferentialAction
from risingpy.plan.expressions import Literal
from risingpy.plan.logical import Field, Limit, LogicalPlan
from risingpy.types import BIGINT
from risingpy.types.far_moments import value_of


@dataclass(frozen=True, slots=True)
class RowsChange:
    """Rows of a table that went and rows that came, all columns. `new` is None if a DELETE took the old ones.

    The first of the new rows stand in the stead of the old ones, one for one; further ones are new.
    """

    table: Table
    old: pa.Table
    new: pa.Table | None


WritesRows = Callable[[StatementContext, RowsChange], RowsChange]
"""Writes a change to the transaction, its new rows completed; gives the change as it was written."""


def enforce(session: StatementContext, changes: Sequence[RowsChange], writes: WritesRows) -> None:
    """Looks at a statement's changes, which the transaction has; `writes` writes what ON DELETE and ON UPDATE ask for.

    Raises SqlError (23505, 23503) for the first row that a constraint refuses.
    """
    catalog = session.database.reads.catalog
    for change in changes:
        _check_unique(session, catalog, change)
    left = deque(changes)
    while left:
        done = left.popleft()
        if done.new is not None and done.new.num_rows:
            for key in enforced_keys(done.table):
                look = partial(check_reference, session, catalog, done, key)
                session.transaction.deferral.look(key, look, None)
        if not done.old.num_rows:
            continue
        for child, key in enforced_keys_to(catalog, done.table.relation_id):
            follows = _followed(session, done, child, key)
            if follows is not None:
                written = writes(session, follows)
                _check_unique(session, catalog, written)
                left.append(written)


def _check_unique(session: StatementContext, catalog: Catalog, change: RowsChange) -> None:
    table = change.table
    if change.new is None or not change.new.num_rows:
        return
    for index in catalog.unique_indexes_of(table.relation_id):
        look = partial(check_unique_key, session, table, change.new, index)
        session.transaction.deferral.look(index, look, None)


def check_unique_key(session: StatementContext, table: Table, new: pa.Table, index: Index) -> None:
    """Raises SqlError (23505) if several rows of the table have the key of a new row."""
    if have_new_keys(session, table, new, index):
        return
    if can_look_up(table, index.index, new.num_rows):
        twice = looked_up_twice(session, table, index.index, new, lambda plan: _first(session, plan, None))
    else:
        twice = _first(session, keys_met_twice(table, index.index), new)
    if twice is not None:
        keys = index.index.keys
        names = key_names(session, table, index)
        shown = shown_key(names, [key.expression.type for key in keys], twice[: len(keys)])
        raise unique_violation(table, index.name, shown)


def check_reference(session: StatementContext, catalog: Catalog, change: RowsChange, key: ForeignKey) -> None:
    """Raises SqlError (23503) if a new row refers to nothing."""
    table, target = change.table, catalog.relations[key.table_id]
    assert isinstance(target, Table)
    if change.new is not None and refer_to_rows(session, catalog, table, change.new, key):
        return
    rows, places = given_rows(table), places_of(table)
    if key.matches_full and _first(session, partly_null(rows, key, places), change.new) is not None:
        raise mixed_nulls(table, key)
    missing = _first(session, without_referenced(rows, key, places, target, scan(target)), change.new)
    if missing is not None:
        columns = columns_by_id(table, key.columns)
        shown = shown_key([c.name for c in columns], [c.type for c in columns], missing)
        raise missing_reference(table, key, target, shown)


def _followed(session: StatementContext, done: RowsChange, child: Table, key: ForeignKey) -> RowsChange | None:
    """What the foreign key makes of the child's rows whose keys have gone; None for nothing. Raises 23503."""
    target = done.table
    action = key.on_delete if done.new is None else key.on_update
    match action:
        case ReferentialAction.NO_ACTION:
            session.transaction.deferral.look(key, partial(check_lost, session, done, child, key), None)
            return None
        case ReferentialAction.RESTRICT:
            check_lost(session, done, child, key)
            return None
        case ReferentialAction.CASCADE if done.new is None:
            old = _rows(session, referring_to_lost(child, key, target), done.old)
            return RowsChange(child, old, None) if old.num_rows else None
        case ReferentialAction.CASCADE:
            return _with_new_keys(session, done, child, key)
        case ReferentialAction.SET_NULL | ReferentialAction.SET_DEFAULT:
            old = _rows(session, referring_to_lost(child, key, target), done.old)
            ids = (key.set_columns if done.new is None else ()) or key.columns
            new = _with_values(session, child, old, ids, to_default=action is ReferentialAction.SET_DEFAULT)
            return RowsChange(child, old, new) if old.num_rows else None
        case _:
            assert_never(action)


def check_lost(session: StatementContext, done: RowsChange, child: Table, key: ForeignKey) -> None:
    """Raises SqlError (23503) if a row of the child refers to a key that has gone."""
    target = done.table
    found = _rows(session, referring_to_lost(child, key, target), done.old, 1)
    if found.num_rows:
        values = _values(found, child, key.columns)
        columns = columns_by_id(target, key.referenced)
        shown = shown_key([c.name for c in columns], [c.type for c in columns], values)
        raise still_referenced(target, child, key, shown)


def _with_new_keys(session: StatementContext, done: RowsChange, child: Table, key: ForeignKey) -> RowsChange | None:
    """ON UPDATE CASCADE."""
    assert done.new is not None
    places = [places_of(done.table)[column_id] for column_id in key.referenced]
    before, after = done.old.select(places), done.new.slice(0, done.old.num_rows).select(places)
    pairs = pa.table([*before.columns, *after.columns], names=[f"c{i}" for i in range(2 * len(places))])
    differs = [pc.fill_null(pc.not_equal(b, a), True) for b, a in zip(before.columns, after.columns, strict=True)]
    changed = pairs.filter(reduce(pc.or_, differs))
    if not changed.num_rows:
        return None
    found = _rows(session, referring_with_new_keys(child, key, done.table), changed)
    if not found.num_rows:
        return None
    width, own = len(child.columns), places_of(child)
    old = pa.table(found.columns[:width], names=[f"c{i}" for i in range(width)])
    new = old
    for i, column_id in enumerate(key.columns):
        new = new.set_column(own[column_id], f"c{own[column_id]}", found.column(width + i))
    return RowsChange(child, old, new)


def _with_values(
    session: StatementContext, child: Table, rows: pa.Table, ids: tuple[int, ...], *, to_default: bool
) -> pa.Table:
    """The rows with NULL, or the default, in these columns."""
    own, values = places_of(child), session.session_values()
    for column_id in ids:
        place = own[column_id]
        column = child.columns[place]
        catalog = session.database.reads.catalog
        default = bind_default(column, catalog, session=values) if to_default else None
        if default is None:
            filled: pa.Array | pa.ChunkedArray = pa.nulls(rows.num_rows, column.type.arrow)
        else:
            filled = session.evaluate([default], (Field("c0", column.type),), rows, ()).column(0)
        rows = rows.set_column(place, f"c{place}", filled)
    return rows


def _first(session: StatementContext, plan: LogicalPlan, given: pa.Table | None) -> list[object] | None:
    """The first row of a plan over the given rows, as Python's values; None if it has none."""
    rows = _rows(session, plan, given, 1)
    return [value_of(column, 0) for column in rows.columns] if rows.num_rows else None


def _rows(session: StatementContext, plan: LogicalPlan, given: pa.Table | None, most: int | None = None) -> pa.Table:
    if most is not None:
        plan = Limit(plan, Literal(most, BIGINT), None)
    return session.run_to_table(session.planned(optimize(plan, session.check)), (), given)


def _values(rows: pa.Table, table: Table, ids: tuple[int, ...]) -> list[object]:
    own = places_of(table)
    return [value_of(rows.column(own[column_id]), 0) for column_id in ids]
