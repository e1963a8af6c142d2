"""The server's log has tracebacks of defects only: not of clients and workers that come, go and are killed.

A reader of the log must be able to trust that a traceback, or a stack trace of Java, means a defect.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import struct
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from risingpy.server_process import HOST, ServerProcess
from risingpy.storage import fault_points
from tests.crash.test_worker_death import workers
from tests.idleness import assert_server_falls_idle

STACK = re.compile(r"Traceback|^\s+at [\w.$]+|^\s*File \"|^[\w.$]*(Exception|Error)\b|nanobind|leaked", re.MULTILINE)


def stop(server: ServerProcess, number: int) -> str:
    """Everything that the server said up to its end."""
    os.kill(server.process.pid, number)
    assert server.process.wait(60) == 0
    time.sleep(0.5)  # the reader of the pipe
    return "".join(server.output)


def live_through_it(server: ServerProcess) -> None:
    """Clients that come and go, politely and not; a worker that is killed; views that go on."""
    with server.connect() as connection:
        connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g INT)")
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n FROM t GROUP BY g")
        connection.execute("INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 1000) AS i")
        connection.execute("FLUSH")
    for number in range(5):
        rude = psycopg.connect(host=HOST, port=server.port, user="root", dbname="dev", autocommit=True)
        rude.execute("SELECT * FROM m")
        if number % 2:  # gone without a word: the server's next byte meets a reset
            with socket.socket(fileno=os.dup(rude.fileno())) as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.shutdown(socket.SHUT_RDWR)
        rude.close()
    with server.connect() as connection, contextlib.suppress(psycopg.Error):
        connection.execute("SELECT 1/0")
    killed = workers(server)
    assert killed
    for worker in killed:
        with contextlib.suppress(psutil.Error):
            worker.kill()
    with server.connect() as connection:
        connection.execute("INSERT INTO t SELECT i, 3 FROM generate_series(2000, 2100) AS i")
        connection.execute("FLUSH")
        assert connection.execute("SELECT sum(n) FROM m").fetchone() == (1101,)
        # Enough for the wide query: its source, its stages.
        connection.execute("CREATE MATERIALIZED VIEW pairs AS SELECT a.g FROM t a JOIN t b USING (g) WHERE a.id = b.id")
        deep = "SELECT n, count(*) AS n2 FROM (SELECT n, count(*) AS n1 FROM m GROUP BY n) GROUP BY n"
        connection.execute(f"CREATE MATERIALIZED VIEW deep AS {deep}")
        connection.execute("DROP MATERIALIZED VIEW pairs")
        connection.execute("FLUSH")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("engine", "number"),
    [
        pytest.param("spark", signal.SIGTERM, id="spark-SIGTERM"),
        pytest.param("spark", signal.SIGINT, id="spark-SIGINT", marks=pytest.mark.slow),
        pytest.param("spark-shuffled", signal.SIGINT, id="shuffled-SIGINT", marks=pytest.mark.slow),
    ],
)
def test_what_is_survived_leaves_no_stack_trace(tmp_path: Path, engine: str, number: signal.Signals) -> None:
    server = ServerProcess(tmp_path / "data", engine=engine, log_level="info")
    try:
        server.wait_for_spark()
        live_through_it(server)
        assert_server_falls_idle(server)  # with a table dropped, and more stages than shards before that
        said = stop(server, number)
    finally:
        server.kill()
    assert not STACK.search(said), said


@pytest.mark.timeout(600)
def test_a_defect_is_told_with_its_traceback(tmp_path: Path) -> None:
    """An error in a task of Spark's; the epoch is tried again."""
    environ = {**os.environ, fault_points.VARIABLE: "shard.commit=eio@3"}  # in each worker's second epoch
    server = ServerProcess(tmp_path / "data", environ=environ)
    try:
        server.wait_for_spark()
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")
            for number in range(3):
                connection.execute(f"INSERT INTO t VALUES ({number})")
                time.sleep(0.5)  # an epoch of its own
        end = time.monotonic() + 60
        while "Traceback" not in "".join(server.output) and time.monotonic() < end:
            time.sleep(0.2)
        said = "".join(server.output)
    finally:
        server.kill()
    assert "Traceback (most recent call last):" in said
    assert re.search(r'File ".*/risingpy/executors/.*", line', said)
