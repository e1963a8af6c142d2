"""Answers queries of system relations and functions with a small DuckDB that sees nothing else."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from sqlglot import exp

from risingpy.errors import (
    InvalidParameterValue,
    InvalidTextRepresentation,
    QueryCanceled,
    SqlError,
    StatementTooComplex,
    SyntaxError_,
    UndefinedFunction,
    WrongObjectType,
)
from risingpy.frontend.catalog.column_types import COLUMN_TYPES
from risingpy.frontend.catalog.object_identifiers import Naming, register_names
from risingpy.frontend.catalog.parameters import ParameterType, parameter_types
from risingpy.frontend.catalog.patterns import register_patterns
from risingpy.frontend.catalog.pg_namespace import all_schemas
from risingpy.frontend.catalog.pg_proc import function_names
from risingpy.frontend.catalog.rewrite import Rewritten, parse_system_query, rewrite
from risingpy.frontend.catalog.session_functions import SessionFacts
from risingpy.frontend.catalog.system_relation import SystemState, SystemType
from risingpy.frontend.catalog.unknown_names import unknown_name
from risingpy.functions.evaluation.duckdb_connection import NO_IO_THREADS, translate_error
from risingpy.functions.evaluation.duckdb_failures import (
    INTERRUPT_AGAIN_SECONDS,
    QUERY_FAILURES,
    as_duckdb_error,
    ended_by_limits,
)
from risingpy.functions.evaluation.query_engines import LEAST_MEMORY
from risingpy.functions.evaluation.sql_text import ERROR_MARK
from risingpy.statement_limits import StatementLimits
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NARROW_NUMERIC,
    REAL,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
)

# Result columns of DuckDB: our type, and the OID that it has on the wire.
_RESULT_TYPES: dict[str, tuple[SqlType, int]] = {
    "BOOLEAN": (BOOLEAN, 16),
    "TINYINT": (SMALLINT, 21),
    "SMALLINT": (SMALLINT, 21),
    "INTEGER": (INTEGER, 23),
    "BIGINT": (BIGINT, 20),
    "HUGEINT": (NARROW_NUMERIC, 1700),
    "UINTEGER": (BIGINT, 26),
    "FLOAT": (REAL, 700),
    "DOUBLE": (DOUBLE, 701),
    "DATE": (DATE, 1082),
    "TIMESTAMP": (TIMESTAMP, 1114),
    "TIMESTAMP WITH TIME ZONE": (TIMESTAMPTZ, 1184),
    "INTERVAL": (INTERVAL, 1186),
    "VARCHAR[]": (VARCHAR, 1009),
    "SMALLINT[]": (VARCHAR, 1005),
    "INTEGER[]": (VARCHAR, 1007),
    "BIGINT[]": (VARCHAR, 1016),
    "UINTEGER[]": (VARCHAR, 1028),
    "BOOLEAN[]": (VARCHAR, 1000),
}
_TEXT = (VARCHAR, 25)
_ARROW_BY_OID = {26: pa.uint32(), 25: pa.string(), 18: pa.string()}
_ARROW_LISTS = {
    1009: pa.string(),
    1005: pa.int16(),
    1007: pa.int32(),
    1016: pa.int64(),
    1028: pa.uint32(),
    22: pa.int16(),
    30: pa.uint32(),
    1000: pa.bool_(),
}
# Columns of types that DuckDB has not got: how it holds them, and the OID on the wire. "char" drivers read as bytes.
_SYSTEM_OIDS = {
    SystemType.CHAR: ("VARCHAR", 18),
    SystemType.INT2VECTOR: ("SMALLINT[]", 22),
    SystemType.OIDVECTOR: ("UINTEGER[]", 30),
    SystemType.REGPROC: ("UINTEGER", 25),  # and by name
}
# Nothing can interrupt the parser and the walks over the tree of a catalog query: this many take them about a second.
MOST_CHARACTERS = 250_000
# PostgreSQL's division of integers; no access to Python's variables; and no way to change that.
_SETTINGS = "SET integer_division = true; SET python_enable_replacements = false; SET lock_configuration = true"
ROWS_PER_BATCH = 2_048  # they are counted as they come
_INPUTS = {
    "UINT32": "oid",
    "INT16": "smallint",
    "INT32": "integer",
    "INT64": "bigint",
    "BOOL": "boolean",
    "DOUBLE": "double precision",
    "FLOAT": "real",
}
_REFUSED = re.compile(rf"Could not convert string '(.*)' to ({'|'.join(_INPUTS)})\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the answer; `oid` is what the client hears, `arrow` how its values come."""

    name: str
    type: SqlType
    oid: int
    of_functions: bool = False  # whose oids are to become names

    @property
    def arrow(self) -> pa.DataType:
        if self.oid in _ARROW_LISTS:
            return pa.list_(_ARROW_LISTS[self.oid])
        return _ARROW_BY_OID.get(self.oid, self.type.arrow)


@dataclass(frozen=True, slots=True)
class SystemQuery:
    """A prepared system query."""

    tree: exp.Query
    parameters: tuple[ParameterType, ...]
    declared: tuple[int, ...]
    columns: tuple[ResultColumn, ...]


class SystemQueries:
    """A session's system queries. Used by one thread, except `interrupt`."""

    def __init__(
        self, session: SessionFacts, state: Callable[[], SystemState], limits: Callable[[], StatementLimits]
    ) -> None:
        """`limits` are those of the statement that runs."""
        self._session = session
        self._state = state
        self._limits = limits
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._memory = 0  # the connection's limit
        self._running: object | None = None  # stands for the query that runs
        self._guard = threading.Lock()  # it is not closed while another thread interrupts it

    def prepare(self, sql: str, parameter_oids: Sequence[int]) -> SystemQuery:
        """Binds a query and finds the columns of its answer, without running it.

        StatementTooComplex if it is so long that reading it, which nothing can interrupt, would take a second.
        """
        if len(sql) > MOST_CHARACTERS:
            raise StatementTooComplex(
                f"a query of system relations may have {MOST_CHARACTERS} characters at most",
                hint="Send long lists as an array: = ANY($1).",
            )
        tree = parse_system_query(sql)
        declared = tuple(parameter_oids)
        parameters = parameter_types(tree, declared)
        rewritten = rewrite(tree, self._session, None, declared, execute=False)
        columns = self._describe(rewritten, sql)
        return SystemQuery(tree, parameters, declared, columns)

    def execute(self, query: SystemQuery, parameters: Sequence[object]) -> pa.Table:
        """The whole answer, its columns in the types of `query.columns`."""
        rewritten = rewrite(query.tree, self._session, parameters, query.declared, execute=True)
        answer = self._answer(rewritten)
        columns = [self._column(answer.column(i), column) for i, column in enumerate(query.columns)]
        return pa.Table.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])

    def _answer(self, rewritten: Rewritten) -> pa.Table:
        limits, batches, size = self._limits(), [], 0
        with self._guard:
            self._running = object()
        try:
            limits.look()  # a cancel that came earlier has found nothing to interrupt
            reader = self._connect(rewritten).sql(rewritten.sql).to_arrow_reader(ROWS_PER_BATCH)
            for batch in reader:
                size += batch.nbytes
                limits.check(size, "the statement's rows")
                limits.look()
                batches.append(batch)
            return pa.Table.from_batches(batches, reader.schema)
        except QUERY_FAILURES as error:
            raise ended_by_limits(error, limits) or _translated(as_duckdb_error(error)) from None
        finally:
            with self._guard:
                self._running = None

    def _column(self, values: pa.ChunkedArray, column: ResultColumn) -> pa.ChunkedArray:
        if column.of_functions:
            names = function_names(self._state())
            return pa.chunked_array(
                [pa.array([names.get(oid, oid and str(oid)) for oid in values.to_pylist()], pa.string())]
            )
        return _as_type(values, column.arrow)

    def interrupt(self) -> None:
        """Ends a running query. From any thread."""
        with self._guard:
            running = self._running
        self._interrupt(running)

    def _interrupt(self, running: object | None) -> None:
        """Again and again until it has ended."""
        with self._guard:
            if running is None or self._running is not running or self._connection is None:
                return
            self._connection.interrupt()
        again = threading.Timer(INTERRUPT_AGAIN_SECONDS, self._interrupt, (running,))
        again.daemon = True
        again.start()

    def close(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _describe(self, rewritten: Rewritten, sql: str) -> tuple[ResultColumn, ...]:
        try:
            answer = self._connect(rewritten).sql(rewritten.sql)
        except duckdb.BinderException as error:
            raise unknown_name(str(error), sql) or _translated(error) from None
        except duckdb.Error as error:
            raise _translated(error) from None
        names = rewritten.names or answer.columns
        types = rewritten.types or [COLUMN_TYPES.get(name) for name in answer.columns]
        found = zip(names, answer.types, types, strict=True)
        return tuple(_column(name, str(type_), of_column) for name, type_, of_column in found)

    def _connect(self, rewritten: Rewritten) -> duckdb.DuckDBPyConnection:
        """The connection, with the relations that the query reads as they are now."""
        memory = self._limits().memory
        if self._connection is not None and memory != self._memory:
            self.close()  # its configuration is locked
        if self._connection is None:
            self._memory = memory
            # Nothing of the machine or of this process may be read through a system query.
            limit = f"{max(memory, LEAST_MEMORY)}B"
            made = duckdb.connect(
                ":memory:",
                config={"threads": 1, **NO_IO_THREADS, "enable_external_access": False, "memory_limit": limit},
            )
            register_patterns(made)
            register_names(made, Naming(lambda: self._session.database_name, lambda: all_schemas(self._state())))
            made.execute(_SETTINGS)
            self._connection = made
        if rewritten.relations:
            state = self._state()
            for name, relation in rewritten.relations.items():
                self._connection.register(name, relation.arrow_table(state))
        return self._connection


def _column(name: str, duckdb_type: str, of_column: SystemType | None) -> ResultColumn:
    if duckdb_type.startswith("DECIMAL"):
        return ResultColumn(name, NARROW_NUMERIC, 1700)
    held, system_oid = _SYSTEM_OIDS.get(of_column, ("", 0)) if of_column is not None else ("", 0)
    if duckdb_type == held:
        return ResultColumn(name, VARCHAR, system_oid, of_functions=of_column is SystemType.REGPROC)
    return ResultColumn(name, *_RESULT_TYPES.get(duckdb_type, _TEXT))


def _as_type(column: pa.ChunkedArray, arrow: pa.DataType) -> pa.ChunkedArray:
    if column.type == arrow:
        return column
    if pa.types.is_null(column.type):
        return pa.chunked_array([pa.nulls(len(column), arrow)])
    return column.cast(arrow)


def _translated(error: duckdb.Error) -> SqlError:
    text = str(error)
    message = text.split("\n", 1)[0]
    for prefix in ("Invalid Input Error: ", "Binder Error: ", "Catalog Error: ", "Parser Error: "):
        message = message.removeprefix(prefix)
    if isinstance(error, duckdb.InterruptException):
        return QueryCanceled("canceling statement due to user request")
    if "Scalar Function with name" in text or "No function matches" in text:
        return UndefinedFunction(message)
    if message.startswith("relation ") and message.endswith("does not exist"):
        return SqlError(message, sqlstate="42P01")
    if (refused := _REFUSED.search(text)) is not None:
        return InvalidTextRepresentation(f'invalid input syntax for type {_INPUTS[refused[2]]}: "{refused[1]}"')
    if message == "invalid fork name":
        return InvalidParameterValue(message, hint='Valid fork names are "main", "fsm", "vm", and "init".')
    if message.endswith("is not a table or materialized view"):
        return WrongObjectType(message)
    if message.startswith("function ") and message.endswith("does not exist"):
        return UndefinedFunction(message)
    if message.startswith("more than one function named"):
        return SqlError(message, sqlstate="42725")
    if message.startswith("type ") and message.endswith("does not exist"):
        return SqlError(message, sqlstate="42704")
    if isinstance(error, duckdb.BinderException) and "column" in message:
        return SqlError(message, sqlstate="42703")
    if isinstance(error, duckdb.ParserException):
        return SyntaxError_(message)
    if ERROR_MARK in text or "escape" in text.lower():
        return translate_error(error)
    return SqlError(message, sqlstate="22000")
