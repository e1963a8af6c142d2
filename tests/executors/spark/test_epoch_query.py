"""EpochQuery: a query that another thread is just starting ends with the server too."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor, run_directory
from risingpy.executors.spark import driver as driver_module
from risingpy.executors.spark.driver import QueryFailed, SparkDriver
from risingpy.executors.spark.epoch_channel import EpochChannel
from risingpy.executors.spark.epoch_query import EpochQuery
from risingpy.plan.recursion.loops import Stages

SECONDS = 10


class _Query:
    def __init__(self) -> None:
        self.isActive = True

    def stop(self) -> None:
        self.isActive = False


class _Session:
    """As much of a Spark session as starts a query; `start` lasts until `may_start` is set."""

    def __init__(self) -> None:
        self.is_starting, self.may_start = threading.Event(), threading.Event()
        self.queries: list[_Query] = []

    def start(self) -> _Query:
        self.is_starting.set()
        assert self.may_start.wait(SECONDS)
        self.queries.append(_Query())
        return self.queries[-1]

    def __getattr__(self, name: str) -> Any:
        return self if name in ("readStream", "writeStream", "dataSource") else lambda *_, **__: self


@pytest.fixture
def query(tmp_path: Path) -> Iterator[EpochQuery]:
    made = EpochQuery("wide", EpochChannel(tmp_path / "wide.sock", 0, lambda *_: None), lambda *_: None)
    yield made
    made.close_channel()


def test_a_query_ends_that_was_starting_when_the_server_stopped(query: EpochQuery, tmp_path: Path) -> None:
    session: Any = _Session()
    starter = threading.Thread(target=query.ensure_started, args=(session, tmp_path, tmp_path / "scratch", 0))
    starter.start()
    assert session.is_starting.wait(SECONDS)
    query.stop()
    session.may_start.set()
    starter.join(SECONDS)
    assert [each.isActive for each in session.queries] == [False]
    assert not query.is_running


def test_a_query_ends_that_runs_when_the_server_stops(query: EpochQuery, tmp_path: Path) -> None:
    session: Any = _Session()
    session.may_start.set()
    query.ensure_started(session, tmp_path, tmp_path / "scratch", 0)
    assert query.is_running
    query.stop()
    assert [each.isActive for each in session.queries] == [False]


class _Sessions:
    def __init__(self, session: Any) -> None:
        self.session = session

    def open(self) -> Any:
        return self.session

    def end_is_near(self) -> None: ...

    def close(self, session: Any) -> None: ...


class _BrokenSessions(_Sessions):
    """Spark does not start, at first."""

    failures = 1

    def open(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("no java here\n\tat org.apache.spark\n\tat java.lang")
        return self.session


class _FailingWorkers(_Session):
    """Spark starts, but a shuffled epoch cannot run."""

    failures = 1

    def collect(self) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("[PACKAGE_NOT_INSTALLED] pandas")


@pytest.mark.parametrize("broken", ["sessions", "workers"])
def test_a_spark_that_does_not_start_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    monkeypatch.setattr(driver_module, "FIRST_PAUSE", 1.0)
    monkeypatch.setattr(EpochQuery, "task_has_come", True)
    session: Any = _FailingWorkers() if broken == "workers" else _Session()
    session.may_start.set()
    driver = SparkDriver(tmp_path, (_BrokenSessions if broken == "sessions" else _Sessions)(session), 0)
    driver.start()
    with pytest.raises(QueryFailed, match="Spark did not start: "):  # an epoch that needs it does not wait for ever
        driver.run(EpochDescriptor(1, 0, 0, 1, 0, 0), Stages(1))
    assert not driver.is_warm
    deadline = time.monotonic() + SECONDS
    while not driver.is_warm:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    driver.stop()
    (told,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "it is started again in 1 s" in told.getMessage()
    assert told.exc_info is None and "java.lang" not in told.getMessage()


def test_a_driver_that_is_stopped_while_spark_starts_leaves_no_query(tmp_path: Path) -> None:
    run_directory(tmp_path).mkdir()
    session: Any = _Session()
    driver = SparkDriver(tmp_path, _Sessions(session), 0)
    driver.start()
    assert session.is_starting.wait(SECONDS)
    driver.stop()
    session.may_start.set()
    with pytest.raises(QueryFailed, match="stopping"):
        while not driver.is_warm:
            time.sleep(0.01)
        driver.run(EpochDescriptor(1, 0, 0, 1, 0, 0, single_task=True), Stages(1))
    assert [each.isActive for each in session.queries] == [False]
