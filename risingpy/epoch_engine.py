"""Which engine runs the epochs of a database: the process itself, or Spark behind it."""

from __future__ import annotations

from risingpy.config import SHUFFLING_ENGINE
from risingpy.executors.epoch.descriptor import run_directory
from risingpy.executors.spark.driver import SparkDriver
from risingpy.executors.spark.session import OwnSession, SparkSettings
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.runner import EpochRunner
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.spark_runner import SparkRunner


def make_runner(engine: str, master: str, database: Database) -> EpochRunner:
    """The runner of one of `config.ENGINES`; `master` is Spark's."""
    if engine == "inprocess":
        return InProcessRunner(database.data_dir)
    settings = SparkSettings(master, database.shards)
    shape = EpochShape(always_shuffles=engine == SHUFFLING_ENGINE)
    sessions = OwnSession(settings, run_directory(database.data_dir))
    driver = SparkDriver(database.data_dir, sessions, database.initial_epoch)
    return SparkRunner(driver, shape, InProcessRunner(database.data_dir))
