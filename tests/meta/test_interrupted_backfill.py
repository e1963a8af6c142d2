"""A view in creation outlives its server: the backfill goes on where it was, and other views notice nothing."""

from __future__ import annotations

import threading
import time

import pytest

from risingpy.errors import SqlError
from tests.meta.conftest import Client, Server

ROWS = 40_000


def create_in_background(client: Client, sql: str) -> threading.Thread:
    """Runs a CREATE whose server ends meanwhile."""

    def create() -> None:
        with pytest.raises(SqlError):
            client.run(sql)

    thread = threading.Thread(target=create)
    thread.start()
    return thread


def rows_read(server: Server) -> int:
    return sum(each.rows for each in server.database.introspection.ddl_progress())


def test_a_backfill_goes_on_after_a_restart(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, k INT)")
    client.run(f"INSERT INTO t SELECT i, i % 7 FROM generate_series(1, {ROWS}) i; FLUSH")
    limited = server.client()
    limited.run("SET backfill_rate_limit = 2000")
    creation = create_in_background(limited, "CREATE MATERIALIZED VIEW m AS SELECT k, count(*) n FROM t GROUP BY k")
    deadline = time.monotonic() + 60
    while not rows_read(server):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    server.restart()
    creation.join()
    assert 0 < rows_read(server) < ROWS  # it goes on where it was
    assert "m" in {relation.name for relation in server.database.reads.catalog.relations.values()}
    client = server.client()
    client.run("ALTER MATERIALIZED VIEW m SET backfill_rate_limit = 20000")
    client.run(
        f"INSERT INTO t VALUES ({ROWS + 1}, 1); DELETE FROM t WHERE id <= 10; UPDATE t SET k = 8 WHERE id = 20000"
    )
    relation = server.database.reads.catalog.find("m", "public", ())
    assert relation is not None
    while server.database.reads.catalog.relations[relation.relation_id].is_being_created:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    counted = "SELECT k, count(*) n FROM t GROUP BY k"
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run(counted))
    client.run("DROP MATERIALIZED VIEW m; CREATE MATERIALIZED VIEW m AS SELECT 1")
