"""A Spark that is lost in a running server is started again, and epochs go on. Java of a real server is killed, too."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor, run_directory
from risingpy.executors.spark import driver as driver_module
from risingpy.executors.spark.driver import QueryFailed, SharedPlace, SparkDriver
from risingpy.executors.spark.epoch_query import EpochQuery
from risingpy.executors.spark.lost_session import why_lost
from risingpy.server_process import ServerProcess

SECONDS = 10
DESCRIPTOR = EpochDescriptor(1, 0, 0, 1, 0, 0)


class _Java:
    """A process, and the gateway to it."""

    def __init__(self, *, returncode: int | None = None) -> None:
        self.returncode = returncode

    @property
    def proc(self) -> _Java:
        return self

    def poll(self) -> int | None:
        return self.returncode


class _Context:
    """As much of a context as says whether it is lost."""

    def __init__(self, java: _Java, *, stopped: bool | Exception | None = False) -> None:
        self._gateway = java
        self._stopped = stopped
        self._jsc = None if stopped is None else self

    def sc(self) -> _Context:
        return self

    def isStopped(self) -> bool:
        if isinstance(self._stopped, Exception):
            raise self._stopped
        assert self._stopped is not None
        return self._stopped


class _Query:
    def __init__(self, session: _Session) -> None:
        self._session = session

    @property
    def isActive(self) -> bool:
        if self._session.is_lost:
            raise ConnectionRefusedError
        return True

    def stop(self) -> None: ...


class _Session:
    """As much of a Spark session as starts queries; it may be lost."""

    is_lost = False

    @property
    def sparkContext(self) -> _Context:
        return _Context(_Java(returncode=137 if self.is_lost else None))

    def start(self) -> _Query:
        return _Query(self)

    def __getattr__(self, name: str) -> Any:
        return self if name in ("readStream", "writeStream", "dataSource") else lambda *_, **__: self


class _Sessions:
    """A new session at each start."""

    def __init__(self) -> None:
        self.made: list[_Session] = []

    def open(self) -> Any:
        self.made.append(_Session())
        return self.made[-1]

    def end_is_near(self) -> None: ...

    def close(self, session: Any) -> None: ...


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (_Context(_Java()), None),
        (_Context(_Java(returncode=-9)), "Java has ended with exit code -9"),
        (_Context(_Java(), stopped=True), "Spark has stopped"),
        (_Context(_Java(), stopped=None), "Spark has stopped"),
        (_Context(_Java(), stopped=ConnectionRefusedError()), "Java does not answer: ConnectionRefusedError"),
    ],
)
def test_it_is_told_why_a_session_is_lost(context: _Context, reason: str | None) -> None:
    class Session:
        sparkContext = context

    session: Any = Session()
    assert why_lost(session) == reason


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sessions that were given up."""
    found: list[Any] = []
    monkeypatch.setattr(driver_module, "end_lost", found.append)
    monkeypatch.setattr(EpochQuery, "task_has_come", True)
    return found


def test_a_lost_session_is_given_up_and_another_one_started(tmp_path: Path, ended: list[Any]) -> None:
    sessions = _Sessions()
    run_directory(tmp_path).mkdir()
    driver = SparkDriver(tmp_path, sessions, 0)
    try:
        driver.start()
        _wait_until_warm(driver)
        lost = sessions.made[0]
        threading.Timer(0.2, setattr, (lost, "is_lost", True)).start()
        with pytest.raises(QueryFailed, match="Java has ended with exit code 137; Spark is started again"):
            driver.run(DESCRIPTOR, 1)  # it waits for a report that does not come
        assert ended == [lost]
        _wait_until_warm(driver)
        assert len(sessions.made) == 2
    finally:
        driver.stop()


def test_a_session_that_lives_is_kept(tmp_path: Path, ended: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = _Sessions()
    run_directory(tmp_path).mkdir()
    driver = SparkDriver(tmp_path, sessions, 0)
    try:
        driver.start()
        _wait_until_warm(driver)
        monkeypatch.setattr(_Query, "isActive", property(lambda _: False))
        monkeypatch.setattr(EpochQuery, "failure", "a defect")
        with pytest.raises(QueryFailed, match="the streaming query ended: a defect"):
            driver.run(DESCRIPTOR, 1)
        assert driver.is_warm
        assert not ended
    finally:
        driver.stop()


def test_a_cluster_without_executors_is_given_up(
    tmp_path: Path, ended: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_module, "ALONE_SECONDS", 0.1)
    monkeypatch.setattr(driver_module, "has_executors", lambda _: False)
    sessions = _Sessions()
    run_directory(tmp_path).mkdir()
    driver = SparkDriver(tmp_path, sessions, 0, SharedPlace("file:///nowhere", "a"))
    try:
        driver.start()
        _wait_until_warm(driver)
        with pytest.raises(QueryFailed, match=r"the cluster has given no executor for .* Spark is started again"):
            driver.run(DESCRIPTOR, 1)
        assert ended == sessions.made[:1]
        _wait_until_warm(driver)
    finally:
        driver.stop()


@pytest.mark.slow
def test_a_server_outlives_its_java(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", engine="spark")
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
            connection.execute("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n, sum(v) AS s FROM t")
            server.wait_for_spark()
            connection.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i")
            connection.execute("FLUSH")
            (java,) = [each for each in psutil.Process(server.process.pid).children() if "java" in each.name()]
            java.kill()
            connection.execute("DELETE FROM t WHERE id <= 50")
            connection.execute("FLUSH")
            assert connection.execute("SELECT n, s FROM m").fetchone() == (50, 3775)
        assert any("Spark is lost: Java " in line for line in server.output)
        assert server.stop() == 0
    finally:
        server.kill()


def _wait_until_warm(driver: SparkDriver) -> None:
    deadline = time.monotonic() + SECONDS
    while not driver.is_warm:
        assert time.monotonic() < deadline
        time.sleep(0.01)
