"""Parts of arrays as DuckDB SQL: slices, and arrays with another element or slice. Subscripts count from 1."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql.text import own_call, raised
from risingpy.plan.expressions import Call
from risingpy.types import BOOLEAN, SqlType

ELEMENT_BYTES = 90  # what DuckDB takes for each while it makes a list of them
MOST_ELEMENTS = 134_217_727  # of an array, as in PostgreSQL


def _slice(call: Call, args: list[str]) -> str:
    """A part of an array in its first dimensions: `args` are the array, and a lower and an upper bound for each.

    An array without a place in some dimension has none at all, and so has one that is asked for more dimensions.
    """
    array, *bounds = args
    known = " AND ".join(f"{each} IS NOT NULL" for each in args)
    empty = f"CAST([] AS {call.type.duckdb})"
    dimensions, depth = len(bounds) // 2, call.type.depth
    if dimensions > depth:
        return f"CASE WHEN {known} THEN {empty} END"
    part = _part(array, bounds, call.type, 0)
    if dimensions == 1:
        return f"CASE WHEN {known} THEN {part} END"
    places = part
    for _ in range(dimensions - 1):
        places = f"flatten({places})"
    return f"CASE WHEN {known} THEN CASE WHEN len({places}) > 0 THEN {part} ELSE {empty} END END"


def _part(array: str, bounds: list[str], type_: SqlType, level: int) -> str:
    lower, upper, *inner = bounds
    first, last = f"greatest({lower}, 1)", f"least({upper}, len({array}))"
    part = f"list_slice({array}, {first}, {last})"
    if inner:
        item = f"part{level}"
        part = f"list_transform({part}, lambda {item}: {_part(item, inner, type_.element, level + 1)})"
    return f"CASE WHEN {first} <= {last} THEN {part} ELSE CAST([] AS {type_.duckdb}) END"


# -- assignment to a part -----------------------------------------------------------------------------------------


def _put(call: Call, args: list[str]) -> str:
    """The array with another element at an index; NULLs fill what lies between its end and that."""
    array, index, value = args
    return _replaced(call, array, index, index, f"CAST([{value}] AS {call.type.duckdb})")


def _put_slice(call: Call, args: list[str]) -> str:
    """The array with the first elements of another one between two bounds; the same elements if the other one is NULL.

    The fourth and fifth argument say whether the bounds are given: one that is not is the array's own.
    """
    array, lower, upper, has_lower, has_upper, value = args
    kept = f"coalesce({array}, CAST([] AS {call.type.duckdb}))"
    first = f"CASE WHEN {has_lower} THEN {lower} ELSE 1 END"
    last = f"CASE WHEN {has_upper} THEN {upper} ELSE len({kept}) END"
    size = f"({last}) - ({first}) + 1"
    open_ = raised("2202E", "'array slice subscript must provide both boundaries'", call.type)
    crossed = raised("2202E", "'upper bound cannot be less than lower bound'", call.type)
    small = raised("2202E", "'source array too small'", call.type)
    replaced = _replaced(call, array, f"({first})", f"({last})", f"list_slice({value}, 1, {size})")
    return (
        f"CASE WHEN ({first}) IS NULL OR ({last}) IS NULL THEN {_unknown(call)} WHEN {value} IS NULL THEN {kept}"
        f" WHEN NOT ({has_lower} AND {has_upper}) AND len({kept}) = 0 THEN {open_}"
        f" WHEN ({last}) < ({first}) THEN {crossed} WHEN len({value}) < {size} THEN {small} ELSE {replaced} END"
    )


def _unknown(call: Call) -> str:
    return raised("22004", "'array subscript in assignment must not be null'", call.type)


def _replaced(call: Call, array: str, first: str, last: str, new: str) -> str:
    """An array, perhaps NULL, whose elements from `first` to `last` are those of `new`."""
    empty = f"CAST([] AS {call.type.duckdb})"
    array = f"coalesce({array}, {empty})"
    fits = own_call("fits", [f"CAST({last} AS BIGINT) * {ELEMENT_BYTES}"], BOOLEAN)
    outside = raised("0A000", "'arrays whose subscripts do not begin at 1 are not supported'", call.type)
    too_large = raised("54000", f"'array size exceeds the maximum allowed ({MOST_ELEMENTS})'", call.type)
    before = f"list_resize({array}, CASE WHEN {fits} THEN {first} - 1 END)"
    after = f"CASE WHEN {last} < len({array}) THEN list_slice({array}, {last} + 1, len({array})) ELSE {empty} END"
    return (
        f"CASE WHEN {first} IS NULL OR {last} IS NULL THEN {_unknown(call)}"
        f" WHEN {first} < 1 OR ({first} > 1 AND len({array}) = 0) THEN {outside}"
        f" WHEN {last} > {MOST_ELEMENTS} THEN {too_large}"
        f" ELSE list_concat(list_concat({before}, {new}), {after}) END"
    )


ARRAY_PARTS: dict[str, Callable[[Call, list[str]], str]] = {
    "slice": _slice,
    "array_put": _put,
    "array_put_slice": _put_slice,
}
