"""unnest of an array of rows in FROM gives the rows' fields as columns, beside PostgreSQL."""

from __future__ import annotations

from tests.frontend.session.conftest import Client
from tests.frontend.session.tools.beside import Beside

STATEMENTS = (
    "CREATE TYPE pt AS (x int, y text)",
    "CREATE TABLE kv (k int, v text)",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[])",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) AS u(p, q)",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) AS u(p)",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) AS u(p, q, r)",
    "SELECT u.x, u::text FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) AS u",
    "SELECT * FROM unnest(ARRAY[(1,'a'),NULL,(2,NULL)]::pt[]) WITH ORDINALITY",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) WITH ORDINALITY AS u(a, b, n)",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[], ARRAY[10,20,30])",
    "SELECT * FROM unnest(ARRAY[10,20,30], ARRAY[(1,'a'),(2,'b')]::pt[]) AS u(n, x, y)",
    "SELECT * FROM ROWS FROM (unnest(ARRAY[(1,'a'),(2,'b')]::pt[]), generate_series(1,3))",
    "SELECT (unnest(ARRAY[(1,'a'),(2,'b')]::pt[])).*",
    "SELECT * FROM unnest(NULL::pt[])",
    "SELECT * FROM unnest(ARRAY[[(1,'a'),(2,'b')],[(3,'c'),(4,'d')]]::pt[])",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::kv[]) AS u JOIN (VALUES (1, 'one')) w(k, name) USING (k)",
    "SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) AS a NATURAL JOIN unnest(ARRAY[(1,'a')]::pt[]) AS b",
    "SELECT array_agg(u ORDER BY u.x DESC)::text FROM unnest(ARRAY[(1,'a'),(2,'b')]::pt[]) AS u",
    "SELECT u::text FROM unnest(ARRAY[(1,'a')]::pt[]) WITH ORDINALITY AS u",
    "SELECT row_to_json(u)::text, u = (1,'a')::pt AS same FROM unnest(ARRAY[(1,'a')]::pt[]) AS u",
    "INSERT INTO kv SELECT * FROM unnest(ARRAY[(1,'a'),(2,'b')]::kv[])",
    "SELECT * FROM kv ORDER BY 1",
    "CREATE TABLE h (id int PRIMARY KEY, ps pt[])",
    "INSERT INTO h VALUES (1, ARRAY[(1,'a'),(2,'b')]::pt[]), (2, NULL), (3, '{}'), (4, ARRAY[NULL,(NULL,NULL)]::pt[])",
    "SELECT id, x, y FROM h, unnest(ps) ORDER BY 1, 2",
    "SELECT id, u::text FROM h LEFT JOIN unnest(ps) AS u ON true ORDER BY 1, 2",
    "SELECT id, u.x, u IS NULL AS n FROM h LEFT JOIN unnest(ps) AS u ON u.x > 1 ORDER BY 1",
    "SELECT count(u), count(*) FROM h, unnest(ps) AS u",
    "SELECT id FROM h WHERE EXISTS (SELECT FROM unnest(ps) u WHERE u.y = 'b')",
    "SELECT id, (SELECT string_agg(y, ',' ORDER BY x) FROM unnest(ps)) AS all_of_them FROM h ORDER BY 1",
    "CREATE VIEW hv AS SELECT id, x, y FROM h, unnest(ps)",
    "SELECT * FROM hv ORDER BY 1, 2",
    "SELECT pg_get_viewdef('hv'::regclass, true)",
    "CREATE FUNCTION tot(ps pt[]) RETURNS bigint LANGUAGE sql AS 'SELECT sum(x) FROM unnest(ps)'",
    "SELECT id, tot(ps) FROM h ORDER BY 1",
)


def test_as_postgres(beside: Beside) -> None:
    beside.same(*STATEMENTS)


def test_views_follow(client: Client) -> None:
    client.run("CREATE TYPE pt AS (x int, y text)")
    client.run("CREATE TABLE h (id int PRIMARY KEY, ps pt[])")
    client.run("INSERT INTO h VALUES (1, ARRAY[(1,'a'),(2,'b')]::pt[]), (2, ARRAY[NULL]::pt[])")
    client.run("CREATE MATERIALIZED VIEW mv AS SELECT id, u.x, u.y, u AS whole FROM h, unnest(ps) AS u")
    client.run("INSERT INTO h VALUES (5, ARRAY[(9,'z')]::pt[])")
    client.run("UPDATE h SET ps = ps || (7,'q')::pt WHERE id = 1")
    query = "SELECT id, u.x, u.y, u AS whole FROM h, unnest(ps) AS u ORDER BY 1, 2"
    assert client.run("SELECT * FROM mv ORDER BY 1, 2") == client.run(query)
    client.run("DELETE FROM h WHERE id = 1")
    assert client.run("SELECT id, x, y, whole::text FROM mv ORDER BY 1") == [
        (2, None, None, "(,)"),
        (5, 9, "z", "(9,z)"),
    ]


def test_rows_without_names(client: Client) -> None:
    """PostgreSQL knows no columns of these (42601)."""
    assert client.run("SELECT f2 FROM unnest(ARRAY[ROW(1, 'a')])") == [("a",)]
    assert client.run("SELECT a FROM unnest(ARRAY[ROW(1, 'a')]) AS u(a, b)") == [(1,)]
