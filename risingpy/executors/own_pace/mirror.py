"""The state of a job that runs at its own pace: a copy in a store of its own, beside the tables of others.

The job's epochs must not take turns with the epochs that all share, and LMDB has one writer. So the job's tables are
copied once into environments of their own, where its epochs write as any epoch writes. What they have written is also
handed over to the shards, which stay the truth: the copy may be deleted at any time.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.codec.table_codec import Codecs
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.lmdb_environment import Environment
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.ranges import Ranges
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.shard_reader import ShardReader
from risingpy.storage.engine.shard_store import EpochTransaction, ShardStore
from risingpy.storage.engine.shard_writer import ShardWriter
from risingpy.storage.engine.state_table import StateTable
from risingpy.storage.engine.stored_rows import rows_of

COPIED_ROWS = 65_536  # at a time


class MirrorTransaction(EpochTransaction):
    """An epoch's transaction on the copy; the tables of others are read as they are in the pinned epoch."""

    def __init__(
        self, environment: Environment, codecs: Codecs, writer: ShardWriter, own: Collection[int], others: ShardReader
    ) -> None:
        super().__init__(environment, codecs, writer)
        self._own = own
        self._others = others
        self._other_tables: dict[int, StateTable] = {}
        self.written: Sequence[WriteBatch] = ()

    def state_table(self, schema: TableSchema) -> StateTable:
        """The job's own table, or one that it only reads."""
        if schema.table_id in self._own:
            return super().state_table(schema)
        table = self._other_tables.get(schema.table_id)
        if table is None:
            table = self._other_tables[schema.table_id] = StateTable(
                self._codecs.of(schema), self._others, self.lookups
            )
        return table

    def commit(self) -> None:
        """Commits, and keeps in `written` what was written, in order."""
        for table in self._tables.values():
            table.flush()
        self.written = self._writer.written
        super().commit()


class MirrorShard(ShardStore):
    """The copy of one shard's part of the state."""

    def __init__(self, path: Path, *, shard: int, shards: int, own: Collection[int]) -> None:
        super().__init__(path, shard=shard, shards=shards, cast=cast_stored)
        self._own = own
        self._others: ShardReader | None = None
        self.transaction: MirrorTransaction | None = None

    def read_others_from(self, others: ShardReader) -> None:
        """The next epochs read the tables of others here."""
        self._others = others

    def begin(self, epoch: int, stage: int, *, committed: int | None = None) -> MirrorTransaction:
        """As `ShardStore.begin`; the transaction can also be looked at in `transaction`."""
        committed = epoch - 1 if committed is None else committed
        assert self._others is not None
        writer = ShardWriter(self._open(), self._read_in_order, epoch=epoch, stage=stage, committed=committed)
        self.transaction = MirrorTransaction(self._open(), self._codecs, writer, self._own, self._others)
        return self.transaction


class Mirror:
    """The copies of all shards."""

    def __init__(self, directory: Path, own: Collection[int], view: ReadView) -> None:
        """Copies the tables `own` as the view has them. What was in the directory is deleted."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        self.shards = [
            MirrorShard(directory / str(shard), shard=shard, shards=view.shards, own=own)
            for shard in range(view.shards)
        ]
        for shard, snapshot in zip(self.shards, view.snapshots, strict=True):
            with rows_of(snapshot) as rows:
                for table_id in sorted(own):
                    for batch in rows.read(Ranges.of_prefix(table_prefix(table_id)), page_rows=COPIED_ROWS):
                        if len(batch):
                            shard.fill(WriteBatch(batch.keys, batch.values))

    def reading(self, view: ReadView) -> ExitStack:
        """A context manager in which epochs read the tables of others as the view has them."""
        stack = ExitStack()
        for shard, snapshot in zip(self.shards, view.snapshots, strict=True):
            shard.read_others_from(stack.enter_context(ShardReader(snapshot)))
        return stack

    def close(self) -> None:
        """Closes the environments."""
        for shard in self.shards:
            shard.close()
