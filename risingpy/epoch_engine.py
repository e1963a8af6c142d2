"""Which engine runs the epochs of a database: the process itself, or Spark behind it."""

from __future__ import annotations

from risingpy.config import SHUFFLING_ENGINE, is_cluster
from risingpy.executors.epoch.descriptor import run_directory
from risingpy.executors.spark.driver import SharedPlace, SparkDriver
from risingpy.executors.spark.session import OwnSession, SparkSettings
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.epochs.replica import Replica
from risingpy.meta.epochs.runner import EpochRunner
from risingpy.meta.epochs.shape import ClusterShape, EpochShape
from risingpy.meta.epochs.spark_runner import SparkRunner


def make_runner(engine: str, master: str, database: Database) -> EpochRunner:
    """The runner of one of `config.ENGINES`; `master` is Spark's."""
    if engine == "inprocess":
        return InProcessRunner(database.data_dir)
    shared = database.shared_place
    settings = SparkSettings(master, database.shards, shared=shared is not None)
    meanwhile = InProcessRunner(database.data_dir, beside_spark=True)
    sessions = OwnSession(settings, run_directory(database.data_dir))
    if shared is not None and is_cluster(master):
        uri, cluster, objects = shared
        driver = SparkDriver(database.data_dir, sessions, database.initial_epoch, SharedPlace(uri, cluster))
        on_cluster = ClusterShape(lambda: driver.is_warm)
        return SparkRunner(driver, on_cluster, meanwhile, Replica(database.data_dir, objects))
    driver = SparkDriver(database.data_dir, sessions, database.initial_epoch)
    shuffles = engine == SHUFFLING_ENGINE
    return SparkRunner(driver, EpochShape(always_shuffles=shuffles, may_shuffle=lambda: driver.may_start), meanwhile)
