"""Appends to the journal. Who comes while a put is under way goes into the next record, together with all others.

An entry counts when its record is in shared storage, and only then does `append` return. While it is not known whether
a record is there, it is put again under the same name: an answer "exists" is settled by the record's nonce. If that
takes too long, or another server has taken over, the journal is lost: every call fails from then on, and the server
must end, because what it has in memory may be more, or less, than what the journal says.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass

from risingpy.errors import CannotConnectNow, SqlError
from risingpy.storage.fault_points import reach
from risingpy.storage.journal.entries import Entry, LogEntry
from risingpy.storage.journal.leadership import fenced_by, now, refuse_later_term
from risingpy.storage.journal.record import JournalRecord, decode_record, encode_record, record_name
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.object_store import (
    ObjectExists,
    ObjectMissing,
    ObjectStore,
    StateUnavailable,
    get_surely,
)

LOG = logging.getLogger(__name__)

LARGEST_RECORD = 64 << 20  # bytes of log blocks that share a put, unless a single one is larger


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a leader goes on without an answer of shared storage, in seconds.

    `serves`: reads are answered for so long after it was last certain that this server leads. `writes`: a put is tried
    again for so long; then the server ends. `looks`: so often it looks for a later term.
    """

    serves: float = 15.0
    writes: float = 60.0
    looks: float = 3.0
    first_pause: float = 0.05
    longest_pause: float = 2.0


PATIENT = Patience()


@dataclass(slots=True)
class _Waiting:
    entry: Entry
    slot: int | None = None
    error: SqlError | None = None

    @property
    def is_done(self) -> bool:
        return self.slot is not None or self.error is not None


class Journal:
    """For any thread."""

    def __init__(
        self,
        objects: ObjectStore,
        version: Version,
        term: int,
        *,
        patience: Patience = PATIENT,
        on_lost: Callable[[SqlError], None] = lambda _: None,
    ) -> None:
        """`version` is what the journal says up to the fence of `term`; from now on it belongs to the journal.

        `on_lost` is called once, in any thread, when the journal is lost.
        """
        self.objects = objects
        self.term = term
        self._version = version
        self._patience = patience
        self._on_lost = on_lost
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._is_writing = False
        self._lost: SqlError | None = None
        self._confirmed = now()
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._look, name="leadership", daemon=True)
        self._watch.start()

    @property
    def lost(self) -> SqlError | None:
        """Why nothing can be appended any more."""
        return self._lost

    def look_at(self, look: Callable[[Version], object]) -> None:
        """Calls `look` with the newest version, which it must not keep or change. Between two records."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_writing)
            look(self._version)

    def refuse_unconfirmed(self) -> None:
        """Raises CannotConnectNow (57P03) if this server cannot know that it still leads."""
        if self._lost is not None:
            raise self._lost
        if now() - self._confirmed > self._patience.serves:
            raise CannotConnectNow(
                "the database system cannot reach its shared storage",
                detail=f"For {now() - self._confirmed:.0f} s, it could not tell whether another server has taken over.",
            )

    def append(self, entry: Entry) -> int:
        """Makes the entry durable; returns its slot. Raises Fenced, or StateUnavailable: then the server must end."""
        mine = _Waiting(entry)
        with self._changed:
            self._waiting.append(mine)
            self._changed.wait_for(lambda: mine.is_done or not self._is_writing)
            if not mine.is_done:
                self._is_writing = True
                taken = self._take()
        if not mine.is_done:
            self._write(taken)
        if mine.error is not None:
            raise mine.error
        assert mine.slot is not None
        return mine.slot

    def fail(self, error: SqlError) -> None:
        """This process could not follow what the journal says: nothing may be appended any more."""
        with self._changed:
            first, self._lost = self._lost is None, self._lost or error
        if first:
            LOG.error("this server ends: %s", error.told)
            self._on_lost(error)

    def close(self) -> None:
        """Waits for the put that is under way."""
        self._closing.set()
        with self._changed:
            self._changed.wait_for(lambda: not self._is_writing)
        if self._watch is not threading.current_thread():
            self._watch.join(timeout=10)

    def _take(self) -> list[_Waiting]:
        size = taken = 0
        for each in self._waiting:
            size += len(each.entry.block) if isinstance(each.entry, LogEntry) else 0
            if taken and size > LARGEST_RECORD:
                break
            taken += 1
        found, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return found

    def _write(self, taken: list[_Waiting]) -> None:
        """Writes one record; only the thread that has set `_is_writing` comes here."""
        slot, error = self._version.slot + 1, self._lost
        record = JournalRecord(slot, self.term, secrets.token_hex(8), tuple(each.entry for each in taken))
        try:
            if error is None:
                self._put(record)
                self._version.apply(record)
        except SqlError as caught:
            error = caught
        except BaseException as caught:  # also for those who wait with us, and must not wait for ever
            error = StateUnavailable(f"cannot write the journal: {caught!r}")
            raise
        finally:
            if error is not None:
                self.fail(error)
            with self._changed:
                for each in taken:
                    each.slot, each.error = (slot, None) if error is None else (None, error)
                self._is_writing = False
                self._changed.notify_all()

    def _put(self, record: JournalRecord) -> None:
        name, data = record_name(record.slot), encode_record(record)
        began, pause = now(), self._patience.first_pause
        reach("journal.put")
        while True:
            try:
                self._put_once(name, data, record.nonce)
                break
            except StateUnavailable as error:
                if now() - began > self._patience.writes or self._closing.wait(pause):
                    raise
                LOG.warning("the journal waits for shared storage: %s", error)
                pause = min(2 * pause, self._patience.longest_pause)
        # A server that has slept for days may find its slot free again, after others have used it and vacuumed.
        if now() - self._confirmed > self._patience.serves:
            refuse_later_term(self.objects, self.term)
            self._confirmed = now()
        reach("journal.acknowledge")

    def _put_once(self, name: str, data: bytes, nonce: str) -> None:
        try:
            self.objects.put(name, data)
        except ObjectExists:
            try:
                found = decode_record(name, get_surely(self.objects, name))
            except ObjectMissing:
                raise StateUnavailable(f"{name} is there, and is not") from None
            if found.nonce != nonce:
                raise fenced_by(found.term) from None

    def _look(self) -> None:
        """Confirms, again and again, that no later term is taken."""
        while not self._closing.wait(self._patience.looks) and self._lost is None:
            began = now()
            try:
                refuse_later_term(self.objects, self.term)
                self._confirmed = began
            except StateUnavailable as error:
                LOG.warning("cannot look who leads: %s", error)
                if now() - self._confirmed > self._patience.writes:
                    self.fail(error)
            except SqlError as error:
                self.fail(error)
