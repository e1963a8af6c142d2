"""`risingpy tail` on a real server, and a reader of a subscription over kills of that server."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import HOST, ServerProcess

SIGN = {"Insert": 1, "UpdateInsert": 1, "Delete": -1, "UpdateDelete": -1}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data", engine="inprocess")
    yield server
    server.kill()


def test_tail_shows_changes_as_they_come_and_ends_with_ctrl_c(server: ServerProcess) -> None:
    writer = server.connect()
    writer.execute("CREATE TABLE t (k INT PRIMARY KEY, v VARCHAR); INSERT INTO t VALUES (1, 'old'); FLUSH")
    command = [sys.executable, "-m", "risingpy", "tail", "--host", HOST, "--port", str(server.port), "t"]
    # A shell has its background jobs ignore Ctrl-C, and so would what these start.
    heeds_ctrl_c = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    tail = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds_ctrl_c)
    assert tail.stdout is not None
    lines = [tail.stdout.readline()]
    writer.execute("UPDATE t SET v = NULL WHERE k = 1")
    lines += [tail.stdout.readline(), tail.stdout.readline()]
    tail.send_signal(signal.SIGINT)
    rest, errors = tail.communicate(timeout=30)
    assert [line.split(" ", 1)[1] for line in lines] == ["+ k=1 v=old\n", "< k=1 v=old\n", "> k=1 v=NULL\n"]
    assert (rest, errors, tail.returncode) == ("", "", 0)
    failed = subprocess.run([*command[:-1], "nothing"], capture_output=True, text=True, timeout=60, check=False)
    assert failed.returncode == 1
    assert 'relation "nothing" does not exist' in failed.stderr


def test_kills_of_the_server_lose_no_change_and_repeat_none(server: ServerProcess) -> None:
    """The reader's place is the last progress row that it has seen; the server is killed while a writer writes."""
    with server.connect() as first:
        first.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        first.execute("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n FROM t GROUP BY v")
        first.execute("CREATE SUBSCRIPTION s FROM m WITH (retention = '1D')")
    chance = random.Random(3)
    folded: Counter[tuple[int, int]] = Counter()
    place: int | None = None
    for _ in range(2):
        stopped = threading.Event()

        def write(connection: psycopg.Connection[tuple[object, ...]], stopped: threading.Event = stopped) -> None:
            with contextlib.suppress(psycopg.Error):
                while not stopped.is_set():
                    key, value = chance.randrange(30), chance.randrange(5)
                    connection.execute(f"INSERT INTO t VALUES ({key}, {value})")

        thread = threading.Thread(target=write, args=(server.connect(),))
        thread.start()
        place = follow(server, folded, place, chance.randrange(20, 60))
        server.kill()
        stopped.set()
        thread.join()
        server = ServerProcess(server.data_dir, engine="inprocess", port=server.port)
    with server.connect() as last:
        last.execute("INSERT INTO t VALUES (100, 7)")
        last.execute("FLUSH")
        wanted = Counter((v, n) for v, n in last.execute("SELECT v, n FROM m").fetchall())
    follow(server, folded, place, None, wanted)
    server.kill()
    assert +folded == wanted
    assert min(folded.values()) == 0


def follow(
    server: ServerProcess,
    folded: Counter[tuple[int, int]],
    place: int | None,
    parts: int | None,
    wanted: Counter[tuple[int, int]] | None = None,
) -> int | None:
    """Adds what progress rows confirm, up to so many of them, or until it is what is wanted; the last place."""
    after = "" if place is None else f" AFTER EPOCH {place}"
    pending: list[tuple[int, tuple[int, int]]] = []
    reader = server.connect()
    for epoch, progressed, op, v, n in reader.cursor().stream(f"SUBSCRIBE TO s WITH (progress){after}"):
        if not progressed:
            pending.append((SIGN[op], (v, n)))
            continue
        place = epoch
        for sign, row in pending:
            folded[row] += sign
            assert 0 <= folded[row] <= 1
        pending = []
        parts = None if parts is None else parts - 1
        if parts == 0 or (wanted is not None and +folded == wanted):
            break
    reader.pgconn.finish()
    return place
