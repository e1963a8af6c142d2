"""Converts jsonb values for rows: checks objects, arrays of objects, and arrays, and gives the form that casts take.

Source: PostgreSQL 15's jsonfuncs.c (populate_composite, populate_array, populate_recordset_worker).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, InvalidTextRepresentation
from risingpy.functions.topics.calling import Compute, Function, fail_where
from risingpy.functions.topics.json.lookup import JSONB, parts_of

_OBJECT, _ARRAY, _NULL = b"{[n"


def _first(values: pa.Array) -> npt.NDArray[np.uint8]:
    return parts_of(values).first_bytes()


def _object(values: pa.Array) -> pa.Array:
    """Objects as they are."""
    first = _first(values)
    fail_where(first == _ARRAY, InvalidParameterValue, "cannot call populate_composite on an array")
    fail_where(first != _OBJECT, InvalidParameterValue, "cannot call populate_composite on a scalar")
    return values


def _known(values: pa.Array) -> pa.Array:
    """JSON's null as NULL."""
    return pc.if_else(pa.array(_first(values) != _NULL), values, pa.scalar(None, pa.string()))


def _part(values: pa.Array) -> pa.Array:
    """Objects, or NULL of JSON's null."""
    known = _known(values)
    _object(known.drop_null())
    return known


def _array(elements: str) -> Compute:
    """The elements of arrays, or NULL of JSON's null."""

    def compute(values: pa.Array) -> pa.Array:
        known = _known(values)
        fail_where(_first(known.drop_null()) != _ARRAY, InvalidTextRepresentation, "expected JSON array")
        lists = JSONB[elements].compute(pc.fill_null(known, "[]"))
        return pa.ListArray.from_arrays(lists.offsets, lists.values, mask=known.is_null())

    return compute


def _values(values: pa.Array) -> pa.Array:
    lists = _array("jsonb_array_elements")(values)
    items = lists.values
    return pa.ListArray.from_arrays(lists.offsets, _known(items) if len(items) else items, mask=lists.is_null())


def _members(values: pa.Array) -> pa.Array:
    """The values of objects' members."""
    lists = JSONB["jsonb_each_values"].compute(values)
    items = lists.values
    return pa.ListArray.from_arrays(lists.offsets, _known(items) if len(items) else items)


def _set(name: str) -> Function:
    """The elements of arrays of objects; the function `name` asks."""

    def compute(values: pa.Array) -> pa.Array:
        fail_where(_first(values) != _ARRAY, InvalidParameterValue, f"cannot call {name} on a non-array")
        lists = JSONB["jsonb_array_elements"].compute(values)
        message = f"argument of {name} must be an array of objects"
        fail_where(pc.invert(pc.starts_with(lists.flatten(), "{")), InvalidParameterValue, message)
        return lists

    return Function(compute)


JSONB_RECORDS: dict[str, Function] = {
    "jsonb_record": Function(_object),
    "jsonb_record_part": Function(_part),
    "jsonb_record_value": Function(_known),
    "jsonb_record_texts": Function(_array("jsonb_array_elements_text")),
    "jsonb_record_values": Function(_values),
    "jsonb_record_members": Function(_members),
    "jsonb_populate_recordset": _set("jsonb_populate_recordset"),
    "jsonb_to_recordset": _set("jsonb_to_recordset"),
}
