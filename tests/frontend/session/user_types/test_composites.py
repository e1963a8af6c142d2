"""Rows with a name: catalogs, names in texts, drops, drafts, restarts, drivers, rights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.composite import CompositeInfo, register_composite

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client

_COLUMNS = (
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '{}'::regclass ORDER BY attnum"
)


def _refused(client: Client, sqlstate: str, sql: str, *parts: str) -> None:
    with pytest.raises(SqlError) as caught:
        client.run(sql)
    told = f"{caught.value.message} {caught.value.detail or ''}"
    assert caught.value.sqlstate == sqlstate, told
    assert all(part in told for part in parts), told


def test_views_follow_changes(client: Client) -> None:
    client.run("CREATE TYPE place AS (street text, n int); CREATE TABLE t (id int PRIMARY KEY, p place, g int)")
    queries = {
        "fields": "SELECT id, (p).street AS s, (p).n + 1 AS n FROM t",
        "grouped": "SELECT p, count(*) AS c FROM t GROUP BY p",
        "greatest": "SELECT DISTINCT ON (g) g, p FROM t ORDER BY g, p DESC, id",
        "joined": "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.p = b.p AND a.id < b.id",
        "made": "SELECT id, ROW('x', g)::place AS q, array_agg(p) OVER (PARTITION BY g ORDER BY id) AS l FROM t",
    }
    for name, query in queries.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    for step in range(40):
        key, n = step * 7 % 11, step * 5 % 3
        client.run(
            f"INSERT INTO t VALUES ({key}, ROW('s{n}', {n}), {step % 3}) ON CONFLICT (id) DO UPDATE SET p = excluded.p"
        )
        client.run(f"UPDATE t SET p = ROW((p).street, (p).n + 1), g = {n} WHERE id % 4 = {step % 4}")
        client.run(f"DELETE FROM t WHERE id = {(step + 5) % 11}")
    client.run("FLUSH")
    for name, query in queries.items():
        assert sorted(map(repr, client.run(f"SELECT * FROM {name}"))) == sorted(map(repr, client.run(query)))


def test_texts_follow_new_names(client: Client) -> None:
    client.run("CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE place AS (street text, m mood)")
    client.run("CREATE TABLE t (id int PRIMARY KEY, p place DEFAULT ROW('a', 'ok')::place, l place[])")
    client.run("CREATE VIEW v AS SELECT id, p, ROW('b', 'sad')::place AS q FROM t")
    client.run("INSERT INTO t (id) VALUES (1)")
    client.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'; ALTER TYPE mood RENAME TO feel")
    client.run('ALTER TYPE place RENAME TO "Odd place"; ALTER TYPE "Odd place" SET SCHEMA s')
    client.run("INSERT INTO t (id) VALUES (2)")
    assert sorted(client.run("SELECT id, p::text, q::text FROM v")) == [
        (1, "(a,fine)", "(b,sad)"),
        (2, "(a,fine)", "(b,sad)"),
    ]
    assert client.run(_COLUMNS.format("t")) == [("id", "integer"), ("p", 's."Odd place"'), ("l", 's."Odd place"[]')]
    shown = [client.run(f"SHOW CREATE {kind}")[0][1] for kind in ("TABLE t", "VIEW v")]
    client.run("DROP VIEW v; DROP TABLE t")
    for text in shown:
        client.run(str(text))
    client.run("INSERT INTO t (id) VALUES (1)")
    assert client.run("SELECT p::text, q::text FROM v") == [("(a,fine)", "(b,sad)")]


def test_catalogs(client: Client) -> None:
    client.run("CREATE TYPE place AS (street text, n numeric(5,2))")
    assert client.run(
        "SELECT typtype, typcategory, typrelid = 'place'::regclass FROM pg_type WHERE typname = 'place'"
    ) == [("c", "C", True)]
    assert client.run("SELECT relkind, reltype = 'place'::regtype, relnatts FROM pg_class WHERE relname = 'place'") == [
        ("c", True, 2)
    ]
    assert client.run(_COLUMNS.format("place")) == [("street", "text"), ("n", "numeric(5,2)")]


def test_drop_asks_who_needs_the_type(client: Client) -> None:
    client.run("CREATE TYPE place AS (a int); CREATE TYPE person AS (p place); CREATE DOMAIN d AS place")
    client.run("CREATE TABLE t (id int PRIMARY KEY, p place, x d); CREATE VIEW v AS SELECT p FROM t")
    _refused(client, "2BP01", "DROP TYPE place", "column p of table t", "type person")
    _refused(client, "2BP01", "DROP TYPE place CASCADE", "type person")
    client.run("DROP TYPE person; DROP TYPE place CASCADE")
    assert client.run("SELECT * FROM t") == []
    assert client.run("SELECT count(*) FROM pg_type WHERE typname IN ('place', 'd', 'person')") == [(0,)]


def test_in_a_transaction_types_are_seen_by_it_alone(connect: Callable[[], Client]) -> None:
    one, other = connect(), connect()
    one.run("BEGIN; CREATE TYPE place AS (a int); ALTER TYPE place ADD ATTRIBUTE b int; CREATE TABLE t (p place)")
    one.run("INSERT INTO t VALUES ('(1,2)')")
    _refused(other, "42704", "SELECT '(1,2)'::place")
    one.run("COMMIT")
    assert other.run("SELECT (p).b FROM t") == [(2,)]


def test_after_a_restart_all_is_as_before(tmp_path: Path) -> None:
    def opened() -> tuple[Database, Client]:
        database = Database(tmp_path / "data", parallelism=2)
        database.start(InProcessRunner(database.data_dir))
        return database, Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))

    database, client = opened()
    client.run("CREATE TYPE place AS (a int, b text); CREATE TABLE t (id int, p place)")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT max((p).a) AS a FROM t; INSERT INTO t VALUES (1, '(4,x)')")
    client.session.close()
    database.close()
    database, client = opened()
    client.run("INSERT INTO t VALUES (2, ROW(9, 'y'))")
    assert client.run("SELECT * FROM v") == [(9,)]
    assert sorted(client.run("SELECT p::text FROM t")) == [("(4,x)",), ("(9,y)",)]
    client.session.close()
    database.close()


def test_rights(connect: Callable[[], Client], client: Client) -> None:
    client.run(
        "CREATE ROLE ann LOGIN; CREATE TYPE place AS (a int); GRANT CREATE ON SCHEMA public TO ann; SET ROLE ann"
    )
    _refused(client, "42501", "ALTER TYPE place ADD ATTRIBUTE b int", "must be owner of type place")
    client.run("RESET ROLE; REVOKE USAGE ON TYPE place FROM PUBLIC; SET ROLE ann")
    _refused(client, "42501", "CREATE TABLE t (p place)", "permission denied for type place")
    client.run("RESET ROLE")


def test_drivers_know_the_type(server: WireServer) -> None:
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(where, autocommit=True) as one:
        one.execute(
            "CREATE TYPE place AS (street text, n int); CREATE TABLE t (id int PRIMARY KEY, p place, l place[])"
        )
        info = CompositeInfo.fetch(one, "place")
        assert info is not None and list(info.field_names) == ["street", "n"] and list(info.field_types) == [25, 23]
        register_composite(info, one)
        made: Any = info.python_type
        for binary in (False, True):
            cursor: Any = one.cursor(binary=binary)
            cursor.execute("INSERT INTO t VALUES (%s, %s, %s)", (int(binary), made("a b", 1), [made('q"', 2)]))
            cursor.execute("SELECT p, l FROM t WHERE id = %s", (int(binary),))
            assert cursor.fetchall() == [(made("a b", 1), [made('q"', 2)])]
            assert cursor.description[0].type_code == info.oid
