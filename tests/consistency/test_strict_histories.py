"""Many connections read and write while the server is killed: no strict read is stale, no write is lost."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import HOST, ServerProcess
from tests.consistency.histories import KEYS, SETUP, Connection, History, HistoryClient

CLIENTS = 6
KILLS = 2
RUN_OPERATIONS = 150  # that are answered between two kills
RUN_SECONDS = 60  # in which a server must have answered them


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1])
def test_concurrent_histories_are_linearizable_through_kills(tmp_path: Path, seed: int) -> None:
    server = ServerProcess(tmp_path / "data", engine="inprocess")
    port = server.port
    with server.connect() as connection:
        for statement in SETUP.split(";"):
            connection.execute(statement)

    def connect() -> Connection:
        return psycopg.connect(host=HOST, port=port, user="root", dbname="dev", autocommit=True, connect_timeout=10)

    history = History()
    clients = [HistoryClient(connect, history, 100 * seed + number) for number in range(CLIENTS)]
    try:
        for client in clients:
            client.start()
        for _ in range(KILLS):
            history.grow(RUN_OPERATIONS, RUN_SECONDS)
            server.kill()
            server = ServerProcess(tmp_path / "data", engine="inprocess", port=port)
        history.grow(RUN_OPERATIONS, RUN_SECONDS)
        for client in clients:
            client.stopping.set()
        for client in clients:
            client.join(30)
        assert not any(client.is_alive() for client in clients)
        with server.connect() as connection:
            counter = connection.execute("SELECT n FROM counter").fetchone()
    finally:
        server.kill()
    assert counter is not None
    history.check(int(str(counter[0])))
    assert len(history.counted) > RUN_OPERATIONS / 20
    for key, operations in history.operations.items():
        assert len(operations) > RUN_OPERATIONS / len(KEYS), key
