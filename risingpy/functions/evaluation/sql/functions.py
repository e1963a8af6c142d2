"""Every canonical function of the signature table as DuckDB SQL.

`TEMPLATES` has those that are a pattern of their arguments `{0}`, `{1}`… and of `{type}`, the result's. `SPECIAL` has
a function for each of the others: DuckDB's own differs from PostgreSQL's in errors, edges or types. AND, OR and
COALESCE, whose arguments are not all evaluated, are in `branches`.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql.arithmetic import ARITHMETIC
from risingpy.functions.evaluation.sql.datetime import DATE_AND_TIME
from risingpy.functions.evaluation.sql.json import JSON
from risingpy.functions.evaluation.sql.maps import MAPS
from risingpy.functions.evaluation.sql.nested import NESTED, numbers_as_keys
from risingpy.functions.evaluation.sql.strings import STRINGS
from risingpy.functions.evaluation.sql.text import NOW, own_call, raised
from risingpy.functions.volatile import ADVISORY_CALLS, SEQUENCE_CALLS
from risingpy.plan.expressions import Call
from risingpy.types import BYTEA, TypeKind

# fmt: off
TEMPLATES: dict[str, str] = {
    # comparison and logic
    "eq": "({0} = {1})", "ne": "({0} <> {1})",
    "not": "(NOT {0})",
    "enum_range": "list_filter({0}, lambda label: coalesce(label >= {1}, TRUE) AND coalesce(label <= {2}, TRUE))",
    "is_null": "({0} IS NULL)", "is_not_null": "({0} IS NOT NULL)",
    "is_true": "coalesce({0}, FALSE)", "is_not_true": "(NOT coalesce({0}, FALSE))",
    "is_false": "(NOT coalesce({0}, TRUE))", "is_not_false": "coalesce({0}, TRUE)",
    "is_unknown": "({0} IS NULL)", "is_not_unknown": "({0} IS NOT NULL)",
    "plus": "{0}",
    "numeric_key": "array_slice({0}, 1, 41)",
    # text
    "concat_op": "({0} || {1})", "concat_bytes": "({0} || {1})",
    "lower": "lower({0})",
    "translate": "translate({0}, {1}, {2})", "starts_with": "starts_with({0}, {1})",
    "left": "left({0}, {1})", "md5": "md5({0})",
    "length": "CAST(length({0}) AS INTEGER)", "length_bytes": "CAST(octet_length({0}) AS INTEGER)",
    "octet_length": "CAST(octet_length(encode({0})) AS INTEGER)",
    "bit_length": "CAST(8 * octet_length(encode({0})) AS INTEGER)",
    "position": "CAST(strpos({0}, {1}) AS INTEGER)", "ascii": "CAST(ascii({0}) AS INTEGER)",
    "bit_length_bytes": "CAST(8 * octet_length({0}) AS INTEGER)",
    # bits
    "bit_and_op": "({0} & {1})", "bit_or_op": "({0} | {1})", "bit_xor_op": "xor({0}, {1})", "bit_not": "(~{0})",
    # numbers
    "abs": "abs({0})", "cbrt": "cbrt({0})", "pi": "pi()",
    "atan": "atan({0})", "atan2": "atan2({0}, {1})",
    "sign": "CAST(sign({0}) AS {type})", "ceil": "CAST(ceil({0}) AS {type})", "floor": "CAST(floor({0}) AS {type})",
    "trunc": "CAST(trunc({0}) AS {type})",
    "sinh": "sinh({0})", "cosh": "cosh({0})", "tanh": "tanh({0})", "coth": "(1 / tanh({0}))", "asinh": "asinh({0})",
    "random": "random()", "gen_random_uuid": "unhex(replace(CAST(gen_random_uuid() AS VARCHAR), '-', ''))",
    "gcd": "CAST(gcd({0}, {1}) AS {type})", "lcm": "CAST(lcm({0}, {1}) AS {type})",
    # dates and times
    "now": NOW, "proctime": "CAST(now() AS TIMESTAMPTZ)",
}
# fmt: on


def _isfinite(call: Call, args: list[str]) -> str:
    if call.args[0].type.kind is TypeKind.INTERVAL:  # as in PostgreSQL 15, there are no infinite ones
        return f"CASE WHEN {args[0]} IS NOT NULL THEN TRUE END"
    return f"isfinite({args[0]})"


def _only_row(call: Call, args: list[str]) -> str:
    """`only_row(value, n)`: the value of a scalar subquery with `n` rows. An error if there are several."""
    value, rows = args
    message = "'more than one row returned by a subquery used as an expression'"
    return f"CASE WHEN {rows} > 1 THEN {raised('21000', message, call.type)} ELSE {value} END"


def _each_time(call: Call, args: list[str]) -> str:
    """A call that DuckDB must neither precompute nor share: it has a random number as an argument."""
    return own_call(call.function, [*args, "random()"], call.type)


def _random_of_row(call: Call, args: list[str]) -> str:
    """A number in [0, 1) of 52 bits, by a seed and the key of the row."""
    return f"(CAST(concat('0x', left({_digest(args)}, 13)) AS UBIGINT) / 4503599627370496.0)"


def _uuid_of_row(call: Call, args: list[str]) -> str:
    """A uuid of version 4 whose 122 random bits are a digest of a seed and the key of the row."""
    digest = _digest(args)
    return (
        f"unhex(concat(left({digest}, 12), '4', substr({digest}, 14, 3),"
        f" translate(substr({digest}, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab'), substr({digest}, 18)))"
    )


def _digest(args: list[str]) -> str:
    """32 hexadecimal digits. DuckDB's own hash may be another one in its next version; a view's rows outlive that."""
    return f"md5({own_call('ascending_keys', args, BYTEA)})"


def _numeric_keys(call: Call, args: list[str]) -> str:
    return numbers_as_keys(args[0], call.args[0].type)


def _firsts_of_keys(call: Call, args: list[str]) -> str:
    """The values of sorted pairs (key, value), one for each key."""
    (pairs,) = args
    is_new = f"place = 1 OR struct_extract(pair, 'key') IS DISTINCT FROM struct_extract({pairs}[place - 1], 'key')"
    firsts = f"list_filter({pairs}, lambda pair, place: {is_new})"
    return f"list_transform({firsts}, lambda pair: struct_extract(pair, 'value'))"


def _first_of_key(call: Call, args: list[str]) -> str:
    """The first value of a key in pairs (key, value)."""
    pairs, key = args
    return f"struct_extract(list_filter({pairs}, lambda pair: struct_extract(pair, 'key') = {key})[1], 'value')"


SPECIAL: dict[str, Callable[[Call, list[str]], str]] = {
    "only_row": _only_row,
    "isfinite": _isfinite,
    "random_of_row": _random_of_row,
    "uuid_of_row": _uuid_of_row,
    "numeric_keys": _numeric_keys,
    "firsts_of_keys": _firsts_of_keys,
    "first_of_key": _first_of_key,
    **dict.fromkeys(("clock_timestamp", "pg_sleep", "pg_sleep_for", "pg_sleep_until"), _each_time),
    **dict.fromkeys(("pg_cancel_backend", "pg_terminate_backend", "pg_blocking_pids"), _each_time),
    **dict.fromkeys(("set_config", "pg_notify", "gen_random_bytes"), _each_time),
    **dict.fromkeys(SEQUENCE_CALLS | ADVISORY_CALLS, _each_time),
    **ARITHMETIC,
    **STRINGS,
    **DATE_AND_TIME,
    **NESTED,
    **MAPS,
    **JSON,
}
