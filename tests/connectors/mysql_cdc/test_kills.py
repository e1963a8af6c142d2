"""Whole transactions through kill -9 of the server: nothing is torn, lost or repeated."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.connectors.mysql_cdc.upstream import Upstream, until

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "4"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
ACCOUNTS = 40
TOTAL = ACCOUNTS * 2 * 100
TABLES = ("accounts", "savings", "journal")
VIEW = """
    CREATE MATERIALIZED VIEW balance AS
    SELECT c.total + s.total AS total, c.moved + s.moved AS moved, j.moved AS noted FROM
      (SELECT sum(amount) AS total, sum(moves) AS moved FROM accounts) c,
      (SELECT sum(amount) AS total, sum(moves) AS moved FROM savings) s,
      (SELECT count(*) * 2 AS moved FROM journal) j
"""


class Transfers(threading.Thread):
    """Moves money between two tables, and notes it in a third, until it is told to stop."""

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(daemon=True)
        self._upstream = upstream
        self._chance = random.Random(SEED)
        self._stopping = threading.Event()

    def run(self) -> None:
        with self._upstream.connect() as connection, connection.cursor() as cursor:
            while not self._stopping.is_set():
                cursor.execute("BEGIN")
                for _ in range(self._chance.choice((1, 1, 3, 50))):
                    self._move(cursor)
                cursor.execute("ROLLBACK" if self._chance.random() < 0.1 else "COMMIT")
                if self._chance.random() < 0.01:
                    cursor.execute("FLUSH BINARY LOGS")
                time.sleep(self._chance.choice((0.0, 0.001, 0.02)))

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)
        assert not self.is_alive()

    def _move(self, cursor: Any) -> None:
        amount = self._chance.randrange(1, 50)
        for name, sign in zip(self._chance.sample(TABLES[:2], 2), (1, -1), strict=True):
            account = self._chance.randrange(1, ACCOUNTS + 1)
            change = f"UPDATE {name} SET amount = amount + %s, moves = moves + 1, note = %s WHERE id = %s"
            cursor.execute(change, (sign * amount, "n" * self._chance.randrange(200), account))
        cursor.execute("INSERT INTO journal (amount) VALUES (%s)", (amount,))


def watch_until_it_dies(server: ServerProcess, torn: list[object], seen: set[object]) -> None:
    """Reads the view again and again; keeps what no whole transaction leaves."""
    try:
        with server.connect() as connection:
            while True:
                [(total, moved, noted)] = connection.execute("SELECT * FROM balance").fetchall()
                seen.add(moved)
                if (total, moved) != (TOTAL, noted):
                    torn.append((total, moved, noted))
    except psycopg.Error:
        return  # the server was killed


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_kills_lose_and_repeat_nothing(tmp_path: Path, upstream: Upstream, on_spark: bool) -> None:
    for name in TABLES[:2]:
        upstream.run(
            f"CREATE TABLE {name} (id int PRIMARY KEY, amount bigint, moves bigint, note text)",
            f"INSERT INTO {name} SELECT seq, 100, 0, 'new' FROM seq_1_to_{ACCOUNTS}",
        )
    upstream.run("CREATE TABLE journal (id bigint PRIMARY KEY AUTO_INCREMENT, amount bigint)")
    chance, writer = random.Random(SEED), Transfers(upstream)
    torn: list[object] = []
    seen: set[object] = set()
    engine = "spark" if on_spark else "inprocess"
    for number in range(ROUNDS):
        server = ServerProcess(tmp_path / "data", engine=engine)
        try:
            if number == 0:
                with server.connect() as connection:
                    connection.execute(upstream.source())
                    writer.start()
                    for name in TABLES:
                        connection.execute(f"CREATE TABLE {name} (*) FROM my TABLE '{name}'")
                    connection.execute(VIEW)
            if on_spark:
                server.wait_for_spark()
            watcher = threading.Thread(target=watch_until_it_dies, args=(server, torn, seen))
            watcher.start()
            time.sleep(chance.uniform(0.3, 3.0))
        finally:
            server.kill()
        watcher.join()
    writer.stop()
    assert not torn and len(seen) > ROUNDS
    server = ServerProcess(tmp_path / "data", engine=engine)
    try:
        with server.connect() as connection:
            for name in TABLES:
                query = f"SELECT * FROM {name} ORDER BY id"
                expected = upstream.run(query)
                until(lambda query=query, expected=expected: connection.execute(query).fetchall() == expected)  # type: ignore[misc]
            assert connection.execute("SELECT total, moved - noted FROM balance").fetchall() == [(TOTAL, 0)]
            assert connection.execute("SELECT * FROM rw_catalog.rw_source_errors").fetchall() == []
    finally:
        assert server.stop() == 0
