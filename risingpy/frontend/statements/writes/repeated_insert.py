"""An INSERT of constant rows that a client executes many times in one transaction, as one write of all its rows.

    INSERT INTO t VALUES ($1, now()) with (1), (2), (3)   =>   3 rows, one change

It has to end as if the executions had come one by one. So a table whose rows refer to rows of its own is not written
so: a row might find there what comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import pyarrow as pa

from risingpy.batch import ConstantRows, NotPlain, PlainRows, PreparedQuery, plain_rows
from risingpy.frontend.command import Parameters, Repeated
from risingpy.frontend.constraints.guarded import enforced_keys, is_guarded
from risingpy.frontend.results import CommandTag
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.insert_by_key import inserted_by_key
from risingpy.frontend.transaction import Transaction
from risingpy.frontend.written_rows import check_writable, inserted, write_inserted
from risingpy.meta.writing.row_keys import MOST_ROWS_BY_KEY
from risingpy.plan.catalog import Table

_MOST_ROWS = 1024
_UNNAMED = ""  # no savepoint of a client has this name


class RowsOfExecutions:
    """The rows of an INSERT of constants, all visible columns, for many executions with other parameters."""

    def __init__(self, session: StatementContext, query: PreparedQuery, answer: ConstantRows) -> None:
        self._session = session
        self._schema = query.schema
        self._compiled: Callable[[], PlainRows] = cache(lambda: plain_rows(answer))
        self.rows_of_each = len(answer.columns[0])

    def __call__(self, executions: Sequence[Parameters]) -> pa.Table | None:
        """One after the other; None if only the evaluator can compute a value, or raise its error."""
        try:
            columns = self._compiled().columns(executions, self._session.sequences, self._session.scope.now)
            arrays = [pa.array(values, field.type.arrow) for values, field in zip(columns, self._schema, strict=True)]
        except (NotPlain, pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
        return pa.table(arrays, names=[f"c{index}" for index in range(len(arrays))])


def rows_of_executions(session: StatementContext, query: PreparedQuery) -> RowsOfExecutions | None:
    """None for rows that are computed."""
    answer = query.plan.answer
    return RowsOfExecutions(session, query, answer) if isinstance(answer, ConstantRows) and answer.columns else None


def repeated_insert(session: StatementContext, table: Table, rows: RowsOfExecutions) -> Repeated | None:
    """None for a table that refers to itself, and for so many rows that they are not written together."""
    is_by_key = bool(table.primary_key) or is_guarded(session.database.reads.catalog, table)
    most = (MOST_ROWS_BY_KEY if is_by_key else _MOST_ROWS) // rows.rows_of_each
    if most < 2 or any(key.table_id == table.relation_id for key in enforced_keys(table)):
        return None
    return Repeated(RepeatedInsert(session, table, rows).run, most)


class RepeatedInsert:
    """`run` is that of `Repeated`."""

    def __init__(self, session: StatementContext, table: Table, rows: RowsOfExecutions) -> None:
        self._session = session
        self._table = table
        self._rows = rows
        self._tag = CommandTag("INSERT 0", rows.rows_of_each)

    def run(self, executions: Sequence[Parameters]) -> CommandTag | None:
        session, transaction = self._session, self._session.transaction
        if not transaction.is_open:
            return None
        check_writable(session, "INSERT")
        with _undone_if_it_fails(transaction):
            visible = self._rows(executions)
            if visible is None:
                return None
            rows = inserted(session, self._table, visible)
            if not is_guarded(session.database.reads.catalog, self._table):
                write_inserted(session, self._table, rows, by_key=bool(self._table.primary_key))
            elif not inserted_by_key(session, self._table, rows):
                return None
        return self._tag


@contextmanager
def _undone_if_it_fails(transaction: Transaction) -> Iterator[None]:
    """An error takes back what was written since, as if there were a savepoint."""
    status = transaction.status
    transaction.set_savepoint(_UNNAMED, lambda: None)
    try:
        yield
    except BaseException:
        transaction.go_back_to(_UNNAMED)
        transaction.status = status  # of an implicit transaction, which is not ACTIVE
        raise
    finally:
        transaction.release_savepoint(_UNNAMED)
