"""Who leads. A term is taken by putting `t/<term>`; it leads once its first record, a fence, is in the journal.

An earlier leader cannot write after the fence: its next put finds the slot taken. It may still read, so it looks every
few seconds whether there is a later term, and whoever has not been able to look for a while answers nobody. Nothing of
this needs clocks that agree: each server only measures how long ago it looked itself.
"""

from __future__ import annotations

import json
import secrets
import time

from risingpy.errors import CannotConnectNow
from risingpy.storage.journal.entries import FenceEntry
from risingpy.storage.journal.reading import follow, read_version
from risingpy.storage.journal.record import JournalRecord, encode_record, record_name
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.object_store import (
    FIRST_PAUSE,
    TRIES,
    ObjectExists,
    ObjectMissing,
    ObjectStore,
    StateUnavailable,
    get_surely,
    list_surely,
)


class Fenced(CannotConnectNow):
    """Another server has taken over: this one ends, and clients connect to the other one."""

    severity = "FATAL"


def now() -> float:
    """Seconds of a clock that also counts while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def term_name(term: int) -> str:
    """Names sort as their terms do."""
    return f"t/{term:010d}"


def take_term(objects: ObjectStore, server: str) -> int:
    """Takes the next term for a server. StateUnavailable if shared storage does not answer."""
    nonce = secrets.token_hex(8)
    data = json.dumps({"server": server, "nonce": nonce}).encode()
    names = [found.name for found in list_surely(objects, "t/")]
    term = int(names[-1].removeprefix("t/")) + 1 if names else 1
    failures = 0
    while True:
        try:
            objects.put(term_name(term), data)
            return term
        except ObjectExists:
            if get_surely(objects, term_name(term)) == data:
                return term  # an earlier try of ours
            term += 1
        except StateUnavailable:
            failures += 1
            if failures == TRIES:
                raise
            time.sleep(FIRST_PAUSE * 2**failures)


def refuse_later_term(objects: ObjectStore, term: int) -> None:
    """Raises Fenced if another server has taken a later term, StateUnavailable if nobody can tell."""
    try:
        data = objects.get(term_name(term + 1))
    except ObjectMissing:
        return
    raise fenced_by(term + 1, data)


def fenced_by(term: int, data: bytes = b"") -> Fenced:
    """The error of a server after whose term there is a later one."""
    try:
        server = json.loads(data)["server"]
    except (ValueError, KeyError, TypeError):
        server = "another server"
    return Fenced("another server has taken over this database", detail=f"{server} leads, with term {term}.")


def fence(objects: ObjectStore, term: int, server: str) -> Version:
    """Reads the journal to its end, and puts the fence of a term there. Fenced if a later one has done so."""
    version = read_version(objects)
    nonce = secrets.token_hex(8)
    failures = 0
    while True:
        if version.term > term:
            raise fenced_by(version.term)
        record = JournalRecord(version.slot + 1, term, nonce, (FenceEntry(server),))
        try:
            objects.put(record_name(record.slot), encode_record(record))
        except ObjectExists:
            found = follow(objects, version)
            if any(each.nonce == nonce for each in found):
                return version
            continue
        except StateUnavailable:
            failures += 1
            if failures == TRIES:
                raise
            time.sleep(FIRST_PAUSE * 2**failures)
            # The put may have happened, or may still: the next try at the same slot tells.
            continue
        version.apply(record)
        return version
