"""The Spark session: one per server process, with the settings that measurements have shown to be best."""

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

from risingpy.config import is_cluster, require_reachable_master
from risingpy.executors.spark.cluster_session import cluster_configuration, require_authentication
from risingpy.executors.spark.java_output import JavaOutput
from risingpy.executors.spark.lost_session import quiet_at_hang_ups
from risingpy.java_home import complete_path, use_java

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)
LAUNCHES = 3  # how often Java is started before Spark counts as failed
EPOCH_FORMAT = "risingpy_epochs"  # the name of the queries' source
RETAINED = "50"  # finished jobs, stages and queries that Spark remembers


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """What the operator chooses. `parallelism` is the number of shards. `shared`: the state is in shared storage.

    Raises ConfigError if `master` is not on this machine, unless the state is shared.
    """

    master: str
    parallelism: int
    driver_memory: str = "1g"
    log_level: str = "ERROR"
    shared: bool = False

    def __post_init__(self) -> None:
        require_reachable_master(self.master, "master", shared=self.shared)


class SparkSessions(Protocol):
    """Opens a driver's Spark session."""

    def open(self) -> SparkSession:
        """Opens the session; takes some seconds if Spark has to start. Raises Spark's errors."""
        ...

    def end_is_near(self) -> None:
        """The driver is about to stop its queries: from now on, the end of a process is no failure."""

    def close(self, session: SparkSession) -> None:
        """The driver no longer needs the session that it has opened."""


class OwnSession:
    """A session that starts with the server, and ends with it."""

    def __init__(self, settings: SparkSettings, run_dir: Path) -> None:
        self._settings = settings
        self._run_dir = run_dir
        self._output: JavaOutput | None = None

    def open(self) -> SparkSession:
        session, output = start_session(self._settings, self._run_dir)
        self._output = output or self._output  # a Java that runs already has its reader
        return session

    def end_is_near(self) -> None:
        if self._output is not None:
            self._output.end_is_expected()

    def close(self, session: SparkSession) -> None:
        session.stop()


def start_session(settings: SparkSettings, run_dir: Path) -> tuple[SparkSession, JavaOutput | None]:
    """Starts Spark, Java included; takes some seconds. The output is None if this process already has Java running.

    Raises ConfigError if this process already has the session of a cluster.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    use_java(os.environ)
    complete_path(os.environ)
    # Spark warns of the version of pandas; we only give it Arrow.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    conf = SparkConf().setAppName("risingpy").setMaster(settings.master)
    conf.setAll(list(_configuration(settings, run_dir).items()))
    if is_cluster(settings.master):
        conf.setAll(list(cluster_configuration(settings.master, run_dir).items()))
    output = None
    if SparkContext._gateway is None:  # noqa: SLF001 - PySpark has no other way to ask whether Java runs
        gateway = _launch_java(conf)
        output = JavaOutput(gateway.proc.stdout)
        quiet_at_hang_ups(SparkContext(conf=conf, gateway=gateway))
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    there = str(session.sparkContext.master)
    require_reachable_master(there, "the master of the Spark session that is there", shared=settings.shared)
    if is_cluster(there):
        require_authentication(session)
    session.sparkContext.setLogLevel(settings.log_level)
    return session, output


def _launch_java(conf: SparkConf) -> JavaGateway:
    """Starts Java, again if it fails: PySpark forks this process while other threads run, so a child may die early."""
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
        # Our workers process the rows; Spark's own code runs briefly and often. So Java should compile it fast, not
        # well: the first epoch ends after 16 s instead of 31 s, and an epoch takes half the CPU (docs/decisions/007).
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(run_dir / "spark"),
        "spark.sql.warehouse.dir": str(run_dir / "spark-warehouse"),
        "spark.sql.shuffle.partitions": str(settings.parallelism),
        "spark.sql.adaptive.enabled": "false",
        # Over TCP a Python stage waits for a delayed acknowledgement at each transfer: 84 ms instead of 44 ms.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(socket_directory()),
        # A busy machine may start a worker slowly; that is no reason to end the query.
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.python.daemon.module": "risingpy.executors.spark.daemon",
        # Recovery does not read Spark's own offset and commit log, so it is written in the cheapest way.
        "spark.sql.streaming.checkpointFileManagerClass": file_manager,
        "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.ui.retainedJobs": RETAINED,
        "spark.ui.retainedStages": RETAINED,
        "spark.ui.retainedTasks": RETAINED,
        "spark.sql.ui.retainedExecutions": RETAINED,
        "spark.sql.ui.explainMode": "simple",  # Spark makes this text for its listeners in every execution
    }


def new_socket_directory() -> Path:
    """A new directory in `socket_directory`."""
    return Path(tempfile.mkdtemp(prefix="", dir=socket_directory()))


@cache
def socket_directory() -> Path:
    """The directory of this process's Unix sockets. A path may have 108 bytes, so a data directory may be too deep."""
    directory = Path(tempfile.mkdtemp(prefix="risingpy-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
