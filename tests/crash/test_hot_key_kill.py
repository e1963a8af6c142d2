"""kill -9 while clients count up one key and add rows: all that was acknowledged is there, and no row twice."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import psycopg

from risingpy.server_process import ServerProcess
from tests.crash.killed_at_work import kill_at_work

_CLIENTS, _ENOUGH = 6, 40


@dataclass
class _Client:
    """What one client was told. A statement that was under way when the server died may count, or not."""

    number: int
    counted: int = 0
    added: int = 0

    def run(self, server: ServerProcess, enough: threading.Semaphore) -> None:
        try:
            with server.connect() as connection:
                while True:
                    connection.execute("UPDATE hot SET n = n + 1 WHERE id = %s", (1,), prepare=True)
                    self.counted += 1
                    connection.execute(
                        "INSERT INTO log (owner, n) VALUES (%s, %s)", (self.number, self.added), prepare=True
                    )
                    self.added += 1
                    if self.added == _ENOUGH:
                        enough.release()
        except psycopg.Error:
            return


def test_all_that_was_acknowledged_is_there(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    server = ServerProcess(directory, engine="inprocess")
    with server.connect() as connection:
        connection.execute("CREATE TABLE hot (id int PRIMARY KEY, n int)")
        connection.execute("INSERT INTO hot VALUES (1, 0)")
        connection.execute("CREATE TABLE log (id bigserial PRIMARY KEY, owner int, n int)")
        connection.execute("CREATE MATERIALIZED VIEW rows_of AS SELECT owner, count(*) AS c FROM log GROUP BY owner")
    clients = [_Client(number) for number in range(_CLIENTS)]
    kill_at_work(server, clients)
    server = ServerProcess(directory, engine="inprocess")
    try:
        with server.connect() as connection:
            [(counted,)] = connection.execute("SELECT n FROM hot").fetchall()
            acknowledged = sum(each.counted for each in clients)
            assert acknowledged <= counted <= acknowledged + _CLIENTS
            connection.execute("FLUSH")
            found = dict(connection.execute("SELECT owner, c FROM rows_of").fetchall())
            assert found == dict(connection.execute("SELECT owner, count(*) FROM log GROUP BY owner").fetchall())
            for each in clients:
                assert each.added <= found[each.number] <= each.added + 1
                own = connection.execute("SELECT n FROM log WHERE owner = %s ORDER BY n", (each.number,)).fetchall()
                assert own == [(number,) for number in range(found[each.number])]
    finally:
        server.kill()
