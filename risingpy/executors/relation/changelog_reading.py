"""Reads a changelog's blocks of one read view: whole epochs, in order, from any epoch on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.epoch.time import milliseconds
from risingpy.executors.relation.changelog import changes_in
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable

BLOCKS_PER_READ = 16  # of each shard: at most some 128 MB


@dataclass(frozen=True, slots=True)
class EpochChanges:
    """What one epoch has changed, as one consolidated change chunk (`op`, `c0`, …), in no order."""

    epoch: int
    rows: pa.Table

    @property
    def time(self) -> int:
        """When the epoch was, in milliseconds since 1970."""
        return milliseconds(self.epoch)


@dataclass(frozen=True, slots=True)
class Changes:
    """Epochs with changes, ascending. All changes up to the epoch `up_to` are among these or were before them."""

    epochs: tuple[EpochChanges, ...]
    up_to: int


def read_changes(table: TableSchema, view: ReadView, after_epoch: int, most_rows: int) -> Changes:
    """The view's changes after `after_epoch`: of the first epoch that has some, and of more up to `most_rows`."""
    newest = view.epoch
    if after_epoch >= newest:
        return Changes((), after_epoch)
    stored = StorageTable(table, view)
    low = pa.array([after_epoch], pa.int64())
    limit = BLOCKS_PER_READ
    while True:
        blocks = stored.after(low, limit)
        # What a full page ends with may go on in the next one.
        whole = min((_last_epoch(each) - 1 for each in blocks if each.num_rows == limit), default=newest)
        if whole > after_epoch and any(each.num_rows for each in blocks):
            found = _by_epoch(pa.concat_tables(blocks), whole, most_rows)
            if found:
                return Changes(found, _reached(found, blocks, whole))
        elif whole == newest:
            return Changes((), newest)
        limit *= 2


def _last_epoch(blocks: pa.Table) -> int:
    epoch: int = blocks.column("c0")[-1].as_py()
    return epoch


def _by_epoch(blocks: pa.Table, up_to: int, most_rows: int) -> tuple[EpochChanges, ...]:
    """The first epochs of the blocks, at least one if there is one, as far as they have `most_rows`."""
    blocks = blocks.filter(pc.less_equal(blocks.column("c0"), up_to))
    found: list[EpochChanges] = []
    rows = 0
    for epoch in sorted(set(blocks.column("c0").to_pylist())):
        if found and rows >= most_rows:
            break
        parts = blocks.filter(pc.equal(blocks.column("c0"), epoch)).column("c2")
        changes = pa.concat_tables([changes_in(part.as_buffer()) for part in parts])
        found.append(EpochChanges(epoch, changes))
        rows += changes.num_rows
    return tuple(found)


def _reached(found: tuple[EpochChanges, ...], blocks: list[pa.Table], whole: int) -> int:
    """The epoch up to which `found` has everything."""
    left = any(each.num_rows and _last_epoch(each) > found[-1].epoch for each in blocks)
    return found[-1].epoch if left else whole
