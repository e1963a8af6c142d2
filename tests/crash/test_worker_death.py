"""A Python worker of Spark that dies in the middle of an epoch: the task is tried again, and nothing counts twice."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import psutil
import pytest

from risingpy.server_process import ServerProcess
from tests.idleness import assert_server_falls_idle

ROWS = 150_000
ROUNDS = 4


def workers(server: ServerProcess) -> list[psutil.Process]:
    """The processes that the warmed daemon forked."""
    found = []
    for process in psutil.Process(server.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any("risingpy.executors.spark.daemon" in part for part in process.parent().cmdline()):
                found.append(process)
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["spark", pytest.param("spark-shuffled", marks=pytest.mark.slow)])
def test_a_worker_that_dies_is_replaced_and_nothing_counts_twice(tmp_path: Path, engine: str) -> None:
    server = ServerProcess(tmp_path / "data", engine=engine)
    stop = threading.Event()
    killed = 0

    def kill_workers() -> None:
        nonlocal killed
        # Ever more seldom: on a busy machine a task takes longer than the first pauses, and has four tries.
        pause = 1.0
        while not stop.wait(pause):
            pause *= 1.5
            for process in workers(server)[:1]:
                with contextlib.suppress(psutil.Error):
                    process.kill()
                    killed += 1

    try:
        server.wait_for_spark()
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, v INT)")
            connection.execute(
                "CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n, sum(v) AS s, max(v) AS hi FROM t GROUP BY g"
            )
            killer = threading.Thread(target=kill_workers)
            killer.start()
            for number in range(ROUNDS):
                block = "".join(f"{number * ROWS + k},{k % 100},{k}\n" for k in range(ROWS))
                with connection.cursor().copy("COPY t FROM STDIN (FORMAT csv)") as copy:
                    copy.write(block)
                time.sleep(0.2)
            connection.execute("UPDATE t SET v = v + 1 WHERE g < 50")
            stop.set()
            killer.join()
            connection.execute("FLUSH")
            query = "SELECT g, count(*) AS n, sum(v) AS s, max(v) AS hi FROM t GROUP BY g"
            assert sorted(connection.execute("SELECT * FROM m").fetchall()) == sorted(
                connection.execute(query).fetchall()
            )
            total = connection.execute("SELECT sum(n) FROM m").fetchone()
            assert total is not None and total[0] == ROUNDS * ROWS
        assert killed
        assert_server_falls_idle(server)
    finally:
        stop.set()
        server.kill()
