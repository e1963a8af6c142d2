"""A server and a Spark cluster of machines that share only a network and the state's directory, and their losses."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from risingpy.server_process import ServerProcess
from tests.cluster.machines import Machine
from tests.cluster.standalone import StandaloneCluster

STATEMENT_SECONDS = 150  # a statement that takes longer counts as stopped for ever


class Site:
    """A network of three machines: server and master on the first one, Spark's workers on the others."""

    def __init__(self, machines: list[Machine], directory: Path) -> None:
        self.machines = machines
        self.hub, *self.workers = machines
        self.directory = directory
        self.cluster = StandaloneCluster(machines, directory)
        self._starts = 0
        self.server = self.new_server()

    def new_server(self) -> ServerProcess:
        """A server on an empty disk."""
        self._starts += 1
        state = (self.hub.shared / "state").as_uri()
        sockets = self.hub.disk / f"sockets{self._starts}"
        sockets.mkdir()
        flags = ["--state", state, "--secret-key-file", str(self.hub.shared / "key")]
        flags += ["--master", self.cluster.master_url, "--unix-socket-directory", f"/tmp/{sockets.name}"]
        return ServerProcess(
            Path(f"/tmp/data{self._starts}"),
            flags=flags,
            environ=self.hub.own(self.cluster.environ),
            prefix=self.hub.prefix(),
            host=str(sockets),
        )

    def connect(self) -> psycopg.Connection[Any]:
        return self.server.connect(options=f"-c statement_timeout={STATEMENT_SECONDS}s")

    def has_run_since(self, moment: float) -> bool:
        """Whether a worker has written its shards since then."""
        for worker in self.workers:
            with contextlib.suppress(FileNotFoundError):  # a shard is being loaded anew, or the disk was lost
                if any(path.stat().st_mtime > moment for path in worker.disk.rglob("data.mdb")):
                    return True
        return False

    # What may be lost. Each returns at once, or when what was lost is there again.

    def kill_executor(self, worker: Machine) -> None:
        for pid in self.cluster.executors(worker):
            os.kill(pid, signal.SIGKILL)

    def kill_python(self, worker: Machine) -> None:
        for pid in self.cluster.python_workers(worker):
            os.kill(pid, signal.SIGKILL)

    def kill_worker(self, worker: Machine) -> None:
        self.cluster.kill(worker)
        self.cluster.start_worker(worker)

    def lose_machine(self, worker: Machine) -> None:
        """Everything that runs there, and its disk."""
        worker.burn()
        self.cluster.start_worker(worker)

    def pull_cable(self, worker: Machine) -> None:
        worker.set_link("down")
        time.sleep(2)
        worker.set_link("up")

    def pull_cable_long(self, worker: Machine) -> None:
        worker.set_link("down")
        time.sleep(60)
        worker.set_link("up")

    def kill_master(self, _: Machine) -> None:
        self.cluster.kill(self.hub)
        self.cluster.start_master()

    def kill_java(self, _: Machine) -> None:
        """The server's own."""
        for pid in self.cluster.drivers(self.hub):
            os.kill(pid, signal.SIGKILL)

    def kill_server(self, _: Machine) -> None:
        """The next one begins with an empty disk."""
        self.server.kill()
        self.server = self.new_server()

    def overtake_server(self, _: Machine) -> None:
        """A leader stands still, another one takes over, and the first one wakes: it ends."""
        before = self.server
        before.process.send_signal(signal.SIGSTOP)
        try:
            self.server = self.new_server()
            with self.server.connect() as connection:
                connection.execute("FLUSH")
        finally:
            before.process.send_signal(signal.SIGCONT)
        assert before.process.wait(timeout=60) == 1, "".join(before.output)


LOSSES: tuple[Callable[[Site, Machine], None], ...] = (
    Site.lose_machine, Site.kill_server, Site.kill_executor, Site.kill_python, Site.kill_worker, Site.pull_cable,
    Site.kill_master, Site.kill_java, Site.overtake_server, Site.pull_cable_long,
)  # fmt: skip
