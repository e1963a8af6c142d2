"""Small pieces of DuckDB SQL: quoted text, literals, and expressions that raise an error of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.functions.packed_types import packed_type, type_of_packed
from risingpy.sql_quoting import quoted_text
from risingpy.types import (
    BIGINT,
    JSONB,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
)
from risingpy.types.clocks.nano_moments import NanoMoment
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.far_moments import FarDate, FarMoment, duckdb_text
from risingpy.types.sql_type import BARE_TYPES

# Only the error of a failed cast can be caught by DuckDB's TRY; `translate_error` reads the mark.
ERROR_MARK = "risingpy error "
REST_MARK = "\x1e"  # before an error's detail, its hint and what it is about (`SqlError.about`), as JSON


NOW = "CAST(now() AS TIMESTAMPTZ /* of the transaction */)"


def quoted(text: str) -> str:
    """A string literal."""
    return quoted_text(text)


def raised(sqlstate: str, message: str, type_: SqlType) -> str:
    """An expression that fails when it is evaluated; `message` is an SQL expression of type varchar."""
    return f"CAST(CAST(concat({quoted(ERROR_MARK + sqlstate + ' ')}, {message}) AS INTEGER) AS {type_.duckdb})"


def joined_texts(texts: str, separator: str, *, empty: str) -> str:
    """The texts of a list, of which none is NULL, as one; `empty` is the condition that there is none.

    DuckDB's array_to_string is a macro that writes its argument twice, where `tree` cannot see it: nested calls
    would double the argument at each level.
    """
    return f"(CASE WHEN {empty} THEN '' ELSE list_aggr({texts}, 'string_agg', {quoted(separator)}) END)"


# Results of functions of ours, besides numeric: each has a function in DuckDB.
OWN_RESULTS = (
    *(type_ for kind, type_ in BARE_TYPES.items() if kind not in (TypeKind.NUMERIC, TypeKind.CHARACTER)),
    *(array_of(VARCHAR), array_of(JSONB)),
)
_FURTHER = "rpy_result_"  # those that users' functions have: the name says the type, in hexadecimal digits


def held(type_: SqlType) -> SqlType:
    """The type with bigints, which hold their values, in the places of enums."""
    if type_.kind is TypeKind.ENUM:
        return BIGINT
    return replace(type_, items=tuple(map(held, type_.items))) if type_.items else type_


def own_function(result: SqlType) -> str:
    """The name in DuckDB by which functions of ours with this result are called; a numeric comes as text."""
    if result.is_wide:
        return "rpy_bytea"
    if result.kind is TypeKind.NUMERIC:
        return "rpy_varchar"
    result = held(result)
    plain = SqlType(result.leaf.kind)
    for _ in range(result.depth):
        plain = array_of(plain)
    if plain in OWN_RESULTS:
        return f"rpy_{plain.leaf.kind.name.lower()}" + "_array" * plain.depth
    return _FURTHER + packed_type(result).encode().hex()


def further_result(function: str) -> SqlType | None:
    """The result of a function that `own_function` has named besides those of `OWN_RESULTS`; None for other names."""
    if not function.startswith(_FURTHER):
        return None
    return type_of_packed(bytes.fromhex(function.removeprefix(_FURTHER)).decode())


_GIVE_WIDE = ("wide_", "list_", "python_", "volatile_python_")  # wide numerics as such; others give texts


def own_call(name: str, args: Sequence[str], result: SqlType) -> str:
    """The call of a function of `functions.FUNCTIONS`."""
    if result.is_wide and not name.startswith(_GIVE_WIDE):
        return own_call("wide_of_text", [own_call(name, args, VARCHAR)], result)
    called = f"{own_function(result)}({', '.join([quoted(name), *args])})"
    return f"CAST({called} AS {result.duckdb})" if result.kind is TypeKind.NUMERIC and not result.is_wide else called


def literal(value: object, type_: SqlType) -> str:
    """A constant of exactly this type."""
    if value is None:
        return f"CAST(NULL AS {type_.duckdb})"
    if type_.is_text or type_.is_bits or type_.kind in (TypeKind.UNKNOWN, TypeKind.JSONB):
        return quoted(str(value))
    if type_.is_nested:
        return _nested_literal(value, type_)
    match value:
        case FarDate() | FarMoment():
            return f"CAST('{duckdb_text(value)}' AS {type_.duckdb})"
        case NanoMoment():
            return f"make_timestamp_ns(CAST('{int(value)}' AS BIGINT))"
        case bool():
            return "TRUE" if value else "FALSE"
        case pa.MonthDayNano():
            return (
                f"(to_months({value.months}) + to_days({value.days})"
                f" + to_microseconds(CAST('{value.nanoseconds // 1000}' AS BIGINT)))"
            )
        case bytes():
            return f"from_hex('{value.hex()}')"
        case datetime() | date() | time():
            return f"CAST('{value.isoformat()}' AS {type_.duckdb})"
        case Decimal():
            return f"CAST('{value:f}' AS {type_.duckdb})"
        case int() | float():
            return f"CAST('{value}' AS {type_.duckdb})"
    raise InternalError(f"no literal of type {type_} for {value!r}")


_INTERVAL = re.compile(
    r"\(to_months\((-?\d+)\) \+ to_days\((-?\d+)\) \+ to_microseconds\(CAST\('(-?\d+)' AS BIGINT\)\)\)"
)


def intervals_apart(sql: str) -> str:
    """The statement with different forms for intervals that are equal but not the same: '1 mon' and '30 days'.

    DuckDB treats equal constants as one, and would compute `d + '1 mon'` and `d + '30 days'` only once. So all but one
    of such intervals become calls of a volatile function.
    """
    if "to_months(" not in sql:
        return sql
    shown: dict[int, str] = {}

    def apart(found: re.Match[str]) -> str:
        months, days, micros = map(int, found.groups())
        if shown.setdefault((30 * months + days) * MICROS_OF_DAY + micros, found[0]) == found[0]:
            return found[0]
        return f"rpy_interval_apart('{months} months {days} days {micros} microseconds')"

    return _INTERVAL.sub(apart, sql)


def at_time(sql: str, now: datetime | None) -> str:
    """The statement with this time for NOW; None: DuckDB's, which is that at which it begins to run."""
    if now is None or NOW not in sql:
        return sql
    return sql.replace(NOW, f"TIMESTAMPTZ '{now.isoformat(sep=' ')}'")


def _nested_literal(value: object, type_: SqlType) -> str:
    assert isinstance(value, tuple | list)
    if type_.kind is TypeKind.STRUCT:
        items = value if type_.items else ()  # `sql_type.NO_FIELD` is none of the type
        fields = ", ".join(literal(item, item_type) for item, item_type in zip(items, type_.items, strict=True))
        return f"CAST(row({fields or 'NULL'}) AS {type_.duckdb})"
    return f"CAST([{', '.join(literal(item, type_.element) for item in value)}] AS {type_.duckdb})"
