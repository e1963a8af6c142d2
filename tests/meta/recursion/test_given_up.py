"""An epoch that is given up after some levels of a recursion: all levels are taken back, of every recursion."""

from __future__ import annotations

import pytest

from tests.meta.conftest import Server

CLOSURE = (
    "WITH RECURSIVE r (a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON e.a = r.b) "
    "SELECT a, b FROM r"
)
WALKS = (
    "WITH RECURSIVE r (n, d) AS (SELECT a, 0 FROM e UNION ALL SELECT e.b, d + 1 FROM r JOIN e ON e.a = r.n) "
    "SELECT n, d FROM r"
)


@pytest.mark.on_spark
def test_a_recursion_without_an_end_stops_and_takes_no_level_of_others_with_it(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE e (a INT, b INT, PRIMARY KEY (a, b))")
    client.run("INSERT INTO e VALUES (1, 2), (2, 3), (3, 4), (5, 6)")
    client.run(f"CREATE MATERIALIZED VIEW pairs AS {CLOSURE}")
    client.run(f"CREATE MATERIALIZED VIEW walks WITH (recursion_limit = 7) AS {WALKS}")
    before = sorted(client.run(f"SELECT * FROM ({WALKS}) w"))
    assert sorted(client.run("SELECT * FROM walks")) == before
    client.run("INSERT INTO e VALUES (4, 1), (6, 7)")  # a cycle
    assert sorted(client.run("SELECT * FROM pairs")) == sorted(client.run(f"SELECT * FROM ({CLOSURE}) p"))
    assert len(client.run("SELECT * FROM pairs")) == 4 * 4 + 3
    client.run("DELETE FROM e WHERE a = 2")
    assert sorted(client.run("SELECT * FROM pairs")) == sorted(client.run(f"SELECT * FROM ({CLOSURE}) p"))
    assert sorted(client.run("SELECT * FROM walks")) == before  # it has stopped
    server.restart()
    assert sorted(server.client().run("SELECT * FROM pairs")) == sorted(
        server.client().run(f"SELECT * FROM ({CLOSURE}) p")
    )
