"""A server and a Spark cluster of machines that share nothing but a network and the state's directory.

Processes, machines and cables are lost at random moments. The views are right after every epoch, whatever was
acknowledged stays, and epochs go on within a bounded time. `make cluster-test` runs it: RISINGPY_CLUSTER_ROUNDS says
how many losses there are.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.cluster.machines import Machine, network, why_not
from tests.cluster.standalone import StandaloneCluster
from tests.cluster.views import change_rows, make_views, require_right

ROUNDS = int(os.environ.get("RISINGPY_CLUSTER_ROUNDS", "0"))
SEED = int(os.environ.get("RISINGPY_CLUSTER_SEED", "1"))
STATEMENT_SECONDS = 150  # a statement that takes longer counts as stopped for ever
RETURN_SECONDS = 150  # after a loss, an epoch runs on the cluster again: Spark starts anew, and the cluster may be slow


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
    Site.kill_executor, Site.kill_python, Site.kill_worker, Site.pull_cable, Site.kill_master, Site.kill_java,
    Site.lose_machine, Site.kill_server, Site.overtake_server, Site.pull_cable_long,
)  # fmt: skip


class Load:
    """Changes rows, and looks at every view after every epoch."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._number = 0
        self._acknowledged: set[int] = set()
        self._connection = site.connect()
        make_views(self._connection)

    def change(self) -> None:
        """One change; a server that is lost meanwhile is asked for the next one by another connection."""
        self._number += 1
        try:
            change_rows(self._connection, self._number)
            self._acknowledged.add(1000 + self._number)
            require_right(self._connection, self._number)
        except psycopg.errors.QueryCanceled:  # an OperationalError too, but no server was lost
            raise
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._connection.close()
            while self._connection.closed:
                try:
                    self._connection = self._site.connect()
                except psycopg.OperationalError:
                    time.sleep(0.1)

    def change_until_on_cluster(self) -> None:
        """AssertionError if no epoch runs on the cluster."""
        end = time.monotonic() + RETURN_SECONDS
        began = time.time()
        self.change()
        while not self._site.has_run_since(began):
            assert time.monotonic() < end, f"no epoch has run on the cluster for {RETURN_SECONDS} s"
            time.sleep(0.5)
            self.change()

    def require_all(self) -> None:
        found = {row[0] for row in self._connection.execute("SELECT id FROM t WHERE id > 1000").fetchall()}
        assert found >= self._acknowledged
        assert found <= set(range(1001, 1001 + self._number))


@pytest.mark.skipif(not ROUNDS, reason="RISINGPY_CLUSTER_ROUNDS is not set")
@pytest.mark.timeout(600 + 200 * ROUNDS)
def test_views_are_right_whatever_is_lost(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    choice = random.Random(SEED)
    with network(3, tmp_path) as machines:
        site = Site(machines, tmp_path)
        try:
            load = Load(site)
            site.server.wait_for_spark()
            load.change()
            for number in range(ROUNDS):
                loss = LOSSES[number % len(LOSSES)]
                worker = choice.choice(site.workers)
                failures: list[BaseException] = []
                happens = threading.Thread(target=_after, args=(choice.random(), loss, site, worker, failures))
                began = time.monotonic()
                happens.start()
                times = [_timed(load.change)]
                while happens.is_alive():
                    times.append(_timed(load.change))
                happens.join()
                assert not failures, failures
                back = _timed(load.change_until_on_cluster)
                load.require_all()
                whole = time.monotonic() - began
                told = f"longest {max(times):5.1f} s, on the cluster again after {back:5.1f} s, all {whole:5.1f} s"
                print(f"{number:3} {loss.__name__:16} {told}", flush=True)
        except BaseException:
            print("".join(site.server.output)[-8000:])
            raise
        finally:
            site.server.kill()


def _after(
    seconds: float, loss: Callable[[Site, Machine], None], site: Site, worker: Machine, failures: list[BaseException]
) -> None:
    time.sleep(seconds)
    try:
        loss(site, worker)
    except BaseException as error:
        failures.append(error)


def _timed(step: Callable[[], None]) -> float:
    began = time.monotonic()
    step()
    return time.monotonic() - began
