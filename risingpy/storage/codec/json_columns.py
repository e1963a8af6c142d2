"""Columns of jsonb, or with jsonb inside, as columns by whose bytes they are compared.

    key_form(['1.0', '[1.00, "a"]'], jsonb)      =>  the byte strings of `kernels/json_keys`, of which 1 has the first
    key_form([{'1', NULL}], jsonb[])             =>  [{the byte string of 1, NULL}]

Equal values have one form, whatever digits they are shown with. Forms order as PostgreSQL's btree orders the values.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.storage.codec.column_buffers import address, buffers_of, longest
from risingpy.storage.codec.plain_columns import list_parts, struct_fields, with_validity
from risingpy.storage.kernels import json_keys
from risingpy.types import SqlType, TypeKind, wide_numeric


def json_key_column(values: pa.Array) -> pa.BinaryArray:
    """The keys of jsonb texts: byte strings in the order of the values, which equal values share. NULL stays NULL."""
    filled = pc.fill_null(values, "null") if values.null_count else values
    text = buffers_of(filled)
    _, size = text.data_range
    open_containers = np.empty(2 * (longest(filled) + 1), np.int64)
    out = np.empty(max(json_keys.MOST_BYTES_OF_BYTE * size, 1), np.uint8)
    sizes = np.empty(len(values), np.int64)
    json_keys.write_keys(text.data, text.offsets, len(values), address(open_containers), address(out), address(sizes))
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    data = pa.py_buffer(out[: offsets[-1]].copy())
    parts = [None, pa.py_buffer(offsets), data]
    keys = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(values), parts).cast(pa.binary())
    return with_validity(keys, values)


def key_form(column: pa.Array, type_: SqlType) -> pa.Array:
    """The column with its jsonb, and its numerics without declared digits, as keys."""
    if type_.kind is TypeKind.JSONB:
        return json_key_column(column)
    if type_.is_wide:
        return wide_numeric.key_column(column)
    if not type_.is_nested:
        return column
    missing = column.is_null() if column.null_count else None
    if type_.kind is TypeKind.STRUCT:
        parts = struct_fields(column)
        if missing is not None:  # where the struct is NULL its fields are anything, and the kernel reads JSON alone
            parts = [pc.if_else(missing, pa.scalar(None, part.type), part) for part in parts]
        fields = [key_form(part, each) for part, each in zip(parts, type_.items, strict=True)]
        return pa.StructArray.from_arrays(fields, names=list(type_.names), mask=missing)
    offsets, (elements,) = list_parts(column)
    keys = key_form(elements, type_.element)
    return pa.ListArray.from_arrays(pc.cast(pa.array(offsets), pa.int32()), keys, mask=missing)
