"""Views WITH (refresh_interval_sec = …) are as of their last refresh, and have every change at the next one."""

from __future__ import annotations

import random

import pytest

from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from tests.meta.conftest import Client, Server
from tests.meta.own_pace.test_set_aside import change_something, create_tables, is_set_aside, until

HOURLY = "WITH (refresh_interval_sec = 3600)"
QUERIES = {
    "grouped": "SELECT k, count(*) n, sum(v) s, min(v) low FROM t GROUP BY k",
    "joined": "SELECT t.id, u.id uid, t.v + u.v s FROM t JOIN u ON t.k = u.k",
}


def answer(client: Client, query: str) -> list[object]:
    return sorted(client.run(query), key=repr)


def test_a_view_changes_at_its_refresh_alone(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t VALUES (1, 1, 1), (2, 1, 5)")
    client.run(f"CREATE MATERIALIZED VIEW v {HOURLY} AS SELECT k, sum(v) AS s FROM t GROUP BY k")
    client.run("CREATE MATERIALIZED VIEW above AS SELECT s + 1 AS s FROM v")
    client.run("CREATE MATERIALIZED VIEW live AS SELECT count(*) FROM t")
    until(lambda: is_set_aside(server, "v"))
    client.run("INSERT INTO t VALUES (3, 1, 10)")
    assert client.run("SELECT * FROM live") == [(3,)]
    assert client.run("SELECT * FROM v") == [(1, 6)]
    client.run("REFRESH MATERIALIZED VIEW v")
    assert client.run("SELECT * FROM v") == [(1, 16)]
    assert client.run("SELECT * FROM above") == [(17,)]
    client.run("DELETE FROM t")
    assert client.run("SELECT * FROM v") == [(1, 16)]


def test_a_refresh_comes_by_itself(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run("CREATE MATERIALIZED VIEW v WITH (refresh_interval_sec = 1) AS SELECT count(*) AS n FROM t")
    until(lambda: is_set_aside(server, "v"))
    client.run("INSERT INTO t VALUES (1, 1, 1)")
    until(lambda: client.run("SELECT n FROM v") == [(1,)])
    client.run("INSERT INTO t VALUES (2, 1, 1)")
    until(lambda: client.run("SELECT n FROM v") == [(2,)])
    assert is_set_aside(server, "v")


def test_refreshed_views_equal_their_queries_under_any_changes(server: Server) -> None:
    client, random_ = server.client(), random.Random(5)
    create_tables(client)
    for name, query in QUERIES.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} {HOURLY} AS {query}")
    before = {name: answer(client, query) for name, query in QUERIES.items()}
    for step in range(12):
        change_something(client, random_)
        if step % 6 == 5:
            assert {name: answer(client, f"SELECT * FROM {name}") for name in QUERIES} == before
            for name, query in QUERIES.items():
                client.run(f"REFRESH MATERIALIZED VIEW {name}")
                before[name] = answer(client, query)
                assert answer(client, f"SELECT * FROM {name}") == before[name]


def test_a_restart_refreshes_what_is_due(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run("CREATE MATERIALIZED VIEW v WITH (refresh_interval_sec = 2) AS SELECT count(*) AS n FROM t")
    client.run(f"CREATE MATERIALIZED VIEW hourly {HOURLY} AS SELECT count(*) AS n FROM t")
    until(lambda: is_set_aside(server, "v") and is_set_aside(server, "hourly"))
    client.run("INSERT INTO t VALUES (1, 1, 1)")
    server.restart()
    client = server.client()
    until(lambda: client.run("SELECT n FROM v") == [(1,)])
    assert client.run("SELECT n FROM hourly") == [(0,)]
    client.run("REFRESH MATERIALIZED VIEW hourly")
    assert client.run("SELECT n FROM hourly") == [(1,)]


def test_what_is_refused(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run(f"CREATE MATERIALIZED VIEW v {HOURLY} AS SELECT count(*) AS n FROM t")
    until(lambda: is_set_aside(server, "v"))
    with pytest.raises(SqlError, match="reads its changes") as altered:
        client.run("ALTER TABLE t ADD COLUMN x INT")
    assert altered.value.hint == "It is refreshed at intervals. Drop it, and create it again afterwards."
    for value in ("0", "-1", "'x'", "1.5"):
        with pytest.raises(InvalidParameterValue, match="refresh_interval_sec"):
            client.run(f"CREATE MATERIALIZED VIEW w WITH (refresh_interval_sec = {value}) AS SELECT 1 AS a")
    with pytest.raises(InvalidParameterValue, match="backfill_rate_limit"):
        client.run("CREATE MATERIALIZED VIEW w WITH (backfill_rate_limit = -1) AS SELECT 1 AS a")
    client.run("CREATE SOURCE s (a INT) WITH (connector = 'datagen', datagen.rows.per.second = 1)")
    with pytest.raises(FeatureNotSupported, match="it reads a source itself"):
        client.run(f"CREATE MATERIALIZED VIEW w {HOURLY} AS SELECT count(*) FROM s")
    with pytest.raises(SqlError, match="cannot run inside a transaction block"):
        client.run("BEGIN; REFRESH MATERIALIZED VIEW v")
