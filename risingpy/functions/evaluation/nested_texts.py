"""Joins the texts of parts to those of arrays and rows, and splits these again, for casts to and from text.

    rpy_text_of_array(VARCHAR[])     {a,"b c",NULL}     rpy_text_of_arrays(VARCHAR[])   {{1},{2}}: parts stay bare
    rpy_text_of_row(VARCHAR[])       (a,"b c",)
    rpy_items_of_array(VARCHAR)      the elements of an array's text       rpy_parts_of_array   its sub-arrays, as texts
    rpy_fields_of_row(VARCHAR, n)    the n fields of a row's text

DuckDB casts the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from risingpy.storage.codec.column_buffers import whole
from risingpy.types import VARCHAR, SqlType, array_of, struct_of
from risingpy.types.array import parts_of
from risingpy.types.forms import parse_column, text_column

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

_TEXTS = array_of(VARCHAR)


def _text_of_array(items: Column) -> pa.Array:
    return text_column(_TEXTS, whole(items))


def _text_of_arrays(parts: Column) -> pa.Array:
    return pa.array([_braced(row) for row in whole(parts).to_pylist()], pa.string())


def _braced(parts: list[str | None] | None) -> str | None:
    return None if parts is None else "{" + ",".join("NULL" if part is None else part for part in parts) + "}"


def _text_of_row(fields: Column) -> pa.Array:
    lists = whole(fields)
    width = len(lists[0]) if len(lists) else 0
    flat = lists.flatten()
    names = [f"f{k}" for k in range(width)]
    columns = [flat.take(pa.array(range(k, len(flat), width))) for k in range(width)]
    type_ = struct_of(names, [VARCHAR] * width)
    return text_column(type_, pa.StructArray.from_arrays(columns, fields=list(type_.arrow)))


def _items_of_array(texts: Column) -> pa.Array:
    return parse_column(_TEXTS, whole(texts))


def _parts_of_array(texts: Column) -> pa.Array:
    return pa.array([None if text is None else parts_of(text) for text in whole(texts).to_pylist()], _TEXTS.arrow)


def _fields_of_row(texts: Column, counts: Column) -> pa.Array:
    column = whole(texts)
    width = whole(counts)[0].as_py() if len(column) else 0
    rows = parse_column(struct_of([f"f{k}" for k in range(width)], [VARCHAR] * width), column).to_pylist()
    return pa.array([None if row is None else list(row.values()) for row in rows], _TEXTS.arrow)


NESTED_TEXTS: dict[str, tuple[Callable[..., pa.Array], SqlType]] = {
    "rpy_text_of_array": (_text_of_array, VARCHAR),
    "rpy_text_of_arrays": (_text_of_arrays, VARCHAR),
    "rpy_text_of_row": (_text_of_row, VARCHAR),
    "rpy_items_of_array": (_items_of_array, _TEXTS),
    "rpy_parts_of_array": (_parts_of_array, _TEXTS),
    "rpy_fields_of_row": (_fields_of_row, _TEXTS),
}
