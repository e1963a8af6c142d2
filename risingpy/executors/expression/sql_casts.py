"""Casts as DuckDB SQL, with PostgreSQL's meaning.

DuckDB's own cast serves where the two agree. Texts are read and written by `types.forms`, through functions
that `duckdb_functions` registers; doubles become numerics by their shortest decimal form of 15 digits.
"""

from __future__ import annotations

from risingpy.executors.expression.sql_text import quoted, raised
from risingpy.types import MAX_PRECISION, SqlType, TypeKind

_EXACT_IN_DOUBLE = 15  # digits
_SIGNIFICANT = {TypeKind.REAL: 6, TypeKind.DOUBLE: 15}
_OWN_TEXT = frozenset({TypeKind.REAL, TypeKind.DOUBLE, TypeKind.BYTEA, TypeKind.INTERVAL})


def cast(value: str, source: SqlType, target: SqlType) -> str:
    """The cast of the SQL expression `value` from one type to another."""
    if source.kind is target.kind and source.kind is not TypeKind.NUMERIC:
        return value if target.length is None else f"left({value}, {target.length})"
    plain = f"CAST({value} AS {target.duckdb})"
    match source.kind, target.kind:
        case _, TypeKind.VARCHAR | TypeKind.UNKNOWN:
            shown = text_of(value, source)
            return shown if target.length is None else f"left({shown}, {target.length})"
        case TypeKind.VARCHAR | TypeKind.UNKNOWN, _:
            return _parsed(value, target)
        case TypeKind.REAL | TypeKind.DOUBLE, TypeKind.NUMERIC:
            shown = f"format('{{:.{_SIGNIFICANT[source.kind]}g}}', CAST({value} AS DOUBLE))"
            return f"CAST({shown} AS {target.duckdb})"
        case TypeKind.NUMERIC, TypeKind.REAL | TypeKind.DOUBLE if (source.precision or 0) > _EXACT_IN_DOUBLE:
            return f"CAST(CAST({value} AS VARCHAR) AS {target.duckdb})"
        case TypeKind.DOUBLE, TypeKind.REAL:
            underflow = raised("22003", quoted("value out of range: underflow"), target)
            return f"CASE WHEN {plain} = 0 AND {value} <> 0 THEN {underflow} ELSE {plain} END"
        case TypeKind.TIMESTAMPTZ, TypeKind.TIME:
            return f"CAST(CAST({value} AS TIMESTAMP) AS TIME)"
        case TypeKind.TIME, TypeKind.INTERVAL:
            return f"to_microseconds(epoch_us({value}))"
        case TypeKind.INTERVAL, TypeKind.TIME:
            return _time_of(value)
    return plain


def text_of(value: str, type_: SqlType) -> str:
    """The text that PostgreSQL shows of a value."""
    if type_.kind in (TypeKind.VARCHAR, TypeKind.UNKNOWN):
        return value
    if type_.kind in _OWN_TEXT:
        return f"rpy_text_{type_.kind.name.lower()}({value})"
    if type_.kind is TypeKind.NUMERIC and not type_.declared and type_.scale:
        return f"rpy_text_numeric({value})"
    return f"CAST({value} AS VARCHAR)"


def parse_function(target: SqlType) -> str:
    """The name of the registered function that reads a text as `target`."""
    if target.kind is TypeKind.NUMERIC:
        return f"rpy_parse_numeric_{target.scale}"
    return f"rpy_parse_{target.kind.name.lower()}"


def _parsed(value: str, target: SqlType) -> str:
    read = f"{parse_function(target)}({value})"
    if target.kind is TypeKind.NUMERIC and target.precision != MAX_PRECISION:
        return f"CAST({read} AS {target.duckdb})"
    return read


def _time_of(value: str) -> str:
    """The part of an interval below a day, as a time of day."""
    day = 86_400_000_000
    micros = f"epoch_us({value})"
    seconds = f"((({micros} % {day}) + {day}) % {day})"
    return f"CAST(make_timestamp(CAST({seconds} AS BIGINT)) AS TIME)"
