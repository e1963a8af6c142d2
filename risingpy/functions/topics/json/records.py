"""Converts jsonb and json values for rows: checks objects, arrays of objects, and arrays, and gives what casts take.

A string in the place of a row or an array is the text of one: the functions of objects and arrays give NULL for it.

Source: PostgreSQL 15's jsonfuncs.c (populate_composite, populate_array, populate_recordset_worker).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, InvalidTextRepresentation
from risingpy.functions.topics.calling import Compute, Function, by_row, fail_where
from risingpy.functions.topics.json.lookup import JSONB, parts_of
from risingpy.functions.topics.json.written import JSON_WRITTEN, string_of
from risingpy.types.jsonb import quote

_OBJECT, _ARRAY, _STRING, _NULL = b'{["n'
_BLANKS = " \t\n\r"


def _first(values: pa.Array) -> npt.NDArray[np.uint8]:
    return parts_of(values).first_bytes()


def _object(values: pa.Array) -> pa.Array:
    """Objects as they are."""
    first = _first(values)
    fail_where(first == _ARRAY, InvalidParameterValue, "cannot call populate_composite on an array")
    fail_where(first != _OBJECT, InvalidParameterValue, "cannot call populate_composite on a scalar")
    return values


def _where(mask: npt.NDArray[np.bool_], values: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(mask), values, pa.scalar(None, values.type))


def _known(values: pa.Array) -> pa.Array:
    """JSON's null as NULL."""
    return _where(_first(values) != _NULL, values)


def _structure(values: pa.Array) -> pa.Array:
    """JSON's null, and strings, as NULL."""
    return _where(~np.isin(_first(values), (_NULL, _STRING)), values)


def _part(values: pa.Array) -> pa.Array:
    """Objects."""
    known = _structure(values)
    _object(known.drop_null())
    return known


def _lists(elements: Compute, values: pa.Array) -> pa.Array:
    """The elements of arrays."""
    known = _structure(values)
    fail_where(_first(known.drop_null()) != _ARRAY, InvalidTextRepresentation, "expected JSON array")
    lists = elements(pc.fill_null(known, "[]"))
    return pa.ListArray.from_arrays(lists.offsets, lists.values, mask=known.is_null())


def _values(elements: Compute, value: Compute, values: pa.Array) -> pa.Array:
    lists = _lists(elements, values)
    items = lists.values
    return pa.ListArray.from_arrays(lists.offsets, value(items) if len(items) else items, mask=lists.is_null())


def _members(values: pa.Array) -> pa.Array:
    """The values of objects' members."""
    lists = JSONB["jsonb_each_values"].compute(values)
    items = lists.values
    return pa.ListArray.from_arrays(lists.offsets, _known(items) if len(items) else items)


def _string(text: Compute, values: pa.Array) -> pa.Array:
    """The texts of strings; of anything else NULL."""
    strings = _where(_first(values) == _STRING, values)
    return text(strings)


def _texts(values: pa.Array) -> pa.Array:
    return parts_of(values).plain()


_written_text = by_row(lambda text: None if text is None else string_of(text), pa.string())
_rewritten = by_row(lambda text: quote(string_of(text)), pa.string())


def _written_value(values: pa.Array) -> pa.Array:
    """As it is written, but strings with the escapes that PostgreSQL writes."""
    known = _known(values)
    escaped = pc.and_(pc.starts_with(known, '"'), pc.match_substring(known, "\\"))
    escaped = pc.fill_null(escaped, False)
    if not pc.any(escaped).as_py():
        return known
    return pc.replace_with_mask(known, escaped, _rewritten(known.filter(escaped)))


def _objects(name: str, elements: Compute, values: pa.Array) -> pa.Array:
    """The elements of arrays of objects; the function `name` asks."""
    first = _first(values)
    if name.startswith("jsonb_"):
        fail_where(first != _ARRAY, InvalidParameterValue, f"cannot call {name} on a non-array")
    else:
        fail_where(first == _OBJECT, InvalidParameterValue, f"cannot call {name} on an object")
        fail_where(first != _ARRAY, InvalidParameterValue, f"cannot call {name} on a scalar")
    lists = elements(values)
    message = f"argument of {name} must be an array of objects"
    fail_where(pc.invert(pc.starts_with(lists.flatten(), "{")), InvalidParameterValue, message)
    return lists


def _functions(kind: str, lookup: Mapping[str, Function], value: Compute, whole: Compute) -> dict[str, Function]:
    """Those of one kind; `whole` is a value without blanks around it."""

    def objects(name: str) -> Function:
        return Function(lambda values: _objects(name, elements, whole(values)))

    elements, texts = (lookup[f"{kind}_array_elements{rest}"].compute for rest in ("", "_text"))
    return {
        f"{kind}_record": Function(lambda values: _object(whole(values))),
        f"{kind}_record_part": Function(_part),
        f"{kind}_record_value": Function(value),
        f"{kind}_record_texts": Function(partial(_lists, texts)),
        f"{kind}_record_values": Function(partial(_values, elements, value)),
        **{name: objects(name) for name in (f"{kind}_populate_recordset", f"{kind}_to_recordset")},
    }


JSON_RECORDS: dict[str, Function] = {
    **_functions("jsonb", JSONB, _known, lambda values: values),
    "jsonb_record_string": Function(partial(_string, _texts)),
    "jsonb_record_members": Function(_members),
    **_functions("json", JSON_WRITTEN, _written_value, lambda values: pc.utf8_trim(values, _BLANKS)),
    "json_record_string": Function(partial(_string, _written_text)),
}
