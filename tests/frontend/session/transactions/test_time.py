"""now() is when the transaction began, on every path that computes it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer

_TABLE = "CREATE TABLE t (id SERIAL PRIMARY KEY, at TIMESTAMPTZ DEFAULT now(), local TIMESTAMP DEFAULT localtimestamp)"


def test_it_is_one_time_in_a_transaction(client: Any) -> None:
    client.run(_TABLE)
    client.run("CREATE TABLE u (at TIMESTAMPTZ)")
    client.run("BEGIN")
    [(first,)] = client.run("SELECT now()")
    client.run("INSERT INTO t DEFAULT VALUES")
    client.run("INSERT INTO t (id) VALUES (100), (101)")
    client.run("INSERT INTO t (id, at) SELECT 200 + x, now() FROM generate_series(1, 3) AS x")
    client.run("INSERT INTO t (id, at) VALUES (300, '2020-01-01')")
    client.run("UPDATE t SET at = now() WHERE id = 300")
    client.run("INSERT INTO u VALUES (current_timestamp)")
    client.run("COMMIT")
    assert client.run("SELECT DISTINCT at FROM t") == [(first,)]
    assert client.run("SELECT at FROM u") == [(first,)]
    assert client.run("SELECT count(*) FROM t WHERE local <> at AT TIME ZONE current_setting('TimeZone')") == [(0,)]
    assert client.run("SELECT now() > max(at) FROM t") == [(True,)]


def test_statements_of_one_text_have_one_time_and_the_clock_goes_on(client: Any) -> None:
    client.run("CREATE TABLE t (n INT, at TIMESTAMPTZ, clock TIMESTAMPTZ)")
    client.run("INSERT INTO t VALUES (1, now(), clock_timestamp()); SELECT pg_sleep(0.01); "
               "INSERT INTO t SELECT 2, now(), clock_timestamp()")  # fmt: skip
    assert client.run("SELECT count(DISTINCT at), count(DISTINCT clock) FROM t") == [(1, 2)]
    client.run("BEGIN")
    client.run("INSERT INTO t VALUES (3, now(), clock_timestamp())")
    client.run("COMMIT AND CHAIN")
    client.run("INSERT INTO t VALUES (4, now(), clock_timestamp())")
    client.run("ROLLBACK")
    client.run("INSERT INTO t VALUES (5, now(), clock_timestamp())")
    assert client.run("SELECT count(DISTINCT at), count(*) FROM t") == [(3, 4)]


@pytest.mark.parametrize("prepares", [True, False])
def test_prepared_statements_take_it_from_their_transaction(server: WireServer, prepares: bool) -> None:
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True) as connection:
        connection.execute(_TABLE)
        times = []
        for _ in range(3):
            with connection.transaction():
                for number in range(8):
                    connection.execute("INSERT INTO t (local) VALUES (%s)", (None,), prepare=prepares)
                    if number == 0:
                        [first] = connection.execute("SELECT now(), max(at) = now() FROM t").fetchall()
                assert first[1]
                times.append(first[0])
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO t (local) VALUES (%s)", [(None,)] * 5)
        found = [at for (at,) in connection.execute("SELECT DISTINCT at FROM t ORDER BY at").fetchall()]
        assert found[:3] == times
