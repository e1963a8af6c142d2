"""Shared storage as a server reads it that does not lead: it takes no term, and puts no object."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.executors.epoch.descriptor import run_directory, write_state_uri
from risingpy.meta.shared_state.cache import take_directory
from risingpy.meta.shared_state.renewal import CachedVersion, renew
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.journal.entries import EpochCommit, Layout, MetaEntry
from risingpy.storage.journal.reading import read_record, read_version
from risingpy.storage.journal.record import DamagedState
from risingpy.storage.journal.version import version_name
from risingpy.storage.objects.object_store import list_surely
from risingpy.storage.objects.state_format import IncompatibleState, read_format
from risingpy.storage.objects.uri import open_objects
from risingpy.storage.tuning import StoreTuning


class FollowedState:
    """`version` is what has been read of the journal. As a `MetaTruth` and a `LogTruth` it refuses: nothing of this
    server may change the database.
    """

    def __init__(self, uri: str, data_dir: Path) -> None:
        """Reads the newest version, for a data directory whose lock the caller has.

        Raises StateUnavailable, DamagedState, IncompatibleState, or SqlError if the directory has another database.
        """
        self.uri = uri
        self.objects = open_objects(uri)
        found = read_format(self.objects)
        if found is None:
            raise IncompatibleState(f"there is no database in {uri}", hint="Start a server with --state first.")
        self.version = read_version(self.objects)
        if self.version.meta_slot < 0:
            raise IncompatibleState(f"the database in {uri} has not begun yet", hint="Try again in a moment.")
        take_directory(data_dir, found.cluster, uri)
        run_directory(data_dir).mkdir(exist_ok=True)
        write_state_uri(data_dir, uri)

    def renew(self, data_dir: Path, meta_store: MetaStore, tuning: StoreTuning) -> None:
        """Brings the directory's stores to the version, without the rows that no epoch has yet."""
        renew(data_dir, meta_store, self.objects, self.version, tuning, with_log=False)

    def next_entries(self) -> list[MetaEntry] | None:
        """Goes on by one record; returns its transactions of the meta store, in order, or None if there is none yet.

        Raises StateUnavailable, DamagedState.
        """
        record = read_record(self.objects, self.version.slot + 1)
        if record is None:
            return None
        self.version.apply(record)
        return [entry for entry in record.entries if isinstance(entry, MetaEntry)]

    def check_slot(self) -> None:
        """Raises DamagedState if the next record is not missing because it is to come, but has been deleted."""
        newest = max((found.name for found in list_surely(self.objects, "m/")), default="")
        if newest > version_name(self.version.slot) and read_record(self.objects, self.version.slot + 1) is None:
            raise DamagedState(f"{self.uri} has no record after slot {self.version.slot} any more")

    def noted(self) -> bytes:
        """What a meta store notes that has the version."""
        return CachedVersion(self.version.meta_slot, self.version.epoch).encode()

    def refusal(self, what: str) -> SqlError:
        """The error for whoever wants to change something here."""
        hint = f"This server only reads {self.uri}. Connect to the server that leads it."
        return SqlError(f"cannot execute {what} in a read-only transaction", sqlstate="25006", hint=hint)

    def commit(self, written: Mapping[str, bytes | None], epoch: EpochCommit | Layout | None) -> bytes:
        """See `MetaTruth`."""
        raise self.refusal("a change")

    def fail(self, error: SqlError) -> None:
        """See `MetaTruth`."""

    def append_block(self, first_lsn: int, records: int, salt: int, block: bytes, spills: Mapping[str, int]) -> None:
        """See `LogTruth`."""
        raise self.refusal("a write")

    def put_spill(self, name: str, path: Path) -> int:
        """See `LogTruth`."""
        raise self.refusal("a write")
