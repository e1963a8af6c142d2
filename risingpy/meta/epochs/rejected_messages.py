"""The messages of sources that did not decode: counted, and the last ones kept, in the meta store.

What an epoch met becomes durable with the epoch. So each bad message counts once for a job, through crashes; those of
pushed sources, which no epoch reads, may count again if the source sends them again.

Keys: `rejected/<job>/<source>` (the count), `rejected_message/<source>/<place>` (JSON; there are `KEPT` places).
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from risingpy.executors.epoch.source_reading import Rejected, RejectedMessage
from risingpy.storage.engine.meta_store import MetaStore, MetaTransaction

KEPT = 1_000  # messages of a source
_COUNT, _MESSAGE = "rejected/", "rejected_message/"


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A bad message, and when an epoch met it first. Messages of a source are numbered as they come."""

    source_id: int
    message: RejectedMessage
    time: datetime
    number: int = 0


@dataclass(frozen=True, slots=True)
class NotedMessages:
    """What is to be added: the new counts, and the new messages to keep."""

    counts: Mapping[tuple[int, int], int]
    messages: Sequence[KeptMessage]

    def write(self, txn: MetaTransaction) -> None:
        """Writes it. Each message takes the place of the one that is too old then."""
        for (job_id, source_id), count in self.counts.items():
            txn.put(f"{_COUNT}{job_id}/{source_id}", str(count).encode())
        for kept in self.messages:
            txn.put(_key(kept), _stored(kept))


class RejectedMessages:
    """Adds up the reports of committed epochs. Safe to use from several threads."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._counts: dict[tuple[int, int], int] = {}
        self._kept: dict[int, deque[KeptMessage]] = {}
        with store.transaction() as txn:
            for key, value in txn.scan(_COUNT):
                job_id, source_id = map(int, key.removeprefix(_COUNT).split("/"))
                self._counts[job_id, source_id] = int(value)
            found = [_read(key, value) for key, value in txn.scan(_MESSAGE)]
        for kept in sorted(found, key=lambda each: each.number):
            self._of_source(kept.source_id).append(kept)

    def noted(self, rejected: Iterable[Rejected]) -> NotedMessages:
        """What is to be added for an epoch's messages: written with the epoch, then given to `keep`."""
        now = datetime.now(UTC)
        counts: dict[tuple[int, int], int] = {}
        messages: dict[tuple[int, str, int], KeptMessage] = {}
        with self._guard:
            for found in rejected:
                of_job = found.job_id, found.source_id
                counts[of_job] = counts.get(of_job, self._counts.get(of_job, 0)) + found.count
                kept = self._of_source(found.source_id)
                known = {(each.message.split, each.message.position) for each in kept}
                of_source = [each for each in (*kept, *messages.values()) if each.source_id == found.source_id]
                number = max((each.number for each in of_source), default=0)
                for sample in found.samples:
                    place = found.source_id, sample.split, sample.position
                    if place[1:] not in known and place not in messages:
                        number += 1
                        messages[place] = KeptMessage(found.source_id, sample, now, number)
        return NotedMessages(counts, list(messages.values()))

    def keep(self, noted: NotedMessages) -> None:
        """They are durable."""
        with self._guard:
            self._counts.update(noted.counts)
            for kept in noted.messages:
                self._of_source(kept.source_id).append(kept)

    def add(self, rejected: Iterable[Rejected]) -> None:
        """Notes, writes and keeps messages of a pushed source, whose only feed calls this."""
        noted = self.noted(rejected)
        with self._store.transaction() as txn:
            noted.write(txn)
        self.keep(noted)

    def keep_only(self, relation_ids: Collection[int]) -> None:
        """Forgets sources and jobs that were dropped."""
        with self._guard:
            jobs = [key for key in self._counts if not set(key) <= set(relation_ids)]
            messages = [kept for source_id in self._kept.keys() - set(relation_ids) for kept in self._kept[source_id]]
            for of_job in jobs:
                del self._counts[of_job]
            for kept in messages:
                self._kept.pop(kept.source_id, None)
        if jobs or messages:
            with self._store.transaction() as txn:
                for job_id, source_id in jobs:
                    txn.delete(f"{_COUNT}{job_id}/{source_id}")
                for kept in messages:
                    txn.delete(_key(kept))

    def count(self, job_id: int, source_id: int) -> int:
        """How many messages of a source a job has left out."""
        with self._guard:
            return self._counts.get((job_id, source_id), 0)

    def kept(self) -> Sequence[KeptMessage]:
        """The last bad messages of every source, each once, however many views met it."""
        with self._guard:
            return [message for kept in self._kept.values() for message in kept]

    def _of_source(self, source_id: int) -> deque[KeptMessage]:
        return self._kept.setdefault(source_id, deque(maxlen=KEPT))


def _key(kept: KeptMessage) -> str:
    return f"{_MESSAGE}{kept.source_id}/{kept.number % KEPT}"


def _stored(kept: KeptMessage) -> bytes:
    message = kept.message
    facts = (message.split, message.position, message.reason, message.text, kept.time.timestamp(), kept.number)
    return json.dumps(facts).encode()


def _read(key: str, value: bytes) -> KeptMessage:
    source_id = int(key.removeprefix(_MESSAGE).split("/")[0])
    split, position, reason, text, seconds, number = json.loads(value)
    message = RejectedMessage(split, position, reason, text)
    return KeptMessage(source_id, message, datetime.fromtimestamp(seconds, UTC), number)
