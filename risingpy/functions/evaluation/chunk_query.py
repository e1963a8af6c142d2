"""Queries over one change chunk in this thread's DuckDB."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

import duckdb
import pyarrow as pa

from risingpy.errors import ExternalRoutineLimitExceeded, OutOfMemory, QueryCanceled, SqlError
from risingpy.functions.evaluation.arrow_functions import Evaluate, as_column
from risingpy.functions.evaluation.duckdb_connection import connect, translate_error
from risingpy.functions.evaluation.duckdb_failures import as_duckdb_error
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.functions.evaluation.duckdb_sql import Selected
from risingpy.functions.evaluation.sql.text import intervals_apart
from risingpy.functions.evaluation.thread_connections import ThreadConnections
from risingpy.memory import EPOCH_SHARE, share_of_memory
from risingpy.plan.expressions import Expr
from risingpy.types import SqlType

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

FAILURES = (pa.ArrowInvalid, pa.ArrowNotImplementedError, duckdb.Error, SqlError)
_INVALID = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.InternalException,
    duckdb.OutOfMemoryException,
    duckdb.FatalException,
    duckdb.InterruptException,
)
_LIMITS = (ExternalRoutineLimitExceeded, OutOfMemory, QueryCanceled)  # no row alone is to blame
# Not by the connection's limit: the process has no more, and may have again.
_REFUSED_BY_SYSTEM = re.compile(r"bad allocation|Allocation failure")
_connections = ThreadConnections()  # of every thread: os.register_at_fork, which it needs, is the process's


class _Database:
    """An open DuckDB. A new one costs some 10 ms, an evaluation less than one."""

    def __init__(self) -> None:
        self._owned = _connections.add(connect())
        self._functions = OwnFunctions(self.connection)
        self.connection.execute(f"SET memory_limit = '{share_of_memory(EPOCH_SHARE)}B'")

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection itself."""
        connection: duckdb.DuckDBPyConnection = self._owned.connection
        return connection

    def knowing(self, sql: str) -> duckdb.DuckDBPyConnection:
        """The connection, which knows the functions of ours that `sql` calls."""
        self._functions.make_known(sql)
        return self.connection


class _LazyDatabase:
    """Where a thread has its DuckDB, once it has run a query: most epochs run none."""

    def __init__(self) -> None:
        self._database: _Database | None = None

    @property
    def database(self) -> _Database:
        """For the thread itself: the DuckDB, made now if there is none."""
        if self._database is None:
            self._database = _Database()
        return self._database

    def interrupt(self) -> None:
        """From any thread."""
        database = self._database
        if database is not None:
            database.connection.interrupt()


class _OfThread(threading.local):
    """A place of each thread, which goes with the thread, and so closes its DuckDB.

    Each thread has its own: a connection runs one query at a time, and evaluators go from thread to thread.
    """

    def __init__(self) -> None:
        self.place = _LazyDatabase()


@cache
def _of_thread() -> _OfThread:
    return _OfThread()


def thread_interrupt() -> Callable[[], None]:
    """What ends the query that this thread runs at the moment; any thread may call it, and it may come for nothing."""
    return _of_thread().place.interrupt


def select_of(expressions: Sequence[Expr], form: str = "{}") -> str:
    """The SELECT of expressions over a chunk, each written in `form`."""
    selected = Selected(lambda index: f"t.c{index}")
    listed = ", ".join(f"{form.format(selected.sql(expr))} AS e{k}" for k, expr in enumerate(expressions))
    return intervals_apart(f"SELECT {listed} FROM {selected.source('chunk AS t')}")


def run(sql: str, chunk: pa.Table) -> list[pa.ChunkedArray]:
    """A query over `chunk`, which DuckDB finds by its name among this function's variables: a row for each of its rows.

    The rows keep their order. DuckDB makes a join of an IN with five items, and a join holds batches of less than 64
    rows back until others fill them up. So the chunk is one batch, of which only the end can be so short.
    """
    chunk = chunk.combine_chunks()
    connection = _of_thread().place.database.knowing(sql)
    try:
        columns: list[pa.ChunkedArray] = connection.sql(sql).to_arrow_table().columns
    except duckdb.OutOfMemoryException as error:
        if _REFUSED_BY_SYSTEM.search(str(error)):
            raise MemoryError(str(error).splitlines()[0]) from error
        raise
    except UnicodeDecodeError as error:
        raise as_duckdb_error(error) from error
    return columns


def typed(column: pa.ChunkedArray, type_: SqlType) -> pa.ChunkedArray:
    """The column in the Arrow type of the SQL type. DuckDB answers with some columns in wider or narrower types."""
    return column if column.type == type_.arrow else column.cast(type_.arrow)


def by_arrow(evaluate: Evaluate | None, expr: Expr, chunk: pa.Table) -> Column | None:
    """The expression's column; None if Arrow cannot compute it, or fails."""
    if evaluate is None:
        return None
    try:
        return as_column(evaluate(chunk.columns[1:]), chunk.num_rows, expr.type)
    except _LIMITS:
        raise
    except FAILURES:
        return None


def raise_if_invalid(error: Exception) -> None:
    """Raises errors that no row causes: SQL that DuckDB does not accept, a defect of DuckDB, too little memory."""
    if isinstance(error, _INVALID):
        raise translate_error(error) from error
    # Of a function of ours, that is; chr(0) too is 54000, but raised by a cast.
    raised = translate_error(error) if isinstance(error, duckdb.InvalidInputException) else None
    if isinstance(raised, _LIMITS):
        raise raised from error
