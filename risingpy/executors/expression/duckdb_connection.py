"""DuckDB connections as we use them, and DuckDB's errors as ours.

In-memory, one thread, UTC: an expression must mean the same in every process, and tasks share the machine.
"""

from __future__ import annotations

import re

import duckdb

from risingpy import errors
from risingpy.errors import (
    DivisionByZero,
    InternalError,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    QueryCanceled,
    SqlError,
)
from risingpy.executors.expression.duckdb_functions import register_functions
from risingpy.executors.expression.sql_text import ERROR_MARK

_MARKED = re.compile(rf"Could not convert string '{ERROR_MARK}(\w{{5}}) (.*)' to INT32", re.DOTALL)
_FROM_FUNCTION = re.compile(r"exception occurred while executing the UDF: (\w+): (.*)", re.DOTALL)
_NUMBERS = {
    "INT16": "smallint",
    "INT32": "integer",
    "INT64": "bigint",
    "INT128": "numeric",
    "FLOAT": "real",
    "DOUBLE": "double precision",
}
_OUT_OF_RANGE = re.compile(r"destination type (\w+)|(?:of|for type|type) (INT16|INT32|INT64)\b")


def connect(*, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """A new connection with our functions. Its cursors share them."""
    connection = duckdb.connect(":memory:", config={"threads": threads})
    connection.execute("SET TimeZone = 'UTC'")
    register_functions(connection)
    return connection


def translate_error(error: duckdb.Error) -> SqlError:
    """The error that a client should see, with PostgreSQL's SQLSTATE and, for the usual ones, its words."""
    text = str(error)
    marked = _MARKED.search(text)
    if marked:
        return SqlError(marked[2], sqlstate=marked[1])
    raised = _FROM_FUNCTION.search(text)
    if raised:
        return _of_class(raised[1], raised[2])
    if "Division by zero" in text:
        return DivisionByZero("division by zero")
    if isinstance(error, duckdb.OutOfRangeException):
        return _out_of_range(text)
    if isinstance(error, duckdb.ConversionException):
        if "out of range" in text or "DECIMAL" in text:
            return _out_of_range(text)
        return InvalidTextRepresentation(_first_line(text))
    if isinstance(error, duckdb.InterruptException):
        return QueryCanceled("canceling statement due to user request")
    if isinstance(error, duckdb.InvalidInputException):
        return SqlError(_first_line(text), sqlstate="22023")
    return InternalError(_first_line(text))


def _of_class(name: str, message: str) -> SqlError:
    """The error of one of our classes, or an internal one for any other exception of a function of ours."""
    kind = getattr(errors, name, None)
    lines = message.strip().splitlines()
    if isinstance(kind, type) and issubclass(kind, SqlError):
        return kind(lines[0])
    return InternalError(f"{name}: {lines[0] if lines else ''}")


def _out_of_range(text: str) -> SqlError:
    if "DECIMAL" in text:
        return NumericValueOutOfRange("numeric field overflow")
    found = _OUT_OF_RANGE.search(text)
    name = _NUMBERS.get(found[1] or found[2]) if found else None
    if name is None:
        words = [word for word in _NUMBERS if word in text]
        name = _NUMBERS[words[0]] if words else "value"
    return NumericValueOutOfRange(f"{name} out of range")


def _first_line(text: str) -> str:
    """DuckDB's message without its kind in front and without the excerpt of the generated SQL."""
    line = text.splitlines()[0]
    _, _, message = line.partition("Error: ")
    return message or line
