"""The engines that a test's database may run its epochs on, and one Spark for all tests of a process.

A test whose database comes from `engine` runs on each: in the test's process always; on Spark, in one task and
shuffled, if it is marked `on_spark`, and otherwise with `make engines-test` only, for a start on Spark takes seconds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from risingpy.executors.spark.driver import SparkDriver
from risingpy.executors.spark.session import SparkSettings, start_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.runner import EpochRunner
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.spark_runner import SparkRunner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_SECONDS = 240
CORES = 4  # two databases may be open, and a task that waits for epochs keeps one


class Kind(Enum):
    IN_PROCESS = "inprocess"
    SPARK = "spark"
    SHUFFLED = "shuffled"


class SharedSession:
    """One Spark for every database of the process: it starts with the first, and ends with the process."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._session: SparkSession | None = None

    def open(self) -> SparkSession:
        if self._session is None:
            self._session, _ = start_session(SparkSettings(f"local[{CORES},4]", 2), self._run_dir)
        return self._session

    def end_is_near(self) -> None:
        """Of one database only."""

    def close(self, session: SparkSession) -> None:
        """The next database will want it."""

    def stop(self) -> None:
        if self._session is not None:
            self._session.stop()


@dataclass(frozen=True, slots=True)
class Engine:
    """Makes runners of one kind."""

    kind: Kind = Kind.IN_PROCESS
    sessions: SharedSession | None = None

    def runner(self, database: Database) -> EpochRunner:
        meanwhile = InProcessRunner(database.data_dir, beside_spark=self.kind is not Kind.IN_PROCESS)
        if self.kind is Kind.IN_PROCESS:
            return meanwhile
        assert self.sessions is not None
        driver = SparkDriver(database.data_dir, self.sessions, database.initial_epoch)
        return SparkRunner(driver, EpochShape(always_shuffles=self.kind is Kind.SHUFFLED), meanwhile)


def wait_until_warm(runner: EpochRunner) -> None:
    """Until epochs run where they shall: before, the database's own process has them."""
    end = time.monotonic() + WARM_SECONDS
    while not runner.is_warm:
        assert time.monotonic() < end, "Spark has not started"
        time.sleep(0.02)


def kinds_of(test: pytest.Metafunc) -> list[object]:
    """The parameters of `engine` for a test."""
    node = test.definition
    if node.get_closest_marker("in_process_only"):
        return [Kind.IN_PROCESS]
    seldom = () if node.get_closest_marker("on_spark") else (pytest.mark.slow,)
    return [
        Kind.IN_PROCESS,
        pytest.param(Kind.SPARK, marks=seldom),
        pytest.param(Kind.SHUFFLED, marks=pytest.mark.slow),
    ]
