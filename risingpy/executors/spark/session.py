"""The Spark session: one per server process, with the settings that the design measured."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from risingpy.config import require_local_master
from risingpy.executors.spark.java_output import JavaOutput
from risingpy.java_home import use_java

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)
LAUNCHES = 3  # how often Java is started before its end counts as Spark's failure
EPOCH_FORMAT = "risingpy_epochs"  # the name of the queries' source
RETAINED = "50"  # finished jobs, stages and queries that Spark remembers


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """What the operator chooses. `parallelism` is the number of shards.

    ConfigError if `master` is not of this machine.
    """

    master: str
    parallelism: int
    driver_memory: str = "1g"
    log_level: str = "ERROR"

    def __post_init__(self) -> None:
        require_local_master(self.master, "master")


class SparkSessions(Protocol):
    """Where a driver has its Spark session from."""

    def open(self) -> SparkSession:
        """Takes some seconds if Spark has to start. Whatever is wrong with Spark is raised."""
        ...

    def end_is_near(self) -> None:
        """The driver is about to stop its queries: that processes end is no failure from here on."""

    def close(self, session: SparkSession) -> None:
        """The driver that opened it needs it no more."""


class OwnSession:
    """A server's: it starts with the server, and ends with it."""

    def __init__(self, settings: SparkSettings, run_dir: Path) -> None:
        self._settings = settings
        self._run_dir = run_dir
        self._output: JavaOutput | None = None

    def open(self) -> SparkSession:
        session, self._output = start_session(self._settings, self._run_dir)
        return session

    def end_is_near(self) -> None:
        if self._output is not None:
            self._output.end_is_expected()

    def close(self, session: SparkSession) -> None:
        session.stop()


def start_session(settings: SparkSettings, run_dir: Path) -> tuple[SparkSession, JavaOutput | None]:
    """Starts Spark, Java included; takes some seconds. None for the output if this process has Java running already.

    ConfigError if the program that this runs in has a session of a cluster already.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    use_java(os.environ)
    # We hand Spark Arrow, never pandas, whose version it complains about.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    conf = SparkConf().setAppName("risingpy").setMaster(settings.master)
    conf.setAll(list(_configuration(settings, run_dir).items()))
    output = None
    if SparkContext._gateway is None:
        gateway = _launch_java(conf)
        output = JavaOutput(gateway.proc.stdout)
        SparkContext(conf=conf, gateway=gateway)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    require_local_master(str(session.sparkContext.master), "the master of the Spark session that is there")
    session.sparkContext.setLogLevel(settings.log_level)
    return session, output


def _launch_java(conf: SparkConf) -> JavaGateway:
    """PySpark forks this process, in which other threads are at work: a child may die before it has become Java."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    for _ in range(LAUNCHES - 1):
        try:
            return launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            LOG.warning("Java ended before Spark was there, and is started again: %s", error)
    return launch_gateway(conf, streams)  # type: ignore[no-untyped-call]


def _configuration(settings: SparkSettings, run_dir: Path) -> dict[str, str]:
    file_manager = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": settings.log_level,
        # The rows are in our workers: Spark's own code runs briefly and often, and is best compiled fast, not well.
        # First epoch after 16 s instead of 31 s, half the CPU per epoch (docs/decisions/007).
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(run_dir / "spark"),
        "spark.sql.warehouse.dir": str(run_dir / "spark-warehouse"),
        "spark.sql.shuffle.partitions": str(settings.parallelism),
        "spark.sql.adaptive.enabled": "false",
        # A Python stage over TCP waits for a delayed acknowledgement at each hand-over: 84 ms against 44 ms.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(socket_directory()),
        # A worker that a busy machine starts slowly is no reason to end the query.
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.python.daemon.module": "risingpy.executors.spark.daemon",
        # Spark's own offset and commit log is not what recovery reads: the cheapest way to write it will do.
        "spark.sql.streaming.checkpointFileManagerClass": file_manager,
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.ui.retainedJobs": RETAINED,
        "spark.ui.retainedStages": RETAINED,
        "spark.ui.retainedTasks": RETAINED,
        "spark.sql.ui.retainedExecutions": RETAINED,
        "spark.sql.ui.explainMode": "simple",  # of the text that goes to listeners, with every execution
    }


def new_socket_directory() -> Path:
    """One that nobody has had before, in `socket_directory`."""
    return Path(tempfile.mkdtemp(prefix="", dir=socket_directory()))


@cache
def socket_directory() -> Path:
    """Where this process has its Unix sockets, whose paths end at 108 bytes: a data directory may be too deep."""
    directory = Path(tempfile.mkdtemp(prefix="risingpy-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
