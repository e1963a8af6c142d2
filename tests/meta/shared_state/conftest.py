"""Databases whose truth is in shared storage, and whose directories may burn."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.meta.conftest import SHORT_PAUSES, Client


class SharedServers:
    """Servers of one database, each with a data directory of its own, called by a letter."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shared = root / "shared"
        self.running: dict[str, Database] = {}

    @property
    def uri(self) -> str:
        return self.shared.as_uri()

    def start(self, name: str) -> Client:
        """Starts a server, which takes the lead, and gives a client of it."""
        database = Database(self.root / name, parallelism=2, state_uri=self.uri, key_file=self.root / "key")
        database.start(InProcessRunner(database.data_dir), SHORT_PAUSES)
        self.running[name] = database
        return Client(database)

    def follow(self, name: str) -> Client:
        """Starts a server that only reads what another one leads, and gives a client of it."""
        database = Database(self.root / name, parallelism=2, followed_uri=self.uri, key_file=self.root / "key")
        database.start_following()
        self.running[name] = database
        return Client(database)

    def stop(self, name: str) -> None:
        self.running.pop(name).close()

    def burn(self, name: str) -> None:
        """Deletes a server's directory, as a disk that burns does."""
        if name in self.running:
            self.stop(name)
        shutil.rmtree(self.root / name)

    def close(self) -> None:
        for name in list(self.running):
            self.stop(name)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[SharedServers]:
    found = SharedServers(tmp_path)
    yield found
    found.close()
