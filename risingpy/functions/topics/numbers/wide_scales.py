"""Wide numerics' display scales and keys (`types.wide_numeric`), and functions that choose among numbers by key."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.topics.calling import Compute, Function
from risingpy.functions.topics.numbers.wide_sum_kernels import number_kinds
from risingpy.types.wide_numeric import (
    DECIMALS,
    WHOLE_DIGITS,
    Numbers,
    column_of,
    digits_of,
    key_column,
    numbers_of,
    rows_of,
    text_column,
)

Bytes = npt.NDArray[np.uint8]


def _least_scales(numbers: Numbers) -> Bytes:
    """The numbers of decimals without trailing zeros."""
    fraction = digits_of(numbers.limbs)[:, WHOLE_DIGITS:] != 0
    last = DECIMALS - fraction[:, ::-1].argmax(axis=1)
    return np.where(fraction.any(axis=1), last, 0).astype(np.uint8)


def _scale(column: pa.Array) -> pa.Array:
    """scale: the number of decimals shown; NULL for a value that is not finite."""
    numbers = numbers_of(column)
    return pa.array(numbers.scales.astype(np.int32), mask=None if numbers.special is None else numbers.special != 0)


def _min_scale(column: pa.Array) -> pa.Array:
    numbers = numbers_of(column)
    mask = None if numbers.special is None else numbers.special != 0
    return pa.array(_least_scales(numbers).astype(np.int32), mask=mask)


def _trim_scale(column: pa.Array) -> pa.Array:
    numbers = numbers_of(column)
    return column_of(numbers.limbs, numbers.negative, _least_scales(numbers), None, numbers.special)


def _scale_bit(column: pa.Array) -> pa.Array:
    """A bigint with the bit of the number's scale set: `bit_or` of them tells which scales equal numbers have."""
    return pa.array(np.int64(1) << numbers_of(column).scales.astype(np.int64))


def _kind_bit(column: pa.Array) -> pa.Array:
    """A bigint with the bit of the number's scale set, or of its being NaN or infinite."""
    kinds = np.empty(len(column), np.uint8)
    number_kinds(rows_of(column).reshape(-1), kinds)
    return pa.array(np.int64(1) << kinds.astype(np.int64))


def _of_key(keys: pa.Array, bits: pa.Array) -> pa.Array:
    """The numbers of these keys, with the lowest scale whose bit is set."""
    masks = bits.to_numpy(zero_copy_only=False).astype(np.int64)
    lowest = np.log2((masks & -masks).astype(np.float64)).astype(np.uint8)
    scales = pa.Array.from_buffers(pa.binary(1), len(keys), [None, pa.py_buffer(lowest)]).cast(pa.binary())
    return pc.binary_join_element_wise(keys, scales, b"")


def _with_scale(column: pa.Array, bits: pa.Array) -> pa.Array:
    """The numbers, with at least the highest scale whose bit is set."""
    numbers = numbers_of(column)
    highest = np.maximum(np.frexp(bits.to_numpy(zero_copy_only=False).astype(np.float64))[1] - 1, 0)
    scales = np.maximum(numbers.scales, highest).astype(np.uint8)
    return column_of(numbers.limbs, numbers.negative, scales, None, numbers.special)


def _nullif(left: pa.Array, right: pa.Array) -> pa.Array:
    same = pc.fill_null(pc.equal(key_column(left), key_column(right)), False)
    return pc.if_else(same, pa.scalar(None, left.type), left)


def _extreme(better: Callable[[pa.Array, pa.Array], pa.Array]) -> Compute:
    """For each row, the best of its numbers that are not NULL; of equal ones the first."""

    def compute(*columns: pa.Array) -> pa.Array:
        best = columns[0]
        for column in columns[1:]:
            chosen = pc.or_kleene(best.is_null(), better(key_column(column), key_column(best)))
            chosen = pc.and_(column.is_valid(), pc.fill_null(chosen, False))
            best = pc.if_else(chosen, column, best)
        return best

    return compute


def _json(column: pa.Array) -> pa.Array:
    """The numbers as JSON; values that are not finite become texts."""
    texts = text_column(column)
    special = numbers_of(column).special
    if special is None:
        return texts
    return pc.if_else(pa.array(special != 0), pc.binary_join_element_wise('"', texts, '"', ""), texts)


WIDE_SCALES: dict[str, Function] = {
    "wide_scale": Function(_scale),
    "wide_min_scale": Function(_min_scale),
    "wide_trim_scale": Function(_trim_scale),
    "wide_scale_bit": Function(_scale_bit),
    "wide_kind_bit": Function(_kind_bit),
    "wide_of_key": Function(_of_key),
    "wide_with_scale": Function(_with_scale),
    "wide_json": Function(_json),
    "wide_greatest": Function(_extreme(pc.greater), takes_nulls=True),
    "wide_least": Function(_extreme(pc.less), takes_nulls=True),
    "wide_nullif": Function(_nullif, takes_nulls=True),
}
