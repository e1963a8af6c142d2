"""What a record of the journal may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Delta:
    """What one transaction of a shard has changed: an object of this name, or `inline` its bytes.

    `tables`: how many bytes of keys and values are of each table. `epoch` is the last one that it covers.
    """

    name: str
    epoch: int
    shard: int
    size: int
    tables: Mapping[int, int]
    inline: bytes | None = None


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """An object with rows of one table and shard, in the order of their keys: `raw` bytes of keys and values."""

    name: str
    size: int
    raw: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A block of the write-ahead log, as `storage.log.segment` lays it out. `spills`: the pieces of those it names."""

    first_lsn: int
    records: int
    salt: int
    block: bytes
    spills: Mapping[str, int] = field(default_factory=dict)

    @property
    def last_lsn(self) -> int:
        return self.first_lsn + self.records - 1


@dataclass(frozen=True, slots=True)
class EpochCommit:
    """An epoch is committed: of `shards` shards, with the log up to `lsn`. `deltas` are the attempts that count."""

    epoch: int
    lsn: int
    shards: int
    deltas: tuple[Delta, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The state is laid out anew, on `shards` shards: `tables` are all of its rows as of `epoch`.

    No earlier delta or snapshot counts any more. The epoch is a number of its own, after the one whose rows these are:
    so whoever has the state in an earlier layout is known by its epoch.
    """

    epoch: int
    lsn: int
    shards: int
    tables: tuple[TableSnapshot, ...]


@dataclass(frozen=True, slots=True)
class MetaEntry:
    """A transaction of the meta store; None deletes a key. With `epoch`, it commits one, or a new layout."""

    written: Mapping[str, bytes | None]
    epoch: EpochCommit | Layout | None = None


@dataclass(frozen=True, slots=True)
class FenceEntry:
    """From here on, the record's term leads, and no earlier one."""

    server: str


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """All rows of a table on a shard as of an epoch."""

    table_id: int
    shard: int
    epoch: int
    parts: tuple[SnapshotPart, ...]


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """These tables need no delta up to their epochs any more. One without rows, or that is gone, has no parts."""

    tables: tuple[TableSnapshot, ...]


@dataclass(frozen=True, slots=True)
class MergeEntry:
    """The delta has what those of these names have together: it takes their place."""

    delta: Delta
    replaced: tuple[str, ...]


Entry = LogEntry | MetaEntry | FenceEntry | SnapshotEntry | MergeEntry
