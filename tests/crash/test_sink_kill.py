"""kill -9 at every step of a delivery: the other side gets each epoch once, and never loses one."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.meta.sinks.epoch_files import added_up, file_sink
from tests.postgres_oracle import PostgresOracle, postgres_oracle

__all__ = ["postgres_oracle"]

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "1"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
QUERY = "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g"


def write_until_it_dies(server: ServerProcess, chance: random.Random) -> None:
    try:
        with server.connect() as connection:
            while True:
                key, group = chance.randrange(50), chance.randrange(5)
                connection.execute(
                    chance.choice([f"INSERT INTO t VALUES ({key}, {group}, {key})", f"DELETE FROM t WHERE k = {key}"])
                )
    except psycopg.Error:
        return  # the server was killed


@pytest.mark.parametrize("point", ["sink.deliver", "sink.delivered", "sink.noted"])
def test_killed_between_the_steps_of_a_delivery(tmp_path: Path, point: str) -> None:
    server = ServerProcess(tmp_path / "data", engine="inprocess")
    try:
        with server.connect() as connection:
            connection.execute(
                f"CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT); CREATE MATERIALIZED VIEW m AS {QUERY}"
            )
            connection.execute(file_sink("s", "FROM m", tmp_path / "out"))
    finally:
        server.stop()
    chance = random.Random(SEED)
    for _ in range(ROUNDS):
        faults = {"RISINGPY_FAULT_POINTS": f"{point}=kill@{chance.randrange(1, 4)}"}
        server = ServerProcess(tmp_path / "data", engine="inprocess", environ={**os.environ, **faults})
        try:
            write_until_it_dies(server, chance)
        finally:
            server.kill()
    server = ServerProcess(tmp_path / "data", engine="inprocess")
    try:
        with server.connect() as connection:
            connection.execute("WAIT SINK s")
            assert added_up(tmp_path / "out") == Counter(connection.execute("SELECT g, n, s FROM m").fetchall())
    finally:
        server.stop()


def test_killed_while_postgresql_gets_a_view(tmp_path: Path, postgres_oracle: PostgresOracle) -> None:
    target = (
        f"connector = 'postgres', host = '{postgres_oracle.directory}', port = '{postgres_oracle.port}',"
        "user = 'postgres', database = 'postgres', table = 'killed'"
    )
    chance = random.Random(SEED)
    with postgres_oracle.connect() as other:
        other.execute("DROP TABLE IF EXISTS killed; CREATE TABLE killed (g int PRIMARY KEY, n bigint, s bigint)")
        for number in range(ROUNDS + 1):
            on_spark = bool(number % 2)
            server = ServerProcess(tmp_path / "data", engine="spark" if on_spark else "inprocess")
            try:
                if on_spark:
                    server.wait_for_spark()
                with server.connect() as connection:
                    if number == 0:
                        connection.execute(
                            f"CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT); CREATE MATERIALIZED VIEW m AS {QUERY};"
                            f"CREATE SINK s FROM m WITH ({target}, type = 'upsert')"
                        )
                    else:
                        connection.execute("WAIT SINK s")
                        stored = other.execute("SELECT g, n, s FROM killed").fetchall()
                        assert Counter(stored) == Counter(connection.execute("SELECT g, n, s FROM m").fetchall())
                writer = threading.Thread(target=write_until_it_dies, args=(server, chance))
                writer.start()
                time.sleep(chance.uniform(0.2, 1.0))
            finally:
                server.kill()
            writer.join()


def test_killed_while_a_table_gets_a_query(tmp_path: Path) -> None:
    """The epoch has the rows in the table or not at all, on every shard; row ids are given once."""
    chance = random.Random(SEED)
    for number in range(ROUNDS + 1):
        server = ServerProcess(tmp_path / "data", engine="inprocess")
        try:
            with server.connect() as connection:
                if number == 0:
                    connection.execute(
                        "CREATE TABLE t (k INT PRIMARY KEY, g INT, v INT);"
                        "CREATE TABLE grouped (g INT PRIMARY KEY, n BIGINT, s BIGINT); CREATE TABLE log (k INT);"
                        f"CREATE SINK s INTO grouped AS {QUERY};"
                        "CREATE SINK r INTO log AS SELECT k FROM t"
                        " WITH (type = 'append-only', force_append_only = 'true')"
                    )
                else:
                    connection.execute("FLUSH")
                    found = connection.execute("SELECT * FROM grouped").fetchall()
                    assert Counter(found) == Counter(connection.execute(QUERY).fetchall())
                    ids = connection.execute("SELECT count(*), count(DISTINCT _row_id), max(k) FROM log").fetchone()
                    assert ids is not None and ids[0] == ids[1]
            writer = threading.Thread(target=write_until_it_dies, args=(server, chance))
            writer.start()
            time.sleep(chance.uniform(0.2, 1.0))
        finally:
            server.kill()
        writer.join()
