"""A table as a streaming executor sees it: the store with this epoch's own writes over it (seed 001).

Writes gather in a `MemTable`. A read first hands them to the epoch's LMDB transaction, which merges them: so
reads see the newest rows, and a table that is only written in an epoch is sorted once, at the commit. What executors of
a few rows write gathers in `FewWrites` instead, and their reads look there first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.statement_limits import check_row_size, check_written
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import PREFIX_BYTES, prefix_end, table_prefix, vnode_prefix
from risingpy.storage.codec.known_keys import KnownKeys
from risingpy.storage.codec.table_codec import TableCodec
from risingpy.storage.codec.table_schema import runs_of
from risingpy.storage.engine.few_writes import FewWrites, NotKnown
from risingpy.storage.engine.mem_table import Drained, MemTable, WriteBatch, is_ascending
from risingpy.storage.engine.ranges import Batch, Direction, Ranges, joined
from risingpy.storage.engine.row_reading import read, read_all, read_around, read_first, read_points
from risingpy.storage.engine.shard_reader import ShardReader
from risingpy.storage.engine.shard_writer import ShardWriter
from risingpy.storage.engine.state_lookups import StateLookups
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.types.far_moments import value_of, values_of

ROW_BYTES = 64  # a row's key, its place in the tree and its undo, as a part of what an epoch writes
_LOOKED_AT_BYTES = 1 << 20  # written row by row: less is no matter for the limits
_VALUE_TAG = b"\x01"  # of a key column that is not NULL


class StateTable:
    """One table in one epoch, on one shard. Batches are Arrow arrays, a row per position.

    Keys, and prefixes of keys, are columns in the order of the schema's key, of exactly its Arrow types.
    """

    def __init__(
        self,
        codec: TableCodec,
        writer: ShardWriter | ShardReader,
        lookups: StateLookups,
        known_keys: KnownKeys | None = None,
    ) -> None:
        """Counts in `lookups` what it is asked for."""
        self.schema = codec.schema
        self._codec = codec
        self._known_keys = known_keys
        self._writer = writer
        self._lookups = lookups
        self._written = MemTable()
        self._few = FewWrites()
        self._written_bytes = 0  # in this epoch
        # What the last `get_rows` found, so that writing the same keys need not look again.
        self._read: WriteBatch | None = None
        self._all = range(len(self.schema.columns))

    def get_rows(self, keys: Sequence[pa.Array]) -> tuple[npt.NDArray[np.bool_], list[pa.Array]]:
        """The rows of whole keys: which were found, and the value columns, NULL where a row was not."""
        encoded = self._codec.encode_keys([whole(column) for column in keys], known=self._known_keys)
        points = read_points(self._newest(), encoded, may_be_long=self._codec.has_long_keys)
        self._read = WriteBatch(points.sorted_keys, points.sorted_values)
        found = np.asarray(points.values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        self._lookups.note(len(found), len(found) - points.values.null_count)
        return found, self._codec.decode_values(points.values)

    def first_rows(self, prefix: Sequence[pa.Array]) -> tuple[npt.NDArray[np.bool_], pa.Table]:
        """The first row, in key order, of each prefix: which have one, and all columns, NULL where none.

        ValueError if the prefix does not tell the vnode.
        """
        stored = self._in_order()
        prefixes, order = self._prefixes(prefix)
        first = read_all(stored, Ranges.of_prefixes(prefixes), np.ones(len(order), np.int64))
        self._lookups.note(len(order), len(first.numbers))
        found = np.zeros(len(order), np.bool_)
        places = np.zeros(len(order), np.int64)
        owners = order[first.numbers]
        found[owners] = True
        places[owners] = np.arange(len(owners))
        rows = self._rows(first)
        return found, rows if bool(found.all()) and is_ascending(order) else rows.take(pa.array(places, mask=~found))

    def scan_prefix(self, prefix: Sequence[pa.Array], limits: npt.NDArray[np.int64] | None = None) -> pa.Table:
        """All rows of each prefix, or only the first `limits[i]`, prefix by prefix, each in key order.

        All columns and `_prefix` (int64): the position of the row's prefix. ValueError if the prefix does not
        tell the vnode.
        """
        stored = self._in_order()
        prefixes, order = self._prefixes(prefix)
        limits = None if limits is None else np.ascontiguousarray(limits[order], np.int64)
        batch = read_all(stored, Ranges.of_prefixes(prefixes), limits)
        self._lookups.note_prefixes(len(order), batch.numbers)
        return self._by_prefix(batch, order)

    def scan_prefix_pages(
        self, prefix: Sequence[pa.Array], page_rows: int
    ) -> Iterator[tuple[npt.NDArray[np.int64], list[pa.Array]]]:
        """All rows of each prefix, some `page_rows` at a time: each row's prefix, as its position, and all columns.

        In no particular order. Nothing may be written to any table of the shard before the last page has been taken.
        ValueError if the prefix does not tell the vnode.
        """
        stored = self._in_order()
        prefixes, order = self._prefixes(prefix)
        asked, last = len(order), -1
        for batch in read(stored, Ranges.of_prefixes(prefixes), page_rows=page_rows):
            self._lookups.note_prefixes(asked, batch.numbers)
            if len(batch):
                self._lookups.note(0, -int(batch.numbers[0] == last))  # it goes on from the page before
                last = int(batch.numbers[-1])
            asked = 0
            yield order[batch.numbers], self._codec.decode(batch.keys, batch.values, self._all)

    def scan_around(
        self, low: Sequence[pa.Array], high: Sequence[pa.Array], prefix: int, before: int, after: int | None
    ) -> pa.Table:
        """The rows between each pair of whole keys, and their neighbours that share the first `prefix` key columns.

        At least `before` of them on the one side and `after` (None: all) on the other. As `scan_prefix` gives rows;
        `_prefix` is the pair's position. The pairs must have different prefixes.
        """
        stored = self._in_order()
        prefixes, order = self._prefixes(low[:prefix])
        low_keys, high_keys = (self._codec.encode_keys([whole(column) for column in key]) for key in (low, high))
        if not is_ascending(order):
            low_keys, high_keys = (keys.take(pa.array(order)) for keys in (low_keys, high_keys))
        batch = read_around(stored, prefixes, (low_keys, high_keys), before=before, after=after)
        self._lookups.note(len(order), len(np.unique(batch.numbers)))
        return self._by_prefix(batch, order)

    def leading_key(self, value: pa.Array) -> bytes:
        """What the keys of rows with the one value in the first key column start with, after the vnode.

        In byte order as the values are in the table's order.
        """
        return self._codec.leading_key(value)

    def before(self, column: pa.Array, *cuts: bytes) -> list[npt.NDArray[np.bool_]]:
        """For each cut, which rows with these values in the first key column have keys before it, after the vnode."""
        keys = self._codec.leading_keys(column)
        prefix = vnode_prefix(self.schema.table_id, 0)
        masks = (pc.less(keys, pa.scalar(prefix + cut, pa.binary())) for cut in cuts)
        return [mask.to_numpy(zero_copy_only=False) for mask in masks]

    def scan_between(self, vnodes: Sequence[int], low: bytes, high: bytes) -> pa.Table:
        """All rows of the vnodes whose key, after the vnode, lies in `low` <= key < `high`, all columns."""
        prefixes = [vnode_prefix(self.schema.table_id, vnode) for vnode in vnodes]
        ranges = Ranges.of([(prefix + low, prefix + high) for prefix in prefixes])
        return self._rows(read_all(self._in_order(), ranges))

    def first_value(self, vnodes: Sequence[int], low: bytes) -> pa.Array | None:
        """The first key column of the row whose key, after the vnode, is the least from `low` on; None without one."""
        prefixes = [vnode_prefix(self.schema.table_id, vnode) for vnode in vnodes]
        ranges = Ranges.of([(prefix + low, prefix_end(prefix)) for prefix in prefixes])
        first = read_all(self._in_order(), ranges, np.ones(len(prefixes), np.int64))
        found = min(first.keys.to_pylist(), key=lambda key: key[PREFIX_BYTES:], default=None)
        if found is None:
            return None
        place = pa.array([first.keys.index(pa.scalar(found, first.keys.type)).as_py()])
        (column,) = self._codec.decode(first.keys.take(place), first.values.take(place), [self.schema.key[0].index])
        return whole(column)

    def scan(self, vnodes: Sequence[int], after: bytes | None, limit: int) -> tuple[pa.Table, bytes | None]:
        """At most `limit` rows of the vnodes, in the order of vnode and key, after the key `after`.

        Also the key to go on after, or None if nothing follows. A key `after` need not exist any more.
        """
        return self._scanned(vnodes, after, limit, Direction.FORWARD)

    def is_empty(self) -> bool:
        """Whether the table has no row on this shard."""
        return not len(read_first(self._in_order(), Ranges.of_prefix(table_prefix(self.schema.table_id)), 1))

    def scan_pages(self, page_rows: int) -> Iterator[tuple[int, list[pa.Array]]]:
        """All rows of the table on this shard, some `page_rows` at a time: how many, and all columns. In key order.

        Nothing may be written to the table before the last page has been taken.
        """
        whole_table = Ranges.of_prefix(table_prefix(self.schema.table_id))
        after: bytes | None = None
        while True:
            batch = read_first(self._in_order(), whole_table, page_rows, after=after)
            if len(batch):
                yield len(batch), self._codec.decode(batch.keys, batch.values, self._all)
                after = batch.last
            if len(batch) < page_rows:
                return

    def scan_backward(self, vnodes: Sequence[int], before: bytes | None, limit: int) -> tuple[pa.Table, bytes | None]:
        """As `scan`, from the last vnode and key to the first: at most `limit` rows before the key `before`."""
        return self._scanned(vnodes, before, limit, Direction.BACKWARD)

    def _scanned(
        self, vnodes: Sequence[int], after: bytes | None, limit: int, direction: Direction
    ) -> tuple[pa.Table, bytes | None]:
        """At most `limit` rows of the vnodes beyond a key; the last key if others may follow."""
        runs = runs_of(vnodes)[:: 1 if direction is Direction.FORWARD else -1]
        bounds = [[vnode_prefix(self.schema.table_id, vnode) for vnode in run] for run in runs]
        ranges = Ranges.of([(first, prefix_end(last)) for first, last in bounds])
        batch = read_first(self._in_order(), ranges, limit, direction, after=after)
        return self._rows(batch), batch.last if len(batch) == limit else None

    def scan_prefix_backward(self, prefix: Sequence[object], limit: int = sys.maxsize) -> list[tuple[object, ...]]:
        """The last `limit` rows of a prefix of the key, as Python values, the last one first.

        ValueError if the prefix does not tell the vnode.
        """
        columns = [
            pa.array([value], self.schema.columns[column.index].type.arrow)
            for value, column in zip(prefix, self.schema.key, strict=False)
        ]
        stored = self._in_order()
        prefixes, _ = self._prefixes(columns)
        rows = self._rows(read_first(stored, Ranges.of_prefixes(prefixes), limit, Direction.BACKWARD))
        return list(zip(*(values_of(column) for column in rows.columns), strict=True))

    def scan_below(self, bound: pa.Array) -> pa.Table:
        """All rows whose first key column, which ascends, is not NULL and below the one value of `bound`."""
        return self._rows(read_all(self._in_order(), self._ranges_below(bound)))

    def delete_below(self, bound: pa.Array, limit: int = sys.maxsize) -> None:
        """Deletes rows whose first key column, which ascends, is not NULL and below the one value of `bound`.

        At most `limit` of them, the first ones of each vnode in turn: the others are left to another time.
        """
        transaction = self._in_order().transaction
        ranges = self._ranges_below(bound)
        gone = joined([*transaction.read(ranges, most=limit, with_values=False)]).keys
        if len(gone):
            self._written.add(gone, pa.nulls(len(gone), pa.binary()), np.zeros(len(gone), np.bool_))

    def take_below(self, bound: pa.Array, limit: int) -> pa.Table:
        """Deletes rows as `delete_below` does, and returns them."""
        found = self._rows(joined([*read(self._in_order(), self._ranges_below(bound), most=limit)]))
        self.apply(np.full(found.num_rows, -1, np.int8), found.columns)
        return found

    def _ranges_below(self, bound: pa.Array) -> Ranges:
        """For each vnode, the keys whose first column, not NULL, is below the one value."""
        if self.schema.key[0].descending:
            raise ValueError(f"the key of table {self.schema.name} begins with a descending column")
        (encoded,) = self._codec.encode_keys([whole(bound)], np.zeros(1, np.uint16)).to_pylist()
        return Ranges.in_each_vnode(self.schema.table_id, _VALUE_TAG, bytes(encoded[PREFIX_BYTES:]))

    def apply(self, ops: npt.NDArray[np.int8], rows: Sequence[pa.Array]) -> None:
        """Writes rows in this order: +1 puts the row, −1 deletes the row of its key. The last write of a key wins.

        `rows` are all columns in schema order. Deleting what is not there does nothing.
        """
        self._add(ops, rows, are_changes=False)

    def apply_changes(self, ops: npt.NDArray[np.int8], rows: Sequence[pa.Array]) -> None:
        """As `apply`, of rows that are a change of what the table holds: a +1 whose key is there follows its −1.

        That saves looking for the keys that come.
        """
        self._add(ops, rows, are_changes=True)

    def _add(self, ops: npt.NDArray[np.int8], rows: Sequence[pa.Array], *, are_changes: bool) -> None:
        ops = np.asarray(ops)
        if not len(ops):
            return
        if self._few:
            self.flush()
        self._written_bytes += sum(column.nbytes for column in rows) + ROW_BYTES * len(ops)
        check_written(self._written_bytes, self.schema.name)
        puts = ops > 0
        deleted = int(puts.argmax()) if puts.any() else len(puts)  # the first so many: of these only keys are stored
        keys, values = self._codec.encode([whole(column) for column in rows], len(ops), self._known_keys, first=deleted)
        check_row_size(values, self.schema.name)
        self._written.add(keys, values, puts, are_changes=are_changes)
        if self._written.size_bytes > self._writer.tuning.mem_table_bytes:
            self.flush()

    def get_stored(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values under stored keys of a few rows; None where there is none."""
        if self._written:
            self.flush()
        values = self._writer.rows.get_few(self.schema.table_id, keys)
        if self._few:
            written = [self._few.get(key) for key in keys]
            values = [old if isinstance(new, NotKnown) else new for old, new in zip(values, written, strict=True)]
        self._lookups.note(len(keys), len(keys) - values.count(None))
        return values

    def put_stored(self, key: bytes, value: bytes | None, before: bytes | NotKnown | None) -> None:
        """Writes a row as it is stored, which is a small one; None deletes the key.

        `before` is what was under it: what `get_stored` gave, or None for a key that is surely not there.
        """
        if self._written:
            self.flush()
        self._written_bytes += len(key) + ROW_BYTES + len(value or b"")
        if self._written_bytes > _LOOKED_AT_BYTES:
            check_written(self._written_bytes, self.schema.name)
        self._few.put(key, value, before)

    def flush(self) -> None:
        """Hands the writes to the epoch's transaction."""
        if self._few:
            self._writer.write_few([self.take_few()])
        drained = self.drain()
        if drained is not None:
            self._writer.write(drained)

    def take_few(self) -> FewWrites:
        """The writes that came row by row, for whoever hands them to the epoch's transaction."""
        few = self._few
        if few:
            self._few = FewWrites()
            self._read = None  # they may be of the keys that were read
        return few

    def drain(self) -> Drained | None:
        """The writes that came in columns, likewise."""
        if not self._written:
            return None
        known, self._read = self._read, None
        return self._written.drain(known)

    def get_row(self, key: Sequence[object]) -> tuple[object, ...] | None:
        """The row of a key, all columns, as Python values."""
        schema = self.schema
        key_columns = [
            pa.array([value], schema.columns[column.index].type.arrow)
            for value, column in zip(key, schema.key, strict=True)
        ]
        found, columns = self.get_rows(key_columns)
        if not found[0]:
            return None
        row = dict(zip((column.index for column in schema.key), key, strict=True))
        row.update(zip(schema.value_columns, (value_of(column, 0) for column in columns), strict=True))
        return tuple(row[column] for column in self._all)

    def scan_rows(self, page_rows: int = 1024) -> Iterator[tuple[object, ...]]:
        """All rows of the table on this shard, in key order within each vnode. Writes must wait until the end."""
        for _, columns in self.scan_pages(page_rows):
            yield from zip(*(values_of(column) for column in columns), strict=True)

    def insert_row(self, row: Sequence[object]) -> None:
        """Puts one row."""
        self._apply_row(1, row)

    def delete_row(self, row: Sequence[object]) -> None:
        """Deletes one row."""
        self._apply_row(-1, row)

    def update_row(self, old: Sequence[object], new: Sequence[object]) -> None:
        """Replaces a row, whose key may change too."""
        self._apply_row(-1, old)
        self._apply_row(1, new)

    def _apply_row(self, op: int, row: Sequence[object]) -> None:
        columns = [pa.array([value], column.type.arrow) for value, column in zip(row, self.schema.columns, strict=True)]
        self.apply(np.array([op], np.int8), columns)

    def _newest(self) -> StoredRows:
        self.flush()
        return self._writer.rows

    def _in_order(self) -> StoredRows:
        """The newest rows, of a table that lies in the tree."""
        self.flush()
        return self._writer.in_order(self.schema.table_id)

    def _prefixes(self, prefix: Sequence[pa.Array]) -> tuple[pa.BinaryArray, npt.NDArray[np.int64]]:
        """The encoded prefixes, sorted if there are many, and which position each has in the caller's batch."""
        if not self._codec.tells_vnode(len(prefix)):
            raise ValueError(f"{len(prefix)} key columns of table {self.schema.name} do not tell the vnode")
        encoded = self._codec.encode_keys([whole(column) for column in prefix])
        if len(encoded) < self._writer.tuning.sort_lookups_from:
            return encoded, np.arange(len(encoded))
        order = sort_indices(encoded)
        if not is_ascending(order):
            encoded = encoded.take(pa.array(order))
        return encoded, order

    def _by_prefix(self, batch: Batch, order: npt.NDArray[np.int64]) -> pa.Table:
        """Rows of prefixes, in the caller's order of these, with `_prefix`."""
        owners = order[batch.numbers]
        if not is_ascending(order):  # before they are decoded: a key and a value are less to move than all columns
            places = np.argsort(owners, kind="stable")
            batch, owners = batch.take(places), owners[places]
        return self._rows(batch).append_column("_prefix", pa.array(owners, pa.int64()))

    def _rows(self, batch: Batch) -> pa.Table:
        columns = self._codec.decode(batch.keys, batch.values, self._all)
        return pa.table(columns, names=[f"c{column}" for column in self._all])
