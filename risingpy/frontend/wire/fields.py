"""The wire forms of a result's columns: those that `risingpy.types` gives them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.frontend.results import BINARY, ResultField
from risingpy.types import SqlType
from risingpy.types.forms import binary_column, encode_binary, format_text, text_column


def encode_column(
    field: ResultField, array: pa.Array, format_: int, time_zone: str
) -> npt.NDArray[np.generic] | pa.Array:
    """A column as bytes: an array of fixed-width items (arbitrary for NULL), or an Arrow binary array with NULLs."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    array = conform(array, field.type)
    if format_ == BINARY:
        return binary_column(field.type, array)
    return text_column(field.type, array, time_zone=time_zone).cast(pa.binary())


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
    if format_ == BINARY:
        return encode_binary(field.type, value)
    return format_text(field.type, value, time_zone=time_zone).encode()
