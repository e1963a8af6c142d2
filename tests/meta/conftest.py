"""A real database on each engine, and sessions of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.barrier_loop import EpochRetries
from risingpy.meta.epochs.runner import EpochReport, EpochRunner
from risingpy.plan.recursion.loops import Stages
from tests.engines import Engine, wait_until_warm
from tests.idleness import assert_falls_idle
from tests.result_rows import result_rows

SHORT_PAUSES = EpochRetries(first_pause=0.01, longest_pause=0.1)


class FaultyRunner:
    """Has another run epochs, but first raises what stands in `faults`; keeps the descriptors in `ran`.

    `before` is called with each descriptor, and may raise, too.
    """

    def __init__(self, inner: EpochRunner) -> None:
        self.inner = inner
        self.shape = inner.shape
        self.faults: list[Exception] = []
        self.ran: list[EpochDescriptor] = []
        self.before: Callable[[EpochDescriptor], None] | None = None

    def run(self, descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        if self.faults:
            raise self.faults.pop(0)
        if self.before is not None:
            self.before(descriptor)
        self.ran.append(descriptor)
        return self.inner.run(descriptor, stages)

    def start(self) -> None:
        self.inner.start()

    @property
    def is_warm(self) -> bool:
        return self.inner.is_warm

    @property
    def cores(self) -> int | None:
        return self.inner.cores

    def stop(self) -> None:
        self.inner.stop()

    def close(self) -> None:
        self.inner.close()


class Client:
    """A session of a database, for short statements."""

    def __init__(self, database: Database) -> None:
        self.session = open_session(database, StartupParameters("root", "dev"))

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for statement in self.session.split(sql):
            try:
                result = self.session.execute(self.session.prepare(statement, ()), ())
                rows += result_rows(result)
                self.session.sync()
            except BaseException:
                self.session.fail()
                raise
        return rows


class Server:
    """A database that can be stopped and started again on the same directory."""

    def __init__(self, data_dir: Path, engine: Engine | None = None, *, retries: EpochRetries = SHORT_PAUSES) -> None:
        self.data_dir = data_dir
        self.engine = engine or Engine()
        self.retries = retries
        self.is_running = False
        self.start()

    def start(self, *faults: Exception) -> None:
        self.database = Database(self.data_dir, parallelism=2)
        self.runner = FaultyRunner(self.engine.runner(self.database))
        self.runner.faults = list(faults)
        self.database.start(self.runner, self.retries)
        self.is_running = True
        self.runner.start()
        try:
            wait_until_warm(self.runner)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self.is_running = False
        self.database.close()

    def restart(self, *faults: Exception) -> None:
        self.stop()
        self.start(*faults)

    def client(self) -> Client:
        return Client(self.database)


@pytest.fixture
def server(tmp_path: Path, engine: Engine) -> Iterator[Server]:
    server = Server(tmp_path / "data", engine)
    yield server
    try:
        if server.is_running:
            assert_falls_idle(server.database)
    finally:
        server.stop()
