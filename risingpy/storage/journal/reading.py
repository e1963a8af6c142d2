"""Reads a version: the newest `m/…` that there is, then the records after it, up to the first slot that is free."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.journal.delta import decode_batches, read_batches
from risingpy.storage.journal.entries import Delta, EpochCommit, LogEntry, MetaEntry
from risingpy.storage.journal.record import DamagedState, JournalRecord, decode_record, record_name
from risingpy.storage.journal.version import (
    INLINE_MARK,
    Version,
    decode_version,
    object_of,
    spill_name,
    version_name,
)
from risingpy.storage.objects.object_store import ObjectMissing, ObjectStore, get_surely, list_surely

READERS = 16  # objects that are read at once: a cloud takes tens of milliseconds for each


def read_version(objects: ObjectStore, up_to: int | None = None) -> Version:
    """The version as of a slot; by default, of the newest one. DamagedState if something is missing or damaged."""
    version = _starting_version(objects, up_to)
    listed = [found.name for found in list_surely(objects, "j/")]
    names = [name for name in listed if record_name(version.slot) < name]
    if up_to is not None:
        names = [name for name in names if name <= record_name(up_to)]
    with ThreadPoolExecutor(READERS) as pool:
        for name, data in zip(names, pool.map(lambda each: get_surely(objects, each), names), strict=True):
            version.apply(decode_record(name, data))
    follow(objects, version, up_to)
    return version


def follow(objects: ObjectStore, version: Version, up_to: int | None = None) -> list[JournalRecord]:
    """Applies what has come since the version's slot, and returns these records."""
    found: list[JournalRecord] = []
    while up_to is None or version.slot < up_to:
        record = read_record(objects, version.slot + 1)
        if record is None:
            break
        version.apply(record)
        found.append(record)
    return found


def read_record(objects: ObjectStore, slot: int) -> JournalRecord | None:
    """The record of a slot; None if the slot is free."""
    name = record_name(slot)
    try:
        return decode_record(name, get_surely(objects, name))
    except ObjectMissing:
        return None


def read_delta(objects: ObjectStore, delta: Delta) -> list[WriteBatch]:
    """The batches of a version's delta, wherever it lies."""
    name, _, place = delta.name.partition(INLINE_MARK)
    if not place:
        return read_batches(objects, name)
    record = _needed_record(objects, name)
    number, index = map(int, place.split("."))
    entry = record.entries[number]
    commit = entry.epoch if isinstance(entry, MetaEntry) else None
    found = commit.deltas[index].inline if isinstance(commit, EpochCommit) else None
    if found is None:
        raise DamagedState(f"{delta.name} is no delta")
    return decode_batches(delta.name, found)


def read_deltas(objects: ObjectStore, deltas: list[Delta]) -> Iterator[list[WriteBatch]]:
    """The batches of several, in order, while the next ones are being read."""
    with ThreadPoolExecutor(READERS) as pool:
        for start in range(0, len(deltas), READERS):
            yield from pool.map(lambda delta: read_delta(objects, delta), deltas[start : start + READERS])


def read_log(objects: ObjectStore, version: Version) -> Iterator[LogEntry]:
    """The log blocks that the version's epoch does not have yet, in order."""
    for place in version.logs:
        record = _needed_record(objects, record_name(place.slot))
        entries = [each for each in record.entries if isinstance(each, LogEntry) and each.first_lsn == place.first_lsn]
        if len(entries) != 1:
            raise DamagedState(f"{record_name(place.slot)} has no log block that begins with {place.first_lsn}")
        yield entries[0]


def read_spill(objects: ObjectStore, spill: str, pieces: int) -> Iterator[bytes]:
    """The bytes of a spill's file, a piece at a time."""
    for number in range(pieces):
        name = spill_name(spill, number)
        try:
            yield get_surely(objects, name)
        except ObjectMissing:
            raise DamagedState(f"{objects.uri}/{name} is missing, and the journal names it") from None


def _starting_version(objects: ObjectStore, up_to: int | None) -> Version:
    names = [found.name for found in list_surely(objects, "m/")]
    if up_to is not None:
        names = [name for name in names if name <= version_name(up_to)]
    for name in reversed(names):
        try:
            return decode_version(name, get_surely(objects, name))
        except ObjectMissing:
            continue  # a vacuum was faster; there is a newer one, or an older one
    return Version()


def _needed_record(objects: ObjectStore, name: str) -> JournalRecord:
    try:
        return decode_record(name, get_surely(objects, name))
    except ObjectMissing:
        raise DamagedState(f"{objects.uri}/{name} is missing, and a later record needs it") from None


__all__ = ["follow", "object_of", "read_delta", "read_deltas", "read_log", "read_record", "read_spill", "read_version"]
