"""Databases: each has names of its own, queries read others', and no name that is left means something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client


def in_database(database: Database, name: str, user: str = "root", process_id: int = 0) -> Client:
    return Client(open_session(database, StartupParameters(user, name, process_id=process_id)))


def refusal(client: Any, sql: str) -> tuple[str, str]:
    with pytest.raises(SqlError) as caught:
        client.run(sql)
    return caught.value.sqlstate, caught.value.message


def test_each_has_its_own_names(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    client.run("CREATE TABLE t (a int PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1)")
    other = in_database(database, "d1")
    other.run("CREATE TABLE t (a int PRIMARY KEY, b int)")
    other.run("CREATE SCHEMA s")
    other.run("CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    other.run("INSERT INTO t VALUES (7, f(7))")
    assert other.run("SELECT * FROM t") == [(7, 8)]
    assert client.run("SELECT * FROM t") == [(1,)]
    assert refusal(client, "SELECT f(1)")[0] == "42883"
    assert client.run("SELECT current_database(), current_catalog") == [("dev", "dev")]
    assert other.run("SELECT current_database(), current_catalog") == [("d1", "d1")]
    for sql in (
        "SELECT count(*) FROM pg_class WHERE relname = 't'",
        "SELECT count(*) FROM information_schema.tables WHERE table_name = 't' AND table_catalog = current_database()",
        "SELECT count(*) FROM pg_tables WHERE tablename = 't'",
        "SELECT count(*) FROM rw_tables WHERE name = 't'",
    ):
        assert client.run(sql) == other.run(sql) == [(1,)], sql
    assert other.run("SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0") == [(2,)]
    assert client.run("SELECT count(*) FROM pg_namespace WHERE nspname = 's'") == [(0,)]
    assert client.run("SELECT count(*) FROM pg_proc WHERE proname = 'f'") == [(0,)]
    assert client.run("SHOW TABLES") == other.run("SHOW TABLES") == [("t",)]
    assert client.run("SHOW DATABASES") == other.run("SHOW DATABASES") == [("d1",), ("dev",)]


def test_views_and_queries_read_other_databases(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    client.run("CREATE TABLE u (a int PRIMARY KEY, c text)")
    client.run("CREATE MATERIALIZED VIEW nothing AS SELECT count(*) AS n FROM u")
    other = in_database(database, "d1")
    other.run("CREATE TABLE t (a int PRIMARY KEY, b int)")
    other.run("CREATE VIEW v AS SELECT a, b * 2 AS b FROM t")
    query = "SELECT x.a, x.b, u.c FROM d1.public.t AS x LEFT JOIN u ON u.a = x.a"
    client.run(f"CREATE MATERIALIZED VIEW before AS {query}")
    client.run("CREATE MATERIALIZED VIEW doubled AS SELECT sum(b) AS s FROM d1.public.v")
    client.run("INSERT INTO u VALUES (1, 'one'), (3, 'three')")
    other.run("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    other.run("UPDATE t SET b = 11 WHERE a = 1")
    other.run("DELETE FROM t WHERE a = 2")
    other.run("FLUSH")
    client.run(f"CREATE MATERIALIZED VIEW after AS {query}")
    wanted = [(1, 11, "one"), (3, 30, "three")]
    for sql in (query, "SELECT * FROM before", "SELECT * FROM after"):
        assert sorted(client.run(sql)) == wanted, sql
    assert client.run("SELECT * FROM doubled") == client.run("SELECT sum(b) FROM d1.public.v") == [(82,)]
    assert client.run("SELECT d1.public.t.b FROM d1.public.t WHERE d1.public.t.a = 3") == [(30,)]
    client.run("CREATE TABLE copied AS SELECT * FROM d1.public.t")
    client.run("INSERT INTO u SELECT a + 100, 'x' FROM d1.public.t")
    assert client.run("SELECT count(*) FROM copied") == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO d1.public.t VALUES (9)",
        "UPDATE d1.public.t SET a = 1",
        "DELETE FROM d1.public.t",
        "TRUNCATE d1.public.t",
        "DROP TABLE d1.public.t",
        "ALTER TABLE d1.public.t ADD COLUMN b int",
        "CREATE TABLE d1.public.u (a int)",
        "CREATE INDEX i ON d1.public.t (a)",
        "SELECT d1.pg_catalog.lower('A')",
        "SELECT * FROM d1.pg_catalog.pg_class",
    ],
)
def test_only_queries_reach_another_database(client: Any, database: Database, sql: str) -> None:
    client.run("CREATE DATABASE d1")
    in_database(database, "d1").run("CREATE TABLE t (a int PRIMARY KEY)")
    assert refusal(client, sql)[0] == "0A000"


def test_a_session_may_go_to_another(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    client.run("CREATE TABLE t (a int)")
    client.run("PREPARE p AS SELECT * FROM t")
    for sql in ("SET DATABASE TO d1", "SET database = 'd1'", "USE d1"):
        client.run("USE dev")
        client.run(sql)
        assert client.run("SELECT current_database()") == [("d1",)]
        assert refusal(client, "EXECUTE p")[0] == "42P01"
        assert client.run("SELECT datname FROM pg_stat_activity WHERE datname = 'd1'") == [("d1",)]
    assert refusal(client, "USE nosuch") == ("3D000", 'database "nosuch" does not exist')
    client.run("BEGIN")
    assert refusal(client, "USE dev")[0] == "25001"
    client.run("ROLLBACK")
    assert client.run("SELECT current_database()") == [("d1",)]


def test_sinks_and_subscriptions_of_another_databases_relations(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    client.run("CREATE USER joe; GRANT CREATE ON SCHEMA public TO joe")
    other = in_database(database, "d1", process_id=4712)
    joe = in_database(database, "dev", "joe", process_id=4713)
    other.run("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 2)")
    making = (
        "CREATE SUBSCRIPTION {} FROM d1.public.t WITH (retention = '1 hour')",
        "CREATE SINK {} FROM d1.public.t WITH (connector = 'blackhole')",
        "CREATE MATERIALIZED VIEW {} AS SELECT * FROM d1.public.t",
    )
    for number, sql in enumerate(making):
        assert refusal(joe, sql.format("x")) == ("42501", "permission denied for table t")
        client.run(sql.format(f"made{number}"))
    client.run("DECLARE c SUBSCRIPTION CURSOR FOR made0 FULL")
    assert [row[:2] for row in client.run("FETCH 5 FROM c")] == [(1, 2)]
    other.run("INSERT INTO t VALUES (3, 4)")
    assert [row[:2] for row in client.run("FETCH 1 FROM c WITH (timeout = '20s')")] == [(3, 4)]
    client.run("REVOKE CONNECT ON DATABASE d1 FROM PUBLIC")
    other.run("GRANT SELECT ON t TO joe")
    assert refusal(joe, making[0].format("x")) == ("42501", "permission denied for database d1")
    other.run("ALTER TABLE t RENAME TO u")  # by a session of the other database
    other.session.close()
    client.run("ALTER DATABASE d1 RENAME TO e1")
    shown = {each.name: each.definition for each in database.reads.catalog.own_relations}
    for number in range(3):
        assert "FROM e1.public.u" in shown[f"made{number}"]
    assert refusal(client, making[0].replace("d1.public.t", "e1.public.no").format("x")) == (
        "42P01",
        'relation "e1.public.no" does not exist',
    )
    assert refusal(client, "CREATE INDEX i ON e1.public.u (b)")[0] == "0A000"
    assert refusal(client, "CREATE SINK i INTO e1.public.u FROM e1.public.u")[0] == "0A000"


def test_dropping_takes_everything_along(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    other = in_database(database, "d1", process_id=4711)
    other.run("CREATE TABLE t (a int PRIMARY KEY)")
    other.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t")
    other.run("CREATE INDEX i ON t (a)")
    other.run("CREATE SCHEMA s")
    other.run("CREATE FUNCTION s.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'")
    other.run("CREATE SECRET hidden WITH (backend = 'meta') AS 'x'")
    client.run("CREATE VIEW reader AS SELECT * FROM d1.public.m")
    state, message = refusal(client, "DROP DATABASE d1")
    assert (state, message) == ("55006", 'database "d1" is being accessed by other users')
    assert refusal(other, "DROP DATABASE d1") == ("55006", "cannot drop the currently open database")
    other.session.close()
    assert refusal(client, "DROP DATABASE d1")[0] == "2BP01"
    client.run("DROP VIEW reader")
    client.run("DROP DATABASE d1")
    catalog = database.reads.catalog
    assert {each.database_id for each in (*catalog.relations.values(), *catalog.functions.values())} <= {1}
    assert not catalog.secrets and [each.name for each in catalog.databases.values()] == ["dev"]
    assert not database.reads.state.jobs
    assert refusal(client, "DROP DATABASE d1")[0] == "3D000"
    client.run("DROP DATABASE IF EXISTS d1")
    assert client.notices[-1] == 'database "d1" does not exist, skipping'
    assert refusal(client, "DROP DATABASE dev")[0] == "2BP01"
    with pytest.raises(SqlError, match="does not exist"):
        in_database(database, "d1")


def test_a_new_name_is_in_every_text(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    other = in_database(database, "d1")
    other.run("CREATE TABLE d1.public.t (a int PRIMARY KEY)")
    other.run("CREATE VIEW v AS SELECT a FROM d1.public.t")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT a FROM d1.public.t")
    client.run("CREATE VIEW w AS SELECT d1.public.t.a FROM d1.public.t")
    assert refusal(other, "ALTER DATABASE d1 RENAME TO e1") == ("0A000", "current database cannot be renamed")
    assert refusal(client, "ALTER DATABASE d1 RENAME TO e1")[0] == "55006"
    other.session.close()
    assert refusal(client, "ALTER DATABASE d1 RENAME TO dev")[0] == "42P04"
    client.run("ALTER DATABASE d1 RENAME TO e1")
    definitions = [str(r.definition) for r in database.reads.catalog.relations.values()]
    assert not [text for text in definitions if "d1" in text], definitions
    again = in_database(database, "e1")
    again.run("INSERT INTO t VALUES (5)")
    again.run("FLUSH")
    assert again.run("SELECT * FROM v") == client.run("SELECT * FROM m") == client.run("SELECT * FROM w") == [(5,)]
    assert client.run("SELECT * FROM e1.public.t") == [(5,)]
    client.run("CREATE DATABASE d1")  # the name is free again, and means another one
    assert refusal(client, "SELECT * FROM d1.public.t")[0] == "42P01"


def test_rights_and_options(client: Any, database: Database) -> None:
    client.run("CREATE USER joe")
    client.run("CREATE USER ann CREATEDB")
    joe, ann = in_database(database, "dev", "joe"), in_database(database, "dev", "ann")
    assert refusal(joe, "CREATE DATABASE mine") == ("42501", "permission denied to create database")
    ann.run("CREATE DATABASE mine CONNECTION LIMIT 0 ENCODING 'UTF8' TEMPLATE template0 LC_COLLATE = 'C'")
    assert refusal(joe, "DROP DATABASE mine") == ("42501", "must be owner of database mine")
    assert refusal(joe, "ALTER DATABASE mine RENAME TO x")[0] == "42501"
    assert refusal(ann, "ALTER DATABASE mine OWNER TO joe") == ("42501", 'must be member of role "joe"')
    assert refusal(ann, "USE mine") == ("53300", 'too many connections for database "mine"')
    ann.run("ALTER DATABASE mine CONNECTION LIMIT -1")
    ann.run("USE mine")
    assert refusal(ann, "ALTER DATABASE mine ALLOW_CONNECTIONS false")[0] == "22023"
    ann.run("USE dev")
    ann.run("ALTER DATABASE mine ALLOW_CONNECTIONS false")
    assert refusal(client, "USE mine") == ("55000", 'database "mine" is not currently accepting connections')
    assert refusal(client, "DROP USER ann")[0] == "2BP01"
    client.run("ALTER DATABASE mine OWNER TO joe")
    joe.run("DROP DATABASE mine")
    for sql, state in (
        ("CREATE DATABASE x ENCODING 'latin1'", "0A000"),
        ("CREATE DATABASE x TEMPLATE nosuch", "3D000"),
        ("CREATE DATABASE x CONNECTION LIMIT -2", "22023"),
        ("CREATE DATABASE x TABLESPACE fast", "42704"),
        ("CREATE DATABASE x OWNER nobody", "42704"),
        ("CREATE DATABASE x OWNER root OWNER root", "42601"),
        ("CREATE DATABASE dev", "42P04"),
        ("CREATE DATABASE", "42601"),
        (f"CREATE DATABASE {'x' * 64}", "42622"),
        ("DROP DATABASE dev WITH (FAST)", "42601"),
    ):
        assert refusal(client, sql)[0] == state, sql
    client.run("BEGIN")
    assert refusal(client, "CREATE DATABASE x")[0] == "25001"


def test_they_are_there_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path / "own", parallelism=2)
    database.start(InProcessRunner(database.data_dir))
    client = in_database(database, "dev")
    client.run("CREATE USER joe")
    client.run('CREATE DATABASE "Odd ""name" OWNER joe CONNECTION LIMIT 3')
    other = in_database(database, 'Odd "name')
    other.run("CREATE SCHEMA s AUTHORIZATION joe")
    other.run("CREATE TABLE s.t (a int PRIMARY KEY)")
    other.run("INSERT INTO s.t VALUES (1)")
    other.run("FLUSH")
    client.run('CREATE MATERIALIZED VIEW m AS SELECT a FROM "Odd ""name".s.t')
    before = database.reads.catalog
    other.session.close()
    client.session.close()
    database.close()
    again = Database(database.data_dir, parallelism=2)
    again.start(InProcessRunner(again.data_dir))
    try:
        assert again.reads.catalog.databases == before.databases
        reader = in_database(again, 'Odd "name')
        assert reader.run("SELECT * FROM s.t") == in_database(again, "dev").run("SELECT * FROM m") == [(1,)]
    finally:
        again.close()


def test_a_cursor_follows_another_databases_subscription(client: Any, database: Database) -> None:
    client.run("CREATE DATABASE d1")
    client.run("CREATE USER reader")
    other = in_database(database, "d1")
    other.run("CREATE SCHEMA s; CREATE TABLE s.t (a int PRIMARY KEY)")
    other.run("CREATE SUBSCRIPTION s.sub FROM s.t WITH (retention = '1h')")
    client.run("DECLARE c SUBSCRIPTION CURSOR FOR d1.s.sub FULL")
    other.run("INSERT INTO s.t VALUES (1); FLUSH")
    assert [row[:2] for row in client.run("FETCH 5 FROM c WITH (timeout = '10s')")] == [(1, "Insert")]
    reader = in_database(database, "dev", "reader")
    assert refusal(reader, "DECLARE c SUBSCRIPTION CURSOR FOR d1.s.sub") == ("42501", "permission denied for schema s")
    other.run("GRANT USAGE ON SCHEMA s TO reader")
    refused = ("42501", "permission denied for subscription sub")
    assert refusal(reader, "DECLARE c SUBSCRIPTION CURSOR FOR d1.s.sub") == refused
    assert refusal(client, "DECLARE d SUBSCRIPTION CURSOR FOR nosuch.s.sub")[0] == "0A000"
    assert refusal(client, "DECLARE d SUBSCRIPTION CURSOR FOR d1.s.nosuch")[0] == "42P01"


@pytest.mark.parametrize("name", ["postgres", "template1"])
def test_postgresqls_own_databases_are_names_of_the_first_one(client: Any, database: Database, name: str) -> None:
    client.run("CREATE TABLE t (a int)")
    tool = in_database(database, name)
    assert tool.run("SELECT current_database(), (SELECT count(*) FROM t)") == [("dev", 0)]
    assert tool.notices == [f'database "{name}" does not exist: this session is in "dev"']
    tool.run("CREATE DATABASE made")
    tool.run("DROP DATABASE made")
    assert tool.run("SELECT datname FROM pg_stat_activity WHERE pid = pg_backend_pid()") == [("dev",)]
    client.run(f"CREATE DATABASE {name}")
    own = in_database(database, name)
    assert own.run("SELECT current_database(), to_regclass('t') IS NULL") == [(name, True)]
    assert own.notices == []
    with pytest.raises(SqlError, match='database "template0" does not exist'):
        in_database(database, "template0")
