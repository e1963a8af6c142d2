"""Changes of the schema within a transaction: who sees them, whom they keep waiting, and what a rollback leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.meta.database import Database

RELATIONS = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"


def _fails(client: Any, sql: str) -> str:
    with pytest.raises(SqlError) as raised:
        client.run(sql)
    return raised.value.sqlstate


def test_a_failed_migration_leaves_nothing(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("CREATE TABLE version (number varchar PRIMARY KEY)")
    before = other.run(RELATIONS)
    client.run("BEGIN")
    client.run("CREATE TABLE author (id bigserial PRIMARY KEY, name varchar NOT NULL)")
    client.run("CREATE TABLE book (id bigserial PRIMARY KEY, author_id bigint)")
    client.run("ALTER TABLE book ADD CONSTRAINT book_author FOREIGN KEY (author_id) REFERENCES author (id)")
    client.run("CREATE INDEX book_author_id ON book (author_id)")
    client.run("INSERT INTO author (name) VALUES ('x')")
    client.run("INSERT INTO version VALUES ('1')")
    assert client.run("SELECT name FROM author") == [("x",)]
    assert other.run(RELATIONS) == before
    assert _fails(client, "INSERT INTO book (author_id) VALUES (99)") == "23503"
    client.run("ROLLBACK")
    assert client.run(RELATIONS) == other.run(RELATIONS) == before
    assert client.run("SELECT * FROM version") == []


def test_everything_is_there_at_once_and_jobs_have_their_rows(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 10), (2, 20)")
    client.run("BEGIN")
    client.run("ALTER TABLE t ADD COLUMN c int DEFAULT 5")
    client.run("INSERT INTO t VALUES (3, 30, 6)")
    client.run("CREATE VIEW v AS SELECT a, c FROM t")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT sum(c) AS s FROM v")
    assert 'materialized view "m" gets its rows when the transaction commits' in client.notices
    client.run("CREATE INDEX i ON t (c)")
    assert other.run("SELECT * FROM t WHERE b > 0 ORDER BY a") == [(1, 10), (2, 20)]
    client.run("COMMIT")
    for each in (client, other):
        assert each.run("SELECT s FROM m") == [(16,)]
        assert each.run("SELECT a FROM t WHERE c = 6") == [(3,)]
        assert sorted(each.run("SELECT * FROM v")) == [(1, 5), (2, 5), (3, 6)]


def test_a_view_that_has_no_rows_yet_says_so(client: Any) -> None:
    client.run("BEGIN; CREATE TABLE t (a int); CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    with pytest.raises(SqlError, match='relation "m" does not exist') as raised:
        client.run("SELECT * FROM m")
    assert raised.value.hint == "The materialized view of this name does not have its rows yet."


def test_rows_follow_the_form_of_their_table(client: Any) -> None:
    client.run("BEGIN; CREATE TABLE t (a int, b varchar); INSERT INTO t VALUES (1, '7'), (2, NULL)")
    client.run("SAVEPOINT p")
    client.run("ALTER TABLE t ADD COLUMN c int DEFAULT 5, ALTER COLUMN a TYPE bigint")
    client.run("INSERT INTO t VALUES (3, '9', NULL)")
    client.run("ALTER TABLE t ADD PRIMARY KEY (a)")
    client.run("UPDATE t SET c = 8 WHERE a = 2")
    assert client.run("SELECT * FROM t ORDER BY a") == [(1, "7", 5), (2, None, 8), (3, "9", None)]
    client.run("ROLLBACK TO p")
    assert client.run("SELECT * FROM t ORDER BY a") == [(1, "7"), (2, None)]
    client.run("ALTER TABLE t DROP COLUMN b")
    client.run("DELETE FROM t WHERE a = 1")
    client.run("COMMIT")
    assert client.run("SELECT * FROM t") == [(2,)]


def test_a_unique_index_holds_before_it_has_rows(client: Any) -> None:
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1)")
    client.run("BEGIN; CREATE UNIQUE INDEX u ON t (b); SAVEPOINT p")
    assert _fails(client, "INSERT INTO t VALUES (2, 1)") == "23505"
    client.run("ROLLBACK TO p; INSERT INTO t VALUES (2, 2); SAVEPOINT p")
    assert _fails(client, "INSERT INTO t VALUES (3, 2)") == "23505"
    client.run("ROLLBACK TO p; INSERT INTO t VALUES (4, 1) ON CONFLICT (b) DO UPDATE SET b = 9")
    client.run("COMMIT")
    assert sorted(client.run("SELECT * FROM t")) == [(1, 9), (2, 2)]
    assert _fails(client, "INSERT INTO t VALUES (3, 2)") == "23505"


def test_writers_of_an_altered_table_wait(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("CREATE TABLE t (a int)")
    client.run("BEGIN; ALTER TABLE t ADD COLUMN b int DEFAULT 1")
    refused: list[str] = []
    has_tried = threading.Event()

    def write() -> None:  # a thread of its own: locks are a thread's
        other.run("SET lock_timeout = 50")
        refused.append(_fails(other, "INSERT INTO t VALUES (1)"))
        assert other.run("SELECT * FROM t") == []
        other.run("SET lock_timeout = 0")
        has_tried.set()
        other.run("INSERT INTO t VALUES (1)")

    writer = threading.Thread(target=write)
    writer.start()
    assert has_tried.wait(60)
    client.run("COMMIT")
    writer.join(60)
    assert refused == ["55P03"]
    assert client.run("SELECT * FROM t") == [(1, 1)]


def test_a_name_that_another_transaction_has_taken(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("BEGIN; CREATE TABLE t (a int)")
    found: list[str] = []

    def create() -> None:
        other.run("BEGIN")
        found.append(_fails(other, "CREATE TABLE t (a int)"))
        other.run("ROLLBACK")

    waiting = threading.Thread(target=create)
    waiting.start()
    client.run("COMMIT")
    waiting.join(60)
    assert found == ["42P07"]


def test_a_commit_that_others_have_made_impossible_leaves_nothing(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("CREATE TABLE kept (a int)")
    client.run("BEGIN; INSERT INTO kept VALUES (1); CREATE TABLE t (a int); CREATE TABLE u (a int)")
    other.run("CREATE TABLE t (b text)")
    assert _fails(client, "COMMIT") == "42P07"
    assert client.status == b"I"
    assert client.run(RELATIONS) == [("kept",), ("t",)]
    assert client.run("SELECT * FROM kept") == []


def test_what_others_commit_is_seen(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("BEGIN; CREATE TABLE t (a int PRIMARY KEY)")
    other.run("CREATE TABLE u (a int PRIMARY KEY); INSERT INTO u VALUES (1)")
    client.run("CREATE TABLE v (a int REFERENCES t, b int REFERENCES u)")
    client.run("INSERT INTO t VALUES (7); INSERT INTO v SELECT 7, a FROM u")
    client.run("COMMIT")
    assert other.run("SELECT * FROM v") == [(7, 1)]
    assert _fails(other, "DELETE FROM u") == "23503"


def test_prepared_statements_after_a_rollback(client: Any) -> None:
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1); PREPARE p AS SELECT count(*) FROM t")
    client.run("BEGIN; DROP TABLE t; CREATE TABLE t (a int, b int)")
    assert client.run("EXECUTE p") == [(0,)]
    client.run("ROLLBACK")
    assert client.run("EXECUTE p") == [(1,)]
    client.run("CREATE TABLE other (a int)")
    assert client.run("EXECUTE p") == [(1,)]


def test_temporary_tables_go_with_their_transaction(client: Any) -> None:
    client.run("BEGIN; CREATE TEMP TABLE t (a int) ON COMMIT DROP; INSERT INTO t VALUES (1)")
    assert client.run("SELECT * FROM t") == [(1,)]
    client.run("ROLLBACK")
    assert _fails(client, "SELECT * FROM t") == "42P01"
    client.run(
        "BEGIN; CREATE TEMP TABLE t (a int) ON COMMIT DROP; INSERT INTO t VALUES (1); CREATE TABLE k AS SELECT * FROM t"
    )
    client.run("COMMIT")
    assert _fails(client, "SELECT * FROM t") == "42P01"
    assert client.run("SELECT * FROM k") == [(1,)]


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("ALTER SYSTEM SET job_epoch_ms = 5", "25001"),
        ("CREATE DATABASE d", "25001"),
        ("USE dev", "25001"),
        ("VACUUM", "25001"),
        ("CREATE OR REPLACE MATERIALIZED VIEW m AS SELECT 2 AS a", "0A000"),
    ],
)
def test_what_is_refused_in_a_block(client: Any, statement: str, sqlstate: str) -> None:
    client.run("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a")
    client.run("BEGIN; CREATE TABLE t (a int)")
    try:
        client.run(statement)
    except SqlError as error:
        assert error.sqlstate == sqlstate
    else:
        pytest.fail("it was not refused")
    client.run("ROLLBACK")
    assert client.run(RELATIONS) == [("m",)]


def test_many_ids_and_changes(client: Any, database: Database) -> None:
    client.run("BEGIN")
    for number in range(40):
        client.run(f"CREATE TABLE t{number} (a serial PRIMARY KEY, b int UNIQUE); INSERT INTO t{number} (b) VALUES (5)")
    client.run("COMMIT")
    ids = [key for key in database.reads.catalog.relations if key >= 16384]
    assert len(ids) == len(set(ids)) == 120
    assert client.run("SELECT * FROM t39") == [(1, 5)]


def test_others_change_the_schema_between_any_two_statements(client: Any, connect: Any) -> None:
    """Each time the draft is made again. A change that asks who the user is must not have it made again."""
    other = connect()
    client.run("BEGIN")
    statements = (
        "CREATE TABLE made (id INT PRIMARY KEY, t INT)",
        "INSERT INTO made VALUES (1, 5), (2, 25)",
        "CREATE VIEW doubled AS SELECT id, 2 * t AS d FROM made",
        "CREATE INDEX made_t ON made (t)",
        "CREATE TABLE copied AS SELECT id, d FROM doubled",
        "COMMENT ON TABLE made IS 'told'",
        "CREATE SEQUENCE sq",
        "CREATE SCHEMA sc",
        "GRANT SELECT ON made TO PUBLIC",
        "CREATE FUNCTION ff(a int) RETURNS int LANGUAGE sql AS 'select a + 1'",
        "ALTER VIEW doubled RENAME TO renamed",
        "ALTER TABLE made ADD COLUMN w INT UNIQUE",
        "CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM made",
    )
    for number, statement in enumerate(statements):
        client.run(statement)
        other.run(f"CREATE TABLE other{number} (a INT)")
    client.run("COMMIT")
    assert other.run("SELECT * FROM renamed ORDER BY id") == other.run("SELECT * FROM copied ORDER BY id")
    assert other.run("SELECT n, obj_description('made'::regclass), ff(1) FROM m") == [(2, "told", 2)]


def test_an_index_on_a_view_of_the_same_transaction(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("CREATE TABLE t (a int, b int)")
    client.run("INSERT INTO t SELECT x % 100, x FROM generate_series(1, 5000) AS x; FLUSH")
    client.run("BEGIN; CREATE MATERIALIZED VIEW m AS SELECT a, count(*) AS n FROM t GROUP BY a")
    client.run(
        "CREATE INDEX mi ON m (n DESC); COMMENT ON MATERIALIZED VIEW m IS 'counted'; GRANT SELECT ON m TO PUBLIC"
    )
    assert client.run("SELECT count(*) FROM pg_indexes WHERE tablename = 'm'") == [(1,)]
    with pytest.raises(SqlError, match='relation "m" does not exist'):
        other.run("CREATE INDEX ni ON m (a)")
    client.run("COMMIT")
    assert other.run("SELECT a FROM m WHERE n = 50 ORDER BY a") == [(a,) for a in range(100)]
    assert other.run("SELECT count(*), sum(n) FROM mi") == [(100, 5000)]
    other.run("DELETE FROM t WHERE a < 7; INSERT INTO t VALUES (7, 0), (200, 0)")
    assert other.run("SELECT a, n FROM m WHERE n = 51") == [(7, 51)]
    assert sorted(other.run("SELECT a, n FROM mi")) == sorted(other.run("SELECT a, count(*) FROM t GROUP BY a"))


def test_a_view_that_fails_takes_its_index_along(client: Any) -> None:
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (0); FLUSH")
    client.run("BEGIN; CREATE MATERIALIZED VIEW m AS SELECT 1 / a AS q FROM t; CREATE INDEX mi ON m (q); COMMIT")
    assert client.run("SELECT q FROM m WHERE q = 1") == [(1,)]
    client.run("BEGIN; CREATE MATERIALIZED VIEW n AS SELECT a FROM t; CREATE INDEX ni ON n (a); ROLLBACK")
    assert client.run(RELATIONS) == [("m",), ("mi",), ("t",)]
    client.run("BEGIN; CREATE MATERIALIZED VIEW n AS SELECT a FROM t; CREATE INDEX ni ON n (a)")
    client.run("DROP MATERIALIZED VIEW n; COMMIT")
    assert client.run(RELATIONS) == [("m",), ("mi",), ("t",)]


def test_views_over_a_view_of_the_same_transaction(connect: Callable[[], Any]) -> None:
    client, other = connect(), connect()
    client.run("CREATE TABLE t (a int, b int)")
    client.run("INSERT INTO t SELECT x % 100, x FROM generate_series(1, 3000) AS x; FLUSH")
    client.run("BEGIN; CREATE MATERIALIZED VIEW m AS SELECT a, count(*) AS n FROM t GROUP BY a")
    client.run("CREATE VIEW v AS SELECT a, n * 2 AS n FROM m")
    client.run(
        "CREATE MATERIALIZED VIEW o AS SELECT v.n, count(*) AS c, sum(m.a) AS s FROM v JOIN m USING (a) GROUP BY v.n"
    )
    client.run("CREATE INDEX oi ON o (c)")
    assert _fails(client, "SELECT * FROM v") == "42P01"
    client.run("ROLLBACK")
    assert client.run(RELATIONS) == [("t",)]
    client.run("BEGIN; CREATE MATERIALIZED VIEW m AS SELECT a, count(*) AS n FROM t GROUP BY a")
    client.run("CREATE VIEW v AS SELECT a, n * 2 AS n FROM m")
    client.run(
        "CREATE MATERIALIZED VIEW o AS SELECT v.n, count(*) AS c, sum(m.a) AS s FROM v JOIN m USING (a) GROUP BY v.n"
    )
    client.run("CREATE INDEX oi ON o (c); COMMIT")
    assert other.run("SELECT * FROM o WHERE c = 100") == [(60, 100, 4950)]
    other.run("DELETE FROM t WHERE a = 3; UPDATE t SET a = 4 WHERE b = 5")
    expected = "SELECT n, count(*), sum(a) FROM (SELECT a, 2 * count(*) AS n FROM t GROUP BY a) AS x GROUP BY n"
    assert sorted(other.run("SELECT * FROM o")) == sorted(other.run(expected))
