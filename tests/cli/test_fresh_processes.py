"""Every command in a process of its own: what one has imported helps no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.cli import main
from risingpy.server_process import HOST, ServerProcess

# What a store can hold that takes casts, types and functions to read again.
SCHEMA = (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, day DATE DEFAULT '2024-02-29', price NUMERIC(10, 2), tags VARCHAR[])",
    "CREATE MATERIALIZED VIEW v AS SELECT day::timestamp AS at, sum(price::double precision) AS total,"
    " max(tags[1]::int) AS tag, count(*) FILTER (WHERE price::text LIKE '1%') AS ones FROM t GROUP BY day",
    "CREATE INDEX by_price ON t ((price::int))",
    "INSERT INTO t (id, price, tags) VALUES (1, 1.5, '{7,8}'), (2, 2.5, '{9}')",
)
TESTED = {"serve", "sql", "check", "rescale", "backup", "restore", "pin", "slt", "demo"}
TESTED |= {"tail", "export", "import", "upgrade"}  # test_tail.py, test_export.py, tests/stores/test_upgrade.py


def risingpy(*arguments: object) -> tuple[int, str]:
    """Runs a command; gives its exit code and all that it prints."""
    command = [sys.executable, "-m", "risingpy", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("served"), engine="inprocess")
    code, output = risingpy("sql", "--host", HOST, "--port", process.port, *(p for sql in SCHEMA for p in ("-c", sql)))
    assert code == 0, output
    yield process
    process.stop()


@pytest.fixture(scope="module")
def restored(server: ServerProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a backup that was taken and restored."""
    directory = tmp_path_factory.mktemp("restored")
    code, output = risingpy("backup", "--host", HOST, "--port", server.port, directory / "backup")
    assert code == 0, output
    code, output = risingpy("restore", "--data-dir", directory / "data", directory / "backup")
    assert code == 0, output
    return directory / "data"


def test_no_command_is_forgotten_here() -> None:
    assert set(main.commands) == TESTED


def test_check_and_rescale_read_what_the_server_has_written(restored: Path) -> None:
    for command in (["check"], ["rescale", "--parallelism", 3], ["check"]):
        name, *options = command
        code, output = risingpy(name, "--data-dir", restored, *options)
        assert code == 0, output
    assert "no problems" in output


def test_slt_runs_a_file(server: ServerProcess, tmp_path: Path) -> None:
    path = tmp_path / "one.slt"
    path.write_text("query R\nSELECT 1.5::numeric(10, 2)\n----\n1.50\n")
    code, output = risingpy("slt", "--host", HOST, "--port", server.port, path)
    assert code == 0, output


def test_a_database_in_shared_storage_is_pinned(tmp_path: Path) -> None:
    uri = f"file://{tmp_path / 'state'}"
    server = ServerProcess(tmp_path / "a", engine="inprocess", flags=["--state", uri])
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (k INT PRIMARY KEY)")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.execute("FLUSH")
    finally:
        server.kill()
    code, output = risingpy("pin", "--state", uri, "kept")
    assert code == 0, output
    code, output = risingpy("pin", "--state", f"file://{tmp_path / 'nothing'}", "kept")
    assert code != 0
    assert "Error" in output and "Traceback" not in output
    code, output = risingpy("pin", "--state", uri, "--drop", "kept")
    assert code == 0, output


def test_demo_says_that_there_is_no_server() -> None:
    code, output = risingpy("demo", "--host", HOST, "--port", 1)
    assert code != 0
    assert "Error: connection failed" in output and "Traceback" not in output
