"""Statements that read the table that they write to: they hold its lock, on the form of the table that stands then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from risingpy.errors import StalePlan
from risingpy.frontend.binder.dml.returning import Returning
from risingpy.frontend.returning import returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import Catalog, Table
from risingpy.types import SqlType


class LockedWrite(Protocol):
    """A bound statement that reads the table that it writes to."""

    @property
    def relation(self) -> Table: ...

    @property
    def returning(self) -> Returning | None: ...

    @property
    def parameter_types(self) -> tuple[SqlType, ...]: ...


W = TypeVar("W", bound=LockedWrite)


@contextmanager
def locked(session: StatementContext, planned: W, bind: Callable[[Catalog], W]) -> Iterator[W]:
    """Locks the statement's table, so that nobody else writes to it; all logged rows can be read then.

    Gives the statement as `newest_form` does.
    """
    with _held(session, planned.relation.relation_id):
        yield newest_form(session, planned, bind)


def newest_form(session: StatementContext, planned: W, bind: Callable[[Catalog], W]) -> W:
    """The statement: bound again by `bind` if the table was altered while it waited for a lock, else `planned` itself.

    Raises StalePlan (40001) if its result columns or parameter types are others now, or if the transaction has
    unwritten rows of the table's old form, which the commit would refuse.
    """
    relation = session.database.reads.catalog.relations.get(planned.relation.relation_id)
    if isinstance(relation, Table) and _form(relation) == _form(planned.relation):
        return planned
    bound = bind(session.database.reads.catalog)
    is_same = bound.relation.relation_id == planned.relation.relation_id
    same_types = bound.parameter_types == planned.parameter_types
    same_rows = returning_fields(bound.returning) == returning_fields(planned.returning)
    has_written = planned.relation.relation_id in session.transaction.changed_tables
    if has_written or not (is_same and same_types and same_rows):
        raise StalePlan(f'table "{planned.relation.name}" was altered meanwhile', hint="Run the statement again.")
    return bound


def _form(table: Table) -> tuple[int, int]:
    return table.version, table.rules


@contextmanager
def _held(session: StatementContext, table_id: int) -> Iterator[None]:
    """Locks the table: until the transaction ends, or without one for this statement."""
    if session.transaction.is_open:
        session.transaction.hold(table_id, session.cancelled)
        yield
        return
    with session.database.writes.table_lock(table_id, session.cancelled, process_id=session.startup.process_id):
        session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)
        yield
