"""A Spark that is lost in a running server is started again, and epochs go on. Java of a real server is killed, too."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor, run_directory
from risingpy.executors.spark import driver as driver_module
from risingpy.executors.spark.driver import QueryFailed, SharedPlace, SparkDriver
from risingpy.executors.spark.epoch_query import EpochQuery
from risingpy.executors.spark.lost_session import why_lost
from risingpy.java_home import use_java
from risingpy.plan.recursion.loops import Stages
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
            driver.run(DESCRIPTOR, Stages(1))  # it waits for a report that does not come
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
            driver.run(DESCRIPTOR, Stages(1))
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
            driver.run(DESCRIPTOR, Stages(1))
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
            _kill_java(server)
            connection.execute("DELETE FROM t WHERE id <= 50")
            connection.execute("FLUSH")
            assert connection.execute("SELECT n, s FROM m").fetchone() == (50, 3775)
            _eventually(lambda: _is_told_of(server, connection))
        assert server.stop() == 0
    finally:
        server.kill()


@pytest.mark.slow
def test_a_server_goes_on_without_its_java(tmp_path: Path) -> None:
    """Nobody waits for a Spark that does not come again; when it does, it has the epochs as before."""
    environ = dict(os.environ)
    java, is_broken = use_java(environ).home, tmp_path / "is_broken"
    home = _java_that_may_break(tmp_path / "jdk", java, is_broken)
    server = ServerProcess(tmp_path / "data", engine="spark", environ={**environ, "JAVA_HOME": str(home)})
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
            connection.execute("CREATE MATERIALIZED VIEW m AS SELECT v % 100 AS k, count(*) AS n FROM t GROUP BY 1")
            server.wait_for_spark()
            connection.execute("INSERT INTO t VALUES (0, 0)")
            connection.execute("FLUSH")
            is_broken.touch()
            _kill_java(server)
            connection.execute("INSERT INTO t SELECT i, i FROM generate_series(1, 999999) i")  # shuffled, with a Spark
            assert connection.execute("SELECT sum(n), count(*) FROM m").fetchone() == (1_000_000, 100)
            _eventually(lambda: any("Spark did not start" in line for line in server.output))
            connection.execute("DELETE FROM t WHERE id = 7")
            assert connection.execute("SELECT n FROM m WHERE k = 7").fetchone() == (9_999,)
            is_broken.unlink()
            _eventually(lambda: sum("Spark has taken over" in line for line in server.output) == 2)
            connection.execute("UPDATE t SET v = 8 WHERE id = 107")
            counted = connection.execute("SELECT k, n FROM m WHERE k IN (7, 8) ORDER BY k").fetchall()
            assert counted == [(7, 9_998), (8, 10_001)]
        assert server.stop() == 0
    finally:
        server.kill()


def _is_told_of(server: ServerProcess, connection: psycopg.Connection[Any]) -> bool:
    """Whether the loss is told. The next epoch notices it: Java may not have ended yet when the one before began."""
    connection.execute("UPDATE t SET v = v + 1 WHERE id = 60")
    return any("Spark is lost: Java " in line for line in server.output)


def _java_that_may_break(home: Path, java: Path, is_broken: Path) -> Path:
    """A JAVA_HOME like `java`, whose program says its version and nothing more while there is a file `is_broken`."""
    (home / "bin").mkdir(parents=True)
    for each in java.iterdir():
        if each.name != "bin":
            (home / each.name).symlink_to(each)
    program = home / "bin" / "java"
    refuses = f'if [ -e "{is_broken}" ] && [ "$1" != -version ]; then exit 1; fi'
    program.write_text(f'#!/bin/sh\n{refuses}\nexec "{java}/bin/java" "$@"\n')
    program.chmod(0o755)
    return home


def _kill_java(server: ServerProcess) -> None:
    (java,) = [each for each in psutil.Process(server.process.pid).children() if "java" in each.name()]
    java.kill()


def _eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _wait_until_warm(driver: SparkDriver) -> None:
    deadline = time.monotonic() + SECONDS
    while not driver.is_warm:
        assert time.monotonic() < deadline
        time.sleep(0.01)
