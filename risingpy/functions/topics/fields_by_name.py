"""Gives structs, at any depth of a value, other fields: each is the old field of the same name; a new one is NULL.

struct<u int, v int>[]  =>  struct<v int, w varchar>[]        {"(1,2)",NULL}  =>  {"(2,)",NULL}
"""

from __future__ import annotations

import pyarrow as pa

from risingpy.functions.topics.calling import Function


def _reshaped(values: pa.Array, shape: pa.DataType) -> pa.Array:
    """`values` in another Arrow type, which differs in the fields of structs alone."""
    if values.type == shape:
        return values
    if pa.types.is_struct(shape):
        parts = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
        fields = [
            _reshaped(parts[field.name], field.type) if field.name in parts else pa.nulls(len(values), field.type)
            for field in shape
        ]
        return pa.StructArray.from_arrays(fields, fields=list(shape), mask=values.is_null())
    # Offsets count from the start of all parts, also in a slice; a slice of offsets cannot have a mask: copy it.
    offsets = pa.array(values.offsets.to_numpy())
    if pa.types.is_map(shape):
        items = _reshaped(values.items, shape.item_type)
        return pa.MapArray.from_arrays(offsets, values.keys, items, type=shape, mask=values.is_null())
    items = _reshaped(values.values, shape.value_type)
    return pa.ListArray.from_arrays(offsets, items, type=shape, mask=values.is_null())


FIELDS_BY_NAME: dict[str, Function] = {
    # The second argument is NULL: what matters is its type.
    "fields_by_name": Function(lambda values, shape: _reshaped(values, shape.type), takes_nulls=True)
}
