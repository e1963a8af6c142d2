"""The state tables that a query may read: those of jobs that stay are made once."""

from __future__ import annotations

from risingpy.meta.schema.internal_tables import internal_tables
from tests.meta.conftest import Server


def test_a_change_of_the_catalog_makes_those_of_new_jobs(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, g INT)")
    client.run("CREATE MATERIALIZED VIEW a AS SELECT g, count(*) AS n FROM t GROUP BY g")
    before = server.database.reads.catalog.internal_tables
    client.run("CREATE MATERIALIZED VIEW b AS SELECT g, max(id) AS n FROM t GROUP BY g")
    after = server.database.reads.catalog.internal_tables
    assert before
    assert before.keys() < after.keys()
    assert all(after[key] is each for key, each in before.items())
    assert after == internal_tables(server.database.reads.state, {})


def test_they_follow_their_view_to_another_schema(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, g INT); CREATE SCHEMA s")
    client.run("CREATE MATERIALIZED VIEW a AS SELECT g, count(*) AS n FROM t GROUP BY g")
    before = server.database.reads.catalog.internal_tables
    client.run("ALTER MATERIALIZED VIEW a SET SCHEMA s")
    after = server.database.reads.catalog.internal_tables
    assert {each.schema_name for each in before.values()} == {"public"}
    assert {key: each.schema_name for key, each in after.items()} == dict.fromkeys(before, "s")
