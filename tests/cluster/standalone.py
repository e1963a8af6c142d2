"""Spark standalone on machines of `machines`: a master, workers, and the configuration that they have in common."""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pyspark

from risingpy.java_home import complete_path, use_java
from tests.cluster.machines import Machine

MASTER_PORT = 7077
START_SECONDS = 60
_SPARK = Path(pyspark.__file__).parent
_DAEMONS = "org.apache.spark.deploy"


class StandaloneCluster:
    """The master runs on the first machine, a worker of one core on each of the others."""

    def __init__(self, machines: Sequence[Machine], directory: Path) -> None:
        self._hub, *self.workers = machines
        self._logs = directory / "logs"
        self._logs.mkdir()
        self.master_url = f"spark://{self._hub.address}:{MASTER_PORT}"
        self.environ = _environment(self._hub.shared / "conf", self._hub.shared / "recovery")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.start_master()
        for machine in self.workers:
            self.start_worker(machine)

    def start_master(self) -> None:
        command = [f"{_DAEMONS}.master.Master", "--host", self._hub.address, "--port", str(MASTER_PORT)]
        self._start(self._hub, [*command, "--webui-port", "0"])
        text = "I have been elected leader"
        wait_for(lambda: text in self.log(self._hub), "a master")

    def start_worker(self, machine: Machine) -> None:
        command = [f"{_DAEMONS}.worker.Worker", "--host", machine.address, "--webui-port", "0"]
        command += ["--cores", "1", "--memory", "1g", "--work-dir", "/tmp/work", self.master_url]
        self._start(machine, command)

    def kill(self, machine: Machine) -> None:
        """kill -9 of its master or worker; executors stay, as they would."""
        process = self._processes.pop(machine.name)
        process.kill()
        process.wait()
        (self._logs / machine.name).rename(self._logs / f"{machine.name}.{process.pid}")

    def log(self, machine: Machine) -> str:
        """What its daemon has printed."""
        path = self._logs / machine.name
        return path.read_text(errors="replace") if path.exists() else ""

    def executors(self, machine: Machine) -> list[int]:
        """The processes of executors on a machine."""
        return [pid for pid in machine.pids() if "CoarseGrainedExecutorBackend" in _command(pid)]

    def python_workers(self, machine: Machine) -> list[int]:
        """The Python processes of executors on a machine."""
        return [pid for pid in machine.pids() if "risingpy.executors.spark.daemon" in _command(pid)]

    def drivers(self, machine: Machine) -> list[int]:
        """The Java processes of servers on a machine."""
        return [pid for pid in machine.pids() if "SparkSubmit" in _command(pid)]

    def _start(self, machine: Machine, command: list[str]) -> None:
        old = self._processes.pop(machine.name, None)
        if old is not None:  # it was lost with its machine
            old.wait()
        process = machine.start(
            [str(_SPARK / "bin" / "spark-class"), *command], self.environ, self._logs / machine.name
        )
        self._processes[machine.name] = process


def wait_for(condition: Callable[[], object], what: str, seconds: float = START_SECONDS) -> None:
    """Returns when the condition holds; AssertionError after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"no {what} after {seconds} s"
        time.sleep(0.1)


def _command(pid: int) -> str:
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def _environment(conf: Path, recovery: Path) -> dict[str, str]:
    """What master, workers and server have in common, as an operator would give it to them."""
    conf.mkdir()
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(32),
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.executor.memory": "700m",
        "spark.worker.timeout": "15",
    }
    (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    environ = dict(os.environ)
    complete_path(environ)
    use_java(environ)
    environ.update(
        SPARK_CONF_DIR=str(conf),
        SPARK_HOME=str(_SPARK),
        SPARK_DAEMON_MEMORY="256m",
        SPARK_DAEMON_JAVA_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    )
    return environ
