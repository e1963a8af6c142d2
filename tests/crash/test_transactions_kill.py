"""kill -9 while clients move balances in short transactions, which follow each other before the disk has them.

A transaction is there whole or not at all, all that were acknowledged are, and none without those that it has followed.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.crash.killed_at_work import kill_at_work

_CLIENTS, _ENOUGH = 8, 30
_TABLES = ("accounts", "tellers", "branches")
_LAST = 1  # the key that all change


@dataclass
class _Client:
    """What one client was told."""

    number: int
    begun: int = 0
    committed: int = 0

    def run(self, server: ServerProcess, enough: threading.Semaphore) -> None:
        chance = random.Random(self.number)
        try:
            with server.connect() as connection:
                while True:
                    self.begun += 1
                    self._move(connection, chance)
                    self.committed += 1
                    if self.committed == _ENOUGH:
                        enough.release()
        except psycopg.Error:
            return

    def _move(self, connection: psycopg.Connection[tuple[object, ...]], chance: random.Random) -> None:
        delta = chance.randint(-50, 50)
        connection.execute("BEGIN", prepare=True)
        for table, key in zip(_TABLES, (chance.randint(1, 9), chance.randint(1, 3), _LAST), strict=True):
            connection.execute(f"UPDATE {table} SET n = n + %s, c = c + 1 WHERE id = %s", (delta, key), prepare=True)
        [count] = connection.execute("SELECT c FROM branches WHERE id = %s", (_LAST,), prepare=True).fetchone() or (0,)
        connection.execute(
            "INSERT INTO history (owner, at_count, delta) VALUES (%s, %s, %s)",
            (self.number, count, delta),
            prepare=True,
        )
        connection.execute("COMMIT", prepare=True)


def _balances(connection: psycopg.Connection[tuple[object, ...]]) -> Sequence[object]:
    sums = ", ".join(f"(SELECT sum(n) FROM {table}), (SELECT sum(c) FROM {table})" for table in _TABLES)
    row = connection.execute(f"SELECT {sums}, (SELECT sum(delta) FROM history), (SELECT count(*) FROM history)")
    found = row.fetchone()
    assert found is not None
    return found


@pytest.mark.parametrize("round_", range(2))
def test_balances_after_a_kill(tmp_path: Path, round_: int) -> None:
    directory = tmp_path / "data"
    server = ServerProcess(directory, engine="inprocess")
    with server.connect() as connection:
        for table in _TABLES:
            connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, n int, c int)")
            connection.execute(f"INSERT INTO {table} SELECT g, 0, 0 FROM generate_series(1, 9) AS g")
        connection.execute("CREATE TABLE history (owner int, at_count int, delta int)")
        connection.execute("FLUSH")
    clients = [_Client(number) for number in range(_CLIENTS)]
    kill_at_work(server, clients)
    server = ServerProcess(directory, engine="inprocess")
    try:
        with server.connect() as connection:
            found = _balances(connection)
            assert len(set(found[0:6:2])) == 1 and found[0] == found[6]
            assert len(set(found[1:6:2])) == 1 and found[1] == found[7]
            counts = [each for [each] in connection.execute("SELECT at_count FROM history ORDER BY 1").fetchall()]
            assert counts == list(range(1, len(counts) + 1))  # each has followed the one before it
            own = dict(connection.execute("SELECT owner, count(*) FROM history GROUP BY owner").fetchall())
            for each in clients:
                assert each.committed <= own[each.number] <= each.begun
    finally:
        server.kill()
