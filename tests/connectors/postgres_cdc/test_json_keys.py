"""Copies of tables whose primary key has jsonb: rows are found again, whatever digits their keys are written with."""

from __future__ import annotations

from tests.connectors.postgres_cdc.upstream import Upstream, follow
from tests.meta.conftest import Client, Server

QUERIES = (
    "SELECT a, j::text, v FROM t ORDER BY a, j",
    "SELECT j::text, sum(v)::int AS s FROM t GROUP BY j::text ORDER BY 1",
)


def has_all(client: Client, upstream: Upstream) -> None:
    for query in QUERIES:
        assert client.run(f"FLUSH; {query}") == upstream.run(query)
    assert client.run("SELECT a, j::text, v FROM copied ORDER BY a, j") == upstream.run(QUERIES[0])


def test_a_key_of_jsonb_is_followed(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (a int, j jsonb, v text, big text, PRIMARY KEY (j, a))")
    upstream.run("ALTER TABLE t ALTER COLUMN big SET STORAGE EXTERNAL")
    upstream.run("ALTER TABLE t ALTER COLUMN v TYPE int USING v::int")
    upstream.run(
        """INSERT INTO t SELECT g % 2, ('{"id": ' || g / 2 || '.0}')::jsonb, g, repeat('x', 5000)
           FROM generate_series(1, 60) g"""
    )
    client = follow(server, upstream, "t")
    client.run("CREATE MATERIALIZED VIEW copied AS SELECT a, j, v FROM t")
    has_all(client, upstream)
    upstream.run("UPDATE t SET v = v + 1000 WHERE j < '{\"id\": 5}'")  # leaves out `big`, which did not change
    upstream.run("UPDATE t SET j = '{\"id\": 7.000}' WHERE j = '{\"id\": 7}'")
    upstream.run("UPDATE t SET j = '[]', v = -1 WHERE j = '{\"id\": 8}' AND a = 1")
    upstream.run("DELETE FROM t WHERE j > '{\"id\": 20}'")
    upstream.run("""INSERT INTO t VALUES (0, 'null', 1, NULL), (0, '"é"', 2, NULL), (0, '[1.0]', 3, NULL)""")
    has_all(client, upstream)
    big = "SELECT count(*), sum(length(big))::int FROM t"
    assert client.run(big) == upstream.run(big)
    assert client.run("SELECT a, v FROM t WHERE j = '{\"id\": 7}' ORDER BY a") == [(0, 14), (1, 15)]
    server.restart()
    client = server.client()
    upstream.run("DELETE FROM t WHERE j = '[1.00]'")
    has_all(client, upstream)
