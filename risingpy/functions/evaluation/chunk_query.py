"""Queries over one change chunk in this thread's DuckDB."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import TypeAlias

import duckdb
import pyarrow as pa

from risingpy.errors import ExternalRoutineLimitExceeded, OutOfMemory, SqlError
from risingpy.functions.evaluation.arrow_functions import Evaluate, as_column
from risingpy.functions.evaluation.duckdb_connection import connect, translate_error
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.functions.evaluation.duckdb_sql import Selected
from risingpy.functions.evaluation.sql_text import intervals_apart
from risingpy.functions.evaluation.thread_connections import OwnedConnection, ThreadConnections
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
)
_LIMITS = (ExternalRoutineLimitExceeded, OutOfMemory)  # no row alone is to blame
# Not by the connection's limit: the process has no more, and may have again.
_REFUSED_BY_SYSTEM = re.compile(r"bad allocation|Allocation failure")
_local = threading.local()
_connections = ThreadConnections()  # of every thread


def _thread_connection() -> duckdb.DuckDBPyConnection:
    """This thread's connection: made at the first need, kept."""
    if not hasattr(_local, "owned"):
        _local.owned = _connections.add(connect())
        _local.functions = OwnFunctions(_local.owned.connection)
        _local.owned.connection.execute(f"SET memory_limit = '{share_of_memory(EPOCH_SHARE)}B'")
    owned: OwnedConnection = _local.owned
    return owned.connection


def select_of(expressions: Sequence[Expr], form: str = "{}") -> str:
    """The SELECT of expressions over a chunk, each written in `form`."""
    selected = Selected(lambda index: f"t.c{index}")
    listed = ", ".join(f"{form.format(selected.sql(expr))} AS e{k}" for k, expr in enumerate(expressions))
    return intervals_apart(f"SELECT {listed} FROM {selected.source('chunk AS t')}")


def run(sql: str, chunk: pa.Table) -> list[pa.ChunkedArray]:
    """A query over `chunk`, which DuckDB finds by its name among this function's variables."""
    connection = _thread_connection()
    _local.functions.make_known(sql)
    try:
        columns: list[pa.ChunkedArray] = connection.sql(sql).to_arrow_table().columns
    except duckdb.OutOfMemoryException as error:
        if _REFUSED_BY_SYSTEM.search(str(error)):
            raise MemoryError(str(error).splitlines()[0]) from error
        raise
    return columns


def typed(column: pa.ChunkedArray, type_: SqlType) -> pa.ChunkedArray:
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
    """Raises what no row is to blame for: SQL that DuckDB does not accept, a defect of DuckDB's, no memory."""
    if isinstance(error, _INVALID):
        raise translate_error(error) from error
    # Of a function of ours, that is; chr(0) too is 54000, but raised by a cast.
    raised = translate_error(error) if isinstance(error, duckdb.InvalidInputException) else None
    if isinstance(raised, _LIMITS):
        raise raised from error
