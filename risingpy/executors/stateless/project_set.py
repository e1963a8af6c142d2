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
from risingpy.types import DOUBLE, INTEGER, NARROW_NUMERIC, SqlType, TypeKind

_SERIES = ("generate_series", "range", "generate_series_at", "range_at")
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

    Those of moments are counted by their distance, with months of 30 days: a few days more or less do not matter.
    """

    def __init__(self, lists: Sequence[Expr]) -> None:
        bounds = [bounds for each in lists if isinstance(each, Call) and (bounds := _bounds(each)) is not None]
        self._number = len(bounds)
        self._evaluator = Evaluator(None, [Cast(each, DOUBLE) for series in bounds for each in series])

    def total(self, changes: pa.Table) -> float:
        """The number of elements in all rows together; a series with a bound that fails or is NULL has none."""
        if not self._number:
            return 0
        computed, _ = self._evaluator.evaluate(changes)
        values = [pc.fill_null(column, np.nan).to_numpy() for column in columns_of(computed)]
        total = 0.0
        for first, last, step in zip(values[::3], values[1::3], values[2::3], strict=True):
            with np.errstate(all="ignore"):
                lengths = np.floor((last - first) / step) + 1
            total += float(np.where(np.isfinite(lengths) & (lengths > 0), lengths, 0).sum())
        return total


def _bounds(series: Call) -> list[Expr] | None:
    """First, last and step of a series as numbers, those of moments in seconds; None for any other list."""
    if series.function not in _SERIES:
        return None
    first, last, *rest = series.args
    if first.type.is_integer or first.type.kind is TypeKind.NUMERIC:
        return [first, last, rest[0] if rest else Literal(1, INTEGER)]
    return [Call("extract_epoch", (each,), NARROW_NUMERIC) for each in (first, last, rest[0])]


def _lengths(lists: pa.ListArray) -> Integers:
    lengths: Integers = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _elements(lists: pa.ListArray, lengths: Integers, rows: Integers, places: Integers) -> pa.Array:
    """For each k, the element at `places[k]` of the list in row `rows[k]`; NULL after the list's end."""
    starts = lists.offsets.to_numpy()[:-1].astype(np.int64)
    beyond = places >= lengths[rows]
    return lists.values.take(pa.array(np.where(beyond, 0, starts[rows] + places), mask=beyond))
