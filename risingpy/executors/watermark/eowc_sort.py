"""EowcSort: holds rows until the watermark has passed them, and then gives each once, in final form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import columns_of, deletes_first, make_chunk, ops_of
from risingpy.storage.engine.state_table import StateTable


class EowcSortExecutor:
    """`table` begins with the watermark column. `bound` is its watermark (one value; None: nothing passes yet)."""

    def __init__(self, *, table: StateTable, bound: pa.Array | None, empty: pa.Table) -> None:
        self._table = table
        self._bound = bound
        self._empty = empty

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = deletes_first(inputs[0])
        self._table.apply_changes(ops_of(changes), columns_of(changes))
        if self._bound is None:
            return self._empty
        passed = self._table.scan_below(self._bound)
        if not passed.num_rows:
            return self._empty
        self._table.delete_below(self._bound)
        return make_chunk(np.ones(passed.num_rows, np.int8), passed.columns)
