"""Shared storage, opened by the server that leads. Log blocks and transactions of the meta store are durable there."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.executors.epoch.descriptor import run_directory, write_state_uri
from risingpy.meta.shared_state.cache import take_directory
from risingpy.meta.shared_state.compactor import Compactor
from risingpy.meta.shared_state.renewal import CachedVersion, renew
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.journal.entries import EpochCommit, Layout, LogEntry, MetaEntry
from risingpy.storage.journal.journal import PATIENT, Journal, Patience
from risingpy.storage.journal.leadership import fence, take_term
from risingpy.storage.journal.version import Version, spill_name
from risingpy.storage.objects.object_store import put_own
from risingpy.storage.objects.state_format import read_or_make_format
from risingpy.storage.objects.uri import open_objects
from risingpy.storage.tuning import StoreTuning

SPILL_PIECE_BYTES = 16 << 20


class SharedState:
    """For any thread. It is a `MetaTruth` and a `LogTruth`.

    `lost`: why the server must end, when it must: another one leads, or the storage does not answer.
    """

    def __init__(self, uri: str, data_dir: Path, patience: Patience = PATIENT) -> None:
        """Takes the lead, with a data directory whose lock the caller has. The leader before cannot write any more.

        Raises StateUnavailable, IncompatibleState, Fenced, or SqlError if the directory has another database.
        """
        self.uri = uri
        self.objects = open_objects(uri)
        self.cluster = read_or_make_format(self.objects).cluster
        take_directory(data_dir, self.cluster, uri)
        run_directory(data_dir).mkdir(exist_ok=True)
        write_state_uri(data_dir, uri)
        server = f"{socket.gethostname()}:{os.getpid()}"
        self._is_lost = threading.Event()
        term = take_term(self.objects, server)
        self._opened: Version | None = fence(self.objects, term, server)
        self._epoch = self._opened.epoch
        self.journal = Journal(
            self.objects, self._opened, term, patience=patience, on_lost=lambda _: self._is_lost.set()
        )

    @property
    def lost(self) -> SqlError | None:
        return self.journal.lost

    def wait_until_lost(self, seconds: float) -> bool:
        """Whether the server must end, now or within so many seconds."""
        return self._is_lost.wait(seconds)

    def renew(self, data_dir: Path, meta_store: MetaStore, tuning: StoreTuning) -> None:
        """Brings the directory's stores to where the journal was when this was opened. Once, and before any append."""
        assert self._opened is not None
        renew(data_dir, meta_store, self.objects, self._opened, tuning)
        self._opened = None

    def commit(self, written: Mapping[str, bytes | None], epoch: EpochCommit | Layout | None) -> bytes:
        """See `MetaTruth`."""
        slot = self.journal.append(MetaEntry(written, epoch))
        if epoch is not None:
            self._epoch = epoch.epoch
        return CachedVersion(slot, self._epoch).encode()

    def append_block(self, first_lsn: int, records: int, salt: int, block: bytes, spills: Mapping[str, int]) -> None:
        """See `LogTruth`."""
        self.journal.append(LogEntry(first_lsn, records, salt, block, spills))

    def put_spill(self, name: str, path: Path) -> int:
        """See `LogTruth`."""
        pieces = 0
        with path.open("rb") as file:
            while piece := file.read(SPILL_PIECE_BYTES):
                put_own(self.objects, spill_name(name, pieces), piece)
                pieces += 1
        return pieces

    def compactor(self, acquire_view: Callable[[], ReadView]) -> Compactor:
        """Keeps the storage small; `acquire_view` gives the newest epoch."""
        return Compactor(self.journal, acquire_view)

    def fail(self, error: SqlError) -> None:
        """See `MetaTruth`."""
        self.journal.fail(error)

    def refuse_unconfirmed(self) -> None:
        """Raises an error (57P03) if this server cannot know that it still leads."""
        self.journal.refuse_unconfirmed()

    def close(self) -> None:
        """Leaves the lead to whoever takes it next."""
        self.journal.close()
