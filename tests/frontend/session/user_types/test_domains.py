"""Domains: PostgreSQL's words, rules under changes, names in texts, catalogs, drafts, restarts, drivers, rights."""

from __future__ import annotations

import random
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


def _refused(client: Client, sqlstate: str, sql: str, *parts: str) -> None:
    with pytest.raises(SqlError) as caught:
        client.run(sql)
    told = f"{caught.value.message} {caught.value.detail or ''}"
    assert caught.value.sqlstate == sqlstate, told
    assert all(part in told for part in parts), told


def test_errors_have_postgres_words_and_fields(client: Client) -> None:
    client.run("CREATE DOMAIN d AS int CONSTRAINT low CHECK (VALUE > 0) CHECK (VALUE < 10) NOT NULL")
    client.run("CREATE TABLE t (id int, a d)")
    _refused(client, "23514", "INSERT INTO t VALUES (1, -1)", 'value for domain d violates check constraint "low"')
    _refused(client, "23514", "INSERT INTO t VALUES (1, 11)", 'value for domain d violates check constraint "d_check"')
    _refused(client, "23502", "INSERT INTO t VALUES (1, NULL)", "domain d does not allow null values")
    _refused(client, "23502", "INSERT INTO t (id) VALUES (1)", "domain d does not allow null values")
    _refused(client, "23514", "SELECT (-1)::d", 'value for domain d violates check constraint "low"')
    client.run("INSERT INTO t VALUES (1, 5)")
    message = 'column "a" of table "t" contains values that violate the new constraint'
    _refused(client, "23514", "ALTER DOMAIN d ADD CONSTRAINT c CHECK (VALUE <> 5)", message)
    client.run("CREATE DOMAIN e AS int; CREATE TABLE u (a e); INSERT INTO u VALUES (NULL)")
    _refused(client, "23502", "ALTER DOMAIN e SET NOT NULL", 'column "a" of table "u" contains null values')
    with pytest.raises(SqlError) as caught:
        client.run("INSERT INTO t VALUES (1, -1)")
    assert dict(caught.value.about) == {"s": "public", "d": "d", "n": "low"}


def test_random_writes_keep_the_rules(client: Client) -> None:
    """What random statements leave satisfies the rules of then; a refused statement leaves nothing."""
    client.run("CREATE DOMAIN d AS int CHECK (VALUE % 5 <> 0); CREATE DOMAIN e AS d CHECK (VALUE < 60)")
    client.run("CREATE TABLE t (id int PRIMARY KEY, a e, l d[])")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
    rng, rows, added = random.Random(11), dict[int, tuple[int | None, list[int]]](), False

    def good(a: int | None, items: list[int]) -> bool:
        fine = all(x % 5 and not (added and x % 7 == 0) for x in items)
        return fine and (a is None or bool(a % 5 and a < 60 and not (added and a % 7 == 0)))

    for step in range(120):
        if step == 60:
            for key in [key for key, row in rows.items() if any(x % 7 == 0 for x in [*row[1], row[0] or 1])]:
                client.run(f"DELETE FROM t WHERE id = {key}")
                del rows[key]
            client.run("ALTER DOMAIN d ADD CONSTRAINT seven CHECK (VALUE % 7 <> 0)")
            added = True
        key, a = rng.randrange(20), rng.choice([None, *range(70)])
        items = [rng.randrange(1, 30) for _ in range(rng.randrange(3))]
        listed = "'{" + ",".join(map(str, items)) + "}'"
        shown = "NULL" if a is None else str(a)
        if key in rows and rng.random() < 0.5:
            sql = f"UPDATE t SET a = {shown}, l = {listed} WHERE id = {key}"
        else:
            sql = f"INSERT INTO t VALUES ({key}, {shown}, {listed}) ON CONFLICT (id) DO UPDATE SET a = excluded.a"
            sql += ", l = excluded.l"
        if good(a, items):
            client.run(sql)
            rows[key] = a, items
        else:
            _refused(client, "23514", sql, "value for domain")
    assert dict((key, (a, items)) for key, a, items in client.run("SELECT id, a, l FROM t")) == rows
    counts = client.run("SELECT a, count(*) FROM t GROUP BY a")
    assert sorted(map(repr, client.run("SELECT a, n FROM v"))) == sorted(map(repr, counts))


def test_a_cast_in_a_view_is_null_where_it_fails(client: Client) -> None:
    client.run("CREATE DOMAIN d AS int CHECK (VALUE > 0); CREATE TABLE t (id int PRIMARY KEY, a int)")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, a::d AS a FROM t")
    client.run("INSERT INTO t VALUES (1, 1), (2, -1); UPDATE t SET a = 5 WHERE id = 1")
    assert sorted(client.run("SELECT id, a FROM v")) == [(1, 5), (2, None)]
    _refused(client, "0A000", "ALTER DOMAIN d ADD CHECK (VALUE < 9)", 'materialized view "v" casts values to it')
    client.run("ALTER DOMAIN d RENAME TO e; UPDATE t SET a = 7 WHERE id = 2")
    assert sorted(client.run("SELECT id, a FROM v")) == [(1, 5), (2, 7)]
    _refused(client, "2BP01", "DROP DOMAIN e", "materialized view v")
    client.run("DROP DOMAIN e CASCADE")
    _refused(client, "42P01", "SELECT * FROM v")


def test_texts_follow_new_names(client: Client) -> None:
    client.run(
        "CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN d AS mood CHECK (VALUE <> 'sad'::mood)"
    )
    client.run(
        "ALTER DOMAIN d SET DEFAULT 'ok'::mood; CREATE DOMAIN e AS d; CREATE TABLE t (id int PRIMARY KEY, a e, b d[])"
    )
    client.run("CREATE VIEW v AS SELECT id, a, 'ok'::d AS c FROM t")
    client.run(
        "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'; ALTER TYPE mood RENAME TO feel; ALTER TYPE feel SET SCHEMA s"
    )
    client.run('ALTER DOMAIN d RENAME TO "Odd d"; ALTER DOMAIN e SET SCHEMA s')
    _refused(client, "23514", "INSERT INTO t VALUES (1, 'low')", "value for domain e violates check")
    client.run("INSERT INTO t (id, b) VALUES (1, '{ok}')")
    assert client.run("SELECT id, a::text, b::text, c::text FROM v, t AS u(i, x, b) WHERE true") == [
        (1, "ok", "{ok}", "ok")
    ]
    shown = client.run("SHOW CREATE TABLE t")[0][1]
    assert "a s.e" in str(shown) and 'b "Odd d"[]' in str(shown)
    checks = client.run("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid <> 0")
    assert checks == [("CHECK ((VALUE <> 'low'::s.feel))",)]
    client.run("CREATE TABLE k (LIKE t); CREATE TABLE c AS SELECT a, 1 AS one FROM t")
    columns = client.run(
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid IN ('k'::regclass, 'c'::regclass, 'v'::regclass) ORDER BY 1, attnum"
    )
    assert columns == [
        *(("c", "a", "s.e"), ("c", "one", "integer")),
        *(("k", "id", "integer"), ("k", "a", "s.e"), ("k", "b", '"Odd d"[]')),
        *(("v", "id", "integer"), ("v", "a", "s.e"), ("v", "c", '"Odd d"')),
    ]


def test_drop_asks_who_needs_the_domain(client: Client) -> None:
    client.run("CREATE DOMAIN d AS int; CREATE DOMAIN e AS d; CREATE TABLE t (id int PRIMARY KEY, a d, b e)")
    _refused(client, "2BP01", "DROP DOMAIN d", "column a of table t", "type e depends on type d")
    client.notices.clear()
    client.run("DROP DOMAIN d CASCADE")
    assert "drop cascades to column b of table t" in client.notices
    assert client.run("SELECT count(*) FROM pg_type WHERE typname IN ('d', 'e', '_d', '_e')") == [(0,)]
    client.run("INSERT INTO t VALUES (1)")
    client.run("CREATE DOMAIN d AS int; CREATE DOMAIN e AS d; DROP DOMAIN d, e")
    _refused(client, "42704", "DROP DOMAIN d", 'type "d" does not exist')
    client.run("DROP DOMAIN IF EXISTS d")


def test_a_schema_is_dropped_with_columns_elsewhere(client: Client) -> None:
    client.run("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('a'); CREATE DOMAIN s.d AS int; CREATE DOMAIN d AS s.d")
    client.run("CREATE TABLE t (id int PRIMARY KEY, m s.mood, d s.d, x d); INSERT INTO t VALUES (1, 'a', 1, 1)")
    client.run("DROP SCHEMA s CASCADE")
    assert client.run("SELECT * FROM t") == [(1,)]
    _refused(client, "42704", "SELECT 1::d")


def test_special_tables_refuse_domains(client: Client) -> None:
    client.run("CREATE DOMAIN d AS int")
    for sql in (
        "CREATE TABLE t (a d) APPEND ONLY",
        "CREATE TABLE t (a d PRIMARY KEY) ON CONFLICT DO NOTHING",
        "CREATE SOURCE t (a d) WITH (connector = 'datagen')",
        "CREATE TABLE t (a struct<b d>)",
        "CREATE FUNCTION f(a d) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE DOMAIN e AS d[]",
    ):
        _refused(client, "0A000", sql, "d")
    client.run("CREATE TABLE t (a d); CREATE TABLE s (a int)")
    _refused(client, "0A000", "CREATE SINK k INTO t FROM s", "rules of a domain")


def test_in_a_transaction_domains_are_seen_by_it_alone(connect: Callable[[], Client]) -> None:
    one, other = connect(), connect()
    one.run("BEGIN; CREATE DOMAIN d AS int CHECK (VALUE > 0); CREATE TABLE t (a d, b int); INSERT INTO t VALUES (1)")
    one.run("SAVEPOINT s")
    _refused(one, "23514", "INSERT INTO t VALUES (0)")
    one.run("ROLLBACK TO s")
    _refused(one, "23514", "ALTER DOMAIN d ADD CHECK (VALUE > 5)")
    one.run("ROLLBACK TO s; ALTER DOMAIN d ADD CHECK (VALUE < 5)")
    _refused(other, "42704", "SELECT 1::d")
    one.run("COMMIT")
    _refused(other, "23514", "INSERT INTO t VALUES (6)")
    other.run("INSERT INTO t VALUES (3)")
    one.run("BEGIN; DROP DOMAIN d CASCADE; ROLLBACK")
    assert sorted(one.run("SELECT a FROM t")) == [(1,), (3,)]


def test_after_a_restart_all_is_as_before(tmp_path: Path) -> None:
    def opened() -> tuple[Database, Client]:
        database = Database(tmp_path / "data", parallelism=2)
        database.start(InProcessRunner(database.data_dir))
        return database, Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))

    database, client = opened()
    client.run("CREATE DOMAIN d AS int DEFAULT 4 CHECK (VALUE > 0); CREATE TABLE t (id int, a d)")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, a::d FROM t; INSERT INTO t (id) VALUES (1)")
    client.session.close()
    database.close()
    database, client = opened()
    _refused(client, "23514", "INSERT INTO t VALUES (2, 0)")
    client.run("INSERT INTO t VALUES (2, 9)")
    assert sorted(client.run("SELECT * FROM v")) == [(1, 4), (2, 9)]
    client.session.close()
    database.close()


def test_rights(connect: Callable[[], Client], client: Client) -> None:
    client.run("CREATE ROLE ann LOGIN; CREATE DOMAIN d AS int; GRANT CREATE ON SCHEMA public TO ann; SET ROLE ann")
    _refused(client, "42501", "ALTER DOMAIN d SET NOT NULL", "must be owner of type d")
    _refused(client, "42501", "DROP DOMAIN d", "must be owner of type d")
    client.run("RESET ROLE; REVOKE USAGE ON DOMAIN d FROM PUBLIC; SET ROLE ann")
    _refused(client, "42501", "CREATE TABLE t (a d)", "permission denied for type d")
    _refused(client, "42501", "CREATE DOMAIN e AS d", "permission denied for type d")
    client.run("RESET ROLE; GRANT USAGE ON DOMAIN d TO ann; SET ROLE ann; CREATE TABLE t (a d); RESET ROLE")
    client.run(
        "ALTER DOMAIN d OWNER TO ann; COMMENT ON DOMAIN d IS 'x'; ALTER DOMAIN d ADD CONSTRAINT c CHECK (VALUE > 0)"
    )
    client.run("COMMENT ON CONSTRAINT c ON DOMAIN d IS 'y'")
    assert client.run("SELECT obj_description('d'::regtype, 'pg_type')") == [("x",)]


def test_drivers_send_and_get_the_type_below(server: WireServer) -> None:
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(where, autocommit=True) as one:
        one.execute("CREATE DOMAIN d AS int CHECK (VALUE > 0); CREATE TABLE t (id d PRIMARY KEY, b d)")
        for binary in (False, True):
            cursor = one.cursor(binary=binary)
            for key in range(1, 9):
                cursor.execute("INSERT INTO t VALUES (%s, %s) ON CONFLICT DO NOTHING", (key, key))
            cursor.execute("SELECT id, b FROM t WHERE id = %s", (3,))
            assert cursor.fetchall() == [(3, 3)] and cursor.description is not None
            assert cursor.description[0].type_code == 23
        with pytest.raises(psycopg.errors.CheckViolation) as caught:
            one.execute("INSERT INTO t VALUES (%s, %s)", (20, -1))
        diagnostic = caught.value.diag
        assert (diagnostic.datatype_name, diagnostic.constraint_name) == ("d", "d_check")
        with pytest.raises(psycopg.errors.CheckViolation), one.cursor().copy("COPY t FROM STDIN") as copy:
            copy.write("30\t-4\n")
        assert one.execute("SELECT count(*) FROM t").fetchall() == [(8,)]
