"""The bytes of a record: `j/<slot>` in shared storage. All integers are little-endian.

    "RPYJRN01" | crc u32 of the rest | bytes of the head u32 | head, JSON | payloads

    head  {"slot": 7, "term": 2, "nonce": "…", "entries": [{"kind": "log", …, "bytes": 640}, …]}

Each entry has its payloads one after the other: the log block, with zstd if it is large (`raw`: its bytes then); the
values that the meta store gets, in the order of `written`, then the inline deltas. The nonce is the record's own. It
tells a writer whose answer was lost whether the object of that name is its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import pyarrow as pa

from risingpy.errors import IoError
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
    SnapshotPart,
    TableSnapshot,
)
from risingpy.storage.journal.framing import framed, unframed

_MAGIC = b"RPYJRN01"
COMPRESSED_FROM = 1 << 14  # bytes of a log block


class DamagedState(IoError):
    """An object of shared storage is missing, or is not what was written: the operator restores it."""

    sqlstate = "XX001"


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """What one put has made durable."""

    slot: int
    term: int
    nonce: str
    entries: tuple[Entry, ...]


def record_name(slot: int) -> str:
    """Names sort as their slots do."""
    return f"j/{slot:016d}"


def encode_record(record: JournalRecord) -> bytes:
    """The bytes of a record."""
    payloads: list[bytes] = []
    entries = [_head_of(entry, payloads) for entry in record.entries]
    head = {"slot": record.slot, "term": record.term, "nonce": record.nonce, "entries": entries}
    return framed(_MAGIC, head, payloads)


def decode_record(name: str, data: bytes) -> JournalRecord:
    """The record of an object. DamagedState if it is none, or another slot's."""
    try:
        head, payloads_at = unframed(_MAGIC, data)
        payloads = _Payloads(data, payloads_at)
        entries = tuple(_entry_of(each, payloads) for each in head["entries"])
        if record_name(head["slot"]) != name:
            raise ValueError(f"it is that of slot {head['slot']}")
        return JournalRecord(head["slot"], head["term"], head["nonce"], entries)
    except (struct.error, ValueError, KeyError, TypeError, OSError) as error:
        raise DamagedState(f"{name} is damaged: {error}") from error


class _Payloads:
    """Goes through the bytes behind the head."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset

    def take(self, size: int) -> bytes:
        start, self._offset = self._offset, self._offset + size
        return self._data[start : self._offset]


def _head_of(entry: Entry, payloads: list[bytes]) -> dict[str, Any]:
    match entry:
        case LogEntry():
            is_large = len(entry.block) >= COMPRESSED_FROM
            payloads.append(pa.compress(entry.block, codec="zstd", asbytes=True) if is_large else entry.block)
            return {
                "kind": "log", "first": entry.first_lsn, "records": entry.records, "salt": entry.salt,
                "bytes": len(payloads[-1]), "raw": len(entry.block) if is_large else None, "spills": dict(entry.spills),
            }  # fmt: skip
        case MetaEntry():
            payloads += [value for value in entry.written.values() if value is not None]
            written = {key: None if value is None else len(value) for key, value in entry.written.items()}
            if isinstance(entry.epoch, Layout):
                return {"kind": "layout", "written": written, "layout": _layout_head(entry.epoch)}
            return {"kind": "meta", "written": written, "epoch": entry.epoch and _epoch_head(entry.epoch, payloads)}
        case FenceEntry():
            return {"kind": "fence", "server": entry.server}
        case SnapshotEntry():
            return {"kind": "snapshot", "tables": [snapshot_head(each) for each in entry.tables]}
        case MergeEntry():
            return {"kind": "merge", "delta": delta_head(entry.delta), "replaced": list(entry.replaced)}
    assert_never(entry)


def _entry_of(head: Mapping[str, Any], payloads: _Payloads) -> Entry:
    match head["kind"]:
        case "log":
            block, raw = payloads.take(head["bytes"]), head.get("raw")
            if raw is not None:
                block = pa.decompress(block, decompressed_size=raw, codec="zstd", asbytes=True)
            return LogEntry(head["first"], head["records"], head["salt"], block, head["spills"])
        case "meta":
            return MetaEntry(_written_of(head, payloads), _epoch_of(head["epoch"], payloads))
        case "layout":
            return MetaEntry(_written_of(head, payloads), _layout_of(head["layout"]))
        case "fence":
            return FenceEntry(head["server"])
        case "snapshot":
            return SnapshotEntry(tuple(snapshot_of(each) for each in head["tables"]))
        case "merge":
            return MergeEntry(delta_of(head["delta"]), tuple(head["replaced"]))
    raise ValueError(f"it has an entry of the unknown kind {head['kind']!r}")


def _written_of(head: Mapping[str, Any], payloads: _Payloads) -> dict[str, bytes | None]:
    return {key: None if size is None else payloads.take(size) for key, size in head["written"].items()}


def _layout_head(layout: Layout) -> dict[str, Any]:
    tables = [snapshot_head(each) for each in layout.tables]
    return {"epoch": layout.epoch, "lsn": layout.lsn, "shards": layout.shards, "tables": tables}


def _layout_of(head: Mapping[str, Any]) -> Layout:
    tables = tuple(snapshot_of(each) for each in head["tables"])
    return Layout(head["epoch"], head["lsn"], head["shards"], tables)


def _epoch_head(epoch: EpochCommit, payloads: list[bytes]) -> dict[str, Any]:
    payloads += [delta.inline for delta in epoch.deltas if delta.inline is not None]
    deltas = [{**delta_head(delta), "inline": delta.inline is not None} for delta in epoch.deltas]
    return {"epoch": epoch.epoch, "lsn": epoch.lsn, "shards": epoch.shards, "deltas": deltas}


def _epoch_of(head: Mapping[str, Any] | None, payloads: _Payloads) -> EpochCommit | None:
    if head is None:
        return None
    deltas = tuple(delta_of(each, payloads.take(each["size"]) if each["inline"] else None) for each in head["deltas"])
    return EpochCommit(head["epoch"], head["lsn"], head["shards"], deltas)


def delta_head(delta: Delta) -> dict[str, Any]:
    """A delta as JSON, without its bytes."""
    tables = [[table_id, size] for table_id, size in delta.tables.items()]
    return {"name": delta.name, "epoch": delta.epoch, "shard": delta.shard, "size": delta.size, "tables": tables}


def delta_of(head: Mapping[str, Any], inline: bytes | None = None) -> Delta:
    """The reverse of `delta_head`."""
    return Delta(head["name"], head["epoch"], head["shard"], head["size"], dict(_pairs(head["tables"])), inline)


def snapshot_head(snapshot: TableSnapshot) -> list[Any]:
    """A table's snapshot as JSON."""
    parts = [[part.name, part.size, part.raw] for part in snapshot.parts]
    return [snapshot.table_id, snapshot.shard, snapshot.epoch, parts]


def snapshot_of(head: list[Any]) -> TableSnapshot:
    """The reverse of `snapshot_head`."""
    table_id, shard, epoch, parts = head
    return TableSnapshot(table_id, shard, epoch, tuple(SnapshotPart(*part) for part in parts))


def _pairs(pairs: list[list[int]]) -> Iterator[tuple[int, int]]:
    yield from ((first, second) for first, second in pairs)
