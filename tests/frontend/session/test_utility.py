"""DDL, SHOW, DESCRIBE, EXPLAIN, SET and what drivers send to reset a connection."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import FeatureNotSupported, SqlError


@pytest.fixture
def schema(client: Any) -> Any:
    client.run("CREATE TABLE t (id int PRIMARY KEY, n numeric(8, 2))")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c FROM t GROUP BY n")
    client.run("CREATE VIEW v AS SELECT id FROM t")
    return client


def test_tags(client: Any) -> None:
    client.run("CREATE SCHEMA s; CREATE TABLE s.t (a int); CREATE VIEW s.v AS SELECT a FROM s.t")
    client.run("CREATE MATERIALIZED VIEW s.m AS SELECT a FROM s.t; FLUSH; SET timezone = 'UTC'; RESET timezone")
    client.run("DROP MATERIALIZED VIEW s.m; DROP VIEW s.v; DROP TABLE s.t; DROP SCHEMA s")
    client.run("DISCARD ALL")
    assert client.tags == [
        *("CREATE SCHEMA", "CREATE TABLE", "CREATE VIEW", "CREATE MATERIALIZED VIEW", "FLUSH", "SET", "RESET"),
        *("DROP MATERIALIZED VIEW", "DROP VIEW", "DROP TABLE", "DROP SCHEMA", "DISCARD ALL"),
    ]


def test_if_exists_and_if_not_exists_say_what_they_skip(schema: Any) -> None:
    schema.run("CREATE TABLE IF NOT EXISTS t (a int)")
    schema.run("DROP TABLE IF EXISTS nosuch")
    assert schema.notices == [
        'relation "t" already exists, skipping',
        'table "nosuch" does not exist, skipping',
    ]
    assert schema.notice_states == ["42P07", "00000"]  # PostgreSQL's
    for sql, sqlstate in (
        ("CREATE TABLE t (a int)", "42P07"),
        ("DROP TABLE nosuch", "42P01"),
        ("DROP VIEW t", "42809"),
    ):
        with pytest.raises(SqlError) as caught:
            schema.run(sql)
        assert caught.value.sqlstate == sqlstate


def test_drop_cascade(schema: Any) -> None:
    with pytest.raises(SqlError) as caught:
        schema.run("DROP TABLE t")
    assert caught.value.sqlstate == "2BP01"
    schema.run("DROP TABLE t CASCADE")
    assert schema.run("SELECT relname FROM pg_class WHERE oid BETWEEN 16384 AND 1000000") == []


def test_show_lists(schema: Any) -> None:
    assert schema.run("SHOW TABLES") == [("t",)]
    assert schema.run("SHOW MATERIALIZED VIEWS") == [("m",)]
    assert schema.run("SHOW VIEWS LIKE 'v%'") == [("v",)]
    assert schema.run("SHOW VIEWS LIKE 'x%'") == []
    assert ("public",) in schema.run("SHOW SCHEMAS")
    assert schema.run("SHOW DATABASES") == [("dev",)]
    assert schema.run("SHOW SOURCES") == schema.run("SHOW SINKS") == schema.run("SHOW JOBS") == []
    assert ("parallelism", "2") in schema.run("SHOW PARAMETERS")


def test_show_columns_and_describe(schema: Any) -> None:
    columns = [("id", "integer", "false", None), ("n", "numeric(8,2)", "false", None)]
    assert schema.run("SHOW COLUMNS FROM t") == columns
    described = schema.run("DESCRIBE t")
    assert described[:2] == columns
    assert ("primary key", "id", None, None) in described
    with pytest.raises(SqlError, match='relation "nosuch" does not exist'):
        schema.run("DESCRIBE nosuch")


def test_show_create(schema: Any) -> None:
    [(name, sql)] = schema.run("SHOW CREATE MATERIALIZED VIEW m")
    assert name == "public.m"
    assert sql == "CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c FROM t GROUP BY n"


def test_explain(schema: Any) -> None:
    [(line,), *_] = schema.run("EXPLAIN SELECT * FROM t WHERE n > 1")
    assert line.startswith("Batch")
    [(line,), *_] = schema.run("EXPLAIN (LOGICAL) SELECT * FROM t WHERE n > 1")
    assert line.startswith("Logical")
    lines = schema.run(
        "EXPLAIN (VERBOSE) CREATE MATERIALIZED VIEW x AS SELECT id % 2 AS g, sum(n) FROM t GROUP BY id % 2"
    )
    text = "\n".join(line for (line,) in lines)
    for word in ("StreamMaterialize", "StreamHashAgg", "stream key: [g]", "HashShard", "stage 1"):
        assert word in text
    assert schema.run("SHOW MATERIALIZED VIEWS") == [("m",)]
    schema.run("EXPLAIN INSERT INTO t VALUES (1, 1)")
    assert schema.run("SELECT count(*) FROM t") == [(0,)]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE MATERIALIZED VIEW x AS SELECT relname FROM pg_catalog.pg_class",
        "CREATE VIEW x AS SELECT name FROM rw_tables",
        "CREATE VIEW x AS SELECT 't'::regclass::int AS o",
        "CREATE MATERIALIZED VIEW x AS SELECT current_setting('timezone') AS z FROM t",
        "CREATE TABLE x (id INT PRIMARY KEY, o INT DEFAULT pg_backend_pid())",
        "CREATE INDEX x ON t (pg_table_is_visible(1))",
    ],
)
def test_nothing_stored_reads_the_system(schema: Any, sql: str) -> None:
    with pytest.raises(FeatureNotSupported, match=r"the system (relation|function or type) .* cannot be used in a"):
        schema.run(sql)


def test_copy_of_system_relations(schema: Any) -> None:
    assert schema.run("COPY (SELECT relname FROM pg_class WHERE relkind = 'm') TO STDOUT") == [("m",)]


def test_set_and_show(client: Any) -> None:
    client.run("SET TIME ZONE 'Europe/Berlin'")
    assert client.run("SHOW TIME ZONE") == [("Europe/Berlin",)]
    assert client.run("SELECT set_config('application_name', 'app', false)") == [("app",)]
    assert client.run("SHOW application_name") == [("app",)]
    assert dict(client.session.drain_parameter_changes()) == {"TimeZone": "Europe/Berlin", "application_name": "app"}
    assert client.run("SHOW transaction isolation level") == [("read committed",)]
    assert any(name == "search_path" for name, *_ in client.run("SHOW ALL"))
    client.run("SET streaming_parallelism = 4")
    assert client.notices == ['parameter "streaming_parallelism" has no effect in RisingPy']


def test_search_path(schema: Any) -> None:
    schema.run("CREATE SCHEMA s; CREATE TABLE s.t (other int)")
    assert schema.run("SELECT current_schema()") == [("public",)]
    schema.run("SET search_path TO s, public")
    assert schema.session.prepare(schema.session.split("SELECT * FROM t")[0], ()).fields[0].name == "other"
    assert schema.run("SELECT current_schema()") == [("s",)]
    assert schema.run("SHOW TABLES") == [("public.t",), ("t",)]
    schema.run("CREATE TABLE made (a int)")
    assert schema.run("SELECT schemaname FROM pg_tables WHERE tablename = 'made'") == [("s",)]


def test_what_drivers_send_to_reset(client: Any) -> None:
    client.run("SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;")
    client.run("DEALLOCATE ALL")
    assert client.status == b"I"
