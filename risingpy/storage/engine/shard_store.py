"""The state of one shard: an LMDB environment, written by one task per epoch and stage.

Databases of the environment: `rows` (all tables' rows), `runs` (those of them that wait to be merged, `sorted_runs`),
`undo` and markers (`undo_record`), and in `meta` the key "format": which layouts and which hash the rows were written
with, and which shard of how many this is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.formats import OF_SHARDS, IncompatibleStore, unreadable, versions_written, way_out
from risingpy.storage.codec.column_history import Cast, no_cast
from risingpy.storage.codec.key_encoding import prefix_end, table_prefix, vnode_prefix
from risingpy.storage.codec.known_keys import KnownKeys
from risingpy.storage.codec.table_codec import Codecs
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.compaction import CompactionProgress, compact_rows, note_key
from risingpy.storage.engine.lmdb_environment import (
    MAP_BYTES,
    DamagedStore,
    Environment,
    Snapshot,
    open_environment,
)
from risingpy.storage.engine.mem_table import Drained, WriteBatch
from risingpy.storage.engine.ranges import Ranges, joined
from risingpy.storage.engine.shard_basis import ShardBasis, attempt_note, read_basis
from risingpy.storage.engine.shard_writer import (
    DeltaWriter,
    ReadInOrder,
    ShardWriter,
    SharedShard,
    StaleEpoch,
)
from risingpy.storage.engine.sorted_runs import RUNS
from risingpy.storage.engine.state_lookups import StateLookups
from risingpy.storage.engine.state_table import StateTable
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import META, StatisticsChange
from risingpy.storage.engine.transactions import StoreTransaction
from risingpy.storage.engine.undo_record import ROWS, UNDO, read_markers, undo_stages
from risingpy.storage.fault_points import reach
from risingpy.storage.journal.entries import Delta
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

__all__ = ["EpochTransaction", "ShardStore", "StaleEpoch", "shard_directory", "shards_directory"]

ROWS_PER_TRIM = 16  # deleted in one go: they may be blocks of megabytes, which the statistics read


def shards_directory(data_dir: Path) -> Path:
    """Where the shards lie."""
    return data_dir / "shards"


def shard_directory(data_dir: Path, shard: int, shards: int) -> Path:
    """Where the environment of one of `shards` shards lies: those of another number lie beside it."""
    return shards_directory(data_dir) / f"{shard}-of-{shards}"


class ShardStore:
    """Opens its environment when it is first used: a process may make stores and then fork, not the reverse."""

    def __init__(
        self,
        path: Path,
        *,
        shard: int,
        shards: int,
        cast: Cast = no_cast,
        map_size: int = MAP_BYTES,
        tuning: StoreTuning = DEFAULT_TUNING,
        deltas: DeltaWriter | None = None,
    ) -> None:
        """`cast` is what reads rows from before an ALTER COLUMN TYPE. With `deltas`, the store is a cache."""
        self._shared = None if deltas is None else SharedShard(shard, deltas)
        self._tuning = tuning
        self.path = path
        self.shard = shard
        self.shards = shards
        self._map_size = map_size
        self._environment: Environment | None = None
        self._inode = 0
        self._has_earlier_formats = False
        self._codecs = Codecs(cast, tuning.codecs)
        self._read_in_order = ReadInOrder(tuning.in_order_memory)

    def begin(self, epoch: int, stage: int, *, committed: int | None = None) -> EpochTransaction:
        """A task's transaction, to be entered with `with`; leaving without `commit` drops its writes.

        `committed` is the last committed epoch, `epoch - 1` if not given. Whatever earlier attempts have left of
        this stage, and of all stages in epochs between the two, is taken back first.
        """
        committed = epoch - 1 if committed is None else committed
        environment = self._open_to_write()
        writer = ShardWriter(
            environment, self._read_in_order, epoch=epoch, stage=stage, committed=committed, shared=self._shared
        )
        return EpochTransaction(environment, self._codecs, writer)

    def fill(self, batch: WriteBatch) -> None:
        """Puts rows, durably, into a shard that no epoch has written yet."""
        environment = self._open_to_write()

        def put(transaction: StoreTransaction) -> None:
            statistics = StatisticsChange()
            statistics.add(batch.keys, batch.values, +1)
            statistics.write(transaction)
            StoredRows(environment, transaction).write(batch, in_order=True)

        environment.write(put)

    def catch_up(self, batches: Sequence[WriteBatch]) -> None:
        """Takes what another process has committed: each batch of one table, NULL deletes. It may be taken twice."""
        environment = self._open_to_write()

        def put(transaction: StoreTransaction) -> None:
            statistics, rows = StatisticsChange(), StoredRows(environment, transaction)
            for batch in batches:
                statistics.replace(batch.keys, rows.get_values(batch.keys), batch.values)
                rows.write(batch)
            statistics.write(transaction)

        environment.write(put)

    def change(self, change: Callable[[StoredRows], None]) -> None:
        """Makes a change that belongs to no epoch."""
        environment = self._open_to_write()
        environment.write(lambda transaction: change(StoredRows(environment, transaction)))

    def basis(self) -> ShardBasis:
        """Of a cache: what it has."""
        snapshot = self._open().snapshot()
        try:
            with snapshot.use() as transaction:
                return read_basis(transaction)
        finally:
            snapshot.close()

    def undo_beyond(self, committed: int) -> None:
        """Takes back every stage that is ahead of the committed epoch."""
        environment = self._open_to_write()

        def undo(transaction: StoreTransaction) -> None:
            reach("shard.undo")
            markers = read_markers(transaction)
            ahead = [stage for stage, epoch in markers.items() if epoch > committed]
            undo_stages(StoredRows(environment, transaction), ahead, committed)

        environment.write(undo)

    def snapshot(self, epoch: int) -> Snapshot:
        """Pins the state, which must be that of the committed `epoch`."""
        environment = self._open()
        snapshot = environment.snapshot()
        with snapshot.use() as transaction:
            newest = max(read_markers(transaction).values(), default=0)
        if newest > epoch:
            snapshot.close()
            raise InternalError(f"the store in {self.path} is at epoch {newest}, not at {epoch}")
        return snapshot

    def newest(self) -> Snapshot:
        """Pins whatever is there, committed or not."""
        return self._open().snapshot()

    def require(self) -> None:
        """DamagedStore if there is no such shard: it is made when it is first opened, before any epoch."""
        if not (self.path / "data.mdb").exists():
            raise DamagedStore(f"{self.path / 'data.mdb'} is missing, and the meta store knows of epochs in it")

    def versions(self) -> dict[str, object]:
        """The versions of the formats that the shard has, by name; none for a new one. Changes nothing."""
        environment = open_environment(self.path, databases=[META], map_size=self._map_size, tuning=self._tuning)
        try:
            found = _stored_format(environment) or {}
            return {name: version for name, version in found.items() if name not in ("shard", "shards")}
        finally:
            environment.close()

    @property
    def is_replaced(self) -> bool:
        """Whether the shard is open, and another one has taken its place since, or it was deleted."""
        return self._environment is not None and self._inode != _inode(self.path)

    @property
    def size_bytes(self) -> int:
        """Bytes of the data file."""
        return self._open().size_bytes

    def close(self) -> None:
        """Closes the environment; the next use opens it again."""
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    def _open(self) -> Environment:
        if self._environment is None:
            environment = open_environment(
                self.path, databases=[ROWS, UNDO, META, RUNS], map_size=self._map_size, tuning=self._tuning
            )
            try:
                self._check_format(environment)
            except BaseException:
                environment.close()
                raise
            self._environment, self._inode = environment, _inode(self.path)
        return self._environment

    def _open_to_write(self) -> Environment:
        """As `_open`. An earlier version refuses the shard from now on: it may get what that does not read."""
        environment = self._open()
        if self._has_earlier_formats:
            self._note_formats(environment)
            self._has_earlier_formats = False
        return environment

    def _note_formats(self, environment: Environment) -> None:
        value = json.dumps({**versions_written(OF_SHARDS), "shard": self.shard, "shards": self.shards}).encode()
        environment.write(lambda transaction: transaction.put(b"format", value, db=META))

    def _check_format(self, environment: Environment) -> None:
        mine = {"shard": self.shard, "shards": self.shards}
        found = _stored_format(environment)
        if found is None:
            self._note_formats(environment)
            return
        place = {name: found.pop(name, None) for name in mine}
        told = unreadable(found, OF_SHARDS)
        if told is not None:
            raise IncompatibleStore(f"the store in {self.path} {told}", hint=way_out(found, OF_SHARDS))
        if place != mine:
            raise IncompatibleStore(
                f"the store in {self.path} is of shard {place['shard']} of {place['shards']}",
                hint="Directories of shards were exchanged: restore them as they were, or from a backup.",
            )
        self._has_earlier_formats = found != versions_written(OF_SHARDS)


def _stored_format(environment: Environment) -> dict[str, object] | None:
    """What a shard says of itself: versions, and which shard it is. None for a new one."""
    snapshot = environment.snapshot()
    with snapshot.use() as transaction:
        stored = transaction.get(b"format", db=META)
    snapshot.close()
    return None if stored is None else dict(json.loads(bytes(stored)))


def _inode(path: Path) -> int:
    try:
        return (path / "data.mdb").stat().st_ino
    except FileNotFoundError:
        return 0


class EpochTransaction:
    """One task's reads and writes of a shard in one epoch and stage, all of them or none.

    `lookups` counts what its tables are asked for.
    """

    def __init__(self, environment: Environment, codecs: Codecs, writer: ShardWriter) -> None:
        self.epoch = writer.epoch
        self.stage = writer.stage
        self._environment = environment
        self._codecs = codecs
        self._turn = ExitStack()
        self._writer = writer
        self._tables: dict[int, StateTable] = {}
        self._known_keys = KnownKeys()
        self.lookups = StateLookups()

    @property
    def delta(self) -> Delta | None:
        """What the commit has changed, if the shard's truth is in shared storage and anything has changed."""
        return self._writer.delta

    def __enter__(self) -> EpochTransaction:
        self._turn.enter_context(self._environment.writing())
        self._turn.callback(self._writer.end)
        try:
            self._writer.begin()
        except BaseException:
            self._turn.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turn.close()

    def state_table(self, schema: TableSchema) -> StateTable:
        """The table; the same object for everybody in this transaction."""
        table = self._tables.get(schema.table_id)
        if table is None:
            codec = self._codecs.of(schema)
            table = self._tables[schema.table_id] = StateTable(codec, self._writer, self.lookups, self._known_keys)
        elif table.schema is not schema and table.schema != schema:
            raise InternalError(f"table {schema.name} is used with two schemas in one epoch")
        return table

    def put_rows(self, batch: WriteBatch) -> None:
        """Writes rows as they are stored, in ascending order of their keys, all of one table."""
        self._writer.write(Drained(batch))

    def adopt(self, delta: str, batches: Sequence[WriteBatch]) -> None:
        """Writes what another machine's attempt at this stage has changed, under the name of its delta."""
        for batch in batches:
            self._writer.write(Drained(batch))
        self._writer.note(*attempt_note(self.stage, self.epoch, delta))

    def purge(self, table_id: int, limit: int) -> bool:
        """Deletes at most `limit` rows of a dropped table, for good; True if none are left on this shard."""
        whole_table = Ranges.of_prefix(table_prefix(table_id))
        found = joined([*self._writer.transaction.read(whole_table, most=limit + 1, with_values=False)])
        if len(found) or self._writer.rows.has_runs(table_id):
            self._writer.purge(table_id, found.keys.slice(0, limit))
        return len(found) <= limit

    def trim(self, schema: TableSchema, up_to: int) -> None:
        """Deletes the rows whose first key column, a bigint, is at most `up_to`, for good: nobody asks for them again.

        For a table that is spread by no column: each shard has rows of its own under vnode 0.
        """
        self._writer.in_order(schema.table_id)
        (last,) = self._codecs.of(schema).encode_keys([pa.array([up_to], pa.int64())], np.zeros(1, np.uint16))
        old = Ranges.of([(vnode_prefix(schema.table_id, 0), prefix_end(last.as_py()))])
        keys = joined([*self._writer.transaction.read(old, with_values=False)]).keys
        for start in range(0, len(keys), ROWS_PER_TRIM):
            gone = keys.slice(start, ROWS_PER_TRIM)
            self._writer.rewrite(WriteBatch(gone, pa.nulls(len(gone), pa.binary())))

    def compact(self, schema: TableSchema, target: int, limit: int) -> bool:
        """Rewrites rows without dropped columns, going through at most `limit` of them; True if it is through.

        It begins anew for a later `target`, the version of the table when it last lost a column.
        """
        noted = self._writer.transaction.get(note_key(schema.table_id), db=META)
        progress = CompactionProgress(target) if noted is None else CompactionProgress.decode(bytes(noted))
        if progress.target != target:
            progress = CompactionProgress(target)
        if not progress.finished:
            batch, progress = compact_rows(
                self._writer.in_order(schema.table_id), self._codecs.of(schema), progress, limit
            )
            if batch is not None:
                self._writer.rewrite(batch)
            self._writer.note(note_key(schema.table_id), progress.encode())
        return progress.finished

    def commit(self) -> None:
        """Makes everything durable: all tables' writes, their undo record and the epoch they are at.

        Grows the map by itself if it is full. The transaction is over after that.
        """
        tables = [self._tables[table_id] for table_id in sorted(self._tables)]
        few = [writes for table in tables if (writes := table.take_few())]
        if few:
            self._writer.write_few(few)
        drained = [each for table in tables if (each := table.drain()) is not None]
        if drained:
            self._writer.write_all(drained)
        self._writer.commit()
        self._turn.close()
