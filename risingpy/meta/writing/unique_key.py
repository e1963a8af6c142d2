"""What key a row has in a unique index, told from the row's columns: some of them, or what expressions make of them.

    UNIQUE INDEX (lower(a)) WHERE b   =>   ('x',) of the row ('X', true), (None,) of the row ('X', false)

A row that a partial index has not has a NULL as its key, which is like no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.meta.writing.row_keys import RowKey, has_one_form, values_as_keys
from risingpy.plan.catalog import Index, Table
from risingpy.plan.catalog.index_keys import keys_if_indexed
from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Expr, InputRef
from risingpy.types import SqlType

Columns = Sequence[pa.Array | pa.ChunkedArray]


class CannotCompute(Exception):
    """An expression of the key fails for one of the rows: whoever writes the row gets the error from the evaluator."""


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """`types` are those of the key's values, `reads` the positions of the columns that they are told from.

    `places` are these positions in the order of the key, if its values are the columns themselves.
    """

    types: tuple[SqlType, ...]
    reads: frozenset[int]
    places: tuple[int, ...] | None
    _computed: Evaluator | None = None

    def values(self, columns: Columns) -> Columns:
        """The values of rows' keys, as arrays, from all columns of the table. Raises CannotCompute."""
        if self.places is not None:
            return [columns[place] for place in self.places]
        assert self._computed is not None
        names = ["op", *(f"c{place}" for place in range(len(columns)))]
        rows = pa.table([pa.array(np.ones(len(columns[0]), np.int8)), *columns], names=names)
        answer, errors = self._computed.evaluate(rows)
        if errors:
            raise CannotCompute
        return [each.combine_chunks() for each in answer.columns[1:]]

    def keys(self, columns: Columns) -> list[RowKey]:
        """The same as values that can be locked and looked up. Raises CannotCompute."""
        return values_as_keys(self.types, self.values(columns))


def unique_key(table: Table, index: Index) -> UniqueKey | None:
    """How rows' keys in a unique index of the table are told; None if rows cannot be found by them.

    None for a deferrable one: a key may stand in several rows for a while, and be given up by one that was not the last
    to take it, so the newest write of a key does not tell who has it.
    """
    if index.deferrable:
        return None
    keys = tuple(keys_if_indexed(index.index, table))
    types = tuple(key.type for key in keys)
    if not all(map(has_one_form, types)):
        return None
    columns = tuple(key.index for key in keys if isinstance(key, InputRef))
    if len(columns) < len(keys):
        return _computed_key(keys, types)
    return UniqueKey(types, frozenset(columns), columns) if len(set(columns)) == len(columns) else None


@lru_cache(maxsize=256)
def _computed_key(keys: tuple[Expr, ...], types: tuple[SqlType, ...]) -> UniqueKey:
    """The evaluator is compiled once, and not for each group of the log."""
    reads = frozenset(place for key in keys for place in columns_read(key))
    return UniqueKey(types, reads, None, Evaluator(None, keys))
