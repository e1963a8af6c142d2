"""The suites against our own server: SELECT, views made before the data, views made after it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.sqllogictest import SUITES, Connect, Mode, connect_with_psycopg, find_files, run_files
from risingpy.sqllogictest.report import failure_lines

STOP_TIMEOUT_SECONDS = 60
OURS = (Mode.BATCH, Mode.STREAM, Mode.BACKFILL)


def serve(directory: Path, engine: str) -> Iterator[Connect]:
    """A server in a process of its own, on a port that the system chooses."""
    command = [sys.executable, "-m", "risingpy", "serve", "--data-dir", str(directory / "data"), "--port", "0"]
    command += ["--engine", engine, "--parallelism", "2"]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ)
    try:
        assert process.stdout is not None
        port = next(
            (match.group(1) for line in process.stdout if (match := re.search(r"psql .*-p (\d+)", line))), None
        )
        assert port is not None, (directory / "log").read_text()
        yield connect_with_psycopg(f"host=127.0.0.1 port={port} dbname=dev user=root", timeout=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_TIMEOUT_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    yield from serve(tmp_path_factory.mktemp("inprocess"), "inprocess")


@pytest.fixture(scope="module")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    yield from serve(tmp_path_factory.mktemp("spark"), "spark")


@pytest.mark.parametrize("mode", OURS)
def test_every_suite_holds(server: Connect, mode: Mode) -> None:
    results = run_files(find_files([SUITES]), server, mode, jobs=4)
    assert [line for result in results for line in failure_lines(result)] == []


@pytest.mark.timeout(600)
def test_the_streaming_suites_hold_on_spark(spark_server: Connect) -> None:
    results = run_files(find_files([SUITES / "streaming", SUITES / "aggregate"]), spark_server, Mode.STREAM, jobs=4)
    assert [line for result in results for line in failure_lines(result)] == []
