"""Materialize: stores a relation, and passes its changes on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.change_chunk import (
    DELETE,
    INSERT,
    Mask,
    Ops,
    columns_of,
    deletes_first,
    distinct_rows,
    make_chunk,
    ops_of,
)
from risingpy.executors.relation.conflicts import ConflictRule, standing_rows
from risingpy.storage.codec.group_keys import group_rows, last_rows
from risingpy.storage.codec.key_encoding import compute_vnodes, encode_keys
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.state_table import StateTable

Positions = npt.NDArray[np.int64]


class MaterializeExecutor:
    """Stores its input as it is: a consolidated delta by the relation's key."""

    def __init__(self, *, table: StateTable) -> None:
        self._table = table

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (delta,) = inputs
        if delta.num_rows:
            ordered = deletes_first(delta)  # the +1 of an update must be written last
            self._table.apply_changes(ops_of(ordered), columns_of(ordered))
        return delta


class OverwriteMaterializeExecutor:
    """Stores a table's log: the last write of a key wins.

    An INSERT over an existing key must retract the old row from the views above, and the log does not have the old row.
    So the executor reads the stored rows of the written keys. Its output has −1 of the old row and +1 of the new one,
    and nothing where the two are equal. New rows of a table without a primary key have new numbers: where nothing else
    came, nothing is looked for, which is a third of what storing them costs.
    """

    def __init__(self, *, table: StateTable, schema: TableSchema) -> None:
        self._table = table
        self._schema = schema
        self._key = [column.index for column in schema.key]

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (logged,) = inputs
        if not logged.num_rows:
            return logged
        if self._schema.is_numbered and _are_new(logged, self._key[0]):
            self._table.apply_changes(ops_of(logged), columns_of(logged))
            return logged
        last = logged.take(pa.array(self._last_writes(logged)))
        ops, columns = ops_of(last), columns_of(last)
        found, stored_values = self._table.get_rows([columns[index] for index in self._key])
        stored = _stored_rows(self._schema, columns, stored_values)
        changed = found != (ops == INSERT)
        both = found & (ops == INSERT)
        if both.any():
            changed |= both & distinct_rows(columns, stored, len(ops))
        return _written(self._table, stored, found & changed, columns, (ops == INSERT) & changed)

    def _last_writes(self, logged: pa.Table) -> Positions:
        """The position of each key's last change, in log order."""
        keys = [logged.column(f"c{index}").combine_chunks() for index in self._key]
        return last_rows(encode_keys(self._schema, keys, compute_vnodes([], logged.num_rows)))


class ConflictMaterializeExecutor:
    """As `OverwriteMaterializeExecutor`, but `rule` decides between the stored row and the writes of a key."""

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
        return _written(self._table, stored, found & changed, rows, stands & changed)


def _are_new(logged: pa.Table, number: int) -> bool:
    """Whether all rows are INSERTs whose numbers the server has given, each once.

    Numbers below 0 are those of messages, of which a broker may give one twice.
    """
    if not (ops_of(logged) == INSERT).all():
        return False
    numbers = np.sort(logged.column(f"c{number}").to_numpy(), kind="stable")  # nearly in order: that is quick
    return bool(numbers[0] >= 0 and (numbers[1:] > numbers[:-1]).all())


def _stored_rows(schema: TableSchema, columns: Sequence[pa.Array], values: Sequence[pa.Array]) -> list[pa.Array]:
    """Whole stored rows: the value columns from the lookup, the key columns from `columns`, which it looked up."""
    stored = list(columns)
    for index, array in zip(schema.value_columns, values, strict=True):
        stored[index] = array
    return stored


def _written(
    table: StateTable, stored: Sequence[pa.Array], gone: Mask, columns: Sequence[pa.Array], came: Mask
) -> pa.Table:
    """Replaces the rows that go by those that come, and returns the change."""
    old, new = _taken(stored, gone), _taken(columns, came)
    output = _joined(old, new)
    ops = _ops(len(old[0]), len(new[0]))
    # A row that comes has the key of the one that it replaces, so only the new row is written.
    if (gone & came).any():
        deleted = _taken(stored, gone & ~came)
        table.apply(_ops(len(deleted[0]), len(new[0])), _joined(deleted, new))
    elif len(ops):
        table.apply(ops, output)
    return make_chunk(ops, output)


def _taken(columns: Sequence[pa.Array], mask: Mask) -> Sequence[pa.Array]:
    if mask.all():
        return columns
    places = pa.array(np.flatnonzero(mask))
    return [column.take(places) for column in columns]


def _joined(first: Sequence[pa.Array], second: Sequence[pa.Array]) -> Sequence[pa.Array]:
    if not len(first[0]) or not len(second[0]):
        return first if len(first[0]) else second
    return [pa.concat_arrays([a, b]) for a, b in zip(first, second, strict=True)]


def _ops(deletes: int, inserts: int) -> Ops:
    return np.repeat(np.array([DELETE, INSERT], np.int8), [deletes, inserts])
