"""Deletes objects that no kept version needs.

Kept are the journal's newest version, those that a pin names, and each `m/…` that is younger than the retention. An
object that no such version needs is never needed again: names are used once, and a version only ever adds objects that
are new. An object that is about to be named by a record is new, too, so nothing younger than a minimum age is deleted.
Whoever has lost the lead without knowing it could have an old idea of the newest version; it looks before each delete.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from risingpy.errors import SqlError
from risingpy.storage.journal.record import DamagedState, record_name
from risingpy.storage.journal.version import Version, decode_version, encode_version, version_name
from risingpy.storage.objects.object_store import ObjectMissing, ObjectStore, get_surely, list_surely, put_own

_PREFIXES = ("d/", "j/", "m/", "p/", "s/", "t/")
TERMS_KEPT = 100


@dataclass(frozen=True, slots=True)
class Ages:
    """In seconds. `least`: of what may be deleted. A slot that is free again would deceive a server that slept so long
    in a put, which is why a leader that comes back looks for later terms. `retention`: how long an `m/…` is kept.
    """

    least: float = 24 * 3600.0
    retention: float = 24 * 3600.0


DEFAULT_AGES = Ages()


def pin(objects: ObjectStore, version: Version, name: str) -> None:
    """Keeps a version for as long as the pin is there. SqlError (42710) if the name is taken by another version."""
    put_own(objects, version_name(version.slot), encode_version(version))
    data = json.dumps({"slot": version.slot}).encode()
    put_own(objects, _pin_name(name), data)
    if get_surely(objects, _pin_name(name)) != data:
        raise SqlError(f'there is a pin "{name}" already', sqlstate="42710")


def unpin(objects: ObjectStore, name: str) -> None:
    """Forgets a pin; harmless if there is none."""
    objects.delete(_pin_name(name))


def pinned_slot(objects: ObjectStore, name: str) -> int:
    """The slot that a pin keeps. SqlError (42704) if there is no such pin."""
    try:
        return int(json.loads(get_surely(objects, _pin_name(name)))["slot"])
    except ObjectMissing:
        raise SqlError(f'{objects.uri} has no pin "{name}"', sqlstate="42704") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedState(f"{_pin_name(name)} is damaged: {error}") from error


def vacuum(
    objects: ObjectStore, newest: Version, now: float, look: Callable[[], None], ages: Ages = DEFAULT_AGES
) -> int:
    """Deletes what is not needed; returns how many objects. `now` is by the storage's clock, in seconds since 1970.

    `look` raises an error if another server leads.
    """
    versions = list_surely(objects, "m/")
    pins = {version_name(pinned_slot(objects, each.name.removeprefix("pin/"))) for each in list_surely(objects, "pin/")}
    # The newest one is where a reader begins; a reader may begin at any that is young, if it has just listed it.
    kept = [each.name for each in versions if now - each.modified < ages.retention or each is versions[-1]]
    needed = {*newest.needed_objects(), *kept, *pins}
    for name in sorted({*kept, *pins}):
        needed.update(_kept_version(objects, name, look).needed_objects())
    first_kept_record = record_name(int(kept[0].removeprefix("m/"))) if kept else record_name(0)
    first_kept_term = f"t/{max(newest.term - TERMS_KEPT, 0):010d}"
    deleted = 0
    for found in [each for prefix in _PREFIXES for each in list_surely(objects, prefix)]:
        is_after = found.name >= (first_kept_term if found.name.startswith("t/") else first_kept_record)
        is_kept = found.name in needed or (found.name[:2] in ("j/", "t/") and is_after)
        if is_kept or now - found.modified < ages.least:
            continue
        look()
        objects.delete(found.name)
        deleted += 1
    return deleted + objects.delete_unfinished(now - ages.least)


def _kept_version(objects: ObjectStore, name: str, look: Callable[[], None]) -> Version:
    try:
        return decode_version(name, get_surely(objects, name))
    except ObjectMissing:
        look()  # the vacuum of a server that leads instead of this one may have been faster
        raise DamagedState(f"{objects.uri}/{name} is missing, and a pin or a reader may need it") from None


def _pin_name(name: str) -> str:
    return f"pin/{name}"
