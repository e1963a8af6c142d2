"""A primary key for a table that is there: the rows are checked, and written to a copy under it, the new table.

The statement holds the table alone all the while: readers see the table as it was, and writers wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.frontend.binder import BoundPrimaryKey, bind_primary_key, with_primary_key
from risingpy.frontend.binder.ddl.alter_constraints import nulls_among_rows
from risingpy.frontend.parser.ast import AddPrimaryKey
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.filled.filling import replace_by_copy
from risingpy.frontend.statements.jobs.new_view import anew
from risingpy.frontend.table_definition import table_definition
from risingpy.meta.schema.primary_key import NewKey, refuse_readers
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.writing.table_locks import LockMode
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import MaterializedView, Table
from risingpy.plan.expressions import Literal
from risingpy.plan.logical import Limit, LogicalPlan
from risingpy.types import BIGINT
from risingpy.types.far_moments import value_of
from risingpy.types.forms import format_text


def add_key(session: StatementContext, table: Table, statement: AddPrimaryKey) -> None:
    """Raises 23502 for NULLs and 23505 for duplicates among the rows, and then leaves the table as it was."""
    database = session.database
    bound = bind_primary_key(database.reads.catalog, table, statement)
    definition = table_definition(with_primary_key(table, bound.key), (), database.reads.catalog.relations)
    key = tuple(table.columns[i].column_id for i in bound.key)
    change = NewKey(table, key, definition, anew(session.check), statement.key_name)
    rows = session.planned(optimize(bound.rows, session.check))
    process_id = session.startup.process_id
    own_lock = database.writes.table_lock(table.relation_id, session.cancelled, process_id=process_id)
    with _views_alone(session, table), own_lock:
        database.reads.wait_for_lsn(database.writes.last_lsn, session.cancelled)
        refuse_readers(database.reads.state, change)
        _check_rows(session, table, bound, statement.key_name or table.key_constraint)
        replace_by_copy(session, change, rows)


@contextmanager
def _views_alone(session: StatementContext, table: Table) -> Iterator[None]:
    """Holds the views that are built anew: the keys of two tables that one view reads come one after the other.

    Else each would build a view over the other one's table of before. Views that were built anew while this one waited
    have other ids, and are locked then.
    """
    database, process_id = session.database, session.startup.process_id
    while True:
        views = _views_of(session, table)
        with database.writes.locks.held(views, LockMode.ALONE, session.cancelled, process_id=process_id):
            if _views_of(session, table) == views:
                yield
                return


def _views_of(session: StatementContext, table: Table) -> set[int]:
    readers = with_all_readers(session.database.reads.state, [table])
    return {each.relation_id for each in readers if isinstance(each, MaterializedView)}


def _check_rows(session: StatementContext, table: Table, bound: BoundPrimaryKey, name: str) -> None:
    for place, nulls in zip(bound.key, bound.nulls, strict=True):
        if _first_row(session, nulls) is not None:
            raise nulls_among_rows(table, table.columns[place].name)
    twice = _first_row(session, bound.duplicates)
    if twice is not None:
        columns = [table.columns[place] for place in bound.key]
        names = ", ".join(column.name for column in columns)
        values = ", ".join(format_text(c.type, value_of(twice.column(i), 0)) for i, c in enumerate(columns))
        raise SqlError(
            f'could not create unique index "{name}"',
            sqlstate="23505",
            detail=f"Key ({names})=({values}) is duplicated.",
        )


def _first_row(session: StatementContext, plan: LogicalPlan) -> pa.RecordBatch | None:
    limited = Limit(plan, Literal(1, BIGINT), None)
    batches = session.run_query(session.planned(optimize(limited, session.check)), ())
    return next((batch for batch in batches if batch.num_rows), None)
