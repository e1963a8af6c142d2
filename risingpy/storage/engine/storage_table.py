"""A table as a query sees it: read-only, at one committed epoch, the columns that the query needs (seed 001)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.group_keys import sort_indices
from risingpy.storage.codec.key_encoding import PREFIX_BYTES, prefix_end, table_prefix, vnode_prefix
from risingpy.storage.codec.table_schema import VNODE_COUNT, TableSchema, shards_of_vnodes
from risingpy.storage.engine.ranges import Direction, Ranges
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.row_reading import read_all, read_first, read_points
from risingpy.storage.engine.stored_rows import rows_of

ROWS_PER_BATCH = 16_384  # read in one go, in about 1 ms; other queries of the view wait for the shard meanwhile

# Bounds of keys after the vnode: of those whose first column is not NULL, and of all.
NOT_NULL = (b"\x01", b"\x02")
WITH_NULL = (b"", b"\x03")


class StorageTable:
    """Reads one table of a view that the caller holds. Any thread; several may read at once.

    Every method raises SerializationFailure if the view's snapshot had to end (`lmdb_environment`).
    """

    def __init__(self, schema: TableSchema, view: ReadView) -> None:
        self.schema = schema
        self._view = view
        self._codec = view.codecs.of(schema)

    def scan(self, columns: Sequence[int], within: tuple[bytes, bytes] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, in no order; `columns` by position in the schema come out as c0, c1, …

        No columns give batches that have only a number of rows. `within` are bounds of the keys, after the vnode: from
        the first, and before the second.
        """
        ranges = Ranges.of_prefix(table_prefix(self.schema.table_id))
        if within is not None:
            low, high = within
            ranges = Ranges.in_each_vnode(self.schema.table_id, low, max(low, high))
        for shard in range(self._view.shards):
            yield from self._scan_shard(shard, columns, ranges)

    def first_of_vnodes(
        self, columns: Sequence[int], within: tuple[bytes, bytes], most: int, *, backward: bool
    ) -> Iterator[pa.RecordBatch]:
        """As `scan`, but of each vnode the first rows alone, or the last, at most `most`."""
        low, high = within
        ranges = Ranges.in_each_vnode(self.schema.table_id, low, max(low, high))
        direction = Direction.BACKWARD if backward else Direction.FORWARD
        for snapshot in self._view.snapshots:
            with rows_of(snapshot) as rows:
                batch = read_all(rows, ranges, np.full(len(ranges), most), direction)
            if len(batch):
                yield self._batch(batch.keys, batch.values, columns)

    def range_of(self, value: pa.Array) -> tuple[bytes, bytes]:
        """Bounds of the keys, after the vnode, whose first column has the one value: see `scan`."""
        first = self._codec.leading_key(value)
        return first, prefix_end(first)

    def get_rows(
        self, keys: Sequence[pa.Array], columns: Sequence[int]
    ) -> tuple[npt.NDArray[np.bool_], list[pa.Array]]:
        """The rows of whole keys: which were found, and these `columns` of their values, NULL where a row was not.

        Columns are given by their positions in the schema.
        """
        values = self._values_of(keys)
        return _are_valid(values), self._codec.decode_values(values, columns)

    def find_rows(self, keys: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Which of these whole keys have a row."""
        return _are_valid(self._values_of(keys))

    def _values_of(self, keys: Sequence[pa.Array]) -> pa.BinaryArray:
        """The stored value of each whole key, NULL where there is no row."""
        keys = [whole(column) for column in keys]
        vnodes = self._codec.vnodes(keys)
        encoded = self._codec.encode_keys(keys, vnodes)
        owners = shards_of_vnodes(vnodes, self._view.shards)
        shards = owners.tolist() if len(owners) == 1 else np.unique(owners).tolist()
        if len(shards) == 1:
            return self._points(shards[0], encoded)
        places = [np.flatnonzero(owners == shard) for shard in shards]
        taken = zip(shards, places, strict=True)
        parts = [self._points(shard, encoded.take(pa.array(mine))) for shard, mine in taken]
        in_turn = np.argsort(np.concatenate(places)) if places else np.empty(0, np.int64)
        return pa.concat_arrays(parts or [encoded]).take(pa.array(in_turn))

    def has_rows(self, keys: Sequence[pa.Array]) -> bool:
        """Whether any of these whole keys has a row."""
        keys = [whole(column) for column in keys]
        vnodes = self._codec.vnodes(keys)
        encoded, owners = self._codec.encode_keys(keys, vnodes), shards_of_vnodes(vnodes, self._view.shards)
        shards = set(owners.tolist())
        if len(shards) == 1:
            return bool(self._points(shards.pop(), encoded).null_count < len(encoded))
        parts = (self._points(shard, encoded.take(pa.array(np.flatnonzero(owners == shard)))) for shard in shards)
        return any(part.null_count < len(part) for part in parts)

    def scan_prefix(self, prefix: Sequence[pa.Array]) -> pa.Table:
        """All rows of each prefix of the key, prefix by prefix; with all columns and `_prefix`, as a StateTable's.

        Rows of a prefix are in key order if the prefix tells the vnode; otherwise every vnode is looked into.
        """
        prefix = [whole(column) for column in prefix]
        tells_vnode = self._codec.tells_vnode(len(prefix))
        vnodes = self._codec.vnodes(prefix) if tells_vnode else None
        if vnodes is not None and len(vnodes) == 1:
            return self._scan_one_prefix(prefix, vnodes)
        numbers: list[npt.NDArray[np.int64]] = []
        tables: list[pa.Table] = []
        for shard in range(self._view.shards):
            owners, encoded = self._prefixes_on(shard, prefix, vnodes)
            if not len(owners):
                continue
            order = sort_indices(encoded)
            with rows_of(self._view.snapshots[shard]) as rows:
                batch = read_all(rows, Ranges.of_prefixes(encoded.take(pa.array(order))))
            if len(batch):
                numbers.append(owners[order[batch.numbers]])
                tables.append(self._table(batch.keys, batch.values))
        rows = pa.concat_tables(tables) if tables else self._table([], [])
        owner = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
        rows = rows.append_column("_prefix", pa.array(owner, pa.int64()))
        return rows.take(pa.array(np.argsort(owner, kind="stable")))

    def few_of_prefix(
        self, prefix: Sequence[pa.Array], columns: Sequence[int], most: int, most_bytes: int
    ) -> pa.Table | None:
        """The rows of one prefix that tells the vnode, these columns as c0…; None if they are more than that."""
        vnodes = self._codec.vnodes(prefix)
        (shard,) = shards_of_vnodes(vnodes, self._view.shards).tolist()
        with rows_of(self._view.snapshots[shard]) as rows:
            batch = read_first(rows, Ranges.of_prefixes(self._codec.encode_keys(prefix, vnodes)), most + 1)
        if len(batch) > most or batch.values.nbytes > most_bytes:
            return None
        return pa.Table.from_batches([self._batch(batch.keys, batch.values, columns)])

    def few_of_prefixes(self, prefix: Sequence[pa.Array], columns: Sequence[int], most: int) -> pa.Table | None:
        """The rows of prefixes that tell the vnode, in no order, these columns as c0…; None if they are more."""
        prefix = [whole(column) for column in prefix]
        vnodes = self._codec.vnodes(prefix)

        def of_shard(shard: int) -> Ranges:
            _, encoded = self._prefixes_on(shard, prefix, vnodes)
            return Ranges.of_prefixes(encoded.take(pa.array(sort_indices(encoded))))

        return self._few(of_shard, columns, most)

    def few_within(self, within: tuple[bytes, bytes], columns: Sequence[int], most: int) -> pa.Table | None:
        """The rows between bounds as those of `scan`, in no order; None if they are more than `most`."""
        ranges = Ranges.in_each_vnode(self.schema.table_id, within[0], max(within))
        return self._few(lambda _: ranges, columns, most)

    def _few(self, ranges_of: Callable[[int], Ranges], columns: Sequence[int], most: int) -> pa.Table | None:
        batches, left = list[pa.RecordBatch](), most
        for shard in range(self._view.shards):
            ranges = ranges_of(shard)
            if not len(ranges):
                continue
            with rows_of(self._view.snapshots[shard]) as rows:
                batch = read_first(rows, ranges, left + 1)
            left -= len(batch)
            if left < 0:
                return None
            batches.append(self._batch(batch.keys, batch.values, columns))
        types = [self.schema.columns[i].type.arrow for i in columns]
        return pa.Table.from_batches(batches, pa.schema([(f"c{i}", each) for i, each in enumerate(types)]))

    def prefixes_with_rows(self, prefix: Sequence[pa.Array]) -> list[int]:
        """The numbers of those prefixes of the key that a row has: the `_prefix` of `scan_prefix`, decoding nothing."""
        prefix = [whole(column) for column in prefix]
        vnodes = self._codec.vnodes(prefix) if self._codec.tells_vnode(len(prefix)) else None
        found: set[int] = set()
        for shard in range(self._view.shards):
            owners, encoded = self._prefixes_on(shard, prefix, vnodes)
            if len(owners):
                order = sort_indices(encoded)
                with rows_of(self._view.snapshots[shard]) as rows:
                    batch = read_all(rows, Ranges.of_prefixes(encoded.take(pa.array(order))))
                found.update(owners[order[batch.numbers]].tolist())
        return sorted(found)

    def _scan_one_prefix(self, prefix: Sequence[pa.Array], vnodes: npt.NDArray[np.uint16]) -> pa.Table:
        """`scan_prefix` of one prefix that tells the vnode, and so the shard."""
        (shard,) = shards_of_vnodes(vnodes, self._view.shards).tolist()
        with rows_of(self._view.snapshots[shard]) as rows:
            batch = read_all(rows, Ranges.of_prefixes(self._codec.encode_keys(prefix, vnodes)))
        if not len(batch.keys):
            types = [*(column.type.arrow for column in self.schema.columns), pa.int64()]
            names = [*(f"c{i}" for i in range(len(types) - 1)), "_prefix"]
            return pa.table([pa.array([], type_) for type_ in types], names=names)
        found = self._table(batch.keys, batch.values)
        return found.append_column("_prefix", pa.array(np.zeros(found.num_rows, np.int64)))

    def first_from(self, low: pa.Array | None, *, beyond: bool) -> pa.Scalar | None:
        """Of all rows, the least value of the first key column, from the one value of `low` on (`beyond`: after it).

        For a table whose first key column is ascending and never NULL. None if there is no such row.
        """
        start = b"" if low is None else self._codec.leading_key(low)
        if beyond and start:
            start = prefix_end(start)
        owners = shards_of_vnodes(np.arange(VNODE_COUNT, dtype=np.uint16), self._view.shards)
        found: list[tuple[bytes, bytes, bytes]] = []
        for shard in range(self._view.shards):
            prefixes = [vnode_prefix(self.schema.table_id, v) for v in np.flatnonzero(owners == shard).tolist()]
            with rows_of(self._view.snapshots[shard]) as rows:
                ranges = Ranges.of([(each + start, prefix_end(each)) for each in prefixes])
                first = read_all(rows, ranges, np.ones(len(prefixes), np.int64))
            pairs = zip(first.keys.to_pylist(), first.values.to_pylist(), strict=True)
            found += [(key[PREFIX_BYTES:], key, value) for key, value in pairs]
        if not found:
            return None
        _, key, value = min(found)
        (column,) = self._codec.decode([key], [value], [self.schema.key[0].index])
        return column[0]

    def after(self, low: pa.Array, limit: int) -> list[pa.Table]:
        """For each shard its own first `limit` rows whose first key column is above the one value of `low`.

        For a table that is spread by no column: each shard has rows of its own under vnode 0. In key order.
        """
        (encoded,) = self._codec.encode_keys([whole(low)], np.zeros(1, np.uint16)).to_pylist()
        ranges = Ranges.of([(prefix_end(encoded), prefix_end(vnode_prefix(self.schema.table_id, 0)))])
        found = []
        for snapshot in self._view.snapshots:
            with rows_of(snapshot) as rows:
                page = read_first(rows, ranges, limit)
            found.append(self._table(page.keys, page.values))
        return found

    def _points(self, shard: int, encoded: pa.BinaryArray) -> pa.BinaryArray:
        with rows_of(self._view.snapshots[shard]) as rows:
            return read_points(rows, encoded, may_be_long=self._codec.has_long_keys).values

    def _prefixes_on(
        self, shard: int, prefix: Sequence[pa.Array], vnodes: npt.NDArray[np.uint16] | None
    ) -> tuple[npt.NDArray[np.int64], pa.BinaryArray]:
        """The encoded prefixes to look for on a shard, and the caller's position of each."""
        n = len(prefix[0]) if prefix else 1
        if vnodes is not None:
            chosen = np.arange(n)
            wanted = vnodes
        else:
            chosen = np.repeat(np.arange(n), VNODE_COUNT)
            wanted = np.tile(np.arange(VNODE_COUNT, dtype=np.uint16), n)
        mine = shards_of_vnodes(wanted, self._view.shards) == shard
        chosen = chosen[mine]
        columns = [column.take(pa.array(chosen)) for column in prefix]
        if not columns and not len(chosen):
            return chosen, pa.array([], pa.binary())
        return chosen, self._codec.encode_keys(columns, wanted[mine])

    def _scan_shard(self, shard: int, columns: Sequence[int], ranges: Ranges) -> Iterator[pa.RecordBatch]:
        while True:
            with rows_of(self._view.snapshots[shard]) as rows:
                page = read_first(rows, ranges, ROWS_PER_BATCH)
            if len(page):
                yield self._batch(page.keys, page.values, columns)
            if page.last is None or len(page) < ROWS_PER_BATCH:
                return
            ranges = ranges.beyond(int(page.numbers[-1]), page.last)

    def _batch(self, keys: pa.BinaryArray, values: pa.BinaryArray, columns: Sequence[int]) -> pa.RecordBatch:
        if not columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * len(values), pa.struct([])))
        arrays = self._codec.decode(keys, values, columns)
        return pa.record_batch(arrays, names=[f"c{i}" for i in range(len(columns))])

    def _table(self, keys: Sequence[bytes] | pa.BinaryArray, values: Sequence[bytes] | pa.BinaryArray) -> pa.Table:
        columns = range(len(self.schema.columns))
        return pa.table(self._codec.decode(keys, values, columns), names=[f"c{i}" for i in columns])


def _are_valid(values: pa.BinaryArray) -> npt.NDArray[np.bool_]:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)
