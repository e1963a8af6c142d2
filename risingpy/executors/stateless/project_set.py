"""ProjectSet: one row per element of an array; several arrays go in step, and the shorter ones end in NULLs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import columns_of, consolidated, make_chunk, ops_of
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.statement_limits import BYTES_OF_OUTPUT_ROW, current_limits
from risingpy.types import DOUBLE, SqlType, TypeKind

_SERIES = ("generate_series", "range")
Integers = npt.NDArray[np.int64]


class ProjectSetExecutor:
    """`evaluator` computes the lists; `errors` counts those that failed. `outer`: an empty list gives a row, too.

    Output: the input's columns, the element's number (bigint, from 1), then an element of each list. An update that
    changes only some elements gives only their rows: equal ones cancel.
    """

    def __init__(self, *, evaluator: Evaluator, sizes: SeriesSizes, types: Sequence[SqlType], outer: bool) -> None:
        self._evaluator = evaluator
        self._sizes = sizes
        self._types = types
        self._outer = outer
        self.errors = 0

    def _check_size(self, changes: pa.Table) -> None:
        """Raises OutOfMemory if the output rows would be larger than the epoch's share of memory."""
        width = changes.nbytes / max(changes.num_rows, 1) + BYTES_OF_OUTPUT_ROW
        current_limits().check(int(self._sizes.total(changes) * width), "the rows of a set")

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        self._check_size(changes)
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


class SeriesSizes:
    """How many elements the series (generate_series, range) among the lists will have, computed before they are made.

    Only series of numbers are computed so; those of timestamps are not counted.
    """

    def __init__(self, lists: Sequence[Expr]) -> None:
        calls = [each for each in lists if isinstance(each, Call) and each.function in _SERIES]
        self._bounds = [[*call.args, Literal(1, call.args[0].type)][:3] for call in calls if _counts(call)]
        self._evaluator = Evaluator(None, [Cast(each, DOUBLE) for bounds in self._bounds for each in bounds])

    def total(self, changes: pa.Table) -> float:
        """The number of elements in all rows together; a series with a bound that fails or is NULL has none."""
        if not self._bounds:
            return 0
        computed, _ = self._evaluator.evaluate(changes)
        values = [pc.fill_null(column, np.nan).to_numpy() for column in columns_of(computed)]
        total = 0.0
        for first, last, step in zip(values[::3], values[1::3], values[2::3], strict=True):
            with np.errstate(all="ignore"):
                lengths = np.floor((last - first) / step) + 1
            total += float(np.where(np.isfinite(lengths) & (lengths > 0), lengths, 0).sum())
        return total


def _counts(series: Call) -> bool:
    return all(arg.type.is_integer or arg.type.kind is TypeKind.NUMERIC for arg in series.args)


def _lengths(lists: pa.ListArray) -> Integers:
    lengths: Integers = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _elements(lists: pa.ListArray, lengths: Integers, rows: Integers, places: Integers) -> pa.Array:
    """For each k, the element at `places[k]` of the list in row `rows[k]`; NULL after the list's end."""
    starts = lists.offsets.to_numpy()[:-1].astype(np.int64)
    beyond = places >= lengths[rows]
    return lists.values.take(pa.array(np.where(beyond, 0, starts[rows] + places), mask=beyond))
