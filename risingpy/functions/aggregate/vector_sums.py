"""sum and avg of vectors: each dimension's sum is exact (`exact_sums`), and only the result is rounded to a real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.exact_sums import rounded, sum_floats, sum_sums
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.kernels import add_integers
from risingpy.functions.aggregate.value_state import (
    ValueState,
    integers_of,
    merged_integers,
    present,
    signed_counts,
)
from risingpy.storage.codec.column_buffers import whole
from risingpy.types.packed.float_vector import column_of, reals_of

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VectorSum(ValueState):
    """The state: the sum of each dimension, the number of vectors, and sums of their dimensions' numbers and squares.

    These numbers tell whether all vectors have equally many dimensions: n of d have n·d and n·d², and no others do.
    So a vector of another number may come and go again, and the group's result fails only while it is there.
    """

    average: bool

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        reals, starts = reals_of(argument)
        sizes = np.diff(starts)
        longest = int(sizes.max(initial=0))
        codes = _dimensions(rows.codes, starts, longest)
        signs = np.repeat(rows.signs, sizes)
        sums = sum_floats(codes, signs, rows.groups * longest, reals.astype(np.float64))
        totals = np.zeros((2, rows.groups), np.int64)
        for total, values in zip(totals, (sizes, sizes * sizes), strict=True):
            add_integers(rows.codes, rows.signs, values, total)
        return [_lists(sums, rows.groups, longest), *map(pa.array, (signed_counts(rows), *totals))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        starts, sums = _parts(states[0])
        longest = int(np.diff(starts).max(initial=0))
        merged = sum_sums(_dimensions(codes, starts, longest), groups * longest, sums)
        return [_lists(merged, groups, longest), *(merged_integers(codes, groups, state) for state in states[1:])]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        count, total, squares = (integers_of(state) for state in states[1:])
        empty = count == 0
        divisor = np.where(empty, 1, count)
        size = np.where(empty, 0, total // divisor)
        failed = ~empty & ((size * count != total) | (squares != size * total))
        size[failed] = 0
        starts, sums = _parts(states[0])
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
        chosen = np.repeat(starts[:-1] - ends[:-1], size) + np.arange(ends[-1])
        values = rounded(sums.take(pa.array(chosen)), single=not self.average)
        if self.average:
            values /= np.repeat(divisor, size)
        with np.errstate(over="ignore"):
            infinite = ~np.isfinite(values.astype(np.float32))
        too_large = np.zeros(len(count), np.bool_)
        too_large[np.repeat(np.arange(len(count)), size)[infinite]] = True
        values[infinite] = 0.0
        failed |= too_large
        valid = pa.py_buffer(np.packbits(~(empty | failed), bitorder="little"))
        return column_of(values, ends, valid), int(failed.sum())


def _dimensions(codes: Integers, starts: Integers, longest: int) -> Integers:
    """For each dimension of each row the number of that dimension of the row's group."""
    sizes = np.diff(starts)
    return np.repeat(codes * longest - starts[:-1], sizes) + np.arange(starts[-1])


def _lists(sums: pa.Array, groups: int, longest: int) -> pa.Array:
    offsets = pa.array((longest * np.arange(groups + 1)).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, sums)


def _parts(lists: pa.Array) -> tuple[Integers, pa.Array]:
    """Where each list begins, and all items; NULL is an empty list."""
    sizes = np.asarray(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return starts, whole(lists.flatten())
