"""Replaces the values inside nested arrays, whatever their depth: the lists, structs and maps around them stay."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.types import SqlType, TypeKind
from risingpy.types.far_moments import INFINITE_DAYS, INFINITE_MICROS
from risingpy.types.forms import text_column

Leaf = Callable[[SqlType, pa.Array], pa.Array]
"""Returns an array of the same length, for a type that is not nested. NULLs stay."""


def as_text(type_: SqlType, array: pa.Array) -> pa.Array:
    """A `Leaf`: the texts that SQL shows."""
    return text_column(type_, array)


def infinite_moments(array: pa.Array) -> pa.Array:
    """A mask of the rows of a column of dates or timestamps that are ±infinity; NULLs stay."""
    is_date = pa.types.is_date32(array.type)
    numbers, limit = (array.cast(pa.int32()), INFINITE_DAYS) if is_date else (array.cast(pa.int64()), INFINITE_MICROS)
    return pc.or_(pc.greater_equal(numbers, limit), pc.less_equal(numbers, -limit))


def refuse_infinity(array: pa.Array, system: str) -> pa.Array:
    """The column of dates or timestamps itself; raises 22008 if a value is infinite, which the system has not."""
    if pc.any(infinite_moments(array), min_count=0).as_py():
        hint = "Leave such rows out in the sink's query, or make texts of the column."
        raise SqlError(f"{system} has no infinite dates and timestamps", sqlstate="22008", hint=hint)
    return array


def replace_leaves(type_: SqlType, array: pa.Array, leaf: Leaf, key: Leaf = as_text) -> pa.Array:
    """`array` with `leaf` applied to what is in it, and `key` to the keys of maps."""
    match type_.kind:
        case TypeKind.ARRAY:
            return _list(array, replace_leaves(type_.element, array.values, leaf, key))
        case TypeKind.STRUCT:
            return _struct(type_, array, leaf, key)
        case TypeKind.MAP:
            return _map(type_, array, leaf, key)
    return leaf(type_, array)


def _list(array: pa.Array, values: pa.Array) -> pa.Array:
    """The lists of `array` with other values: validity and offsets are the same memory."""
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(pa.list_(values.type), len(array), buffers, -1, array.offset, children=[values])


def _struct(type_: SqlType, array: pa.Array, leaf: Leaf, key: Leaf) -> pa.Array:
    # What a NULL struct has in its fields may be no value of their types: `flatten` makes it NULL.
    fields = [replace_leaves(item, field, leaf, key) for item, field in zip(type_.items, array.flatten(), strict=False)]
    names = list(type_.names)
    if not fields:
        return array
    return pa.StructArray.from_arrays(fields, names, mask=pc.is_null(array))


def _map(type_: SqlType, array: pa.Array, leaf: Leaf, key: Leaf) -> pa.Array:
    keys = key(type_.items[0], array.keys)
    values = replace_leaves(type_.items[1], array.items, leaf, key)
    entries = pa.StructArray.from_arrays([keys, values], ["key", "value"])
    target = pa.map_(keys.type, values.type)
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], -1, array.offset, children=[entries])
