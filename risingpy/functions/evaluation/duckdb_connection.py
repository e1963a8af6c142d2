"""Opens DuckDB connections with our settings, and translates DuckDB's errors into ours.

Connections are in-memory, with one thread and UTC: an expression must mean the same in every process, and tasks share
the machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import duckdb
import pyarrow as pa

from risingpy.errors import (
    DivisionByZero,
    ExternalRoutineError,
    ExternalRoutineLimitExceeded,
    InternalError,
    InvalidFunctionDefinition,
    InvalidParameterValue,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    OutOfMemory,
    QueryCanceled,
    SqlError,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
)
from risingpy.functions.evaluation.sql.text import ERROR_MARK, REST_MARK

# Marked by `raised`, inside a text that is no integer, or by one of our functions, at the end.
_MARKED_TEXT = re.compile(rf"Could not convert string '{ERROR_MARK}(\w{{5}}) (.*)' to INT32", re.DOTALL)
_MARKED_EXCEPTION = re.compile(rf"ValueError: {ERROR_MARK}(\w{{5}}) (.*)", re.DOTALL)

_NAMES = {
    "INT16": "smallint",
    "INT32": "integer",
    "INT64": "bigint",
    "FLOAT": "real",
    "DOUBLE": "double precision",
}
_TARGET = re.compile(r"(?:destination type (?=\w)|to type (?=\w)|to (?=DECIMAL))(\w+)")
_OPERANDS = re.compile(r"(?:addition|subtraction|multiplication|left shift) of (\w+)")

# Texts of DuckDB's that have a SQLSTATE and words of their own in PostgreSQL; the first that is found counts.
_KNOWN: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"Max expression depth|Recursion level in ArrowSchema"), "54001", "stack depth limit exceeded"),
    (re.compile(r"Division by zero"), "22012", "division by zero"),
    (re.compile(r"Like pattern must not end"), "22025", "LIKE pattern must not end with escape character"),
    (re.compile(r"Invalid escape string"), "22025", "invalid escape string"),
    (re.compile(r"Unknown TimeZone '(.*?)'"), "22023", 'time zone "{}" not recognized'),
    (re.compile(r'extract specifier "(.*?)" not recognized'), "22023", 'unit "{}" not recognized'),
    (re.compile(r"Date out of range: (\S+)"), "22008", "date field value out of range: {}"),
    (re.compile(r"Time out of range: (\S+)"), "22008", "time field value out of range: {}"),
    (re.compile(r"INT32 with value \d+-\d\d-\d\d can't be cast"), "22008", "date out of range for timestamp"),
    (re.compile(r"Date out of range"), "22008", "date out of range"),
    (re.compile(r"timestamp range|out of range for TIMESTAMP"), "22008", "timestamp out of range"),
    (re.compile(r"of INTERVAL"), "22008", "interval out of range"),
)


_KINDS: tuple[type[SqlError], ...] = (
    DivisionByZero,
    InvalidTextRepresentation,
    NumericValueOutOfRange,
    InvalidParameterValue,
    InvalidFunctionDefinition,
    ExternalRoutineError,
    ExternalRoutineLimitExceeded,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
    OutOfMemory,
    QueryCanceled,
)


# DuckDB otherwise makes eight for each instance, for reads of remote files, which we do not have.
NO_IO_THREADS: dict[str, int] = {"async_threads": 0}
_COMPARES_BOUNDS = "range_low"  # the function, which the rule `range_joins` calls
_ASK = compile("cursor.sql(sql)", __name__, "eval")
_SMALLEST_SORTED = ("nested_loop_join_threshold", "merge_join_threshold")


def connect(*, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """A new connection; `OwnFunctions` makes our functions known to it.

    It spills nothing until it gets a directory: DuckDB's own choice would be `.tmp` in the working directory.
    """
    connection = duckdb.connect(":memory:", config={"threads": threads, **NO_IO_THREADS, "temp_directory": ""})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # cursors do not inherit what a plain SET says
    return connection


def query_over(
    cursor: duckdb.DuckDBPyConnection, sql: str, relations: Mapping[str, pa.Table | pa.RecordBatchReader]
) -> duckdb.DuckDBPyRelation:
    """A query that reads these relations by their names, each reader once. Raises duckdb.Error."""
    # A relation that is registered is a view of the connection: DuckDB parses and binds a CREATE and a DROP for each,
    # which takes as long as a short query does. What it finds among its caller's variables it takes as it is, and
    # keeps as long as the query is read. The names are those of the query, so the variables are made here.
    return cast("duckdb.DuckDBPyRelation", eval(_ASK, {**relations, "cursor": cursor, "sql": sql}))


@contextmanager
def joins_by_bounds(cursor: duckdb.DuckDBPyConnection, sql: str) -> Iterator[None]:
    """A context manager in which a query that compares bounds of ranges is an IEJoin, whose sides are sorted.

    DuckDB takes small sides for a comparison of all pairs, and thinks that rows which are streamed into it are few.
    Not for other queries: to compare many rows with a single one, sorting them costs ten times as much.
    """
    if _COMPARES_BOUNDS not in sql:
        yield
        return
    cursor.execute(";".join(f"SET {name} = 0" for name in _SMALLEST_SORTED))
    try:
        yield
    finally:
        cursor.execute(";".join(f"RESET {name}" for name in _SMALLEST_SORTED))


def translate_error(error: duckdb.Error) -> SqlError:
    """The error for the client, with PostgreSQL's SQLSTATE and, for common errors, its wording."""
    text = str(error)
    marked = _MARKED_TEXT.search(text) or _MARKED_EXCEPTION.search(text)
    if marked:
        message, _, rest = marked[2].strip().partition(REST_MARK)
        error_of_ours = _of_state(marked[1], message)
        if rest:
            error_of_ours.detail, error_of_ours.hint, about = json.loads(rest)
            error_of_ours.about = tuple((code, value) for code, value in about)
        return error_of_ours
    for pattern, sqlstate, words in _KNOWN:
        found = pattern.search(text)
        if found:
            return _of_state(sqlstate, words.format(*found.groups()))
    match error:
        case duckdb.OutOfRangeException():
            return _out_of_range(text, _OPERANDS)
        case duckdb.ConversionException():
            return _out_of_range(text, _TARGET)
        case duckdb.OutOfMemoryException():
            return OutOfMemory(f"out of memory: {_first_line(text)}")
        case duckdb.InterruptException():
            return QueryCanceled("canceling statement due to user request")
        case duckdb.InvalidInputException():
            return InvalidParameterValue(_first_line(text))
    return InternalError(_first_line(text))


def _of_state(sqlstate: str, message: str) -> SqlError:
    for kind in _KINDS:
        if kind.sqlstate == sqlstate:
            return kind(message)
    return SqlError(message, sqlstate=sqlstate)


def _out_of_range(text: str, type_name: re.Pattern[str]) -> SqlError:
    """The error of a failed conversion by DuckDB. It is one of numbers, since our own functions read texts."""
    found = type_name.search(text)
    name = found[1] if found else ""
    if name.startswith("DECIMAL"):
        return NumericValueOutOfRange("numeric field overflow")
    return NumericValueOutOfRange(f"{_NAMES.get(name, 'value')} out of range")


def _first_line(text: str) -> str:
    """DuckDB's message without the prefix for its kind, and without the excerpt of the generated SQL."""
    line = text.splitlines()[0]
    _, _, message = line.partition("Error: ")
    return message or line
