"""RowDescription names the table and the column that a result's column comes from: updatable results need them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer

ORIGINS = {
    "SELECT b, a FROM t": [("t", 2), ("t", 1)],
    "SELECT * FROM t": [("t", 1), ("t", 2)],
    "SELECT x.a, y.c, a + 1, 'k' FROM t AS x JOIN u AS y ON x.a = y.c": [("t", 1), ("u", 1), None, None],
    "SELECT a FROM t WHERE b > 0 ORDER BY b LIMIT 1": [("t", 1)],
    "SELECT s.b FROM (SELECT b FROM t) AS s": [("t", 2)],
    "WITH w AS (SELECT a FROM t) SELECT a FROM w": [("t", 1)],
    "SELECT a, row_number() OVER (ORDER BY b) FROM t": [("t", 1), None],
    "SELECT a FROM t WHERE EXISTS (SELECT FROM u WHERE c = a)": [("t", 1)],
    "SELECT u.c, t.b FROM u LEFT JOIN t ON t.a = u.c": [("u", 1), ("t", 2)],
    "SELECT n FROM m": [("m", 1)],
    "SELECT count(*) FROM t": [None],
    "SELECT b, max(a) FROM t GROUP BY b": [("t", 2), None],
    "SELECT DISTINCT b FROM t": [("t", 2)],
    "SELECT a FROM t UNION ALL SELECT c FROM u": [None],
    "SELECT (SELECT a FROM t LIMIT 1), coalesce(a, b) FROM t": [None, None],
    "WITH RECURSIVE r AS (SELECT a FROM t UNION SELECT a + 1 FROM r WHERE a < 3) SELECT a FROM r": [None],
    "SELECT a, g FROM t, generate_series(1, b) AS g": [("t", 1), None],
    "SELECT a, generate_series(1, b) FROM t": [("t", 1), None],
    "SELECT b, a, count(*) FROM t GROUP BY ROLLUP (b, a)": [("t", 2), ("t", 1), None],
    "SELECT b FROM t GROUP BY GROUPING SETS ((b), (a))": [("t", 2)],
    "SELECT CASE WHEN a = 1 THEN b END FROM t": [None],
    "SELECT * FROM v": [("v", 1), ("v", 2)],
    "SELECT x.d, y.b FROM v AS x JOIN t AS y ON x.s = y.a": [("v", 2), ("t", 2)],
    "SELECT s FROM w": [("w", 1)],
    "SELECT relname FROM pg_class": [("pg_class", 2)],
    "INSERT INTO t VALUES (1, 2) RETURNING b, a + 1, *": [("t", 2), None, ("t", 1), ("t", 2)],
    "INSERT INTO t VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = 3 RETURNING b": [("t", 2)],
    "UPDATE t SET b = 1 WHERE a = 1 RETURNING a": [("t", 1)],
    "UPDATE t SET b = 1 FROM u, v WHERE a = c RETURNING c, b, s": [("u", 1), ("t", 2), ("v", 1)],
    "DELETE FROM t USING u WHERE a = c RETURNING t.*, c": [("t", 1), ("t", 2), ("u", 1)],
}


@pytest.mark.parametrize("query", ORIGINS)
def test_columns_name_their_tables(client: Any, server: WireServer, query: str) -> None:
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE u (c int)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t")
    client.run("CREATE VIEW v AS SELECT a AS s, b + 1 AS d FROM t; CREATE VIEW w AS SELECT s FROM v")
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as connection:
        names: dict[int, str] = dict(
            connection.execute(
                "SELECT oid, relname FROM pg_class WHERE relname IN ('t', 'u', 'm', 'v', 'w', 'pg_class')"
            ).fetchall()
        )
        result = connection.execute(query.encode()).pgresult
        assert result is not None
        found = [(names.get(result.ftable(i)), result.ftablecol(i)) for i in range(result.nfields)]
        assert [None if name is None else (name, number) for name, number in found] == ORIGINS[query]
        assert all((result.ftable(i) == 0) == (found[i][0] is None) for i in range(result.nfields))


def test_returning_tells_text_from_character_varying(client: Any, server: WireServer) -> None:
    client.run("CREATE TABLE t (a text, b varchar, c varchar(3), d char(2))")
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True) as connection:
        for statement in (
            b"INSERT INTO t VALUES ('a', 'b', 'c', 'd') RETURNING a, b, c, d, 'x', a || 'y'",
            b"UPDATE t SET a = 'z' RETURNING a, b, c, d, 'x', a || 'y'",
            b"DELETE FROM t RETURNING a, b, c, d, 'x', a || 'y'",
        ):
            result = connection.execute(statement).pgresult
            assert result is not None
            assert [result.ftype(i) for i in range(result.nfields)] == [25, 1043, 1043, 1042, 25, 25]


def test_a_plan_that_does_not_fit_any_more_says_which_routine_has_seen_it(client: Any, server: WireServer) -> None:
    client.run("CREATE TABLE t (a int)")
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(where, autocommit=True, prepare_threshold=0) as connection:
        connection.execute("SELECT * FROM t")
        client.run("DROP TABLE t; CREATE TABLE t (a int)")
        connection.execute("SELECT * FROM t")
        client.run("ALTER TABLE t ADD COLUMN b int")
        with pytest.raises(psycopg.errors.FeatureNotSupported) as raised:
            connection.execute("SELECT * FROM t")
        assert raised.value.diag.source_function == "RevalidateCachedQuery"
