"""Deletes rows that no row to come can concern, a part of the table in every epoch, in rounds.

The watermark bounds an expression of a row, and the table is sorted by the key of a join or a partition: passed rows
are not next to each other, and finding all of them would take a whole scan. So each epoch checks a slice, larger if
more rows come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import make_chunk
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.engine.state_table import StateTable

# An epoch checks two rows for each row that comes, and at least a thousand. A round so ends before the table has
# doubled: the dead rows are never more than a constant factor of the live ones.
LEAST_ROWS = 1000
ROWS_PER_INPUT_ROW = 2


@dataclass(slots=True)
class PassedRowsSweep:
    """`expression` reads the table's columns. The sweep remembers in memory how far each shard's round has come.

    After a restart the round begins again: a row that the lost one has not checked is checked by the next.
    """

    expression: Evaluator
    _positions: dict[int, bytes | None] = field(default_factory=dict)

    def run(
        self,
        table: StateTable,
        degrees: StateTable | None,
        bound: pa.Array,
        *,
        shard: int,
        vnodes: Sequence[int],
        input_rows: int,
    ) -> None:
        """Deletes the rows whose expression is below the one value of `bound`, and their degrees."""
        limit = max(LEAST_ROWS, ROWS_PER_INPUT_ROW * input_rows)
        rows, self._positions[shard] = table.scan(vnodes, self._positions.get(shard), limit)
        if not rows.num_rows:
            return
        chunk = make_chunk(np.ones(rows.num_rows, np.int8), rows.columns)
        values = whole(self.expression.evaluate(chunk)[0].column(1))
        passed = pc.less(values, bound[0]).fill_null(False)
        gone = [whole(column).filter(passed) for column in rows.columns]
        ops = np.full(len(gone[0]), -1, np.int8)
        table.apply(ops, gone)
        if degrees is not None:
            key = [gone[column.index] for column in table.schema.key]
            degrees.apply(ops, [*key, pa.nulls(len(ops), pa.int64())])
