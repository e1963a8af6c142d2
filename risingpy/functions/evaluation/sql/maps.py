"""Functions on maps, and functions that are given a function, as DuckDB SQL.

A NULL key finds nothing and changes nothing; the later of two equal keys counts where maps are put together.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql.text import own_call
from risingpy.plan.expressions import Call, Literal
from risingpy.types import TypeKind

Compile = Callable[[Call, list[str]], str]


def _map(call: Call, args: list[str]) -> str:
    return f"CAST(map([{', '.join(args[::2])}], [{', '.join(args[1::2])}]) AS {call.type.duckdb})"


def _made(call: Call, args: list[str]) -> str:
    made = "map_from_entries" if call.function == "map_from_entries" else "map"
    return f"CAST({made}({', '.join(args)}) AS {call.type.duckdb})"


def _cat(call: Call, args: list[str]) -> str:
    a, b = args
    return f"CASE WHEN {a} IS NULL THEN {b} WHEN {b} IS NULL THEN {a} ELSE map_concat({a}, {b}) END"


def _insert(call: Call, args: list[str]) -> str:
    given, key, value = args
    entry = f"CAST(map([{key}], [{value}]) AS {call.type.duckdb})"
    return f"CASE WHEN {given} IS NULL OR {key} IS NULL THEN {given} ELSE map_concat({given}, {entry}) END"


def _delete(call: Call, args: list[str]) -> str:
    given, key = args
    kept = f"list_filter(map_entries({given}), lambda entry: entry['key'] <> {key})"
    return f"CASE WHEN {key} IS NULL THEN {given} ELSE CAST(map_from_entries({kept}) AS {call.type.duckdb}) END"


def _filter(call: Call, args: list[str]) -> str:
    given, condition, _ = args
    kept = f"list_filter(map_entries({given}), lambda {_name(call)}: {condition})"
    return f"CAST(map_from_entries({kept}) AS {call.type.duckdb})"


def _transform(call: Call, args: list[str]) -> str:
    given, body, _ = args
    return f"CAST(list_transform({given}, lambda {_name(call)}: {body}) AS {call.type.duckdb})"


def _name(call: Call) -> str:
    variable = call.args[2]
    assert isinstance(variable, Literal)
    return str(variable.value)


def _parameter(call: Call, args: list[str]) -> str:
    (name,) = call.args
    assert isinstance(name, Literal)
    return str(name.value)


def _array_sum(call: Call, args: list[str]) -> str:
    """As the aggregates: floats and wide numerics exactly."""
    match call.type.kind:
        case TypeKind.REAL:
            return f"CAST({own_call('list_sum_real', args, call.type)} AS REAL)"
        case TypeKind.DOUBLE:
            return own_call("list_sum", args, call.type)
        case TypeKind.INTERVAL:
            return own_call("list_sum_interval", args, call.type)
    if call.type.is_wide:
        return own_call("wide_sum", args, call.type)
    return f"CAST(list_sum({args[0]}) AS {call.type.duckdb})"


# Whose second argument is the body of a lambda over the elements of the first.
OVER_ELEMENTS = frozenset({"map_filter", "array_transform"})

MAPS: dict[str, Compile] = {
    "map": _map,
    "map_from_entries": _made,
    "map_from_key_values": _made,
    "map_access": lambda call, args: f"map_extract_value({args[0]}, {args[1]})",
    "map_contains": lambda call, args: f"map_contains({args[0]}, {args[1]})",
    "map_keys": lambda call, args: f"map_keys({args[0]})",
    "map_values": lambda call, args: f"map_values({args[0]})",
    "map_entries": lambda call, args: f"map_entries({args[0]})",
    "map_length": lambda call, args: f"CAST(cardinality({args[0]}) AS INTEGER)",
    "map_cat": _cat,
    "map_insert": _insert,
    "map_delete": _delete,
    "map_filter": _filter,
    "array_transform": _transform,
    "lambda_parameter": _parameter,
    "array_sum": _array_sum,
    "array_flatten": lambda call, args: f"flatten({args[0]})",
}
