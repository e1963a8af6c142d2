"""`x IN (…)` of many constants, as a call with a constant list, from which DuckDB and Arrow make a hash table.

    x IN (1, 2, …)  =>  Call("in_list", (x, Literal((1, 2, …), array)))

DuckDB needs 10 µs and 5 KB for each item that is an expression, so it gets the list as one text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, time
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InternalError
from risingpy.functions.evaluation.sql.text import quoted
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BOOLEAN, SqlType, TypeKind, array_of

SHORTEST = 32  # items: DuckDB compares with each item of a shorter list faster than it joins
_FLOATS = frozenset({TypeKind.REAL, TypeKind.DOUBLE})  # Arrow tells -0 from 0
_LISTED = _FLOATS | {
    *(TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.NUMERIC, TypeKind.BYTEA, TypeKind.ENUM),
    *(TypeKind.VARCHAR, TypeKind.CHARACTER, TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ),
}
_NO_SEPARATOR = "the texts of a list hold all characters that could stand between them"


def is_listed(type_: SqlType) -> bool:
    """Whether lists of the type can be written so."""
    return type_.kind in _LISTED


def in_list(operand: Expr, values: Sequence[object], type_: SqlType) -> Call:
    """`operand IN (values)`, all of `type_`; None among them is NULL."""
    return Call("in_list", (operand, Literal(tuple(values), array_of(type_))), BOOLEAN)


def listed(call: Call) -> Call:
    """A call of "in" as a call of "in_list", if it has many items and all are constants."""
    operand, *items = call.args
    if len(items) < SHORTEST or not all(isinstance(item, Literal) and item.type == items[0].type for item in items):
        return call
    values = [item.value for item in items if isinstance(item, Literal)]
    known = any(value is not None for value in values)
    return in_list(operand, values, items[0].type) if known and is_listed(items[0].type) else call


def written(call: Call, operand: str, *, joined: bool) -> str:
    """The SQL; `joined` with a subquery, which no lambda may hold, else with a search of the list for each row."""
    values, type_ = _values(call)
    known = [_text(value) for value in values if value is not None]
    separator = _separator(known) if type_.is_text else ","
    texts = f"string_split({quoted(separator.join(known))}, {quoted(separator)})"
    if joined:
        item = "from_hex(u)" if type_.kind is TypeKind.BYTEA or type_.is_wide else f"CAST(u AS {type_.duckdb})"
        found = f"({operand} IN (SELECT {item} FROM (SELECT unnest({texts}) AS u)))"
    else:
        if type_.kind is TypeKind.BYTEA or type_.is_wide:
            texts = f"[from_hex(u) FOR u IN {texts}]"
        found = f"list_contains(CAST({texts} AS {type_.duckdb}[]), {operand})"
    return found if len(known) == len(values) else f"(CASE WHEN {found} THEN TRUE END)"


def by_arrow(call: Call, operand: Callable[[Sequence[pa.ChunkedArray]], pa.Array]) -> Callable[..., pa.Array] | None:
    """The function by which Arrow evaluates the call; None if Arrow cannot."""
    values, type_ = _values(call)
    if call.args[0].type.arrow != type_.arrow or type_.kind in _FLOATS or isinstance(call.args[0], Literal):
        return None
    known = pa.array([value for value in values if value is not None], type_.arrow)
    has_null = len(known) < len(values)

    def evaluate(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
        value = operand(columns)
        found = pc.is_in(value, value_set=known)
        return pc.if_else(found if has_null else pc.is_valid(value), found, pa.scalar(None, pa.bool_()))

    return evaluate


def _values(call: Call) -> tuple[tuple[object, ...], SqlType]:
    items = call.args[1]
    assert isinstance(items, Literal) and isinstance(items.value, tuple | list)
    return tuple(items.value), items.type.element


def _text(value: object) -> str:
    match value:
        case bytes():
            return value.hex()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
    return str(value)


def _separator(texts: Sequence[str]) -> str:
    together = "".join(texts)
    found = next((mark for mark in map(chr, range(1, 0xD800)) if mark not in together), None)
    if found is None:
        raise InternalError(_NO_SEPARATOR)
    return found
