"""The smallest and the largest value of each group, in SQL's order: NaN above all numbers, text by its bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.grouping import encoded_rows
from risingpy.functions.aggregate.kernels import extreme_rows
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.types import SqlType, TypeKind

Integers = npt.NDArray[np.int64]

_INTEGER_LIKE = {
    TypeKind.SMALLINT: pa.int16(),
    TypeKind.INTEGER: pa.int32(),
    TypeKind.BIGINT: pa.int64(),
    TypeKind.ENUM: pa.int64(),
    TypeKind.DATE: pa.int32(),
    TypeKind.TIME: pa.int64(),
    TypeKind.TIMESTAMP: pa.int64(),
    TypeKind.TIMESTAMPTZ: pa.int64(),
    TypeKind.TIMESTAMP_NS: pa.int64(),
}


def group_extremes(codes: Integers, groups: int, values: pa.Array, type_: SqlType, function: str) -> pa.Array:
    """`min` or `max` (the `function`) of each group's values that are not NULL; NULL where there are none."""
    if values.null_count:
        valid = values.is_valid()
        codes, values = codes[valid.to_numpy(zero_copy_only=False)], values.filter(valid)
    rows = np.full(groups, -1, np.int64)
    extreme_rows(codes, _ranks(values, type_), 1 if function == "max" else -1, rows)
    return values.take(pa.array(rows, mask=rows < 0))


def _ranks(values: pa.Array, type_: SqlType) -> Integers:
    """Integers that order as the values do."""
    if type_.kind in _INTEGER_LIKE:
        numbers = values.view(_INTEGER_LIKE[type_.kind]).to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(numbers, np.int64)
    keys = encoded_rows([values], [type_], len(values))
    order = sort_indices(keys)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
