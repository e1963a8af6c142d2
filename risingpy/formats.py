"""Every format in which something of ours lies on a disk: the version that is written, and those that are read.

This is the only place of these versions. Whoever changes a format raises `written` here, adds the version of before to
`read` if it is still read, and keeps a store of the new formats (`tests/stores/build.py`). `storage/format_note.py`
says in each data directory which versions its parts have. The parts have them, too: a shard in its key "format", a
segment of the log in its first eight bytes, a plan at its beginning. So a part that is read alone is refused as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from risingpy.errors import IoError


class IncompatibleStore(IoError):
    """What is stored has formats that this version does not read, or is of other shards: the operator decides."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name in `format.json`, the version that is written, all versions that are read, and of what."""

    name: str
    written: int
    read: tuple[int, ...]
    covers: str

    @staticmethod
    def only(name: str, version: int, covers: str) -> Format:
        """A format of which only the present version is read."""
        return Format(name, version, (version,), covers)


STORE = Format("store", 4, (3, 4), "shards: their databases, undo records, statistics and sorted runs")
ENCODING = Format.only("encoding", 5, "keys, rows, values, states of aggregates, and the types of functions' results")
HASH = Format.only("hash", 2, "the hash that spreads rows over vnodes")
VNODES = Format.only("vnodes", 256, "the number of vnodes")
PLANS = Format("plans", 4, (1, 2, 3, 4), "the catalog's objects and the plans of jobs")
META = Format("meta", 3, (1, 2, 3), "the keys of the meta store")
LOG = Format.only("log", 1, "segments of the write-ahead log, and files of many rows beside them")
SECRETS = Format.only("secrets", 1, "sealed values")
STATE = Format("state", 2, (1, 2), "shared storage: names of objects, and records of the journal")
EXPORT = Format.only("export", 1, "directories that risingpy export writes")

OF_SHARDS = (STORE, ENCODING, HASH, VNODES)
OF_DIRECTORY = (*OF_SHARDS, PLANS, META, LOG, SECRETS)
"""What a data directory and a backup have. META 1 is what was written before directories noted their formats; with META
3, there may be types of users."""

OF_SHARED_STATE = (STATE, ENCODING, HASH, VNODES)
"""What `format.json` of shared storage has, from its first server on. With STATE 1, there may be records of 2, too: a
version that reads only 1 refuses these by their kind ("layout")."""


def versions_written(formats: Sequence[Format]) -> dict[str, int]:
    """What this program writes, by name."""
    return {each.name: each.written for each in formats}


def unreadable(found: Mapping[str, object], formats: Sequence[Format]) -> str | None:
    """A sentence's end about the versions in `found` that this program does not read; None if it reads all."""
    known = {each.name: each.read for each in formats}
    bad = {name: version for name, version in found.items() if version not in known.get(name, ())}
    if not bad:
        return None
    has = ", ".join(f"{name} {version}" for name, version in bad.items())
    reads = ", ".join(f"{name} {' or '.join(map(str, known[name]))}" for name in bad if name in known)
    return f"has {has}; this version of RisingPy {f'reads {reads}' if reads else 'knows no such format'}"


def way_out(found: Mapping[str, object], formats: Sequence[Format], written_by: str | None = None) -> str:
    """The hint for whoever has what `unreadable` tells of."""
    newest = {each.name: each.written for each in formats}
    is_newer = any(name not in newest or not _is_at_most(version, newest[name]) for name, version in found.items())
    if is_newer:
        return f"Start RisingPy {written_by or 'of the version that wrote it'} or a later one."
    return "Start the version that wrote it, and take an export (risingpy export): this version imports it."


def _is_at_most(version: object, limit: int) -> bool:
    return isinstance(version, int) and version <= limit
