"""Moments that Python's dates lack, where epochs themselves compute with moments: clocks, watermarks, closing windows.

An epoch is shared: one client's infinite timestamp must stop nobody.
"""

from __future__ import annotations

import pytest

from tests.meta.conftest import Server
from tests.meta.test_passing_time import eventually

FAR = ("infinity", "-infinity", "12000-01-01", "0044-03-15 BC", "2000-01-01")


def rows(table: str, type_: str) -> str:
    values = ", ".join(f"({place}, '{moment}'::{type_})" for place, moment in enumerate(FAR))
    return f"INSERT INTO {table} VALUES {values}"


@pytest.mark.on_spark
def test_the_clock_passes_by_rows_of_far_moments(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMPTZ)")
    conditions = {
        "recent": "ts > now() - interval '1 second'",
        "passed": "ts <= now() - interval '1 month'",
        "soon": "ts - interval '1 day' < now()",
        "of_days": "ts::date > (now() AT TIME ZONE 'Asia/Tokyo')::date",
    }
    for name, condition in conditions.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS SELECT id FROM t WHERE {condition}")
    client.run(rows("t", "timestamptz"))
    expected = {"recent": [0, 2], "passed": [1, 3, 4], "soon": [1, 3, 4], "of_days": [0, 2]}
    for name, ids in expected.items():
        assert client.run(f"SELECT id FROM {name} ORDER BY id") == [(place,) for place in ids], name
    client.run("DELETE FROM t WHERE id IN (2, 4)")
    client.run("INSERT INTO t VALUES (5, now())")
    eventually(client, "SELECT id FROM recent ORDER BY id", [(0,)])
    server.restart()
    client = server.client()
    assert client.run("SELECT id FROM passed ORDER BY id") == [(1,), (3,)]


def test_infinity_makes_nobody_late(server: Server) -> None:
    client = server.client()
    client.run(
        "CREATE TABLE t (id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') APPEND ONLY;"
        "CREATE TABLE u (id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') APPEND ONLY"
    )
    windows = "SELECT window_start AS w, count(*) AS n FROM TUMBLE({}, ts, INTERVAL '1 day') GROUP BY window_start"
    client.run(f"CREATE MATERIALIZED VIEW closed AS {windows.format('t')} EMIT ON WINDOW CLOSE")
    both = "SELECT t.id, u.id AS other FROM t JOIN u ON t.ts = u.ts"
    client.run(f"CREATE MATERIALIZED VIEW joined AS {both}")
    for table in ("t", "u"):
        client.run(f"INSERT INTO {table} VALUES (1, 'infinity'), (2, '0044-03-15 BC')")
        client.run("FLUSH")
        client.run(f"INSERT INTO {table} VALUES (3, '2000-01-01'), (4, '-infinity')")
        client.run("FLUSH")
        client.run(f"INSERT INTO {table} VALUES (5, '12000-01-01')")
        client.run("FLUSH")
    kept = [(1,), (2,), (3,), (5,)]
    assert client.run("SELECT id FROM t ORDER BY id") == kept
    assert client.run("SELECT w::varchar, n FROM closed ORDER BY n, w") == [
        ("0044-03-15 00:00:00 BC", 1),
        ("2000-01-01 00:00:00", 1),
    ]
    assert client.run("SELECT id FROM joined WHERE id = other ORDER BY id") == kept
    server.restart()
    client = server.client()
    for place in (6, 7):
        client.run(f"INSERT INTO t VALUES ({place}, '12000-01-03')")
        client.run("FLUSH")
    assert client.run("SELECT max(w)::varchar FROM closed") == [("12000-01-01 00:00:00",)]
