"""A server on a Spark cluster of two executors, some of which are killed: its views are right after every epoch.

It takes a minute or two, so it runs where RISINGPY_CLUSTER_ROUNDS says how many rounds; each kills an executor.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from risingpy.server_process import ServerProcess
from tests.cluster.views import change_rows, make_views, require_right

ROUNDS = int(os.environ.get("RISINGPY_CLUSTER_ROUNDS", "0"))


@pytest.mark.skipif(not ROUNDS, reason="RISINGPY_CLUSTER_ROUNDS is not set")
@pytest.mark.timeout(240 + 60 * ROUNDS)
def test_views_are_right_though_executors_are_lost(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    environ = {**os.environ, "RISINGPY_WORKER_CACHE": str(cache)}
    flags = ("--state", (tmp_path / "shared").as_uri(), "--secret-key-file", str(tmp_path / "key"))
    server = ServerProcess(tmp_path / "a", flags=(*flags, "--master", "local-cluster[2,1,900]"), environ=environ)
    try:
        with server.connect() as connection:
            make_views(connection)
            server.wait_for_spark()
            for number in range(ROUNDS + 2):
                change_rows(connection, number)
                require_right(connection, number)
                if 1 <= number <= ROUNDS:
                    kill_an_executor(server.process.pid)
                if number == ROUNDS // 2 + 1:
                    shutil.rmtree(cache)
        assert list(cache.rglob("data.mdb")), "no epoch has run on the cluster"
    finally:
        server.kill()


def kill_an_executor(server: int) -> None:
    for process in psutil.Process(server).children(recursive=True):
        if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
            process.send_signal(signal.SIGKILL)
            return
    raise AssertionError("no executor runs")
