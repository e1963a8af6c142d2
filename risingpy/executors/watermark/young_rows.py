"""Stores the rows that a view WITH (ttl = …) reads, until `AgingRows` deletes them.

What comes of a row that has ended already is no change of what is stored: its deletion is left out, and its update is
a row that comes.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, columns_of, deletes_first, ops_of
from risingpy.storage.engine.state_table import StateTable


class YoungRows:
    """Applies the input's changes to `table`, which has the input's columns, and passes on those that it applies."""

    def __init__(self, table: StateTable) -> None:
        self._table = table
        self._key = [each.index for each in table.schema.key]

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        changes = deletes_first(inputs[0])
        if not changes.num_rows:
            return changes
        columns, gone = columns_of(changes), ops_of(changes) == DELETE
        if gone.any():
            there = ~gone
            there[gone], _ = self._table.get_rows([columns[i].filter(pa.array(gone)) for i in self._key])
            if not there.all():
                changes = changes.filter(pa.array(there))
        self._table.apply_changes(ops_of(changes), columns_of(changes))
        return changes
