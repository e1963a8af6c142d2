"""LocalTopN: the first phase of a TopN. It drops the epoch's insertions that cannot be among the first rows.

A row that has `reach` better ones on its own shard has as many in the whole, so it need not cross the exchange. This
holds only for inputs that never retract those better rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import columns_of
from risingpy.functions.aggregate.grouping import canonical_column
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import encode_keys
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import SqlType


class LocalTopNExecutor:
    """Output: the first `reach` rows of the epoch; if `with_ties`, also the rows that tie with the last of them.

    The key of `order` is the ORDER BY (its first `ordered` columns), then the stream key.
    """

    def __init__(
        self, *, order: TableSchema, types: Sequence[SqlType], ordered: int, reach: int, with_ties: bool
    ) -> None:
        self._order = order
        self._types = types
        self._ordered = ordered
        self._reach = reach
        self._with_ties = with_ties

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        if changes.num_rows <= self._reach:
            return changes
        columns = columns_of(changes)
        key = [canonical_column(columns[part.index], self._types[part.index]) for part in self._order.key]
        rows = sort_indices(self._encoded(key))
        first = rows[: self._reach]
        if not self._with_ties:
            return changes.take(pa.array(first))
        values = self._encoded(key[: self._ordered])
        up_to_last = pc.less_equal(values, values[int(first[-1])])  # by the order alone
        return changes.filter(up_to_last)

    def _encoded(self, key: Sequence[pa.Array]) -> pa.BinaryArray:
        return encode_keys(self._order, key, np.zeros(len(key[0]), np.uint16))
