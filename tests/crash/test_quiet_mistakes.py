"""What users, clients and other systems do wrong leaves no stack trace in the log of a server with Spark.

Each mistake is made against one server, and is told to whom it concerns; the log has a line at most.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from risingpy.server_process import HOST, ServerProcess
from tests.crash.test_quiet_log import STACK, stop
from tests.crash.test_worker_death import workers

Run = Callable[[str], None]
RAISES = """CREATE FUNCTION raises(x int) RETURNS int LANGUAGE python IMMUTABLE AS $$
def raises(x):
    return 1 // (x - 3)
$$"""
DIES = """CREATE FUNCTION dies(x int) RETURNS int LANGUAGE python IMMUTABLE AS $$
def dies(x):
    import os
    if x == 7:
        os._exit(3)
    return x
$$"""
LOOPS = """CREATE FUNCTION loops(x int) RETURNS int LANGUAGE python IMMUTABLE AS $$
def loops(x):
    while True:
        pass
$$"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    flags = ["--file-roots", str(tmp_path), "--http-port", "0", "--memory", "3GB"]
    process = ServerProcess(tmp_path / "data", log_level="info", flags=flags)
    yield process
    process.kill()


def refused(server: ServerProcess, *statements: str) -> None:
    """Runs statements of which some fail, as a user's mistakes do."""
    with server.connect() as connection:
        for statement in statements:
            with contextlib.suppress(psycopg.Error):
                connection.execute(statement.encode())


def cancelled(server: ServerProcess, sql: str, setting: str = "SELECT 1", after: float = 1.0) -> None:
    with server.connect() as connection:
        connection.execute(setting.encode())
        timer = threading.Timer(after, connection.cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(sql.encode())
        timer.join()


def functions_that_fail(server: ServerProcess) -> None:
    """In statements, and in views: there the value is NULL, and counted."""
    refused(server, RAISES, DIES, LOOPS, "SELECT raises(3)", "SELECT dies(7)")
    refused(server, "CREATE MATERIALIZED VIEW failing AS SELECT id, raises(g) AS r FROM t")
    refused(server, "CREATE MATERIALIZED VIEW dying AS SELECT id, dies(g) AS d FROM t", "FLUSH")
    refused(
        server, "INSERT INTO t SELECT i, 3 FROM generate_series(50000, 50100) i", "FLUSH", "SELECT count(*) FROM dying"
    )
    cancelled(server, "SELECT loops(1)")
    refused(server, "DROP MATERIALIZED VIEW failing", "DROP MATERIALIZED VIEW dying")


def statements_that_are_cancelled(server: ServerProcess) -> None:
    cancelled(server, "SELECT count(*) FROM t a, t b, t c WHERE a.g + b.g + c.g < 0")
    cancelled(server, "CREATE MATERIALIZED VIEW slow AS SELECT * FROM t", "SET backfill_rate_limit = 100")
    refused(server, "SET statement_timeout = '300ms'; SELECT count(*) FROM t a, t b, t c WHERE a.g + b.g + c.g < 0")
    refused(server, "SET statement_memory = '32MB'; SELECT array_agg(a.id ORDER BY b.id) FROM t a, t b")


def clients_that_go_away(server: ServerProcess) -> None:
    """In the middle of COPY, of a large result, of a SUBSCRIBE, of a login, of an HTTP request."""
    for statement in ("COPY t FROM STDIN", "SELECT * FROM t a, t b", "SUBSCRIBE TO m", "CREATE INDEX gone ON t (g)"):
        rude = psycopg.connect(host=HOST, port=server.port, user="root", dbname="dev", autocommit=True)
        rude.pgconn.send_query(statement.encode())
        time.sleep(0.3)
        with socket.socket(fileno=os.dup(rude.fileno())) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        rude.close()
    for port in (server.port, server.http_port):
        for head in (b"\0\0\0\x08\x04\xd2\x16\x2f", b"GET /metr", b"\x16\x03\x01", os.urandom(64)):
            with socket.create_connection((HOST, port or 0)) as line:
                line.sendall(head)
    with contextlib.suppress(urllib.error.URLError, OSError):
        urllib.request.urlopen(f"http://{HOST}:{server.http_port}/nothing", timeout=5).read()


def other_systems_that_fail(server: ServerProcess, directory: Path) -> None:
    """Files that are none, or of other columns; messages that do not decode."""
    (directory / "files").mkdir()
    (directory / "files" / "1.parquet").write_bytes(b"PAR1 this is none")
    pq.write_table(pa.table({"other": ["x"]}), directory / "files" / "2.parquet")
    (directory / "lines").mkdir()
    (directory / "lines" / "1.json").write_text('{"a": 1}\n{"a": \n[]\n{"a": "x"}\n')
    lines = f"connector = 'posix_fs', posix_fs.root = '{directory}/lines', match_pattern = '*.json'"
    refused(
        server,
        f"CREATE SOURCE files (a int) WITH (connector = 'file', path = '{directory}/files/*.parquet')",
        "CREATE MATERIALIZED VIEW of_files AS SELECT * FROM files",
        f"CREATE TABLE lines (a int) WITH ({lines}) FORMAT PLAIN ENCODE JSON",
        "FLUSH",
    )
    time.sleep(3)  # their threads try
    refused(server, "DROP TABLE lines", "DROP MATERIALIZED VIEW of_files", "DROP SOURCE files")


def processes_that_are_killed(server: ServerProcess) -> None:
    """A worker of Spark, the one that reads epochs, the daemon of both; and Java."""
    for number in range(2):
        for process in workers(server):
            with contextlib.suppress(psutil.Error):
                process.kill()
        refused(server, f"INSERT INTO t VALUES ({70000 + number}, 1)", "FLUSH")
    for name in ("risingpy.executors.spark.daemon", "java"):
        for process in psutil.Process(server.process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if any(part.endswith(name) for part in process.cmdline()[:5]):
                    process.kill()
        refused(server, f"INSERT INTO t VALUES ({71000 + len(name)}, 1)", "FLUSH")
        time.sleep(1)


@pytest.mark.timeout(600)
def test_mistakes_leave_no_stack_trace(server: ServerProcess, tmp_path: Path) -> None:
    server.wait_for_spark()
    refused(
        server,
        "CREATE TABLE t (id BIGINT PRIMARY KEY, g INT)",
        "INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 9000) i",
    )
    refused(server, "CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n FROM t GROUP BY g", "FLUSH")
    functions_that_fail(server)
    statements_that_are_cancelled(server)
    clients_that_go_away(server)
    other_systems_that_fail(server, tmp_path)
    processes_that_are_killed(server)
    with server.connect() as connection:
        shown = connection.execute("SELECT (SELECT sum(n) FROM m) = (SELECT count(*) FROM t)").fetchone()
    said = stop(server, signal.SIGTERM)
    assert not STACK.search(said), said
    assert shown == (True,)
