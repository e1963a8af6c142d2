"""Calls our own functions: handles NULLs, constant arguments, and functions of single rows.

A function takes whole columns of equal length without NULLs and gives a column of that length. It raises an SqlError
if any row fails; DuckDB's TRY finds out which one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InternalError, SqlError, as_out_of_range
from risingpy.statement_limits import current_limits, look
from risingpy.types.far_moments import value_of, values_of

Compute = Callable[..., pa.Array]
_SLICE_BYTES = 4 << 20  # RE2 takes some tens of milliseconds for so much text


@dataclass(frozen=True, slots=True)
class Function:
    """`compute` works on columns. Unless it `takes_nulls`, rows with a NULL give NULL without a call."""

    compute: Compute
    takes_nulls: bool = False


def call(function: Function, columns: Sequence[pa.Array], result: pa.DataType) -> pa.Array:
    """The function's column of type `result` for argument columns of equal length."""
    if not len(columns[0]):
        return pa.nulls(0, result)
    if function.takes_nulls or not any(column.null_count for column in columns):
        try:
            value = function.compute(*columns)
            return value if value.type == result else value.cast(result)
        except (ValueError, ArithmeticError) as error:
            raise as_out_of_range(error) or InternalError(str(error)) from error
    valid = reduce(pc.and_, [pc.is_valid(column) for column in columns if column.null_count])
    kept = call(function, [column.filter(valid) for column in columns], result)
    return scattered(kept, valid)


def scattered(values: pa.Array, where: pa.Array) -> pa.Array:
    """A column that has `values`, in order, in the rows where `where` is true, and NULL elsewhere."""
    chosen = where.to_numpy(zero_copy_only=False)
    positions = np.where(chosen, np.cumsum(chosen) - 1, 0)
    return values.take(pa.array(positions, mask=~chosen))


def per_constant(compute: Callable[..., Compute], constants: Sequence[int]) -> Compute:
    """A function that prepares something of its arguments at `constants`: compiles a pattern, or parses a template.

    `compute(*constant values)` gives the function of the other columns. It is called once per combination of constants
    in the rows, of which there is almost always one, and the result computes all rows of that combination at once.
    """
    prepare = lru_cache(maxsize=256)(compute)

    def computed(*columns: pa.Array) -> pa.Array:
        fixed = [columns[k] for k in constants]
        others = [column for k, column in enumerate(columns) if k not in constants]
        codes = reduce(_combined, [column.dictionary_encode().indices.to_numpy() for column in fixed])
        if not codes.any():
            return prepare(*[value_of(column, 0) for column in fixed])(*others)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        pieces = []
        for begin, end in zip(starts, [*starts[1:], len(order)], strict=True):
            rows = pa.array(order[begin:end])
            values = [value_of(column, int(order[begin])) for column in fixed]
            pieces.append(prepare(*values)(*[column.take(rows) for column in others]))
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_arrays(pieces).take(pa.array(back))

    return computed


def _combined(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    pairs = left.astype(np.int64) * (int(right.max()) + 1) + right
    return np.unique(pairs, return_inverse=True)[1]


def by_row(one: Callable[..., object], result: pa.DataType) -> Compute:
    """A column function made of a function of one row's Python values, for what Arrow and NumPy cannot compute.

    Equal rows are computed once. Raises QueryCanceled between two rows.
    """

    def computed(*columns: pa.Array) -> pa.Array:
        memory: dict[tuple[object, ...], object] = {}
        values = []
        for row in zip(*[values_of(column) for column in columns], strict=True):
            if row not in memory:
                look()
                memory[row] = one(*row)
            values.append(memory[row])
        return pa.array(values, result)

    return computed


def in_slices(compute: Compute) -> Compute:
    """A function of one column of texts that Arrow computes; slice by slice if the texts are long.

    Arrow cannot be interrupted. Between slices the statement may be cancelled, or be told that its result is too large.
    """

    def computed(texts: pa.Array) -> pa.Array:
        rows = max(_SLICE_BYTES * len(texts) // max(texts.nbytes, 1), 1)
        if rows >= len(texts):
            return compute(texts)
        limits, pieces, size = current_limits(), [], 0
        for begin in range(0, len(texts), rows):
            limits.look()
            piece = compute(texts.slice(begin, rows))
            size += piece.nbytes
            limits.check(size, "a function's results")
            pieces.append(piece)
        return pa.concat_arrays(pieces)

    return computed


def fail_where(mask: pa.Array | np.ndarray[Any, Any], error: Callable[[str], SqlError] | str, message: str) -> None:
    """Raises if any row of `mask` holds; `error` is a class of errors or a SQLSTATE."""
    found = mask.any() if isinstance(mask, np.ndarray) else pc.any(mask, min_count=0).as_py()
    if found:
        raise SqlError(message, sqlstate=error) if isinstance(error, str) else error(message)
