"""Enums through the changes of their labels and names: views, keys, texts, prepared statements, drafts, restarts."""

from __future__ import annotations

import enum
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.enum import EnumInfo, register_enum

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


def _texts(client: Client, query: str) -> list[tuple[object, ...]]:
    return client.run(query)


def test_views_follow_new_values_under_random_changes(client: Client) -> None:
    """Views that order, group, join and take extremes stay equal to their queries while ADD VALUE goes on."""
    queries = {
        "grouped": "SELECT m, count(*) AS n FROM t GROUP BY m",
        "extremes": "SELECT g, min(m) AS low, max(m) AS high FROM t GROUP BY g",
        "above": "SELECT id, m FROM t WHERE m >= 'm'",
        "joined": "SELECT a.id, b.id AS other FROM t a JOIN t b ON a.m = b.m AND a.id < b.id",
        "first": "SELECT id, m FROM t ORDER BY m DESC, id LIMIT 3",
        "ranked": "SELECT id, rank() OVER (PARTITION BY g ORDER BY m) AS r FROM t",
        "listed": "SELECT g, array_agg(m ORDER BY m, id) AS ms FROM t GROUP BY g",
        "shown": "SELECT id, m::text || '!' AS x FROM t",
    }
    client.run("CREATE TYPE e AS ENUM ('m', 'z')")
    client.run("CREATE TABLE t (id int PRIMARY KEY, g int, m e)")
    for name, query in queries.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    numbers, labels, rng = 0, ["m", "z"], random.Random(31)
    for step in range(24):
        if step % 6 == 5:
            numbers += 1
            neighbour, before = rng.choice(labels), rng.random() < 0.5
            new = f"v{numbers}"
            client.run(f"ALTER TYPE e ADD VALUE '{new}' {'BEFORE' if before else 'AFTER'} '{neighbour}'")
            labels.insert(labels.index(neighbour) + (not before), new)
        ids = ", ".join(
            f"({rng.randrange(40)}, {rng.randrange(4)}, {rng.choice([*map(repr, labels), 'NULL'])})" for _ in range(4)
        )
        client.run(f"INSERT INTO t VALUES {ids}")
        client.run(f"UPDATE t SET m = '{rng.choice(labels)}' WHERE id % 7 = {rng.randrange(7)}")
        client.run(f"DELETE FROM t WHERE id = {rng.randrange(40)}")
        if step % 8 == 7:
            client.run("FLUSH")
            for name, query in queries.items():
                assert sorted(map(repr, client.run(f"SELECT * FROM {name}"))) == sorted(map(repr, client.run(query)))
    assert client.run("SELECT enum_range(NULL::e)::text") == [("{" + ",".join(labels) + "}",)]


def test_a_gap_of_labels_is_full_after_32(client: Client) -> None:
    client.run("CREATE TYPE e AS ENUM ('a', 'b')")
    for number in range(32):
        client.run(f"ALTER TYPE e ADD VALUE 'x{number}' AFTER 'a'")
    _refused(client, "54000", "ALTER TYPE e ADD VALUE 'y' AFTER 'a'", "no place left")
    client.run("ALTER TYPE e ADD VALUE 'y' BEFORE 'a'")
    client.run("ALTER TYPE e ADD VALUE 'z'")
    assert client.run("SELECT 'y'::e < 'a'::e, 'a'::e < 'x31'::e, 'x31'::e < 'x30'::e, 'z'::e > 'b'::e") == [
        (True, True, True, True)
    ]


def test_texts_follow_new_names(client: Client) -> None:
    """Defaults, constraints, indexes and views are bound anew under the new names, and mean what they meant."""
    client.run("CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, m mood DEFAULT 'sad'::mood CHECK (m <> 'ok'::mood), ms mood[],"
        " g boolean GENERATED ALWAYS AS (m = 'sad'::mood) STORED, sad varchar DEFAULT 'sad')"
    )
    client.run("CREATE INDEX i ON t ((m = 'sad'::mood))")
    client.run("CREATE VIEW v AS SELECT id, m FROM t WHERE m = 'sad'::mood OR m = 'happy'")
    client.run("CREATE MATERIALIZED VIEW mv AS SELECT m, count(*) AS n FROM t WHERE m < 'happy'::mood GROUP BY m")
    client.run("INSERT INTO t (id) VALUES (1)")
    client.run("ALTER TYPE mood RENAME VALUE 'sad' TO 'it''s low'")
    client.run('ALTER TYPE mood RENAME TO "Odd mood"')
    client.run("INSERT INTO t (id, m) VALUES (2, 'happy')")
    client.run('ALTER TYPE "Odd mood" SET SCHEMA s')
    client.run("INSERT INTO t (id) VALUES (3)")
    _refused(client, "23514", "INSERT INTO t (id, m) VALUES (4, 'ok')")
    client.run("ALTER SCHEMA s RENAME TO r")
    client.run("INSERT INTO t (id) VALUES (5)")
    rows = [(1, "it's low", True, "sad"), (2, "happy", False, "sad"), (3, "it's low", True, "sad")]
    rows.append((5, "it's low", True, "sad"))
    assert sorted(client.run("SELECT id, m::text, g, sad FROM t")) == rows
    assert sorted(client.run("SELECT id, m::text FROM v")) == [row[:2] for row in rows]
    assert client.run("SELECT m::text, n FROM mv") == [("it's low", 3)]
    shown = [client.run(f"SHOW CREATE {kind}")[0][1] for kind in ("TABLE t", "VIEW v", "MATERIALIZED VIEW mv")]
    client.run("DROP MATERIALIZED VIEW mv; DROP VIEW v; DROP TABLE t")
    for text in shown:
        client.run(str(text))
    client.run("INSERT INTO t (id) VALUES (1)")
    assert client.run("SELECT m::text FROM v") == [("it's low",)]


def test_what_a_job_has_computed_keeps_a_change_away(client: Client) -> None:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, m mood, x varchar)")
    client.run("CREATE MATERIALIZED VIEW shown AS SELECT id, m::text AS m FROM t")
    _refused(client, "0A000", "ALTER TYPE mood RENAME VALUE 'sad' TO 'low'", 'materialized view "shown"')
    client.run("ALTER TYPE mood ADD VALUE 'fine'")
    client.run("DROP MATERIALIZED VIEW shown")
    client.run("CREATE MATERIALIZED VIEW read AS SELECT id, x::mood AS m FROM t")
    _refused(client, "0A000", "ALTER TYPE mood ADD VALUE 'more'", 'materialized view "read"')
    client.run("ALTER TYPE mood RENAME VALUE 'sad' TO 'low'")
    client.run("DROP MATERIALIZED VIEW read")
    client.run("ALTER TYPE mood ADD VALUE 'more'")
    for view in ("SELECT enum_range(m) AS r FROM t", "SELECT enum_first(NULL::mood) AS r"):
        _refused(client, "0A000", f"CREATE MATERIALIZED VIEW v AS {view}", "cannot be used in a view")


def test_drop_asks_who_needs_the_type(client: Client) -> None:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE other AS ENUM ('sad')")
    client.run("CREATE TABLE t (id int PRIMARY KEY, m mood, ms mood[])")
    client.run("CREATE VIEW v AS SELECT id, m FROM t; CREATE MATERIALIZED VIEW k AS SELECT 'ok'::mood AS m, id FROM t")
    client.run("CREATE FUNCTION f(a mood) RETURNS varchar LANGUAGE sql AS 'SELECT a::text'")
    _refused(client, "2BP01", "DROP TYPE mood", "column m of table t", "column ms of table t", "view v", "function f")
    client.run("DROP TYPE other")
    client.notices.clear()
    client.run("DROP TYPE mood CASCADE")
    assert "drop cascades to column m of table t" in client.notices
    assert client.run("SELECT * FROM t") == []
    assert client.run("SELECT relname FROM pg_class WHERE relname IN ('v', 'k')") == []
    assert client.run("SELECT count(*) FROM pg_type WHERE typname IN ('mood', '_mood', 'other')") == [(0,)]


def test_texts_that_alone_name_a_type_count(client: Client) -> None:
    """A default of another type, and a view that is bound anew by each reader."""
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    client.run("CREATE TABLE t (id int PRIMARY KEY, x varchar DEFAULT 'ok'::mood::text)")
    client.run("CREATE VIEW v AS SELECT current_user AS u, 'ok'::mood > 'sad' AS b")
    client.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'; ALTER TYPE mood RENAME TO feel")
    client.run("INSERT INTO t VALUES (1)")
    assert client.run("SELECT x, b FROM t, v") == [("fine", True)]
    _refused(client, "2BP01", "DROP TYPE feel", "column x of table t", "view v")
    client.run("DROP TYPE feel CASCADE; INSERT INTO t VALUES (2)")
    assert sorted(client.run("SELECT id, x FROM t")) == [(1, "fine"), (2, None)]
    _refused(client, "42P01", "SELECT * FROM v")


def test_a_cascade_that_fails_has_dropped_nothing(client: Client) -> None:
    client.run("CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TABLE t (id int PRIMARY KEY, m mood)")
    client.run(
        "CREATE TABLE k (m mood PRIMARY KEY, n int); INSERT INTO t VALUES (1, 'a'); INSERT INTO k VALUES ('b', 1)"
    )
    _refused(client, "0A000", "DROP TYPE mood CASCADE", "part of the primary key")
    assert client.run("SELECT t.m, k.m FROM t, k") == [("a", "b")]
    client.run("DROP TABLE k; SELECT 1; DROP TYPE mood CASCADE; INSERT INTO t VALUES (2)")
    assert sorted(client.run("SELECT * FROM t")) == [(1,), (2,)]


def test_a_schema_is_dropped_with_its_types(client: Client) -> None:
    client.run("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('a'); CREATE TABLE s.t (m s.mood)")
    _refused(client, "2BP01", "DROP SCHEMA s", "type s.mood")
    client.run("DROP SCHEMA s CASCADE")
    _refused(client, "42704", "SELECT 'a'::s.mood")


def test_in_a_transaction_types_are_seen_by_it_alone(connect: Callable[[], Client]) -> None:
    one, other = connect(), connect()
    one.run("BEGIN; CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TABLE t (m mood)")
    one.run("INSERT INTO t VALUES ('a')")
    one.run("ALTER TYPE mood ADD VALUE 'c' BEFORE 'a'")
    one.run("INSERT INTO t VALUES ('c')")
    assert one.run("SELECT m FROM t ORDER BY m") == [("c",), ("a",)]
    _refused(other, "42704", "SELECT 'a'::mood")
    one.run("ROLLBACK")
    _refused(one, "42704", "SELECT 'a'::mood")
    one.run("BEGIN; CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TABLE t (m mood, n int); INSERT INTO t VALUES ('b')")
    one.run("ALTER TYPE mood RENAME TO feeling; COMMIT")
    assert other.run("SELECT m::text, pg_typeof(m) FROM t") == [("b", "feeling")]
    one.run("BEGIN; DROP TYPE feeling CASCADE")
    assert other.run("SELECT m::text FROM t") == [("b",)]
    one.run("ROLLBACK")
    assert one.run("SELECT m::text FROM t") == [("b",)]


def test_after_a_restart_all_is_as_before(tmp_path: Path) -> None:
    def opened() -> tuple[Database, Client]:
        database = Database(tmp_path / "data", parallelism=2)
        database.start(InProcessRunner(database.data_dir))
        return database, Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))

    database, client = opened()
    client.run("CREATE TYPE mood AS ENUM ('b', 'd'); CREATE TABLE t (m mood PRIMARY KEY, n int)")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT max(m) AS m FROM t; ALTER TYPE mood ADD VALUE 'c' BEFORE 'd'")
    client.run("INSERT INTO t VALUES ('c', 1), ('b', 2)")
    client.session.close()
    database.close()
    database, client = opened()
    assert client.run("SELECT m, n FROM t ORDER BY m") == [("b", 2), ("c", 1)]
    assert client.run("SELECT m::text FROM v") == [("c",)]
    client.run("ALTER TYPE mood ADD VALUE 'e'; INSERT INTO t VALUES ('e', 3)")
    assert client.run("SELECT m::text FROM v") == [("e",)]
    client.session.close()
    database.close()


def test_a_column_becomes_an_enum_and_a_text_again(client: Client) -> None:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int PRIMARY KEY, m varchar)")
    client.run("INSERT INTO t VALUES (1, 'ok'), (2, 'sad')")
    client.run("ALTER TABLE t ALTER COLUMN m TYPE mood USING m::mood")
    client.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'; ALTER TYPE mood ADD VALUE 'more'")
    client.run("INSERT INTO t VALUES (3, 'more')")
    assert client.run("SELECT id, m FROM t ORDER BY m") == [(2, "sad"), (1, "fine"), (3, "more")]
    client.run("ALTER TABLE t ALTER COLUMN m TYPE varchar")
    client.run("DROP TYPE mood")
    assert sorted(client.run("SELECT id, m FROM t")) == [(1, "fine"), (2, "sad"), (3, "more")]


def test_functions_in_sql_and_python_take_labels(client: Client) -> None:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE color AS ENUM ('ok')")
    client.run("CREATE FUNCTION worse(a mood) RETURNS boolean LANGUAGE sql AS 'SELECT a < ''ok'''")
    client.run("CREATE FUNCTION kind(a mood) RETURNS varchar LANGUAGE sql AS 'SELECT ''mood'''")
    client.run("CREATE FUNCTION kind(a color) RETURNS varchar LANGUAGE sql AS 'SELECT ''color'''")
    client.run(
        "CREATE FUNCTION other(a mood) RETURNS mood LANGUAGE python AS"
        " $$\ndef other(a):\n    return 'ok' if a == 'sad' else 'sad'\n$$"
    )
    assert client.run("SELECT worse('sad'), kind('ok'::mood), kind('ok'::color), other('sad')::text") == [
        (True, "mood", "color", "ok")
    ]


def test_sinks_have_texts(client: Client, tmp_path: Path) -> None:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (id int, m mood, ms mood[])")
    client.run(
        f"CREATE SINK s FROM t WITH (connector = 'fs', fs.path = '{tmp_path}/out', type = 'append-only',"
        " force_append_only = 'true') FORMAT PLAIN ENCODE JSON"
    )
    client.run("INSERT INTO t VALUES (1, 'ok', '{sad,NULL}'); ALTER TYPE mood ADD VALUE 'new' BEFORE 'sad'")
    client.run("INSERT INTO t VALUES (2, 'new', '{new}')")
    client.run("WAIT SINK s")
    written = "".join(path.read_text() for path in sorted((tmp_path / "out").rglob("*")) if path.is_file())
    assert sorted(json.loads(line)["m"] for line in written.splitlines()) == ["new", "ok"]
    _refused(client, "0A000", "ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", 'sink "s" has texts')


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("CREATE TYPE other AS ENUM ('x')", "CREATE TYPE"),
        ("ALTER TYPE mood ADD VALUE 'x'", "ALTER TYPE"),
        ("ALTER TYPE mood RENAME VALUE 'a' TO 'x'", "ALTER TYPE"),
        ("ALTER TYPE mood RENAME TO other", "ALTER TYPE"),
        ("DROP TYPE mood", "DROP"),
    ],
)
def test_a_transaction_that_only_reads_refuses_them(client: Client, sql: str, name: str) -> None:
    client.run("CREATE TYPE mood AS ENUM ('a'); BEGIN READ ONLY")
    _refused(client, "25006", sql, f"cannot execute {name} in a read-only transaction")
    client.run("ROLLBACK")


def test_rights(connect: Callable[[], Client], client: Client) -> None:
    client.run("CREATE ROLE ann LOGIN; CREATE TYPE mood AS ENUM ('a'); GRANT CREATE ON SCHEMA public TO ann")
    client.run("SET ROLE ann")
    client.run("CREATE TABLE own (m mood)")
    _refused(client, "42501", "ALTER TYPE mood ADD VALUE 'b'", "must be owner of type mood")
    _refused(client, "42501", "DROP TYPE mood", "must be owner of type mood")
    client.run("RESET ROLE; REVOKE USAGE ON TYPE mood FROM PUBLIC; SET ROLE ann")
    _refused(client, "42501", "CREATE TABLE t (m mood)", "permission denied for type mood")
    client.run("RESET ROLE; ALTER TYPE mood OWNER TO ann; SET ROLE ann")
    client.run("ALTER TYPE mood ADD VALUE 'b'; CREATE TABLE t (m mood)")
    client.run("RESET ROLE")
    _refused(client, "2BP01", "DROP ROLE ann", "owner of type mood")


def test_drivers_know_the_type(server: WireServer) -> None:
    """psycopg finds the labels, sends and gets them in text and binary, also those that are added while it is there."""

    class Mood(enum.Enum):
        sad = "sad"
        ok = "ok"

    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(where, autocommit=True) as one, psycopg.connect(where, autocommit=True) as two:
        one.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        one.execute("CREATE TABLE t (id int PRIMARY KEY, m mood, ms mood[])")
        info = EnumInfo.fetch(one, "mood")
        assert info is not None and list(info.labels) == ["sad", "ok"]
        register_enum(info, one, Mood)
        for binary in (False, True):
            cursor: Any = one.cursor(binary=binary)
            cursor.execute("INSERT INTO t VALUES (%s, %s, %s)", (int(binary), Mood.ok, [Mood.sad, None]))
            cursor.execute("SELECT m, ms FROM t WHERE m = %s ORDER BY id", (Mood.ok,))
            assert cursor.fetchall()[-1] == (Mood.ok, [Mood.sad, None])
            assert cursor.description[0].type_code == info.oid
        for key in range(2, 12):  # a prepared statement before long
            two.execute("INSERT INTO t VALUES (%s, %s, NULL)", (key, "ok"))
        one.execute("ALTER TYPE mood ADD VALUE 'more'")
        two.execute("INSERT INTO t VALUES (%s, %s, NULL)", (12, "more"))
        rows: Any = two.execute("SELECT m FROM t WHERE id = %s", (12,)).fetchall()
        assert rows == [("more",)]
        with two.cursor().copy("COPY t (id, m) FROM STDIN") as copy:
            copy.write_row((13, "sad"))
        with two.cursor().copy("COPY (SELECT m FROM t WHERE id >= 12 ORDER BY id) TO STDOUT") as copy:
            assert [bytes(part) for part in copy] == [b"more\n", b"sad\n"]


@pytest.mark.parametrize("cursor", [psycopg.ClientCursor, psycopg.Cursor])
def test_rows_are_found_and_changed_by_enums(server: WireServer, cursor: Any) -> None:
    """Random statements by key, whose texts recur or are prepared, do what they do to a dictionary."""
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    rng, labels, rows, keyed = random.Random(5), ["a", "b", "c"], dict[int, str](), dict[str, int]()
    with psycopg.connect(where, autocommit=True, cursor_factory=cursor, prepare_threshold=2) as one:
        one.execute("CREATE TYPE e AS ENUM ('a', 'b', 'c'); CREATE TABLE t (id int PRIMARY KEY, m e)")
        one.execute("CREATE TABLE k (m e PRIMARY KEY, n int)")
        for step in range(150):
            key, label = rng.randrange(8), rng.choice(labels)
            if step == 75:
                one.execute("ALTER TYPE e ADD VALUE 'ab' AFTER 'a'")
                labels.insert(1, "ab")
            match rng.randrange(6):
                case 0:
                    one.execute(
                        "INSERT INTO t VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET m = excluded.m", (key, label)
                    )
                    rows[key] = label
                case 1:
                    one.execute("UPDATE t SET m = %s WHERE id = %s", (label, key))
                    rows |= {key: label} if key in rows else {}
                case 2:
                    one.execute("DELETE FROM t WHERE id = %s AND m < %s", (key, label))
                    if key in rows and labels.index(rows[key]) < labels.index(label):
                        del rows[key]
                case 3:
                    one.execute(
                        "INSERT INTO k VALUES (%s, %s) ON CONFLICT (m) DO UPDATE SET n = excluded.n", (label, step)
                    )
                    keyed[label] = step
                case 4:
                    one.execute("UPDATE k SET n = n + 1 WHERE m = %s", (label,))
                    keyed |= {label: keyed[label] + 1} if label in keyed else {}
                case _:
                    found = one.execute("SELECT n FROM k WHERE m = %s", (label,)).fetchall()
                    assert found == ([(keyed[label],)] if label in keyed else [])
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            one.execute("UPDATE t SET m = %s WHERE id = %s", ("none", 1))
        assert {key: m for key, m in one.execute("SELECT id, m FROM t")} == rows
        assert {m: n for m, n in one.execute("SELECT m, n FROM k")} == keyed


def test_catalogs(client: Client) -> None:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); ALTER TYPE mood ADD VALUE 'low' BEFORE 'sad'")
    client.run("CREATE TABLE t (m mood, ms mood[])")
    assert client.run(
        "SELECT typname, typtype, typcategory, typlen, typarray::regtype::text, typelem FROM pg_type"
        " WHERE oid = 'mood'::regtype"
    ) == [("mood", "e", "E", 4, "mood[]", 0)]
    assert client.run("SELECT enumsortorder, enumlabel FROM pg_enum WHERE enumtypid = 'mood'::regtype ORDER BY 1") == [
        (1.0, "low"),
        (2.0, "sad"),
        (3.0, "ok"),
    ]
    assert client.run("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass") == [
        ("mood",),
        ("mood[]",),
    ]
    assert client.run(
        "SELECT data_type, udt_schema, udt_name FROM information_schema.columns WHERE table_name = 't'"
    ) == [("USER-DEFINED", "public", "mood"), ("ARRAY", "public", "_mood")]
    client.run("CREATE SCHEMA s; ALTER TYPE mood SET SCHEMA s")
    assert client.run("SELECT 's.mood'::regtype::text, 's.mood[]'::regtype::text") == [("s.mood", "s.mood[]")]
    _refused(client, "42704", "SELECT 'mood'::regtype", 'type "mood" does not exist')
