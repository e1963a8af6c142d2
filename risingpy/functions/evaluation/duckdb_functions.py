"""Our own scalar functions for DuckDB: what it lacks or does differently from PostgreSQL.

    rpy_divide_S, rpy_multiply_S     numeric arithmetic with result numeric(38, S), exact
    rpy_round_S, rpy_trunc_S         to a number of decimals that is a column
    rpy_text_TYPE, rpy_parse_TYPE    text forms (`types.forms`); rpy_parse_numeric_S
    rpy_text_of_…, rpy_…_of_array    arrays and rows as text, made of and cut into texts (`nested_texts`)
    rpy_TYPE('name', …)              the function of that name in `functions`, whose result is of that type

They take and give Arrow columns. `functions.call` handles NULLs for the last kind; DuckDB calls the others only for
rows without NULLs. `translate_error` restores the SQLSTATE of our errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeAlias

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from risingpy.errors import SqlError
from risingpy.functions import topics as functions
from risingpy.functions.evaluation import numeric_arithmetic
from risingpy.functions.evaluation.nested_texts import NESTED_TEXTS
from risingpy.functions.evaluation.sql.casts import parse_function
from risingpy.functions.evaluation.sql.text import ERROR_MARK, OWN_RESULTS, REST_MARK, further_result, own_function
from risingpy.statement_limits import look
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import (
    INTERVAL,
    MAX_PRECISION,
    VARCHAR,
    SqlType,
    numeric,
)
from risingpy.types.families import FAMILIES
from risingpy.types.forms import parse_column, text_column
from risingpy.types.sql_type import BARE_TYPES
from risingpy.types.system_types import JSON

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

_ARITHMETIC: dict[str, Callable[[Column, Column, int], pa.Array]] = {
    "rpy_divide": numeric_arithmetic.divide,
    "rpy_multiply": numeric_arithmetic.multiply,
    "rpy_round": numeric_arithmetic.round_to,
    "rpy_trunc": numeric_arithmetic.truncate_to,
}
_Definition: TypeAlias = (  # as `register_function` takes it
    "tuple[Callable[..., pa.Array], SqlType] | tuple[Callable[..., pa.Array], SqlType, FunctionNullHandling]"
    " | tuple[Callable[..., pa.Array], SqlType, FunctionNullHandling, bool]"
)
_NAME = re.compile(r"rpy_\w+")
_PARSED = (*(type_ for type_ in OWN_RESULTS if type_ != VARCHAR and type_.depth == 0), JSON)


class OwnFunctions:
    """The functions of ours that a DuckDB instance knows, those used so far. Registering all would take 80 ms."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._known: set[str] = set()

    def make_known(self, sql: str) -> None:
        """Registers the functions that this SQL calls; the instance's other cursors share them."""
        for name in set(_NAME.findall(sql)) - self._known:
            definition = _DEFINITIONS.get(name) or _of_users(name)
            if definition is not None:  # otherwise it stands in a text
                register_function(self._connection, name, *definition)
                self._known.add(name)


def _definitions() -> dict[str, _Definition]:
    found: dict[str, _Definition] = {}
    for scale in range(MAX_PRECISION + 1):
        result = numeric(MAX_PRECISION, scale)
        found |= {f"{name}_{scale}": (_binary(function, scale), result) for name, function in _ARITHMETIC.items()}
        found[parse_function(result)] = (_parser(result), result)
    found |= {parse_function(type_): (_parser(type_), type_) for type_ in _PARSED}
    for type_ in (bare for kind, bare in BARE_TYPES.items() if FAMILIES[kind].own_text):
        found[f"rpy_text_{type_.kind.name.lower()}"] = (_formatter(type_), VARCHAR)
    # Volatile, so that DuckDB does not compute two equal calls as one.
    found["rpy_interval_apart"] = (_parser(INTERVAL), INTERVAL, FunctionNullHandling.DEFAULT, True)
    return found | NESTED_TEXTS | {own_function(type_): _dispatched(type_) for type_ in OWN_RESULTS}


def _of_users(name: str) -> _Definition | None:
    type_ = further_result(name)
    return None if type_ is None else _dispatched(type_)


def _dispatched(result: SqlType) -> _Definition:
    return _dispatcher(result), result, FunctionNullHandling.SPECIAL


def register_function(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., pa.Array],
    result: SqlType,
    nulls: FunctionNullHandling = FunctionNullHandling.DEFAULT,
    volatile: bool = False,
) -> None:
    """Registers a function of whole columns as `name`; it may raise an SqlError."""

    def marked(*columns: Column) -> pa.Array:
        try:
            look()
            return function(*columns)
        except SqlError as error:
            # Of an exception DuckDB keeps the text only.
            rest = [error.detail, error.hint, error.about]
            written = f"{REST_MARK}{json.dumps(rest)}" if any(rest) else ""
            raise ValueError(f"{ERROR_MARK}{error.sqlstate} {error.message}{written}") from error

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


_DEFINITIONS = _definitions()
