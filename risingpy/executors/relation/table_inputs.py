"""TableInputs: puts the rows of a table's source behind those of its log, in the order in which the source has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import whole


class TableInputsExecutor:
    """The source's rows have their number in the source as one column more."""

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        logged, fed = inputs
        if not fed.num_rows:
            return logged
        numbers = whole(fed.column(fed.num_columns - 1)).to_numpy()
        if (numbers[:-1] > numbers[1:]).any():
            fed = fed.take(pa.array(np.argsort(numbers, kind="stable")))
        rows = fed.select(range(logged.num_columns))
        return pa.concat_tables([logged, rows]) if logged.num_rows else rows
