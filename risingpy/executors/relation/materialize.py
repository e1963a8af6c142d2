"""Materialize: stores a relation, and passes on how it changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import DELETE, INSERT, columns_of, deletes_first, distinct_rows, make_chunk, ops_of
from risingpy.executors.relation.conflicts import ConflictRule, standing_rows
from risingpy.storage.codec.group_keys import group_rows, last_rows
from risingpy.storage.codec.key_encoding import compute_vnodes, encode_keys
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.state_table import StateTable

Positions = npt.NDArray[np.int64]


class MaterializeExecutor:
    """The input is a consolidated change stream by the relation's key: it is stored as it is."""

    def __init__(self, *, table: StateTable) -> None:
        self._table = table

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (delta,) = inputs
        if delta.num_rows:
            ordered = deletes_first(delta)  # of an update, the +1 must be written last
            self._table.apply_changes(ops_of(ordered), columns_of(ordered))
        return delta


class OverwriteMaterializeExecutor:
    """The input is a table's log, in order: the last write of a key wins.

    The stored rows of the written keys are read, so that the output is a change stream: −1 of what stood there, +1 of
    what stands there now, and nothing where the two are equal.
    """

    def __init__(self, *, table: StateTable, schema: TableSchema) -> None:
        self._table = table
        self._schema = schema
        self._key = [column.index for column in schema.key]

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (logged,) = inputs
        if not logged.num_rows:
            return logged
        last = logged.take(pa.array(self._last_writes(logged)))
        ops, columns = ops_of(last), columns_of(last)
        found, stored_values = self._table.get_rows([columns[index] for index in self._key])
        stored = _stored_rows(self._schema, columns, stored_values)
        changed = found != (ops == INSERT)
        both = found & (ops == INSERT)
        if both.any():
            changed |= both & distinct_rows(columns, stored, len(ops))
        gone = np.flatnonzero(found & changed)
        came = np.flatnonzero((ops == INSERT) & changed)
        return _written(self._table, stored, gone, columns, came)

    def _last_writes(self, logged: pa.Table) -> Positions:
        """The position of each key's last change, in log order."""
        keys = [logged.column(f"c{index}").combine_chunks() for index in self._key]
        return last_rows(encode_keys(self._schema, keys, compute_vnodes([], logged.num_rows)))


class ConflictMaterializeExecutor:
    """As `OverwriteMaterializeExecutor`, with another rule than that the last write wins."""

    def __init__(self, *, table: StateTable, schema: TableSchema, rule: ConflictRule) -> None:
        self._table = table
        self._schema = schema
        self._rule = rule
        self._key = [column.index for column in schema.key]

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (logged,) = inputs
        if not logged.num_rows:
            return logged
        ops, columns = ops_of(logged), columns_of(logged)
        keys = [columns[index] for index in self._key]
        codes, firsts = group_rows(encode_keys(self._schema, keys, compute_vnodes([], len(ops))))
        once = [column.take(pa.array(firsts)) for column in columns]
        found, stored_values = self._table.get_rows([once[index] for index in self._key])
        stored = _stored_rows(self._schema, once, stored_values)
        standing = np.flatnonzero(found)
        histories = [
            pa.concat_arrays([old.take(pa.array(standing)), new]) for old, new in zip(stored, columns, strict=True)
        ]
        all_ops = np.concatenate([np.full(len(standing), INSERT, np.int8), ops])
        owners = np.concatenate([standing, codes.astype(np.int64)])
        stands, rows = standing_rows(self._rule, all_ops, histories, owners, len(firsts))
        changed = found != stands
        if (found & stands).any():
            changed |= found & stands & distinct_rows(rows, stored, len(firsts))
        return _written(self._table, stored, np.flatnonzero(found & changed), rows, np.flatnonzero(stands & changed))


def _stored_rows(schema: TableSchema, columns: Sequence[pa.Array], values: Sequence[pa.Array]) -> list[pa.Array]:
    """Whole rows from what was found; the key columns are what they were looked up by."""
    stored = list(columns)
    for index, array in zip(schema.value_columns, values, strict=True):
        stored[index] = array
    return stored


def _written(
    table: StateTable, stored: Sequence[pa.Array], gone: Positions, columns: Sequence[pa.Array], came: Positions
) -> pa.Table:
    """Stores what came in place of what went, and gives the change."""
    going, coming = pa.array(gone), pa.array(came)
    output = [pa.concat_arrays([old.take(going), new.take(coming)]) for old, new in zip(stored, columns, strict=True)]
    ops = np.concatenate([np.full(len(gone), DELETE, np.int8), np.full(len(came), INSERT, np.int8)])
    if len(ops):
        table.apply(ops, output)
    return make_chunk(ops, output)
