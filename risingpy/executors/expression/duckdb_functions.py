"""Our own scalar functions for DuckDB: what it lacks or does differently from PostgreSQL.

    rpy_divide_S, rpy_multiply_S     numeric arithmetic with result numeric(38, S), exact
    rpy_round_S, rpy_trunc_S         to a number of decimals that is a column
    rpy_text_TYPE, rpy_parse_TYPE    text forms (`types.forms`); rpy_parse_numeric_S
    rpy_text_of_…, rpy_…_of_array    arrays and rows as text, made of and cut into texts (`nested_texts`)
    rpy_TYPE('name', …)              the function of that name in `functions`, whose result is of that type

They take and give Arrow columns. Of the last, `functions.call` sees to NULLs; to the others DuckDB passes only rows
without NULLs. An error of ours keeps its SQLSTATE through `translate_error`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from risingpy.errors import SqlError
from risingpy.executors.expression import functions, numeric_arithmetic
from risingpy.executors.expression.nested_texts import NESTED_TEXTS
from risingpy.executors.expression.sql_casts import parse_function
from risingpy.executors.expression.sql_text import ERROR_MARK, OWN_RESULTS, further_results, own_function
from risingpy.executors.statement_limits import look
from risingpy.storage.column_buffers import whole
from risingpy.types import (
    BYTEA,
    DOUBLE,
    INT256,
    INTERVAL,
    MAX_PRECISION,
    REAL,
    UUID,
    VARCHAR,
    SqlType,
    numeric,
)
from risingpy.types.forms import parse_column, text_column

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

_ARITHMETIC: dict[str, Callable[[Column, Column, int], pa.Array]] = {
    "rpy_divide": numeric_arithmetic.divide,
    "rpy_multiply": numeric_arithmetic.multiply,
    "rpy_round": numeric_arithmetic.round_to,
    "rpy_trunc": numeric_arithmetic.truncate_to,
}
_PARSED = tuple(type_ for type_ in OWN_RESULTS if type_ != VARCHAR and type_.depth == 0)


def register_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the functions known to a connection and to its cursors."""
    for scale in range(MAX_PRECISION + 1):
        result = numeric(MAX_PRECISION, scale)
        for name, function in _ARITHMETIC.items():
            register_function(connection, f"{name}_{scale}", _binary(function, scale), result)
        register_function(connection, parse_function(result), _parser(result), result)
    for type_ in _PARSED:
        register_function(connection, parse_function(type_), _parser(type_), type_)
    for type_ in (REAL, DOUBLE, BYTEA, INTERVAL, UUID, INT256):
        register_function(connection, f"rpy_text_{type_.kind.name.lower()}", _formatter(type_), VARCHAR)
    register_function(connection, "rpy_interval_apart", _parser(INTERVAL), INTERVAL, volatile=True)
    for name, (function, result) in NESTED_TEXTS.items():
        register_function(connection, name, function, result)
    register_results(connection, OWN_RESULTS)


def register_results(connection: duckdb.DuckDBPyConnection, results: Iterable[SqlType]) -> None:
    """Makes those functions of `functions` known whose result is of one of these types, from `OWN_RESULTS`."""
    for type_ in results:
        name = own_function(type_)
        register_function(connection, name, _dispatcher(type_), type_, nulls=FunctionNullHandling.SPECIAL)


def register_further(connection: duckdb.DuckDBPyConnection, known: int) -> int:
    """Makes the functions known that SQL has come to need since there were `known` of them; how many there are now."""
    further = further_results(known)
    for name, type_ in further:
        register_function(connection, name, _dispatcher(type_), type_, nulls=FunctionNullHandling.SPECIAL)
    return known + len(further)


def register_function(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., pa.Array],
    result: SqlType,
    nulls: FunctionNullHandling = FunctionNullHandling.DEFAULT,
    *,
    volatile: bool = False,
) -> None:
    """Makes a function of whole columns known, as `name`; it may raise an SqlError."""

    def marked(*columns: Column) -> pa.Array:
        try:
            look()
            return function(*columns)
        except SqlError as error:
            # Of an exception DuckDB keeps the text only.
            raise ValueError(f"{ERROR_MARK}{error.sqlstate} {error.message}") from error

    type_ = connection.type(result.duckdb)
    connection.create_function(
        name, marked, None, type_, type=PythonUDFType.ARROW, null_handling=nulls, side_effects=volatile
    )


def _dispatcher(result: SqlType) -> Callable[..., pa.Array]:
    def dispatch(names: Column, *columns: Column) -> pa.Array:
        function = functions.FUNCTIONS[whole(names)[0].as_py()]
        return functions.call(function, [whole(column) for column in columns], result.arrow)

    return dispatch


def _binary(function: Callable[[Column, Column, int], pa.Array], scale: int) -> Callable[[Column, Column], pa.Array]:
    return lambda left, right: function(left, right, scale)


def _parser(type_: SqlType) -> Callable[[Column], pa.Array]:
    return lambda texts: parse_column(type_, whole(texts))


def _formatter(type_: SqlType) -> Callable[[Column], pa.Array]:
    return lambda values: text_column(type_, whole(values))
