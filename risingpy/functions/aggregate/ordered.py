"""Aggregates whose result depends on all rows of a group, in order: each is a function over sorted rows.

The rows come group by group. `owners[i]` is the group of row i, in ascending order, and `columns` are the call's
arguments. Rows that do not count (`counted_arguments`) are left out before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.aggregate.grouping import canonical_column, encoded_rows
from risingpy.storage.codec.group_keys import group_rows
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# (owners, groups, columns) → each group's result, and how many of them failed and are NULL
GroupFunction = Callable[[Integers, int, Sequence[pa.Array]], tuple[pa.Array, int]]


def group_function(function: str, result_type: SqlType) -> GroupFunction:
    """The function of this name, whose result is of `result_type`."""
    match function:
        case "string_agg":
            return joined_texts
        case "array_agg":
            return lambda owners, groups, columns: (gathered(owners, groups, columns[0], result_type), 0)
        case "mode":
            return lambda owners, groups, columns: (most_frequent(owners, groups, columns[0], result_type), 0)
        case "percentile_disc":
            return discrete_percentile
        case "percentile_cont":
            return continuous_percentile
    raise ValueError(f"no aggregate of whole groups is called {function}")


def counted_arguments(function: str) -> tuple[int, ...]:
    """The arguments that must not be NULL for a row to count."""
    match function:
        case "min" | "max" | "string_agg" | "mode":
            return (0,)
        case "percentile_disc" | "percentile_cont":
            return (1,)
        case _:
            return ()


def joined_texts(owners: Integers, groups: int, columns: Sequence[pa.Array]) -> tuple[pa.Array, int]:
    """string_agg(text, separator): every text but the first with its separator in front; a NULL separator is none.

    Byte strings likewise.
    """
    texts, separators = columns
    starts, sizes = _groups(owners, groups)
    firsts = np.zeros(len(owners), np.bool_)
    firsts[starts[sizes > 0]] = True
    nothing = pa.scalar(b"", pa.binary()).cast(texts.type)
    separators = pc.if_else(pa.array(firsts), nothing, pc.fill_null(separators, nothing))
    parts = pc.binary_join_element_wise(separators, texts, nothing)
    lists = pa.ListArray.from_arrays(pa.array(np.append(starts, len(owners)), pa.int32()), parts)
    return pc.if_else(pa.array(sizes > 0), pc.binary_join(lists, nothing), pa.scalar(None, parts.type)), 0


def gathered(owners: Integers, groups: int, values: pa.Array, type_: SqlType) -> pa.Array:
    """array_agg: the values, NULLs too; NULL of none."""
    starts, sizes = _groups(owners, groups)
    offsets = pa.array(np.append(starts, len(owners)).astype(np.int32), mask=np.append(sizes == 0, False))
    return pa.ListArray.from_arrays(offsets, values).cast(type_.arrow)


def most_frequent(owners: Integers, groups: int, values: pa.Array, type_: SqlType) -> pa.Array:
    """mode: the first of the most frequent values."""
    codes, _ = group_rows(encoded_rows([canonical_column(values, type_)], [type_], len(values)))
    begins = np.ones(len(owners), np.bool_)
    begins[1:] = (owners[1:] != owners[:-1]) | (codes[1:] != codes[:-1])
    runs = np.flatnonzero(begins)
    lengths = np.diff(np.append(runs, len(owners)))
    # The longest run of each group, the first of equals: sorted by group, then by length downwards, stably.
    order = np.lexsort((-lengths, owners[runs]))
    present, best = np.unique(owners[runs][order], return_index=True)
    rows = np.full(groups, -1, np.int64)
    rows[present] = runs[order][best]
    return values.take(pa.array(rows, mask=rows < 0))


def discrete_percentile(owners: Integers, groups: int, columns: Sequence[pa.Array]) -> tuple[pa.Array, int]:
    """percentile_disc: the first value for which at least the fraction of the rows is not greater."""
    fractions, values = columns
    starts, sizes = _groups(owners, groups)
    fraction, valid, failed = _fractions(fractions, starts, sizes)
    rows = starts + np.maximum(np.ceil(fraction * sizes).astype(np.int64), 1) - 1
    return values.take(pa.array(rows, mask=~valid)), failed


def continuous_percentile(owners: Integers, groups: int, columns: Sequence[pa.Array]) -> tuple[pa.Array, int]:
    """percentile_cont: the value at the fraction of the way from the first to the last, between two rows if need be."""
    fractions, values = columns
    starts, sizes = _groups(owners, groups)
    fraction, valid, failed = _fractions(fractions, starts, sizes)
    place = fraction * np.maximum(sizes - 1, 0)
    below, above = np.floor(place), np.ceil(place)
    if not len(values):
        return pa.nulls(groups, pa.float64()), failed
    numbers = np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
    last = len(numbers) - 1
    low = numbers[np.minimum(starts + below.astype(np.int64), last)]
    high = numbers[np.minimum(starts + above.astype(np.int64), last)]
    with np.errstate(invalid="ignore"):
        between = low + (place - below) * (high - low)
    return pa.array(np.where(below == above, low, between), mask=~valid), failed


def _groups(owners: Integers, groups: int) -> tuple[Integers, Integers]:
    """Each group's first row and number of rows."""
    sizes = np.bincount(owners, minlength=groups).astype(np.int64)
    return np.cumsum(sizes) - sizes, sizes


def _fractions(column: pa.Array, starts: Integers, sizes: Integers) -> tuple[Floats, Mask, int]:
    """Each group's fraction (0 where there is none), which groups have a result, and how many fractions are wrong."""
    firsts = column.take(pa.array(starts, mask=sizes == 0))
    given = firsts.is_valid().to_numpy(zero_copy_only=False)
    fraction = np.asarray(firsts.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
    inside = (fraction >= 0) & (fraction <= 1)
    return np.where(inside, fraction, 0.0), given & inside, int((~inside).sum())
