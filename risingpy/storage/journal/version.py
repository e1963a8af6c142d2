"""A version: what the journal says up to a slot.

It has the keys of the meta store themselves, and of everything else the places: which deltas the committed epoch is
made of, and where the log blocks are that it does not have yet. `m/<slot>` is a version as one object: a reader that
finds it applies only the records after it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from risingpy.storage.journal.entries import (
    Delta,
    Entry,
    EpochCommit,
    FenceEntry,
    Layout,
    LogEntry,
    MergeEntry,
    MetaEntry,
    SnapshotEntry,
    TableSnapshot,
)
from risingpy.storage.journal.framing import framed, unframed
from risingpy.storage.journal.record import (
    DamagedState,
    JournalRecord,
    delta_head,
    delta_of,
    record_name,
    snapshot_head,
    snapshot_of,
)

_MAGIC = b"RPYVER01"
INLINE_MARK = "#"  # in a delta's place: its record, and its number there


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A log block that some later epoch needs, and its record's slot. `spills`: as in its entry."""

    slot: int
    first_lsn: int
    last_lsn: int
    spills: Mapping[str, int]


class Version:
    """The state of a database in shared storage. For one thread at a time.

    `epoch`, `lsn` and `shards` are those of the last committed epoch, 0 if there is none. `deltas` are in the order of
    their epochs, without bytes: an inline one is called `j/<slot>#<number>`. `complete_after`: whoever has the state of
    this epoch, or of a later one, needs no snapshot to come here. `laid_out`: the epoch in which the shards
    became as many as they are; what is of an earlier one is of other shards.
    """

    def __init__(self) -> None:
        self.slot = -1
        self.term = 0
        self.meta: dict[str, bytes] = {}
        self.meta_slot = -1  # of the last transaction of the meta store
        self.epoch = self.lsn = self.shards = 0
        self.last_lsn = 0
        self.logs: list[LogPlace] = []
        self.deltas: list[Delta] = []
        self.tables: dict[tuple[int, int], TableSnapshot] = {}
        self.complete_after = self.laid_out = 0

    def apply(self, record: JournalRecord) -> None:
        """Takes the record of the next slot. DamagedState if it is that of another one, or of an earlier term."""
        if record.slot != self.slot + 1 or record.term < self.term:
            raise DamagedState(
                f"{record_name(record.slot)} of term {record.term} comes after slot {self.slot} of term {self.term}"
            )
        self.slot, self.term = record.slot, record.term
        for number, entry in enumerate(record.entries):
            self._apply(entry, number)

    def needed_objects(self) -> Iterator[str]:
        """The names of all objects that this version is made of, but for `m/…`: no vacuum may delete them."""
        for place in self.logs:
            yield record_name(place.slot)
            for spill, pieces in place.spills.items():
                yield from (spill_name(spill, number) for number in range(pieces))
        yield from (object_of(delta) for delta in self.deltas)
        for table in self.tables.values():
            yield from (part.name for part in table.parts)

    def deltas_after(self, epoch: int, shard: int) -> list[Delta]:
        """Those that bring a shard from one epoch to the version's, in order."""
        return [delta for delta in self.deltas if delta.shard == shard and delta.epoch > epoch]

    def snapshots_of(self, shard: int) -> list[TableSnapshot]:
        """The tables' snapshots of a shard, in the order of the tables."""
        return [found for (_, of), found in sorted(self.tables.items()) if of == shard]

    def _apply(self, entry: Entry, number: int) -> None:
        match entry:
            case LogEntry():
                self.last_lsn = entry.last_lsn
                self.logs.append(LogPlace(self.slot, entry.first_lsn, entry.last_lsn, entry.spills))
            case MetaEntry():
                for key, value in entry.written.items():
                    if value is None:
                        self.meta.pop(key, None)
                    else:
                        self.meta[key] = value
                self.meta_slot = self.slot
                match entry.epoch:
                    case EpochCommit():
                        self._commit(entry.epoch, number)
                    case Layout():
                        self._lay_out(entry.epoch)
                    case None:
                        pass
                    case _:
                        assert_never(entry.epoch)
            case FenceEntry():
                pass
            case SnapshotEntry():
                self._replace_tables(entry)
            case MergeEntry() if entry.delta.epoch < self.laid_out:
                pass  # it was made of what another layout has replaced meanwhile
            case MergeEntry():
                replaced = set(entry.replaced)
                merged = [delta for delta in self.deltas if delta.name in replaced]
                # What a snapshot covers is not merged: whoever comes from before would miss it.
                partly = [delta.epoch for delta in merged if len(self.counted_tables(delta)) < len(delta.tables)]
                self.complete_after = max(self.complete_after, *partly, 0)
                self.deltas = [delta for delta in self.deltas if delta.name not in replaced]
                self.deltas.append(entry.delta)
                self.deltas.sort(key=lambda delta: delta.epoch)  # stable: an epoch's own order stays
            case _:
                assert_never(entry)

    def _commit(self, epoch: EpochCommit, number: int) -> None:
        self.epoch, self.lsn, self.shards = epoch.epoch, epoch.lsn, epoch.shards
        self.logs = [place for place in self.logs if place.last_lsn > self.lsn]
        for index, delta in enumerate(epoch.deltas):
            if delta.inline is not None:
                name = f"{record_name(self.slot)}{INLINE_MARK}{number}.{index}"
                delta = replace(delta, name=name, inline=None)
            self.deltas.append(delta)

    def _lay_out(self, layout: Layout) -> None:
        self.epoch, self.lsn, self.shards = layout.epoch, layout.lsn, layout.shards
        self.logs = [place for place in self.logs if place.last_lsn > self.lsn]
        self.deltas = []
        self.tables = {(table.table_id, table.shard): table for table in layout.tables}
        self.laid_out = layout.epoch
        self.complete_after = layout.epoch  # a shard of the same number and count may be of an older layout

    def covered(self, table_id: int, shard: int) -> int:
        """Up to this epoch, a table's snapshot has all: deltas of it count only for other tables."""
        found = self.tables.get((table_id, shard))
        return 0 if found is None else found.epoch

    def counted_tables(self, delta: Delta) -> frozenset[int]:
        """The tables of which a delta has what no snapshot has."""
        shard, epoch = delta.shard, delta.epoch
        return frozenset(table_id for table_id in delta.tables if epoch > self.covered(table_id, shard))

    def _replace_tables(self, entry: SnapshotEntry) -> None:
        found = (table for table in entry.tables if table.epoch >= self.laid_out)
        self.tables.update(((table.table_id, table.shard), table) for table in found)
        kept = []
        for delta in self.deltas:
            if self.counted_tables(delta):
                kept.append(delta)
            else:
                self.complete_after = max(self.complete_after, delta.epoch)
        self.deltas = kept
        # An empty snapshot says that rows are gone which a delta still has, one that another table needs.
        mentioned = {(table_id, delta.shard) for delta in kept for table_id in delta.tables}
        self.tables = {key: table for key, table in self.tables.items() if table.parts or key in mentioned}


def spill_name(spill: str, number: int) -> str:
    """The object with a piece of a spill."""
    return f"p/{spill}-{number:06d}"


def object_of(delta: Delta) -> str:
    """The object that has a version's delta."""
    return delta.name.partition(INLINE_MARK)[0]


def version_name(slot: int) -> str:
    """Names sort as their slots do."""
    return f"m/{slot:016d}"


def encode_version(version: Version) -> bytes:
    """The bytes of m/<slot>: magic, crc, bytes of the head, head as JSON, the values of the meta store's keys."""
    head = {
        "slot": version.slot,
        "term": version.term,
        "meta": {key: len(value) for key, value in version.meta.items()},
        "meta_slot": version.meta_slot,
        "epoch": version.epoch,
        "lsn": version.lsn,
        "shards": version.shards,
        "last_lsn": version.last_lsn,
        "logs": [[place.slot, place.first_lsn, place.last_lsn, dict(place.spills)] for place in version.logs],
        "deltas": [delta_head(delta) for delta in version.deltas],
        "tables": [snapshot_head(table) for table in version.tables.values()],
        "complete_after": version.complete_after,
        "laid_out": version.laid_out,
    }
    return framed(_MAGIC, head, version.meta.values())


def decode_version(name: str, data: bytes) -> Version:
    """The reverse of `encode_version`. DamagedState if the bytes are none."""
    try:
        head, offset = unframed(_MAGIC, data)
        version = Version()
        for key, size in head["meta"].items():
            version.meta[key] = data[offset : offset + size]
            offset += size
        for field in ("slot", "term", "meta_slot", "epoch", "lsn", "shards", "last_lsn", "complete_after"):
            setattr(version, field, head[field])
        version.laid_out = head.get("laid_out", 0)  # versions of before there were layouts have none
        version.logs = [LogPlace(*place) for place in head["logs"]]
        version.deltas = [delta_of(each) for each in head["deltas"]]
        version.tables = {(t.table_id, t.shard): t for t in map(snapshot_of, head["tables"])}
        return version
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise DamagedState(f"{name} is damaged: {error}") from error
