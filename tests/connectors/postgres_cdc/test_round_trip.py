"""PostgreSQL to a join and to PostgreSQL again, with kills: the copy is the query, and whole at every moment."""

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
from tests.connectors.postgres_cdc.transfers import TABLES, TOTAL, Transfers, make_bank
from tests.connectors.postgres_cdc.upstream import Upstream, until

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
QUERY = """
    SELECT c.id, c.amount + s.amount AS amount, c.moves + s.moves AS moves
    FROM current_accounts c JOIN savings s ON c.id = s.id
"""


def sink(upstream: Upstream) -> str:
    server = upstream.server
    return (
        f"CREATE SINK copies AS {QUERY} WITH (connector = 'postgres', host = '{server.directory}',"
        f" port = '{server.port}', user = 'postgres', database = '{upstream.name}', table = 'copied',"
        " type = 'upsert', primary_key = 'id')"
    )


class Reader(threading.Thread):
    """Reads the copy again and again; keeps totals that no whole transaction leaves."""

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(daemon=True)
        self._upstream = upstream
        self._stopping = threading.Event()
        self.torn: list[Any] = []
        self.seen: set[Any] = set()

    def run(self) -> None:
        with self._upstream.connect() as connection:
            while not self._stopping.wait(0.005):
                [(rows, total, moves)] = connection.execute(
                    "SELECT count(*), sum(amount)::bigint, sum(moves)::bigint FROM copied"
                ).fetchall()
                if rows and total != TOTAL:
                    self.torn.append((rows, total, moves))
                self.seen.add(moves)

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_postgresql_to_postgresql_through_kills(tmp_path: Path, upstream: Upstream, on_spark: bool) -> None:
    make_bank(upstream)
    upstream.run("CREATE TABLE copied (id int PRIMARY KEY, amount bigint, moves bigint)")
    chance, writer, reader = random.Random(SEED), Transfers(upstream, SEED), Reader(upstream)
    engine = "spark" if on_spark else "inprocess"
    for number in range(ROUNDS):
        server = ServerProcess(tmp_path / "data", engine=engine)
        try:
            if number == 0:
                with server.connect() as connection:
                    connection.execute(upstream.source())
                    writer.start()
                    for name in TABLES[:2]:
                        connection.execute(f"CREATE TABLE {name} (*) FROM pg TABLE 'public.{name}'")
                    connection.execute(sink(upstream))
                reader.start()
            if on_spark:
                server.wait_for_spark()
            time.sleep(chance.uniform(0.3, 2.5))
        finally:
            server.kill()
    writer.stop()
    server = ServerProcess(tmp_path / "data", engine=engine)
    try:
        wanted = sorted(upstream.run(QUERY))
        with server.connect() as connection:
            until(lambda: sorted(connection.execute(QUERY).fetchall()) == wanted)
            connection.execute("WAIT SINK copies")
        assert sorted(upstream.run("SELECT * FROM copied")) == wanted
    except psycopg.Error as error:
        raise AssertionError(f"{error}: {server.output}") from error
    finally:
        server.stop()
        reader.stop()
    assert not reader.torn
    assert len(reader.seen) > ROUNDS
