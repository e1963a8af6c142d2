"""Evaluates a filter and a projection on change chunks, not strictly: what fails gives NULL and is counted.

The fast way is tried first, on the whole chunk: Arrow where it can, else one DuckDB query. Only if a row fails is each
expression evaluated alone, under TRY. A predicate that fails is false.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import ExternalRoutineLimitExceeded, OutOfMemory, SqlError
from risingpy.executors.expression.arrow_functions import Evaluate, as_column, compile_arrow
from risingpy.executors.expression.duckdb_connection import connect, translate_error
from risingpy.executors.expression.duckdb_functions import register_further
from risingpy.executors.expression.duckdb_sql import compile_expression
from risingpy.executors.expression.nodes import Expr
from risingpy.executors.expression.sql_text import intervals_apart
from risingpy.memory import EPOCH_SHARE, share_of_memory

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

_FAILURES = (pa.ArrowInvalid, pa.ArrowNotImplementedError, duckdb.Error, SqlError)
_INVALID = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.InternalException,
    duckdb.OutOfMemoryException,
    duckdb.FatalException,
)
_local = threading.local()


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One expression: for Arrow if it can be, and as SQL over columns c0, c1, …"""

    expr: Expr
    arrow: Evaluate | None
    sql: str


class Evaluator:
    """A predicate (or none) and expressions (or none: the input's columns), compiled once, for many chunks.

    Chunks have `op` and c0, c1, …, as all change chunks.
    """

    def __init__(self, predicate: Expr | None, expressions: Sequence[Expr] | None) -> None:
        self._predicate = None if predicate is None else _compiled(predicate)
        self._expressions = None if expressions is None else [_compiled(expr) for expr in expressions]

    def evaluate(self, chunk: pa.Table) -> tuple[pa.Table, int]:
        """The rows of `chunk` that satisfy the predicate, projected; and how many evaluations failed."""
        errors = 0
        if self._predicate is not None:
            chunk, errors = _filtered(chunk, self._predicate)
        if self._expressions is None:
            return chunk, errors
        columns, failed = self._project(chunk)
        names = ["op", *(f"c{k}" for k in range(len(columns)))]
        return pa.table([chunk.column(0), *columns], names=names), errors + failed

    def _project(self, chunk: pa.Table) -> tuple[list[Column], int]:
        assert self._expressions is not None
        inputs = chunk.columns[1:]
        results: dict[int, Column] = {}
        errors = 0
        rest = []
        for position, compiled in enumerate(self._expressions):
            value = _by_arrow(compiled, inputs, chunk.num_rows)
            if value is None:
                rest.append(position)
            else:
                results[position] = value
        if rest:
            columns, errors = _by_duckdb([self._expressions[position] for position in rest], chunk)
            results.update(zip(rest, columns, strict=True))
        return [results[position] for position in range(len(self._expressions))], errors


def evaluate_constants(expressions: Sequence[Expr]) -> tuple[list[pa.Array], int]:
    """The values of expressions that read no columns, and how many of them failed."""
    one_row = pa.table([pa.array([1], pa.int8())], names=["op"])
    columns, errors = _by_duckdb([_compiled(expr) for expr in expressions], one_row)
    return [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns], errors


def _compiled(expr: Expr) -> _Compiled:
    sql = compile_expression(expr, lambda index: f"c{index}", strict=True)
    return _Compiled(expr, compile_arrow(expr), sql)


def thread_connection() -> duckdb.DuckDBPyConnection:
    """This thread's connection: made at the first need, kept."""
    if not hasattr(_local, "connection"):
        _local.connection, _local.further = connect(), 0
        _local.connection.execute(f"SET memory_limit = '{share_of_memory(EPOCH_SHARE)}B'")
    connection: duckdb.DuckDBPyConnection = _local.connection
    return connection


def _filtered(chunk: pa.Table, predicate: _Compiled) -> tuple[pa.Table, int]:
    mask = _by_arrow(predicate, chunk.columns[1:], chunk.num_rows)
    errors = 0
    if mask is None:
        (mask,), errors = _by_duckdb([predicate], chunk)
    if pc.all(mask, skip_nulls=False, min_count=0).as_py():
        return chunk, errors
    return chunk.filter(mask), errors


def _by_arrow(compiled: _Compiled, inputs: Sequence[pa.ChunkedArray], rows: int) -> Column | None:
    if compiled.arrow is None:
        return None
    try:
        return as_column(compiled.arrow(inputs), rows, compiled.expr.type)
    except ExternalRoutineLimitExceeded:
        raise
    except _FAILURES:
        return None


def _by_duckdb(expressions: Sequence[_Compiled], chunk: pa.Table) -> tuple[list[Column], int]:
    """The columns of the expressions, in one query; if it fails, each alone, and how many rows failed."""
    try:
        columns = _query([compiled.sql for compiled in expressions], chunk)
        return [_typed(column, each.expr) for column, each in zip(columns, expressions, strict=True)], 0
    except _FAILURES as error:
        _raise_if_invalid(error)
    results: list[Column] = []
    errors = 0
    for compiled in expressions:
        column, failed = _tried(compiled, chunk)
        results.append(column)
        errors += failed
    return results, errors


def _tried(compiled: _Compiled, chunk: pa.Table) -> tuple[Column, int]:
    """One expression's column, NULL where it fails, and how many rows failed."""
    try:
        # A struct around the value tells a failure from a NULL.
        (value,) = _query([f"TRY(struct_pack(v := {compiled.sql}))"], chunk)
    except duckdb.Error as error:
        _raise_if_invalid(error)
    else:
        return _typed(pc.struct_field(value, "v"), compiled.expr), value.null_count
    # TRY lets some errors through (a malformed LIKE pattern): then only single rows tell which one it is.
    pieces: list[pa.Array] = []
    errors = 0
    for row in range(chunk.num_rows):
        try:
            (piece,) = _query([compiled.sql], chunk.slice(row, 1))
            pieces.extend(_typed(piece, compiled.expr).chunks)
        except duckdb.Error:
            pieces.append(pa.nulls(1, compiled.expr.type.arrow))
            errors += 1
    return pa.chunked_array(pieces, compiled.expr.type.arrow), errors


def _query(expressions: Sequence[str], chunk: pa.Table) -> list[pa.ChunkedArray]:
    """One query over `chunk`, which DuckDB finds by its name among this function's variables."""
    named = ", ".join(f"{text} AS e{k}" for k, text in enumerate(expressions))
    connection = thread_connection()
    _local.further = register_further(connection, _local.further)
    sql = intervals_apart(f"SELECT {named} FROM chunk")
    columns: list[pa.ChunkedArray] = connection.sql(sql).to_arrow_table().columns
    return columns


def _typed(column: pa.ChunkedArray, expr: Expr) -> pa.ChunkedArray:
    return column if column.type == expr.type.arrow else column.cast(expr.type.arrow)


def _raise_if_invalid(error: Exception) -> None:
    """Raises what no row is to blame for: SQL that DuckDB does not accept, a defect of DuckDB's, no memory."""
    if isinstance(error, _INVALID):
        raise translate_error(error) from error
    # Of a function of ours, that is; chr(0) too is 54000, but raised by a cast.
    raised = translate_error(error) if isinstance(error, duckdb.InvalidInputException) else None
    if isinstance(raised, ExternalRoutineLimitExceeded | OutOfMemory):
        raise raised from error
