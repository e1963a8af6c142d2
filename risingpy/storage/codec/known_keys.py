"""The keys that were encoded last on a shard, for whoever encodes the same columns next.

The calls of one aggregate look up the same groups, each in its own table, and then write them: only the table ids
at the keys' beginning differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import address
from risingpy.storage.codec.table_schema import KeyColumn, ValueFormat
from risingpy.storage.kernels import keys as kernels
from risingpy.types import SqlType

# The order of the key's columns, their types, which of them tell the vnode, and the rows' format if keys depend on it.
KeyShape = tuple[tuple[KeyColumn, ...], tuple[SqlType, ...], tuple[int, ...], ValueFormat | None]


class KnownKeys:
    """Remembers the keys of one batch of columns, in each table that asked for them.

    Columns and shapes are known by their identity.
    """

    def __init__(self) -> None:
        self._columns: list[pa.Array] = []
        self._shape: KeyShape | None = None
        self._keys: dict[int, pa.BinaryArray] = {}  # by table: those that are looked up are written afterwards

    def find(self, table_id: int, shape: KeyShape, columns: Sequence[pa.Array]) -> pa.BinaryArray | None:
        """The keys of `columns` in a table whose keys have this shape, if they are those of the last batch."""
        if not self._keys or len(columns) != len(self._columns):
            return None
        if any(a is not b for a, b in zip(columns, self._columns, strict=True)) or shape is not self._shape:
            return None
        found = self._keys.get(table_id)
        if found is None:
            found = self._keys[table_id] = _in_table(next(iter(self._keys.values())), table_id)
        return found

    def remember(self, table_id: int, shape: KeyShape, columns: Sequence[pa.Array], keys: pa.BinaryArray) -> None:
        """These are the last ones now."""
        self._shape, self._columns, self._keys = shape, list(columns), {table_id: keys}


def _in_table(keys: pa.BinaryArray, table_id: int) -> pa.BinaryArray:
    """Whole keys, as they were encoded, with another table's id."""
    _, offsets, data = keys.buffers()
    copied = np.frombuffer(data, np.uint8).copy()
    kernels.write_table_ids(address(copied), len(keys), table_id, offsets.address)
    return pa.BinaryArray.from_buffers(pa.binary(), len(keys), [None, offsets, pa.py_buffer(copied)], null_count=0)
