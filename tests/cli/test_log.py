"""The server's log: its forms, its file, and the slow statements in it."""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from risingpy import logs
from risingpy.server_process import HOST, ServerProcess


@contextmanager
def logging_to(file: Path) -> Iterator[logging.Logger]:
    """The log of this process, without pytest's handlers, which would keep `basicConfig` from doing anything."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers.clear()
    logs.start_logging("info", "json", file)
    try:
        yield logging.getLogger("risingpy.test")
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = before
        root.setLevel(level)


def served(directory: Path, *flags: str, log_level: str = "warning") -> ServerProcess:
    return ServerProcess(directory / "data", engine="inprocess", log_level=log_level, flags=flags)


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_slow_statements_are_in_the_file_and_fast_ones_are_not(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    flags = ["--log-format", "json", "--log-file", str(file), "--log-min-duration-statement", "150"]
    server = served(tmp_path, *flags)
    with server.connect(application_name="reports") as client:
        pid = client.info.backend_pid
        assert client.execute("SHOW log_min_duration_statement").fetchone() == ("150",)
        client.execute("SELECT pg_sleep(0.2), 'ü\n\"'")
        client.execute("SELECT 'fast'")
        client.execute("SELECT pg_sleep(%s), 'prepared'", (0.2,))
        client.execute("SET log_min_duration_statement = '1h'")
        client.execute("SELECT pg_sleep(0.2), 'not asked for'")
        client.execute("RESET log_min_duration_statement")
        with pytest.raises(psycopg.errors.DivisionByZero):
            client.execute("SELECT pg_sleep(0.2), 1 / (random() * 0)::int")
    assert server.stop() == 0
    found = json_lines(file.read_text())
    assert all(line["duration_ms"] >= 150 for line in found)  # on a busy machine, others are slow too
    found = [line for line in found if "pg_sleep" in line["statement"]]
    assert [line["statement"] for line in found] == [
        "SELECT pg_sleep(0.2), 'ü\n\"'",
        "SELECT pg_sleep($1), 'prepared'",
        "SELECT pg_sleep(0.2), 1 / (random() * 0)::int",
    ]
    for line in found:
        assert (line["level"], line["logger"]) == ("warning", "risingpy.statements")
        assert line["process_id"] == pid
        assert (line["user"], line["application_name"]) == ("root", "reports")
        assert line["client_address"].startswith("127.0.0.1:")
        assert 200 <= line["duration_ms"] < 30_000
        assert line["message"] == f"duration: {line['duration_ms']:.3f} ms  statement: {line['statement']}"
        assert line["time"].endswith("+00:00")
    assert not any("duration" in line for line in server.output)  # the file has it, not standard error


def test_a_session_asks_for_all_of_its_statements(tmp_path: Path) -> None:
    server = served(tmp_path)
    with server.connect(options="-c log_min_duration_statement=0") as client, server.connect() as other:
        client.execute("SELECT 1; SELECT 2")
        other.execute("SELECT 3")
        client.execute("SELECT '" + "x" * 20_000 + "'")
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            client.execute("SET log_min_duration_statement = -2")
    server.stop()
    logged = [line.partition("statement: ")[2].rstrip() for line in server.output if "risingpy.statements" in line]
    assert logged[:2] == ["SELECT 1", "SELECT 2"]
    assert not any("SELECT 3" in line for line in logged)
    assert logged[2].endswith("x …") and len(logged[2]) == 8192 + 2
    assert logged[3] == "SET log_min_duration_statement = -2"


def test_mistakes_of_users_leave_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    server = served(tmp_path, "--log-format", "json", "--log-file", str(file), log_level="info")
    mistakes = [
        "SELEC",
        "SELECT 1/0",
        "SELECT * FROM none",
        "INSERT INTO none VALUES (1)",
        "COPY t FROM STDIN",
        "ROLLBACK TO x",
    ]
    with server.connect() as client:
        client.execute("CREATE TABLE t (x int PRIMARY KEY)")
        for sql in mistakes:
            with pytest.raises(psycopg.Error):
                if sql.startswith("COPY"):
                    with client.cursor().copy(sql) as copy:
                        copy.write("no number\n")
                else:
                    client.execute(sql)
        gone = server.connect()
        gone.pgconn.finish()
    server.stop()
    assert [line for line in json_lines(file.read_text()) if "exception" in line or line["level"] == "error"] == []


def test_the_file_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGEST_FILE", 10_000)
    file = tmp_path / "server.log"
    with logging_to(file) as log:
        for number in range(1000):
            log.info("line %d", number)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["server.log", *(f"server.log.{k}" for k in range(1, logs.KEPT_FILES + 1))]
    assert all(path.stat().st_size <= 10_000 for path in files)
    assert json_lines(file.read_text())[-1]["message"] == "line 999"


def test_an_exception_is_a_field(tmp_path: Path) -> None:
    file = tmp_path / "server.log"
    with logging_to(file) as log:
        try:
            raise ValueError("of no use")
        except ValueError:
            log.exception("it failed")
    [line] = json_lines(file.read_text())
    assert line["message"] == "it failed"
    assert line["exception"].splitlines()[0] == "Traceback (most recent call last):"
    assert line["exception"].endswith("ValueError: of no use")


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "risingpy", "serve", "--engine", "inprocess", "--log-file", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr == f"risingpy: cannot write the log to {tmp_path}: Is a directory\n"


@pytest.mark.parametrize("port", ["client", "monitoring"])
def test_strange_clients_leave_no_traceback(tmp_path: Path, port: str) -> None:
    file = tmp_path / "server.log"
    server = served(tmp_path, "--http-port", "0", "--log-format", "json", "--log-file", str(file), log_level="info")
    number = server.port if port == "client" else server.http_port
    for said in (
        b"",
        b"\0",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0",
        os.urandom(4000),
        b"\xff" * 8,
    ):
        for resets in (False, True):
            with socket.create_connection((HOST, number)) as client:
                client.sendall(said)
                if resets:  # close() sends a RST, as a scanner of ports does
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with server.connect() as client_after:
        assert client_after.execute("SELECT 1").fetchone() == (1,)
    assert server.stop() == 0
    assert [line for line in json_lines(file.read_text()) if "exception" in line or line["level"] == "error"] == []
