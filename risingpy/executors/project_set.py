"""ProjectSet: rows for the elements of arrays, in step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import columns_of, consolidated, make_chunk, ops_of
from risingpy.executors.expression.evaluate import Evaluator
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]


class ProjectSetExecutor:
    """`evaluator` computes the lists. Rows of elements that an update leaves as they were stay; `errors` counts."""

    def __init__(self, *, evaluator: Evaluator, types: Sequence[SqlType], outer: bool) -> None:
        self._evaluator = evaluator
        self._types = types
        self._outer = outer
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        computed, self.errors = self._evaluator.evaluate(changes)
        lists = columns_of(computed)
        lengths = [_lengths(each) for each in lists]
        longest = np.maximum.reduce(lengths)
        counts = np.maximum(longest, 1) if self._outer else longest
        rows = np.repeat(np.arange(len(counts)), counts)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers = pa.array(places + 1, pa.int64(), mask=places >= longest[rows])
        elements = [_elements(each, n, rows, places) for each, n in zip(lists, lengths, strict=True)]
        index = pa.array(rows)
        kept = [column.take(index) for column in columns_of(changes)]
        return consolidated(make_chunk(ops_of(changes)[rows], [*kept, numbers, *elements]), self._types)


def _lengths(lists: pa.ListArray) -> Integers:
    lengths: Integers = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _elements(lists: pa.ListArray, lengths: Integers, rows: Integers, places: Integers) -> pa.Array:
    """The element at `places[k]` of the list in row `rows[k]`, NULL beyond the list's end."""
    starts = lists.offsets.to_numpy()[:-1].astype(np.int64)
    beyond = places >= lengths[rows]
    return lists.values.take(pa.array(np.where(beyond, 0, starts[rows] + places), mask=beyond))
