"""The signature table: every scalar function and operator, and every aggregate, with its types.

The binder looks functions up by their SQL name and resolves overloads as PostgreSQL does; the evaluator
(`duckdb_sql.py`) compiles each canonical name. A line of the tables below reads

    SQL-name  canonical-name  argument types = result type

An operator's SQL name is its symbol; a prefix operator has one argument. `any` is one common type of all `any`
arguments, which are coerced before the call; the result may have that type, too. `every` is an argument of any type.
`…` after the last argument means one or more of it. A `text` argument takes any varchar, and `numeric` any precision
and scale; `numeric:rule` names the rule for a numeric result's precision and scale. With `@` after the canonical name,
the binder adds the session's time zone as a last argument.

Boolean connectives, tests and forms with their own syntax (`IS NULL`, `IN`, `EXTRACT`, COALESCE) are in the table, too:
it has every possible value of `Call.function`. Source: PostgreSQL 15's pg_proc and pg_operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.functions.numeric_results import NumericRule
from risingpy.functions.signature_tables import FUNCTION_TABLES
from risingpy.functions.signature_tables.multiranges import RANGE_AGGREGATES
from risingpy.functions.signature_tables.sets import SETS
from risingpy.functions.window_signatures import WINDOW_TABLE
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    SqlType,
    TypeKind,
    array_of,
)
from risingpy.types.families import FAMILIES, MULTIRANGE_OF
from risingpy.types.sql_type import BARE_TYPES
from risingpy.types.system_types import JSON, OID, REGCLASS, TEXT, VOID


class Polymorphic(Enum):
    """An argument or a result that is not one fixed type."""

    ANY = "any"  # one common type of all ANY arguments
    EVERY = "every"  # each argument keeps its own type
    ARRAY = "anyarray"  # an array of the common type of all ARRAY arguments' elements and all ELEMENT arguments
    ELEMENT = "anyelement"  # that common type
    MAP = "map"
    LAMBDA = "lambda"  # a function written in the call: `|x| x + 1`
    ENUM = "anyenum"  # one enum for all ENUM arguments; its own operators are there for no other type
    RECORD = "record"  # one common type of all RECORD arguments, a struct
    DECIDED = "decided"  # of a user's function: what the call's arguments, which have been looked at, say


ArgType = SqlType | Polymorphic


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload: `name` in SQL (function name or operator symbol), `function` in `Call.function`.

    If `variadic`, the last argument stands for one or more. `rule` is set if the result is numeric. A `zoned` function
    gets the session's time zone as a further argument.
    """

    name: str
    function: str
    args: tuple[ArgType, ...]
    result: ArgType
    rule: NumericRule | None = None
    variadic: bool = False
    zoned: bool = False


_TYPES: dict[str, ArgType] = {
    **{FAMILIES[kind].table_name or FAMILIES[kind].name: type_ for kind, type_ in BARE_TYPES.items()},
    "text[]": array_of(VARCHAR),
    "text[][]": array_of(array_of(VARCHAR)),
    "int4[]": array_of(INTEGER),
    "int8[]": array_of(BIGINT),
    "numeric[]": array_of(NUMERIC),
    "timestamp[]": array_of(TIMESTAMP),
    "timestamptz[]": array_of(TIMESTAMPTZ),
    "jsonb[]": array_of(JSONB),
    **{f"{kind.value}[]": array_of(SqlType(kind)) for pair in MULTIRANGE_OF.items() for kind in pair},
    "json": JSON,
    "oid": OID,
    "regclass": REGCLASS,
    "TEXT": TEXT,
    "void": VOID,
    "array": Polymorphic.ARRAY,
    "elem": Polymorphic.ELEMENT,
    "record": Polymorphic.RECORD,
    "map": Polymorphic.MAP,
    "lambda": Polymorphic.LAMBDA,
    "any": Polymorphic.ANY,
    "every": Polymorphic.EVERY,
}

_NOT_COMPARED = ("any", "every", "jsonb", "json", "elem", "map", "lambda", "oid", "regclass", "TEXT", "void")
_COMPARED = tuple(name for name in _TYPES if name not in _NOT_COMPARED and not name.endswith("[]"))
_COMPARISONS = {"=": "eq", "<>": "ne", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_MIXED = (("float4", "float8"), ("float8", "float4"), ("date", "timestamp"), ("timestamp", "date"))

# fmt: off
_OPERATORS = """
+  add       int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8 | float4 float4 = float4 | float8 float8 = float8
+  add       float4 float8 = float8 | float8 float4 = float8 | numeric numeric = numeric:add
-  subtract  int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8 | float4 float4 = float4 | float8 float8 = float8
-  subtract  float4 float8 = float8 | float8 float4 = float8 | numeric numeric = numeric:add
*  multiply  int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8 | float4 float4 = float4 | float8 float8 = float8
*  multiply  float4 float8 = float8 | float8 float4 = float8 | numeric numeric = numeric:multiply
/  divide    int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8 | float4 float4 = float4 | float8 float8 = float8
/  divide    float4 float8 = float8 | float8 float4 = float8 | numeric numeric = numeric:divide
%  modulo    int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8 | numeric numeric = numeric:larger
^  power     float8 float8 = float8
-  negate    int2 = int2 | int4 = int4 | int8 = int8 | float4 = float4 | float8 = float8 | numeric = numeric:first
+  plus      int2 = int2 | int4 = int4 | int8 = int8 | float4 = float4 | float8 = float8 | numeric = numeric:first
+  int256_add      int256 int256 = int256
-  int256_subtract int256 int256 = int256
*  int256_multiply int256 int256 = int256
/  int256_divide   int256 int256 = int256
%  int256_modulo   int256 int256 = int256
-  int256_negate   int256 = int256
+  plus            int256 = int256
|| concat_op text text = text
|| concat_bytes  bytea bytea = bytea
&  bit_and_op int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8
|  bit_or_op  int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8
#  bit_xor_op int2 int2 = int2 | int4 int4 = int4 | int8 int8 = int8
~  bit_not    int2 = int2 | int4 = int4 | int8 = int8
<< shift_left  int2 int4 = int2 | int4 int4 = int4 | int8 int4 = int8
>> shift_right int2 int4 = int2 | int4 int4 = int4 | int8 int4 = int8
~   regexp_eq  text text = bool
~*  regexp_ieq text text = bool
!~  regexp_ne  text text = bool
!~* regexp_ine text text = bool
~~   like      text text = bool
~~*  ilike     text text = bool
!~~  not_like  text text = bool
!~~* not_ilike text text = bool
~~   like_bytes     bytea bytea = bool
!~~  not_like_bytes bytea bytea = bool
"""

# These have their own syntax. Their name in SQL is upper case, so that no function call finds them.
_FORMS = """
AND  and  bool bool = bool
OR   or   bool bool = bool
NOT  not  bool = bool
IS_NULL          is_null          every = bool
IS_NOT_NULL      is_not_null      every = bool
IS_TRUE          is_true          bool = bool
IS_NOT_TRUE      is_not_true      bool = bool
IS_FALSE         is_false         bool = bool
IS_NOT_FALSE     is_not_false     bool = bool
IS_UNKNOWN       is_unknown       bool = bool
IS_NOT_UNKNOWN   is_not_unknown   bool = bool
IS_DISTINCT_FROM      is_distinct_from      any any = bool
IS_NOT_DISTINCT_FROM  is_not_distinct_from  any any = bool
IN           in            any any… = bool
COALESCE     coalesce      any… = any
NULLIF       nullif        any any = any
GREATEST     greatest      any… = any
LEAST        least         any… = any
CHECK_LENGTH check_length  text int4 = text
CHECK_CHARACTER check_character bpchar int4 = bpchar
LIKE_ESCAPE      like_escape      text text text = bool
ILIKE_ESCAPE     ilike_escape     text text text = bool
NOT_LIKE_ESCAPE  not_like_escape  text text text = bool
NOT_ILIKE_ESCAPE not_ilike_escape text text text = bool
SIMILAR similar text text = bool
SIMILAR_ESCAPE similar_escape text text text = bool
"""

_AGGREGATES = """
count count = int8 | every = int8
sum sum int2 = int8 | int4 = int8 | int8 = numeric:sum | numeric = numeric:sum | float4 = float4 | float8 = float8
sum sum interval = interval | int256 = int256
sum vector_sum vector = vector
avg vector_avg vector = vector
sum0 sum0 int8 = int8
avg avg int2 = numeric:average | int4 = numeric:average | int8 = numeric:average | numeric = numeric:average
avg avg float4 = float8 | float8 = float8 | interval = interval
bool_and bool_and bool = bool
every bool_and bool = bool
bool_or bool_or bool = bool
bit_and bit_and int2 = int2 | int4 = int4 | int8 = int8
bit_or  bit_or  int2 = int2 | int4 = int4 | int8 = int8
bit_xor bit_xor int2 = int2 | int4 = int4 | int8 = int8
string_agg string_agg text text = text | bytea bytea = bytea
array_agg array_agg elem = array
jsonb_agg array_agg elem = jsonb
jsonb_object_agg array_agg every every = jsonb
first_value first_value any = any
last_value  last_value  any = any
arg_min arg_min any every = any
arg_max arg_max any every = any
mode mode any = any
percentile_cont percentile_cont float8 float8 = float8
percentile_disc percentile_disc float8 any = any
approx_percentile percentile_disc float8 float8 = float8 | float8 float8 float8 = float8
approx_count_distinct count every = int8
regr_count regr_count float8 float8 = int8
"""
# fmt: on

_ENDS = ("min", "max")
_MIN_MAX = tuple(
    t for t in _COMPARED if t not in ("bool", "uuid", "cidr", "bit", "varbit", "vector") and not t.endswith("range")
)

# EXTRACT(field FROM x) is a Call of `extract_<field>`; which fields a type has.
_INTERVAL_FIELDS = ("century", "day", "decade", "epoch", "millennium", "month", "quarter", "year")
_DATE_FIELDS = (*_INTERVAL_FIELDS, "dow", "doy", "isodow", "isoyear", "julian", "week")
_TIME_FIELDS = ("hour", "microseconds", "milliseconds", "minute", "second")
_WITH_FRACTION = {  # the others are whole numbers, and so are all of a date
    "epoch": NumericRule.SECONDS,
    "second": NumericRule.SECONDS,
    "milliseconds": NumericRule.MILLISECONDS,
    "julian": NumericRule.PLAIN,
}
_OF_NANOS = {  # the fields of timestamp_ns that have a fraction
    "epoch": NumericRule.NANO_SECONDS,
    "second": NumericRule.NANO_SECONDS,
    "milliseconds": NumericRule.NANO_MILLISECONDS,
    "microseconds": NumericRule.NANO_MICROSECONDS,
    "julian": NumericRule.PLAIN,
}
EXTRACT_FIELDS: dict[TypeKind, tuple[str, ...]] = {
    TypeKind.DATE: _DATE_FIELDS,
    TypeKind.TIME: (*_TIME_FIELDS, "epoch"),
    TypeKind.TIMESTAMP: _DATE_FIELDS + _TIME_FIELDS,
    TypeKind.TIMESTAMPTZ: _DATE_FIELDS + _TIME_FIELDS + ("timezone", "timezone_hour", "timezone_minute"),
    TypeKind.TIMESTAMP_NS: _DATE_FIELDS + _TIME_FIELDS + ("nanoseconds",),
    TypeKind.INTERVAL: _INTERVAL_FIELDS + _TIME_FIELDS,
}


def _parse(table: str) -> list[Signature]:
    signatures = []
    for line in filter(None, table.splitlines()):
        name, function, overloads = line.split(maxsplit=2)
        # An operator's own "|" never stands alone between blanks after the names, so " | " separates overloads.
        for overload in overloads.split(" | "):
            left, _, right = overload.rpartition("=")
            result, _, rule = right.strip().partition(":")
            words = left.split()
            signatures.append(
                Signature(
                    name,
                    function.rstrip("@"),
                    tuple(_TYPES[word.rstrip("…")] for word in words),
                    _TYPES[result],
                    NumericRule(rule) if rule else None,
                    bool(words) and words[-1].endswith("…"),
                    function.endswith("@"),
                )
            )
    return signatures


def _comparisons() -> list[Signature]:
    pairs = [(_TYPES[a], _TYPES[b]) for a, b in [*((t, t) for t in _COMPARED), *_MIXED]]
    pairs.append((Polymorphic.ENUM, Polymorphic.ENUM))
    return [Signature(symbol, function, pair, BOOLEAN) for symbol, function in _COMPARISONS.items() for pair in pairs]


def _extracts() -> list[Signature]:
    types = {kind.value: SqlType(kind) for kind in EXTRACT_FIELDS}
    fractions: dict[TypeKind, dict[str, NumericRule]] = {TypeKind.DATE: {}, TypeKind.TIMESTAMP_NS: _OF_NANOS}
    return [
        Signature(
            f"EXTRACT_{field.upper()}",
            f"extract_{field}",
            (types[kind.value],),
            NUMERIC,
            fractions.get(kind, _WITH_FRACTION).get(field, NumericRule.INTEGRAL),
            zoned=field.startswith("timezone"),
        )
        for kind, fields in EXTRACT_FIELDS.items()
        for field in fields
    ]


def _statistics() -> list[Signature]:
    """Variances and deviations of exact numbers are numeric, those of others double; regressions take doubles."""
    spreads = {name: name for name in ("var_pop", "var_samp", "stddev_pop", "stddev_samp")}
    spreads |= {"variance": "var_samp", "stddev": "stddev_samp"}
    regressions = ["covar_pop", "covar_samp", "corr"]
    regressions += [f"regr_{name}" for name in ("avgx", "avgy", "sxx", "syy", "sxy", "slope", "intercept", "r2")]
    exact, inexact = (SMALLINT, INTEGER, BIGINT, NUMERIC), (REAL, DOUBLE)
    return [
        *(Signature(n, f, (t,), NUMERIC, NumericRule.PLAIN) for n, f in spreads.items() for t in exact),
        *(Signature(n, f, (t,), DOUBLE) for n, f in spreads.items() for t in inexact),
        *(Signature(name, name, (DOUBLE, DOUBLE), DOUBLE) for name in regressions),
    ]


def _min_max() -> list[Signature]:
    return [
        *(Signature(name, name, (each,), each) for each in (Polymorphic.ARRAY, Polymorphic.ENUM) for name in _ENDS),
        *(
            Signature(name, name, (_TYPES[t],), _TYPES[t], NumericRule.FIRST if t == "numeric" else None)
            for name in ("min", "max")
            for t in _MIN_MAX
        ),
    ]


SCALAR_SIGNATURES: tuple[Signature, ...] = tuple(
    [*_parse(_OPERATORS), *_comparisons(), *_parse(_FORMS), *_extracts(), *_parse("".join(FUNCTION_TABLES))]
)
AGGREGATE_SIGNATURES: tuple[Signature, ...] = tuple(
    [*_parse(_AGGREGATES), *_parse(RANGE_AGGREGATES), *_min_max(), *_statistics()]
)


def _by_name(signatures: tuple[Signature, ...]) -> dict[str, tuple[Signature, ...]]:
    names: dict[str, tuple[Signature, ...]] = {}
    for signature in signatures:
        names[signature.name] = (*names.get(signature.name, ()), signature)
    return names


SCALARS: dict[str, tuple[Signature, ...]] = _by_name(SCALAR_SIGNATURES)
AGGREGATES: dict[str, tuple[Signature, ...]] = _by_name(AGGREGATE_SIGNATURES)
WINDOW_FUNCTIONS: dict[str, tuple[Signature, ...]] = _by_name(tuple(_parse(WINDOW_TABLE)))
TABLE_FUNCTIONS: dict[str, tuple[Signature, ...]] = _by_name(tuple(_parse(SETS)))
