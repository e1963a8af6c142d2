"""Whether a committed row has a key, primary or of a unique index: values → key bytes → one lookup. Without Arrow.

KeyProbe(t_u_idx, first column u)   =>   has_row((7,))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.batch.reads import index_keys_with_rows, keys_with_rows
from risingpy.plan.catalog import Index, Table
from risingpy.storage.codec.key_encoding import LONG_KEY_PREFIX
from risingpy.storage.codec.single_rows import SingleKeys, can_make_keys
from risingpy.storage.codec.table_schema import VNODE_COUNT, TableSchema
from risingpy.storage.engine.read_views import ReadView
from risingpy.types import TypeKind

# Of these types a value is in Python what keys of rows have (`meta/writing/row_keys`).
PLAIN_KEYS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.BOOLEAN, TypeKind.VARCHAR)

_FEW_KEYS = 128  # of more, kernels take less, and the interpreter's lock would be kept for long

_Columns = Sequence[pa.Array]


@dataclass(frozen=True, slots=True)
class KeyProbe:
    """Looks for keys whose values come in the order of the primary key, or of the unique index's columns."""

    _table_id: int
    _keys: SingleKeys
    _order: tuple[int, ...]  # of the values, as the storage key has them
    _is_whole: bool  # the key is all of the storage key, and not what it begins with

    def has_row(self, view: ReadView, key: Sequence[object]) -> bool:
        """Whether a committed row has the key, in which nothing is NULL.

        Who does not hold the view must be ready for SnapshotReleased. OverflowError: the key must be looked up by other
        means.
        """
        vnode, prefix = self._keys.encode(key if len(key) == 1 else [key[place] for place in self._order])
        if len(prefix) >= LONG_KEY_PREFIX:
            raise OverflowError("a key that may be stored in its long form")
        points = view.points
        shard = vnode * points.shards // VNODE_COUNT
        if self._is_whole:
            return points.value(shard, self._table_id, prefix) is not None
        return points.has_prefix(shard, self._table_id, prefix)

    def with_rows(self, view: ReadView, keys: Sequence[Sequence[object]]) -> list[int]:
        """The numbers of those of the keys that a committed row has: as `has_row`, in half the time for some."""
        if not keys:
            return []
        order, shards = self._order, view.points.shards
        values = keys if len(order) == 1 else [[key[place] for place in order] for key in keys]
        vnodes, stored = self._keys.encode_each(values)
        if max(map(len, stored)) >= LONG_KEY_PREFIX:
            raise OverflowError("a key that may be stored in its long form")
        asked: dict[int, tuple[list[int], list[bytes]]] = {}
        for number, (vnode, key) in enumerate(zip(vnodes, stored, strict=True)):
            numbers, prefixes = asked.setdefault(vnode * shards // VNODE_COUNT, ([], []))
            numbers.append(number)
            prefixes.append(key)
        found = []
        for shard, (numbers, prefixes) in asked.items():
            there = view.points.are_there(shard, self._table_id, prefixes, whole=self._is_whole)
            found += [number for number, is_there in zip(numbers, there, strict=True) if is_there]
        return found


def probe_of_table(table: Table) -> KeyProbe | None:
    """For a table's primary key; None if it has none, or not of plain types."""
    stored = [part.index for part in table.table.key]
    if not table.primary_key or sorted(stored) != sorted(table.primary_key):
        return None
    return _probe(table.table, len(stored), tuple(table.primary_key.index(index) for index in stored))


def probe_of_index(index: Index) -> KeyProbe | None:
    """For the keys of a unique index; None if they are not of plain types."""
    columns = len(index.index.keys)
    return _probe(index.table, columns, tuple(range(columns)))


class CommittedKeys:
    """Which of some keys have committed rows: a few are looked up with the interpreter's lock, many by kernels."""

    def __init__(self) -> None:
        self._probes: dict[int, KeyProbe | None] = {}

    def of_columns(self, view: ReadView, table: Table, index: Index | None, keys: _Columns) -> list[int]:
        """The numbers of those keys that a row of the table has, as primary key or in the unique index."""
        found = None
        if len(keys[0]) <= _FEW_KEYS and self._probe_of(table, index) is not None:
            found = self._of_few(view, table, index, [*zip(*(each.to_pylist() for each in keys), strict=True)])
        if found is not None:
            return found
        return keys_with_rows(view, table, keys) if index is None else index_keys_with_rows(view, index, keys)

    def of_keys(
        self,
        view: ReadView,
        table: Table,
        index: Index | None,
        keys: Sequence[Sequence[object]],
        columns: Callable[[], _Columns],
    ) -> list[int]:
        """The same of keys as `meta/writing/row_keys` makes them; `columns` gives them as arrays, if need be."""
        found = self._of_few(view, table, index, keys)
        return self.of_columns(view, table, index, columns()) if found is None else found

    def _of_few(
        self, view: ReadView, table: Table, index: Index | None, keys: Sequence[Sequence[object]]
    ) -> list[int] | None:
        """None if they must be looked up as columns."""
        probe = self._probe_of(table, index)
        if probe is None or len(keys) > _FEW_KEYS:
            return None
        try:
            return sorted(probe.with_rows(view, keys))
        except OverflowError:  # a long key
            return None

    def _probe_of(self, table: Table, index: Index | None) -> KeyProbe | None:
        relation_id = table.relation_id if index is None else index.relation_id
        if relation_id not in self._probes:
            self._probes[relation_id] = probe_of_table(table) if index is None else probe_of_index(index)
        return self._probes[relation_id]


def _probe(schema: TableSchema, columns: int, order: tuple[int, ...]) -> KeyProbe | None:
    types = [schema.columns[part.index].type for part in schema.key[:columns]]
    is_plain = all(each.kind in PLAIN_KEYS and not each.system for each in types)
    if not is_plain or not can_make_keys(schema, columns):
        return None
    return KeyProbe(schema.table_id, SingleKeys(schema, columns), order, columns == len(schema.key))
