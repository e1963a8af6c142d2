"""VACUUM and its like say that they do nothing; LOCK TABLE keeps other writers away."""

from __future__ import annotations

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client


@pytest.mark.parametrize(
    ("statement", "tag"),
    [
        ("VACUUM t", "VACUUM"),
        ("vacuum analyze t", "VACUUM"),
        ("ANALYZE (VERBOSE ON) t (id)", "ANALYZE"),
        ("CHECKPOINT", "CHECKPOINT"),
        ("CLUSTER", "CLUSTER"),
        ("CLUSTER t USING whatever", "CLUSTER"),
        ("REINDEX (VERBOSE) TABLE CONCURRENTLY t", "REINDEX"),
        ("REINDEX DATABASE dev", "REINDEX"),
        ("REFRESH MATERIALIZED VIEW CONCURRENTLY mv WITH DATA", "REFRESH MATERIALIZED VIEW"),
    ],
)
def test_a_notice_says_why_there_is_nothing_to_do(table: Client, statement: str, tag: str) -> None:
    table.run("CREATE MATERIALIZED VIEW mv AS SELECT count(*) AS c FROM t")
    assert table.run(statement) == []
    assert table.tag == tag
    assert f"{tag} has nothing to do here: " in table.notices[-1]
    assert table.run("SELECT c FROM mv") == [(2,)]


@pytest.mark.parametrize(
    ("statement", "sqlstate", "at"),
    [
        ("VACUUM nosuch", "42P01", "nosuch"),
        ("ANALYZE t (nosuch)", "42703", "nosuch"),
        ("VACUUM (SIDEWAYS) t", "42601", "SIDEWAYS"),
        ("REFRESH MATERIALIZED VIEW t", "42809", "t"),
        ("REFRESH MATERIALIZED VIEW nosuch", "42P01", "nosuch"),
        ("REFRESH MATERIALIZED VIEW mv WITH NO DATA", "0A000", "DATA"),
        ("LOCK TABLE t", "25P01", None),
        ("LOCK TABLE mv", "42809", "mv"),
        ("LOCK TABLE t IN SIDEWAYS MODE", "42601", "SIDEWAYS"),
        ("BEGIN; VACUUM t", "25001", None),
        ("CREATE INDEX i ON t (n) WITH (sideways = 1)", "22023", "(sideways"),
    ],
)
def test_mistakes(table: Client, statement: str, sqlstate: str, at: str | None) -> None:
    table.run("CREATE MATERIALIZED VIEW mv AS SELECT count(*) AS c FROM t")
    with pytest.raises(SqlError) as error:
        table.run(statement)
    assert error.value.sqlstate == sqlstate
    assert error.value.position == (None if at is None else statement.rindex(at) + 1)


def test_storage_parameters_have_no_effect(client: Client) -> None:
    client.run("CREATE TABLE f (id int) WITH (fillfactor = 100, toast.autovacuum_enabled = false)")
    client.run("CREATE INDEX f_id ON f (id) WITH (fillfactor = 70)")
    assert client.notices == [
        f'storage parameter "{name}" has no effect here'
        for name in ("fillfactor", "toast.autovacuum_enabled", "fillfactor")
    ]
    with pytest.raises(SqlError, match="a source needs the option connector"):
        client.run("CREATE TABLE g (id int) WITH (fillfactor = 100, topic = 'x')")


def test_a_locked_table_has_one_writer(server: WireServer) -> None:
    def connect() -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)

    with connect() as one, connect() as two:
        one.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
        one.execute("CREATE VIEW plain AS SELECT * FROM t")
        two.execute("SET lock_timeout = '200ms'")
        for mode, may_write in (("SHARE", False), ("", False), ("ROW EXCLUSIVE", True), ("ACCESS SHARE", True)):
            one.execute("BEGIN")
            one.execute(f"LOCK TABLE t, plain {f'IN {mode} MODE' if mode else ''}".encode())
            assert two.execute("SELECT count(*) FROM t").fetchone() is not None  # readers do not wait
            if may_write:
                two.execute("INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING")
            else:
                with pytest.raises(psycopg.errors.LockNotAvailable, match="lock timeout"):
                    two.execute("INSERT INTO t VALUES (1, 1)")
                two.execute("BEGIN")
                with pytest.raises(psycopg.errors.LockNotAvailable, match='could not obtain lock on relation "t"'):
                    two.execute("LOCK TABLE t NOWAIT")
                two.execute("ROLLBACK")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                two.execute("ALTER TABLE t ADD COLUMN w int")
            one.execute("COMMIT")
        two.execute("BEGIN")
        two.execute("LOCK TABLE ONLY t * NOWAIT")
        two.execute("COMMIT")
