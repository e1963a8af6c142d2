"""TableInputs: what a table gets in an epoch, in the order in which it counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.executors.change_chunk import deletes_first
from risingpy.storage.codec.column_buffers import whole


class TableInputsExecutor:
    """Puts the log first, then the source's rows as the source has them, then what each sink has changed.

    With `is_fed`, the second input has the source's rows. They have their number in the source as one column more.
    """

    def __init__(self, *, is_fed: bool) -> None:
        self._is_fed = is_fed

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        logged, *rest = inputs
        parts = [logged]
        if self._is_fed:
            parts.append(_in_order(rest.pop(0), logged.num_columns))
        parts += [deletes_first(changes) for changes in rest]  # the rows of a key come from several shards
        some = [part for part in parts if part.num_rows]
        return pa.concat_tables(some) if len(some) > 1 else some[0] if some else logged


def _in_order(fed: pa.Table, width: int) -> pa.Table:
    """The source's rows in the order of their numbers, without these."""
    if not fed.num_rows:
        return fed
    numbers = whole(fed.column(fed.num_columns - 1)).to_numpy()
    if (numbers[:-1] > numbers[1:]).any():
        fed = fed.take(pa.array(np.argsort(numbers, kind="stable")))
    return fed.select(range(width))
