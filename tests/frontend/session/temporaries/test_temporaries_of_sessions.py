"""Temporary relations beside other sessions, roles, and restarts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client

Connect = Callable[[], Client]


def refused(client: Client, sql: str) -> tuple[str, str]:
    with pytest.raises(SqlError) as raised:
        client.run(sql)
    return raised.value.sqlstate, raised.value.message


def temporary_names(database: Database) -> list[str]:
    catalog = database.reads.catalog
    names = [each.qualified_name for each in catalog.relations.values() if each.schema_name.startswith("pg_temp")]
    return [*names, *(each for each in catalog.schemas if each.startswith("pg_temp"))]


def test_two_sessions_have_one_name_each_for_itself(connect: Connect) -> None:
    one, other = connect(), connect()
    one.run("CREATE TABLE t (a int)")
    one.run("INSERT INTO t VALUES (0)")
    select = "SELECT a FROM t WHERE a >= 0"
    assert [one.run(select), other.run(select)] == [[(0,)], [(0,)]]  # and a plan of this text is kept
    one.run("CREATE TEMP TABLE t (a int PRIMARY KEY)")
    assert [one.run(select), other.run(select)] == [[], [(0,)]]
    other.run("CREATE TEMP TABLE t (a bigint PRIMARY KEY)")
    one.run("INSERT INTO t VALUES (1)")
    other.run("INSERT INTO t VALUES (2)")
    assert [one.run(select), other.run(select)] == [[(1,)], [(2,)]]
    for number in range(4):  # the same text with other constants, planned once for all
        assert one.run(f"SELECT a FROM t WHERE a = {number}") == ([(1,)] if number == 1 else [])
        assert other.run(f"SELECT a FROM t WHERE a = {number}") == ([(2,)] if number == 2 else [])
    own, others = one.run("SELECT pg_my_temp_schema()::regnamespace::text")[0][0], "pg_temp_2"
    assert own == "pg_temp_1"
    assert refused(one, f"SELECT * FROM {others}.t") == ("0A000", "cannot access temporary tables of other sessions")
    assert refused(one, f"INSERT INTO {others}.t VALUES (9)")[0] == "0A000"
    assert refused(one, f"ALTER TABLE {others}.t RENAME TO u")[0] == "0A000"
    assert refused(one, f"CREATE TABLE {others}.u (a int)")[0] == "42P16"
    assert one.run("SELECT pg_is_other_temp_schema(oid), nspname FROM pg_namespace WHERE nspname LIKE 'pg_temp%'") == [
        (False, "pg_temp_1"),
        (True, "pg_temp_2"),
    ]
    shown = "SELECT table_schema FROM information_schema.tables WHERE table_type = 'LOCAL TEMPORARY'"
    assert [one.run(shown), other.run(shown)] == [[("pg_temp_1",)], [("pg_temp_2",)]]
    assert refused(one, "ALTER SCHEMA pg_temp_1 RENAME TO lasting")[0] == "0A000"
    one.run("DROP TABLE t")
    assert [one.run(select), other.run(select)] == [[(0,)], [(2,)]]


def test_prepared_statements_follow(client: Client) -> None:
    client.run("CREATE TABLE t (a int)")
    client.run("PREPARE p AS SELECT a FROM t")
    assert client.run("EXECUTE p") == []
    client.run("CREATE TEMP TABLE t (a int)")
    client.run("INSERT INTO t VALUES (1)")
    assert client.run("EXECUTE p") == [(1,)]
    client.run("DROP TABLE t")
    client.run("CREATE TEMP TABLE t (a text)")
    assert refused(client, "EXECUTE p") == ("0A000", "cached plan must not change result type")


def test_what_lasts_reads_nothing_temporary(connect: Connect, tmp_path: Path) -> None:
    client = connect()
    client.run("CREATE TABLE t (a int)")
    client.run("CREATE VIEW by_text AS SELECT a, current_user AS u FROM t")  # bound again by each reader
    client.run("CREATE MATERIALIZED VIEW lasts AS SELECT a FROM t")
    client.run("CREATE TEMP TABLE t (a int, b int)")
    client.run("INSERT INTO public.t VALUES (7)")
    assert client.run("SELECT a FROM by_text") == [(7,)]
    assert client.run("SELECT * FROM lasts") == [(7,)]
    client.run("DROP VIEW by_text")  # with which the table cannot be renamed
    client.run("ALTER TABLE public.t RENAME TO u")
    message = "must not use temporary tables or views"
    assert refused(client, "CREATE MATERIALIZED VIEW m AS SELECT * FROM t") == (
        "0A000",
        f"materialized views {message}",
    )
    sink = "CREATE SINK s FROM t WITH (connector = 'blackhole', type = 'append-only', force_append_only = 'true')"
    assert refused(client, sink) == ("0A000", f"sinks {message}")
    assert refused(client, "CREATE SINK s INTO t AS SELECT a, a AS b FROM u")[0] == "0A000"
    follow = "CREATE SUBSCRIPTION s FROM t WITH (retention = '1 hour')"
    assert refused(client, follow) == ("0A000", "subscriptions must not follow temporary tables")
    client.run("CREATE VIEW v AS SELECT a FROM t")
    assert client.notices == ['view "v" will be a temporary view']
    client.run("CREATE TABLE counted (id int DEFAULT 5)")
    client.run("CREATE TEMP SEQUENCE s")
    client.run("ALTER TABLE counted ALTER COLUMN id SET DEFAULT nextval('s')")
    client.session.close()
    other = connect()
    other.run("CREATE TABLE after (a int)")  # changes of the schema follow each other
    assert other.run("SELECT count(*) FROM pg_class WHERE relpersistence = 't'") == [(0,)]
    assert refused(other, "SELECT * FROM v")[0] == "42P01"
    other.run("INSERT INTO counted DEFAULT VALUES")
    assert other.run("SELECT id FROM counted") == [(None,)]


def test_the_right_is_the_databases(connect: Connect, database: Database) -> None:
    root = connect()
    root.run("CREATE USER ann")
    ann = Client(open_session(database, StartupParameters("ann", "dev", {}, process_id=70)))
    try:
        ann.run("CREATE TEMP TABLE t (a int)")  # PUBLIC may, but not create in public
        ann.run("INSERT INTO t VALUES (1)")
        assert ann.run("SELECT * FROM pg_temp_1.t") == [(1,)]
        ann.run("CREATE INDEX i ON t (a)")
        assert refused(ann, "CREATE TABLE u (a int)")[0] == "42501"
        assert root.run("SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'pg_temp_1'") == [("root",)]
        root.run("REVOKE TEMPORARY ON DATABASE dev FROM PUBLIC")
        denied = "42501", 'permission denied to create temporary tables in database "dev"'
        for sql in (
            *("CREATE TEMP TABLE u (a int)", "CREATE TABLE pg_temp.u (a int)", "CREATE TEMP TABLE u AS SELECT 1 AS a"),
            *("CREATE TEMP VIEW u AS SELECT 1 AS a", "CREATE TEMP SEQUENCE u", "SELECT 1 AS a INTO TEMP u"),
            *("CREATE TABLE pg_temp_1.u (a int)", "CREATE VIEW u AS SELECT a FROM t"),
        ):
            assert refused(ann, sql) == denied
        assert ann.run("SELECT * FROM t") == [(1,)]
        root.run("GRANT TEMP ON DATABASE dev TO ann")
        ann.run("CREATE TEMP TABLE u (a int)")
    finally:
        ann.session.close()


def test_the_end_of_a_session_drops_them_and_holds_nobody_up(connect: Connect, database: Database) -> None:
    one, other = connect(), connect()
    for number in range(40):
        one.run(f"CREATE TEMP TABLE t{number} (id serial PRIMARY KEY, n int UNIQUE)")
    one.run("BEGIN")
    one.run("INSERT INTO t1 (n) VALUES (1)")
    one.session.close()
    other.run("CREATE TEMP TABLE t (a int)")  # after the drop, under whatever number
    assert len(temporary_names(database)) == 2
    assert other.run("SELECT pg_my_temp_schema()::regnamespace::text") == [("pg_temp_1",)]
    assert other.run("SELECT * FROM t") == []


def test_a_failed_statement_leaves_none(client: Client, database: Database) -> None:
    assert refused(client, "CREATE TEMP TABLE t AS SELECT 1 / (g - 2) AS a FROM generate_series(1, 3) g")[0] == "22012"
    assert refused(client, "CREATE TEMP TABLE a (n int); CREATE TEMP TABLE b (n int); SELECT 1 / 0")[0] == "22012"
    assert temporary_names(database) == ["pg_temp_1"]
    client.run("CREATE TEMP TABLE a (n int) ON COMMIT DROP; INSERT INTO a VALUES (1); CREATE TEMP TABLE b AS TABLE a")
    assert client.run("SELECT * FROM b") == [(1,)]
    assert refused(client, "SELECT * FROM a")[0] == "42P01"


@pytest.mark.parametrize("closes", [True, False])
def test_a_restart_finds_none(tmp_path: Path, closes: bool) -> None:
    """Also where the server was killed: then no session has ended, and what is durable has them."""
    for again in range(2):
        opened = Database(tmp_path / "data", parallelism=2)
        opened.start(InProcessRunner(opened.data_dir))
        assert temporary_names(opened) == []
        client = Client(open_session(opened, StartupParameters("root", "dev", {})))
        if not again:
            client.run("CREATE TABLE lasts (a int)")
        client.run("CREATE TEMP TABLE t (id serial PRIMARY KEY, a int)")
        client.run("INSERT INTO t (a) VALUES (1); INSERT INTO lasts VALUES (2)")
        client.run("CREATE TEMP VIEW v AS SELECT * FROM t JOIN lasts USING (a)")
        assert client.run("SELECT * FROM t") == [(1, 1)]
        assert client.run("SELECT count(*) FROM lasts") == [(1 + again,)]
        if closes:
            client.session.close()
        opened.close()


def test_drivers_use_them(server: WireServer) -> None:
    text = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(text) as connection, psycopg.connect(text) as other:
        connection.execute("CREATE TEMP TABLE staged (id int PRIMARY KEY, v text) ON COMMIT DROP")
        with connection.cursor().copy("COPY staged FROM STDIN") as copy:
            for number in range(100):
                copy.write_row((number, f"v{number}"))
        connection.execute("CREATE TABLE kept (id int PRIMARY KEY, v text)")
        connection.execute("INSERT INTO kept SELECT * FROM staged WHERE id %% 2 = %s", (0,))
        found = connection.execute("SELECT count(*) FROM staged JOIN kept USING (id)").fetchone()
        assert found == (50,)
        connection.commit()
        assert other.execute("SELECT count(*) FROM kept").fetchone() == (50,)
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM staged")
