"""Values: inserts constant rows in the job's first epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.engine.state_table import StateTable


class ValuesExecutor:
    """Emits the rows once, on the shard of vnode 0; `marker` stores that it has."""

    def __init__(self, *, rows: Callable[[], pa.Table], empty: pa.Table, marker: StateTable, shard: int) -> None:
        self._rows = rows
        self._empty = empty
        self._marker = marker
        self._shard = shard

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        if self._shard != 0 or self._marker.get_row(()) is not None:
            return self._empty
        self._marker.apply(np.array([1], np.int8), [pa.array([True])])
        return self._rows()
