"""What of a version should be written anew, so that whoever reads it has few objects to read, and few bytes.

Small deltas come with every epoch: as soon as a shard has `objects` of them, they become one. A table is written anew,
as a snapshot, when its deltas have as many bytes as its snapshot, so that a byte of a delta costs about one of a
snapshot, whatever the table's size. Deltas that no table needs any more then go.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.storage.engine.mem_table import WriteBatch, last_writes
from risingpy.storage.journal.delta import encode_batches, table_id_of, tables_of
from risingpy.storage.journal.entries import Delta, MergeEntry, SnapshotPart
from risingpy.storage.journal.reading import read_deltas
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.object_store import ObjectStore, put_own

PART_BYTES = 64 << 20  # of keys and values in a part: what a reader holds at once, for each of a few threads


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`objects`: so many small deltas of a shard become one. `small`: bytes of an object up to which a delta is small.

    `least`: a table whose deltas have fewer bytes is not written anew.
    """

    objects: int = 1000
    small: int = 1 << 20
    least: int = 8 << 20


DEFAULT_THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class DueMerge:
    """Deltas of a shard, in order, that should become one, and the tables that count in each."""

    shard: int
    deltas: tuple[Delta, ...]
    counted: tuple[frozenset[int], ...]


def due_merges(version: Version, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> list[DueMerge]:
    """The merges that are due. They stay right while epochs are added, and no snapshot."""
    by_shard: dict[int, list[Delta]] = defaultdict(list)
    for delta in version.deltas:
        by_shard[delta.shard].append(delta)
    found = []
    for shard, deltas in by_shard.items():
        # Only neighbours may be merged: what is between two deltas may have their keys, too.
        run: list[Delta] = []
        for delta in deltas:
            if delta.size <= thresholds.small:
                run.append(delta)
            elif len(run) >= thresholds.objects:
                break
            else:
                run = []
        if len(run) >= thresholds.objects:
            found.append(DueMerge(shard, tuple(run), tuple(map(version.counted_tables, run))))
    return found


def merge(objects: ObjectStore, due: DueMerge) -> MergeEntry:
    """Writes one delta that has what several have. StateUnavailable, DamagedState."""
    tables: dict[int, list[WriteBatch]] = defaultdict(list)
    for counted, batches in zip(due.counted, read_deltas(objects, list(due.deltas)), strict=True):
        for batch in batches:
            if (table_id := table_id_of(batch)) in counted:
                tables[table_id].append(batch)
    merged = [_last_writes(batches) for _, batches in sorted(tables.items())]
    epoch, shard = due.deltas[-1].epoch, due.shard
    name, data = f"d/{epoch}-m.{secrets.token_hex(6)}-{shard}", encode_batches(merged)
    put_own(objects, name, data)
    delta = Delta(name, epoch, shard, len(data), tables_of(merged))
    return MergeEntry(delta, tuple(each.name for each in due.deltas))


def due_tables(version: Version, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> frozenset[int]:
    """The tables that should be written anew, on all shards."""
    changed: dict[int, int] = defaultdict(int)
    for delta in version.deltas:
        for table_id in version.counted_tables(delta):
            changed[table_id] += delta.tables[table_id]
    written: dict[int, int] = defaultdict(int)
    for (table_id, _), table in version.tables.items():
        written[table_id] += sum(part.raw for part in table.parts)
    return frozenset(t for t, size in changed.items() if size >= max(thresholds.least, written[t]))


def put_parts(
    objects: ObjectStore,
    table_id: int,
    shard: int,
    epoch: int,
    batches: Iterator[WriteBatch],
    part_bytes: int = PART_BYTES,
) -> tuple[SnapshotPart, ...]:
    """Writes rows of one table, in the order of their keys, as parts of a snapshot."""
    attempt, parts, waiting, size = secrets.token_hex(6), list[SnapshotPart](), list[WriteBatch](), 0

    def put() -> None:
        data = encode_batches(waiting)
        name = f"s/{table_id}/{epoch}-{attempt}-{shard}-{len(parts):05d}"
        put_own(objects, name, data)
        parts.append(SnapshotPart(name, len(data), size))

    for batch in batches:
        waiting.append(batch)
        size += batch.keys.nbytes + batch.values.nbytes
        if size >= part_bytes:
            put()
            waiting, size = [], 0
    if waiting:
        put()
    return tuple(parts)


def _last_writes(batches: Sequence[WriteBatch]) -> WriteBatch:
    """The last write of each key."""
    keys = pa.concat_arrays([batch.keys for batch in batches])
    values = pa.concat_arrays([batch.values for batch in batches])
    puts = values.is_valid().to_numpy(zero_copy_only=False).astype(np.bool_)
    return last_writes(keys, values, puts, are_changes=False).batch
