"""A database that the program's own process runs: opens it, gives sessions, closes it."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
import weakref
from itertools import count
from pathlib import Path

from risingpy.client.interface import OpenDatabase
from risingpy.config import ENGINES, MAX_PARALLELISM, TASK_TRIES, default_parallelism
from risingpy.connectors import file_roots
from risingpy.embedded.changes import EmbeddedChanges
from risingpy.embedded.session import EmbeddedSession
from risingpy.epoch_engine import make_runner
from risingpy.errors import InvalidParameterValue, SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import ClientSession, open_session
from risingpy.memory import ENVIRONMENT_NAME, available_memory, parse_bytes
from risingpy.meta.database import Database
from risingpy.nesting import allow_deep_nesting
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID
from risingpy.storage.engine.meta_store import DataDirectoryInUse


def open_directory(
    directory: str | Path | None, *, parallelism: int | None, engine: str, memory: str | int | None
) -> EmbeddedDatabase:
    """See `risingpy.connect`."""
    if engine not in ENGINES:
        raise InvalidParameterValue(f'engine "{engine}" does not exist', hint=f"Engines: {', '.join(ENGINES)}.")
    shards = default_parallelism() if parallelism is None else parallelism
    if not 1 <= shards <= MAX_PARALLELISM:
        raise InvalidParameterValue(f"parallelism is 1 to {MAX_PARALLELISM}, not {shards}")
    # Tasks and workers in other processes read both in the environment. The program's files are its own to read.
    allow_deep_nesting()
    os.environ[ENVIRONMENT_NAME] = str(_bytes(memory))
    os.environ.setdefault(file_roots.ENVIRONMENT_NAME, os.sep)
    return EmbeddedDatabase(directory, shards, engine)


def _bytes(memory: str | int | None) -> int:
    if memory is None:
        return available_memory() // 2
    try:
        return parse_bytes(memory) if isinstance(memory, str) else memory
    except ValueError as error:
        raise InvalidParameterValue(str(error)) from None


class EmbeddedDatabase(OpenDatabase):
    """A database that this process runs.

    Everything runs as the superuser: who has the process has the directory. Close it, use it in a `with` block, or
    leave it to the end of the process, which waits for the running epoch; what was answered is on disk in any case.
    """

    def __init__(self, directory: str | Path | None, shards: int, engine: str) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="risingpy-")
            directory = Path(self._temporary.name, "data")
        try:
            self._database = Database(Path(directory).absolute(), parallelism=shards)
        except DataDirectoryInUse as error:
            hint = "If this process has it open, use that database, or close() it first."
            raise SqlError(str(error), sqlstate="55006", hint=hint) from None
        runner = make_runner(engine, f"local[{shards},{TASK_TRIES}]", self._database)
        self._database.start(runner)
        runner.start()
        self._is_open = True
        self._numbers = count(1)
        self._guard = threading.Lock()
        self._others: weakref.WeakSet[EmbeddedSession | EmbeddedChanges] = weakref.WeakSet()
        self._own = self.session()
        self._process = os.getpid()
        # The interpreter holds it until it is closed, also when the program has no name for it any more: its threads
        # must not run any more when the interpreter takes away what they use, or the process is aborted.
        atexit.register(self.close)

    @property
    def directory(self) -> Path:
        return self._database.data_dir

    def _subscribed(self, text: str) -> EmbeddedChanges:
        changes = EmbeddedChanges(self._new_session(), text)
        self._others.add(changes)
        return changes

    def session(self) -> EmbeddedSession:
        session = EmbeddedSession(self._new_session(), self._others.discard)
        self._others.add(session)
        return session

    def close(self) -> None:
        atexit.unregister(self.close)
        with self._guard:
            was_open, self._is_open = self._is_open, False
        if not was_open or os.getpid() != self._process:  # what a fork copies is the parent's, which has the threads
            return
        for each in list(self._others):
            each.close()
        self._database.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __repr__(self) -> str:
        return f"<risingpy database in {self.directory}>"

    def _new_session(self) -> ClientSession:
        if not self._is_open:
            raise SqlError("the database is closed", sqlstate="08003")
        catalog = self._database.reads.catalog  # a server may have renamed the first user and the first database
        superuser = catalog.roles[BOOTSTRAP_ROLE_ID].name
        startup = StartupParameters(superuser, catalog.database, process_id=next(self._numbers))
        return open_session(self._database, startup)
