"""WatermarkFilter: drops rows that come too late, and reports how far the others move the watermark.

Rows are compared with the watermark of the epochs before, not with one that moves within the epoch: shards see
different rows, and all must drop alike, also when the epoch is repeated after a failure.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.watermark.bound import watermark_number
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.storage.codec.column_buffers import whole


class WatermarkFilterExecutor:
    """Passes the rows whose `column` is not below `watermark` (one value; None: there is none yet, and all pass).

    `reached` is the greatest value of the watermark's expression over these rows, None if there is none. `errors`
    counts the evaluations of it that failed.
    """

    def __init__(self, *, column: int, expression: Evaluator, watermark: pa.Array | None) -> None:
        self._column = column
        self._expression = expression
        self._watermark = watermark
        self.reached: int | None = None
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (rows,) = inputs
        if self._watermark is not None:
            in_time = pc.greater_equal(rows.column(1 + self._column), self._watermark[0])
            if not pc.all(in_time, skip_nulls=False).as_py():
                rows = rows.filter(in_time)
        values, self.errors = self._expression.evaluate(rows)
        self.reached = watermark_number(whole(values.column(1)))
        return rows
