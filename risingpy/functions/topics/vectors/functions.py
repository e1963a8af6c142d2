"""Functions on vectors, with pgvector's names and errors. Distances are computed in doubles, elements in reals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.functions.topics.vectors import kernels
from risingpy.types.bytea import offsets_and_bytes
from risingpy.types.packed.float_vector import (
    BYTES_OF_DIMENSION,
    MAX_DIMENSIONS,
    Offsets,
    Reals,
    check_dimensions,
    column_of,
    lists_of,
    reals_of,
)

Floats = npt.NDArray[np.float64]
_Words = tuple[npt.NDArray[np.uint32], Offsets]
"""The dimensions of a column as they are stored, one vector after the other, and where each vector begins."""


def _check_same(left: Offsets, right: Offsets) -> None:
    """Raises SqlError unless the vectors of each row have equally many dimensions."""
    a, b = np.diff(left), np.diff(right)
    different = np.flatnonzero(a != b)
    if len(different):
        first = different[0]
        raise SqlError(f"different vector dimensions {a[first]} and {b[first]}", sqlstate="22000")


def negated(values: Floats) -> Floats:
    """The operator `<#>` orders the largest inner product first. 0 has no sign."""
    return 0.0 - values


def _as_it_is(values: Floats) -> Floats:
    return values


# Of each distance: what the kernel computes, and what is made of it.
_DISTANCES: dict[str, tuple[int, Callable[[Floats], Floats]]] = {
    "l2_distance": (kernels.L2_SQUARED, np.sqrt),
    "inner_product": (kernels.INNER_PRODUCT, _as_it_is),
    "negative_inner_product": (kernels.INNER_PRODUCT, negated),
    "cosine_distance": (kernels.COSINE, _as_it_is),
    "l1_distance": (kernels.L1, _as_it_is),
}


def _words_of(column: pa.Array) -> _Words:
    offsets, data = offsets_and_bytes(column)
    words = data if data.ctypes.data % BYTES_OF_DIMENSION == 0 else data.copy()
    return words.view("<u4"), (offsets - offsets[0]).astype(np.int64) // BYTES_OF_DIMENSION


def _computed(kind: int, left: pa.Array, right: pa.Array) -> Floats:
    return _of_words(kind, _words_of(left), _words_of(right))


def _of_words(kind: int, left: _Words, right: _Words) -> Floats:
    (a, left_starts), (b, right_starts) = left, right
    _check_same(left_starts, right_starts)
    out: Floats = np.empty(len(left_starts) - 1, np.float64)
    longest = int(np.diff(left_starts).max(initial=0))
    kernels.distances(kind, a, left_starts, b, right_starts, longest, out)
    return out


def distances_from(function: str, vectors: Sequence[bytes], given: bytes) -> list[float]:
    """The distance, by its canonical name, of each vector to the given one. For few vectors: makes no Arrow arrays.

    Raises SqlError unless all have equally many dimensions.
    """
    kind, finish = _DISTANCES[function]
    starts = np.array([0, *accumulate(map(len, vectors))], np.int64) // BYTES_OF_DIMENSION
    width = len(given) // BYTES_OF_DIMENSION
    repeated = np.arange(0, width * len(vectors) + 1, width, dtype=np.int64)
    left, right = (np.frombuffer(each, "<u4") for each in (b"".join(vectors), given * len(vectors)))
    distances: list[float] = finish(_of_words(kind, (left, starts), (right, repeated))).tolist()
    return distances


def _distance(function: str) -> Compute:
    kind, finish = _DISTANCES[function]
    return lambda left, right: pa.array(finish(_computed(kind, left, right)))


def _elementwise(operation: Callable[[Reals, Reals], Reals], *, may_vanish: bool = False) -> Compute:
    """`may_vanish`: a result of 0 of two operands that are not 0 is an error."""

    def computed(left: pa.Array, right: pa.Array) -> pa.Array:
        (a, starts), (b, right_starts) = reals_of(left), reals_of(right)
        _check_same(starts, right_starts)
        with np.errstate(over="ignore", under="ignore"):
            result = operation(a, b)
        if may_vanish and ((result == 0) & (a != 0) & (b != 0)).any():
            raise NumericValueOutOfRange("value out of range: underflow")
        return column_of(result, starts)

    return computed


def _joined(left: pa.Array, right: pa.Array) -> pa.Array:
    joined = pc.binary_join_element_wise(left, right, b"")
    check_dimensions(int(_counts(joined).max(initial=1)))
    return joined


def _counts(column: pa.Array) -> npt.NDArray[np.int32]:
    return np.asarray(pc.binary_length(column).to_numpy(zero_copy_only=False)) // BYTES_OF_DIMENSION


def _dimensions(column: pa.Array) -> pa.Array:
    return pa.array(_counts(column), pa.int32())


def _norms(column: pa.Array) -> Floats:
    return np.sqrt(_computed(kernels.INNER_PRODUCT, column, column))


def _normalized(column: pa.Array) -> pa.Array:
    """Vectors of norm 1; a vector of zeros stays."""
    reals, starts = reals_of(column)
    norms = _norms(column)
    return column_of(reals / np.repeat(np.where(norms == 0, 1, norms), np.diff(starts)), starts)


def _part(start: int, count: int) -> Compute:
    """subvector: dimensions count from 1; those that the vector does not have are left out."""

    def computed(column: pa.Array) -> pa.Array:
        check_dimensions(min(count, MAX_DIMENSIONS))
        first, end = max(start, 1) - 1, max(start + count, 1) - 1
        part = pc.binary_slice(column, first * BYTES_OF_DIMENSION, end * BYTES_OF_DIMENSION)
        check_dimensions(int(_counts(part).min(initial=1)))
        return part

    return computed


def _signs(column: pa.Array) -> pa.Array:
    """binary_quantize: a bit for each dimension, 1 if that is above 0."""
    reals, starts = reals_of(column)
    digits = pa.py_buffer(np.where(reals > 0, ord("1"), ord("0")).astype(np.uint8))
    return pa.StringArray.from_buffers(len(column), pa.py_buffer(starts.astype(np.int32)), digits)


def _of_dimensions(dimensions: int) -> Compute:
    """The cast to vector(n)."""

    def computed(column: pa.Array) -> pa.Array:
        counts = _counts(column)
        wrong = np.flatnonzero(counts != dimensions)
        if len(wrong):
            check_dimensions(int(counts[wrong[0]]), dimensions)
        return column

    return computed


def _of_array(lists: pa.Array) -> pa.Array:
    """The cast of an array of numbers."""
    items = lists.flatten()
    if items.null_count:
        raise SqlError("array must not contain nulls", sqlstate="22004")
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    for count in (counts.min(initial=1), counts.max(initial=1)):
        check_dimensions(int(count))
    values = items.to_numpy(zero_copy_only=False)
    if not np.isfinite(values).all():
        what = "NaN" if np.isnan(values).any() else "infinite value"
        raise SqlError(f"{what} not allowed in vector", sqlstate="22000")
    return column_of(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))


VECTORS: dict[str, Function] = {
    **{function: Function(_distance(function)) for function in _DISTANCES},
    "vector_add": Function(_elementwise(np.add)),
    "vector_subtract": Function(_elementwise(np.subtract)),
    "vector_multiply": Function(_elementwise(np.multiply, may_vanish=True)),
    "vector_concat": Function(_joined),
    "vector_dims": Function(_dimensions),
    "vector_norm": Function(lambda column: pa.array(_norms(column))),
    "l2_normalize": Function(_normalized),
    "subvector": Function(per_constant(_part, constants=[1, 2])),
    "binary_quantize": Function(_signs),
    "vector_of_dimensions": Function(per_constant(_of_dimensions, constants=[1])),
    "vector_of_array": Function(_of_array),
    "array_of_vector": Function(lists_of),
}
