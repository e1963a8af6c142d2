"""FORMAT PLAIN and FORMAT UPSERT: a message is a row, and with UPSERT a delete is a tombstone.

PLAIN sends inserts alone: the sink is append-only, and the engine lets no delete through. UPSERT sends an update as the
new row, whose key replaces the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from risingpy.connectors.targets.encoders.changes import column, ops_of, pair_updates
from risingpy.connectors.targets.encoders.encoder import Messages


class RowTexts(Protocol):
    """Writes a text for each row of some columns."""

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """A string or binary array as long as the arrays."""
        ...


@dataclass(frozen=True, slots=True)
class PlainMessages:
    """A `MessageEncoder` of rows that were inserted. `keys` is None without a primary key: then no message has one."""

    key_columns: tuple[int, ...]
    columns: int
    keys: RowTexts | None
    values: RowTexts

    def encode(self, changes: pa.Table) -> Messages:
        positions = pa.array(np.flatnonzero(ops_of(changes) > 0))
        arrays = [column(changes, index).take(positions) for index in range(self.columns)]
        values = as_bytes(self.values.rows(arrays))
        if self.keys is None:
            return Messages(pa.nulls(len(values), pa.binary()), values)
        return Messages(as_bytes(self.keys.rows([arrays[index] for index in self.key_columns])), values)


@dataclass(frozen=True, slots=True)
class UpsertMessages:
    """A `MessageEncoder` of a key and its row, or a tombstone where the row is gone."""

    key_columns: tuple[int, ...]
    columns: int
    keys: RowTexts
    values: RowTexts

    def encode(self, changes: pa.Table) -> Messages:
        keys = as_bytes(self.keys.rows([column(changes, index) for index in self.key_columns]))
        updates = pair_updates(ops_of(changes), keys)
        sent = updates.after >= 0
        positions = pa.array(updates.after[sent])
        rows = as_bytes(self.values.rows([column(changes, index).take(positions) for index in range(self.columns)]))
        at = pa.array(np.cumsum(sent) - 1, mask=~sent)  # a tombstone takes no row: its position is NULL
        return Messages(keys.take(pa.array(updates.rows)), rows.take(at))


def as_bytes(texts: pa.Array) -> pa.Array:
    """Texts as the bytes that messages have."""
    return texts.cast(pa.binary())
