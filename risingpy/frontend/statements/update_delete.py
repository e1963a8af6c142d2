"""UPDATE and DELETE: they lock the table alone, read the current rows, and log exactly the rows that change.

Those of one row by its key lock that row alone: `update_by_key.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa

from risingpy.batch import group_by_key
from risingpy.frontend import binder
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.command import Command, Parameters, PlainChange
from risingpy.frontend.constraints.guarded import guarded
from risingpy.frontend.parser.ast import Delete, ParsedStatement, Update
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.returning import returned, returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.current_of import named_cursor, of_current
from risingpy.frontend.statements.writes.locked_write import locked
from risingpy.frontend.statements.writes.parts import untouched
from risingpy.frontend.statements.writes.planned_rewrite import planned_rewrite
from risingpy.frontend.statements.writes.update_by_key import run_by_key
from risingpy.frontend.unique_keys import check_unique
from risingpy.frontend.written_rows import check_writable, completed, write_rewritten
from risingpy.plan.catalog import Catalog, Table
from risingpy.types import SqlType


def bind_update(
    session: StatementContext, parsed: ParsedStatement, statement: Update, parameter_types: Sequence[SqlType]
) -> Command:
    """The tag counts the rows that WHERE selects, changed or not; a row that matches several rows of FROM counts once.

    Binds again if the table was altered while it waited for its lock; raises StalePlan (40001) if its form differs.
    """

    name = named_cursor(statement)
    if name is not None:
        return of_current(session, name, statement, parameter_types, partial(bind_update, session, parsed))

    def bind(catalog: Catalog) -> BoundRewrite:
        return _bound(session, catalog, binder.bind_update, statement, parameter_types)

    return rewriting(session, "UPDATE", bind)


def bind_delete(
    session: StatementContext, parsed: ParsedStatement, statement: Delete, parameter_types: Sequence[SqlType]
) -> Command:
    """The tag counts the rows that are deleted. A table altered meanwhile is treated as UPDATE does."""

    name = named_cursor(statement)
    if name is not None:
        return of_current(session, name, statement, parameter_types, partial(bind_delete, session, parsed))

    def bind(catalog: Catalog) -> BoundRewrite:
        return _bound(session, catalog, binder.bind_delete, statement, parameter_types)

    return rewriting(session, "DELETE", bind)


def _bound(
    session: StatementContext,
    catalog: Catalog,
    bind: Callable[..., BoundRewrite],
    statement: Update | Delete,
    parameter_types: Sequence[SqlType],
) -> BoundRewrite:
    return bind(
        statement,
        catalog,
        session.search_path(),
        parameter_types,
        session=session.session_values(),
    )


def rewriting(
    session: StatementContext, verb: str, bind: Callable[[Catalog], BoundRewrite], *, looks_at_keys: bool = True
) -> Command:
    """The command that locks a table, reads the rows that `bind` plans, and logs what becomes of them.

    `verb` is its tag, and what a READ ONLY transaction refuses. Without `looks_at_keys` rows may go to which foreign
    keys refer.
    """
    planned = planned_rewrite(session, bind(session.database.reads.catalog))

    def run(parameters: Parameters) -> Result:
        check_writable(session, verb)
        changed = None if session.parts is not None else run_by_key(session, verb, planned, bind, parameters)
        if changed is not None:
            return changed
        with guarded(session, planned.bound.relation), locked(session, planned.bound, bind) as bound:
            query = planned.for_form(session, bound).query
            width = len(bound.relation.columns)
            found = untouched(session, bound.relation, session.run_to_table(query, parameters))
            if bound.is_joined:
                found = _each_once(bound.relation, found)
            old = _columns(found, 0, width)
            new = _columns(found, width, width) if bound.has_new else None
            if new is not None:
                new = completed(session, bound.relation, new)
                if bound.relation.primary_key:
                    check_unique(session, bound.relation, old, new)
            others = found.columns[width if new is None else 2 * width :]  # what RETURNING reads of the other side
            answer = returned(session, bound.returning, _beside(old if new is None else new, others), parameters)
            write_rewritten(session, bound.relation, old, new, looks_at_keys=looks_at_keys)
        return Result(CommandTag(verb, found.num_rows), returning_fields(bound.returning), answer)

    fields, types = returning_fields(planned.bound.returning), planned.bound.parameter_types
    takes_constants = planned.by_key is not None and planned.by_key.takes_constants(len(types))
    changes = None
    if planned.by_key is not None and planned.bound.returning is None:
        changes = PlainChange(verb, planned.by_key)
    return Command(run, fields, types, takes_constants=takes_constants, changes=changes)


def _each_once(relation: Table, found: pa.Table) -> pa.Table:
    """Of the rows that begin with the same row of the relation, the first: as in PostgreSQL, any of them may count."""
    keys = _columns(found, 0, len(relation.columns))
    _, firsts = group_by_key(relation, keys)
    return found if len(firsts) == found.num_rows else found.take(pa.array(firsts))


def _beside(rows: pa.Table, others: list[pa.ChunkedArray]) -> pa.Table:
    for column in others:
        rows = rows.append_column(f"c{rows.num_columns}", column)
    return rows


def _columns(found: pa.Table, first: int, width: int) -> pa.Table:
    return pa.table(found.columns[first : first + width], names=[f"c{index}" for index in range(width)])
