"""Spark's settings for a cluster, beside those of `session`."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from risingpy.config import ConfigError
from risingpy.connectors.file_roots import ENVIRONMENT_NAME as FILE_ROOTS
from risingpy.memory import ENVIRONMENT_NAME as MEMORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FOR_TESTS = "local-cluster["
_PASSED_ON = (FILE_ROOTS, MEMORY)


def cluster_configuration(master: str, run_dir: Path) -> dict[str, str]:
    """The settings of a cluster. Each of Spark's limits has to be met by an epoch that goes on after a loss.

    Authentication's secret is the operator's, in `spark-defaults.conf` of the directory SPARK_CONF_DIR.
    """
    address = "127.0.0.1" if master.startswith(_FOR_TESTS) else _own_address(master)
    settings = {
        "spark.driver.bindAddress": address,
        "spark.driver.host": address,
        "spark.python.unix.domain.socket.dir": "/tmp",  # of the executor's machine
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.speculation": "false",
        # A shard's task waits for the executor that has the shard; a busy one is done with its task before that.
        "spark.locality.wait": "3s",
        "spark.shuffle.reduceLocality.enabled": "false",
        # A machine that does not answer is given up after 10 s; Spark demands more than the heartbeats' interval.
        "spark.network.timeout": "10s",
        "spark.network.timeoutInterval": "2s",
        "spark.executor.heartbeatInterval": "2s",
        # Rows that such a machine has are asked for once more, not three times: then their task is run elsewhere.
        "spark.shuffle.io.connectionCreationTimeout": "5s",
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "1s",
        # An epoch outlives as many losses as a bad minute has: it is tried again anyway, but from its beginning.
        "spark.task.maxFailures": "8",
        "spark.stage.maxConsecutiveAttempts": "8",
        # A task of a job that was ended keeps its executor's only core until its Python process is killed.
        "spark.python.task.killTimeout": "100ms",
        "spark.authenticate": "true",
    }
    settings.update({f"spark.executorEnv.{name}": os.environ[name] for name in _PASSED_ON if os.environ.get(name)})
    if master.startswith(_FOR_TESTS):
        settings["spark.executor.memory"] = f"{master.rstrip(']').rpartition(',')[2]}m"
        _write_secret(run_dir)
    return settings


def require_authentication(session: SparkSession) -> None:
    """Raises ConfigError, and ends the session, if anybody who reaches Spark's ports could run code there."""
    if session.sparkContext.getConf().get("spark.authenticate") != "true":
        session.stop()
        raise ConfigError("a cluster needs spark.authenticate: set it, and its secret, in spark-defaults.conf")


def _write_secret(run_dir: Path) -> None:
    """A secret for a cluster of this process: in a file, for other users of the machine see command lines."""
    path = run_dir / "spark-secret.conf"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"spark.authenticate.secret {secrets.token_hex(32)}\n")
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {path} pyspark-shell"


def _own_address(master: str) -> str:
    """The address of this machine that the master's machine can reach."""
    host, _, port = master.removeprefix("spark://").split(",")[0].rpartition(":")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, int(port)))  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as error:
        raise ConfigError(f"cannot reach Spark's master {master}: {error}") from error
