"""A server and a Spark cluster of machines that share nothing but a network and the state's directory.

Processes, machines and cables are lost at random moments. The views are right after every epoch, whatever was
acknowledged stays, and epochs go on within a bounded time. RISINGPY_CLUSTER_ROUNDS says how many losses there are:
a machine and the server in `make test`, fifty in `make cluster-test`.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.cluster.machines import Machine, network, why_not
from tests.cluster.site import LOSSES, Site
from tests.cluster.views import change_big, change_rows, make_big, make_views, require_big_right, require_right

ROUNDS = int(os.environ.get("RISINGPY_CLUSTER_ROUNDS", "2"))
ONLY = os.environ.get("RISINGPY_CLUSTER_LOSSES", "")  # names of losses, with commas; by default, all of them
STATE_ROWS = int(os.environ.get("RISINGPY_CLUSTER_ROWS", "0"))  # of a big table's views, beside the small ones
SEED = int(os.environ.get("RISINGPY_CLUSTER_SEED", "1"))
RETURN_SECONDS = 150  # after a loss, an epoch runs on the cluster again: Spark starts anew, and the cluster may be slow


class Load:
    """Changes rows, and looks at every view after every epoch."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._number = 0
        self._acknowledged: set[int] = set()
        self._connection = site.connect()
        make_views(self._connection)
        if STATE_ROWS:
            make_big(self._connection, STATE_ROWS)

    def change(self) -> None:
        """One change; a server that is lost meanwhile is asked for the next one by another connection."""
        self._number += 1
        try:
            if STATE_ROWS:
                change_big(self._connection, self._number)
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
        if STATE_ROWS:
            require_big_right(self._connection, self._number)


@pytest.mark.timeout(600 + 200 * ROUNDS)
def test_views_are_right_whatever_is_lost(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    choice = random.Random(SEED)
    losses = [loss for loss in LOSSES if not ONLY or loss.__name__ in ONLY.split(",")]
    with network(3, tmp_path) as machines:
        site = Site(machines, tmp_path)
        try:
            load = Load(site)
            site.server.wait_for_spark()
            load.change()
            for number in range(ROUNDS):
                loss = losses[number % len(losses)]
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
