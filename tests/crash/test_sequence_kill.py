"""kill -9 while clients take numbers of a sequence and of a serial column: none is given twice, nor in both lives."""

from __future__ import annotations

import threading
from pathlib import Path

import psycopg

from risingpy.server_process import ServerProcess

_ENOUGH = 1500  # numbers of each client before the server dies: more than a block


def test_no_number_is_given_twice(tmp_path: Path) -> None:
    directory, given = tmp_path / "data", list[int]()
    server = ServerProcess(directory, engine="inprocess")
    with server.connect() as connection:
        connection.execute("CREATE SEQUENCE s")
        connection.execute("CREATE TABLE t (id bigserial PRIMARY KEY, a int)")
    enough = threading.Semaphore(0)

    def take() -> None:
        own = 0
        try:
            with server.connect() as connection:
                while True:
                    [(number,)] = connection.execute("SELECT nextval('s')").fetchall()
                    given.append(number)
                    own += 1
                    if own == _ENOUGH:
                        enough.release()
        except psycopg.Error:
            return

    clients = [threading.Thread(target=take) for _ in range(2)]
    for client in clients:
        client.start()
    for _ in clients:
        assert enough.acquire(timeout=120)
    with server.connect() as connection:
        connection.execute("INSERT INTO t (a) SELECT 1 FROM generate_series(1, 100)")
    server.kill()
    for client in clients:
        client.join(30)
    assert len(given) == len(set(given))
    server = ServerProcess(directory, engine="inprocess")
    try:
        with server.connect() as connection:
            [(first,)] = connection.execute("SELECT nextval('s')").fetchall()
            assert first > max(given)
            connection.execute("INSERT INTO t (a) VALUES (2)")
            [(rows, least)] = connection.execute("SELECT count(*), min(id) FILTER (WHERE a = 2) FROM t").fetchall()
            assert rows == 101
            assert least > 100
    finally:
        server.kill()
