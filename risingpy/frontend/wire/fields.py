"""The wire forms of a result's columns: those of `risingpy.types`, and those of the system relations' own OIDs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.frontend.results import BINARY, ResultField
from risingpy.types import SqlType
from risingpy.types.arrays import encode_array, encode_element, format_array
from risingpy.types.forms import binary_column, encode_binary, format_text, text_column
from risingpy.types.oids import ARRAY_ELEMENT, OID_ALIASES, TYPE_BY_OID, VECTOR_ELEMENT

_FIXED_LENGTHS = {18: 1, 19: 64, 24: 4, 26: 4, 28: 4, 29: 4, 2205: 4, 2206: 4, 4089: 4}


def oid_of(field: ResultField) -> int:
    """The field's OID in RowDescription."""
    return field.type.oid if field.oid is None else field.oid


def typlen_of(field: ResultField) -> int:
    if field.oid is None:
        return field.type.typlen
    if field.oid in _FIXED_LENGTHS:
        return _FIXED_LENGTHS[field.oid]
    type_ = TYPE_BY_OID.get(field.oid)
    return -1 if type_ is None else type_.typlen


def encode_column(
    field: ResultField, array: pa.Array, format_: int, time_zone: str
) -> npt.NDArray[np.generic] | pa.Array:
    """A column as bytes: an array of fixed-width items (arbitrary for NULL), or an Arrow binary array with NULLs."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    type_ = _plain_type(field)
    if type_ is None:
        return pa.array([encode_value(field, value, format_, time_zone) for value in array.to_pylist()], pa.binary())
    array = conform(array, type_)
    if format_ == BINARY:
        return binary_column(type_, array)
    return text_column(type_, array, time_zone=time_zone).cast(pa.binary())


def conform(array: pa.Array, type_: SqlType) -> pa.Array:
    """The array in the type's own Arrow type. Sessions promise that type, so this normally does nothing."""
    if array.type == type_.arrow:
        return array
    try:
        return pc.cast(array, type_.arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SqlError(f"a column of type {type_} came as {array.type}: {error}") from None


def encode_value(field: ResultField, value: object, format_: int, time_zone: str) -> bytes | None:
    """One value as bytes, as `encode_column` gives it."""
    if value is None:
        return None
    type_ = _plain_type(field)
    if type_ is not None:
        if format_ == BINARY:
            return encode_binary(type_, value)
        return format_text(type_, value, time_zone=time_zone).encode()
    oid = oid_of(field)
    if oid in ARRAY_ELEMENT or oid in VECTOR_ELEMENT:
        if not isinstance(value, list):
            return str(value).encode()
        return encode_array(oid, value) if format_ == BINARY else format_array(oid, value).encode()
    if format_ == BINARY and isinstance(value, int) and oid in OID_ALIASES:
        return encode_element(oid, value)
    return str(value).encode()


def _plain_type(field: ResultField) -> SqlType | None:
    """The type that has the column's wire forms; None if only `encode_value` has them (arrays, OIDs and others)."""
    if field.oid is None:
        return field.type
    if field.oid in OID_ALIASES:
        return None
    return TYPE_BY_OID.get(field.oid)
