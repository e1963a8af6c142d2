"""Expand: makes several copies of every row and numbers them, for GROUPING SETS and several DISTINCT aggregates."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


class ExpandExecutor:
    """Output: the input's columns, then the number of the copy (bigint, from 0)."""

    def __init__(self, *, copies: int) -> None:
        self._copies = copies

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        name = f"c{changes.num_columns - 1}"
        rows = changes.num_rows
        return pa.concat_tables(
            changes.append_column(name, pa.repeat(pa.scalar(number, pa.int64()), rows))
            for number in range(self._copies)
        )
