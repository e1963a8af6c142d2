"""What an idle server costs, and how soon a new server answers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.latency import FEW, create_views
from benchmarks.measurement import DUCKDB, RISINGPY, Measurement, Usage
from benchmarks.process_tree import cpu_seconds, machine_cpu_seconds, pss_bytes
from benchmarks.throughput import running_server
from benchmarks.yardstick_process import run_job
from risingpy.server_process import ServerProcess

IDLE = "idle"
START = "start"
SETTLE_SECONDS = 3.0  # after the last statement, before the idle clock starts
RUNS = 3  # of the start of a program, the fastest counts

EMBEDDED = "embedded in a program"
_EMBEDDED_PROGRAM = """
import sys, time
began = time.monotonic()
import risingpy
with risingpy.connect(sys.argv[1]) as db:
    assert db.sql("SELECT 1 AS a").arrow().num_rows == 1
    print(time.monotonic() - began)
"""


def measure_idle(seconds: float) -> Iterator[Measurement]:
    """Cores that the server and Spark use while nobody asks for anything, with one view over one table."""
    with running_server() as server, server.connect() as connection:
        create_views(connection, FEW)
        time.sleep(SETTLE_SECONDS)
        usage = _usage_of(server, seconds)
        figures = {"idle_cores": usage.cpu_seconds / usage.wall_seconds, **usage.figures()}
        yield Measurement(IDLE, FEW.variant, RISINGPY, figures)


def measure_start() -> Iterator[Measurement]:
    """Seconds from a server's start, on an empty directory, to what it is first good for; and of one in a program."""
    with running_server(warm=False) as server:
        yield Measurement(START, "", RISINGPY, start_figures(server))
    with tempfile.TemporaryDirectory() as directory:
        program = [sys.executable, "-c", _EMBEDDED_PROGRAM, directory]
        seconds = [float(subprocess.check_output(program)) for _ in range(1 + RUNS)]
    yield Measurement(START, EMBEDDED, RISINGPY, {"first_query_seconds": min(seconds[1:])})  # the first one made it
    runs = [run_job("duckdb_yardstick", "start_up") for _ in range(RUNS)]
    yield Measurement(START, "", DUCKDB, min(runs, key=lambda run: run["first_query_seconds"]))


def start_figures(server: ServerProcess) -> dict[str, float]:
    """Accepting connections, the first query's answer, the first epoch with a row in it."""
    with server.connect() as connection:
        connection.execute("SELECT 1")
        first_query = time.monotonic() - server.started
        connection.execute("CREATE TABLE first (k BIGINT PRIMARY KEY)")
        connection.execute("INSERT INTO first VALUES (1)")
        assert connection.execute("SELECT k FROM first").fetchall() == [(1,)]
        return {
            "accepting_seconds": server.ready_seconds,
            "first_query_seconds": first_query,
            "first_epoch_seconds": time.monotonic() - server.started,
        }


def _usage_of(server: ServerProcess, seconds: float) -> Usage:
    """As a Meter's, but without its samples, which would wake the server's pages and the machine."""
    before, machine = cpu_seconds(server.process.pid), machine_cpu_seconds()
    time.sleep(seconds)
    used = cpu_seconds(server.process.pid) - before
    others = max(0.0, machine_cpu_seconds() - machine - used) / seconds
    return Usage(seconds, used, pss_bytes(server.process.pid) / 2**20, others)
