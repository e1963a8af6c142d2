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


@pytest.mark.parametrize(
    ("action", "notice"),
    [
        ("SET (fillfactor = 70, autovacuum_enabled = off)", "SET (fillfactor, autovacuum_enabled)"),
        ("SET (toast.autovacuum_enabled = off)", "SET (toast.autovacuum_enabled)"),
        ("RESET (fillfactor, toast.autovacuum_enabled)", "RESET (fillfactor, toast.autovacuum_enabled)"),
        ("ALTER COLUMN n SET STATISTICS 100", "SET STATISTICS 100"),
        ("ALTER n SET STATISTICS -1", "SET STATISTICS -1"),
        ("ALTER COLUMN n SET STORAGE EXTERNAL", "SET STORAGE EXTERNAL"),
        ("ALTER COLUMN n SET COMPRESSION pglz", "SET COMPRESSION pglz"),
        ("CLUSTER ON t_pkey", "CLUSTER ON t_pkey"),
        ("SET WITHOUT CLUSTER", "SET WITHOUT CLUSTER"),
        ("SET UNLOGGED", "SET UNLOGGED"),
    ],
)
def test_alterations_of_rows_on_disk_have_no_effect(table: Client, action: str, notice: str) -> None:
    assert table.run(f"ALTER TABLE t {action}") == []
    assert table.notices == [f"{notice} has no effect here"]
    table.run(f"ALTER TABLE t {action}, ADD COLUMN more int DEFAULT 5")
    assert table.run("SELECT DISTINCT more FROM t") == [(5,)]


@pytest.mark.parametrize(
    ("action", "sqlstate", "at"),
    [
        ("ALTER nosuch SET STATISTICS 5", "42703", "nosuch"),
        ("ALTER n SET STORAGE sideways", "42601", "sideways"),
        ("SET (fillfactor = 70, sideways = 1)", "0A000", "sideways"),
        ("SET (fillfactor = 70, ttl = '1 day')", "0A000", "ttl"),
        ("RESET (sideways)", "0A000", "sideways"),
    ],
)
def test_mistakes_in_such_alterations(table: Client, action: str, sqlstate: str, at: str) -> None:
    statement = f"ALTER TABLE t {action}"
    with pytest.raises(SqlError) as error:
        table.run(statement)
    assert (error.value.sqlstate, error.value.position) == (sqlstate, statement.rindex(at) + 1)


def test_indexes_are_made_and_dropped_concurrently(table: Client) -> None:
    table.run("CREATE INDEX CONCURRENTLY plain ON t (n)")
    table.run("CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS single ON t (id, n)")
    definitions = table.run("SELECT definition FROM rw_catalog.rw_indexes ORDER BY name")
    assert definitions == [
        ("CREATE INDEX plain ON public.t USING btree (n)",),
        ("CREATE UNIQUE INDEX single ON public.t USING btree (id, n)",),
    ]
    table.run("DROP INDEX CONCURRENTLY plain")
    table.run("DROP INDEX CONCURRENTLY IF EXISTS plain")
    for statement in ("CREATE INDEX CONCURRENTLY i ON t (n)", "DROP INDEX CONCURRENTLY single"):
        with pytest.raises(SqlError, match="cannot run inside a transaction block") as error:
            table.run(f"BEGIN; {statement}")
        assert error.value.sqlstate == "25001"
        table.run("ROLLBACK")
    for statement in ("DROP INDEX CONCURRENTLY single, single", "DROP INDEX CONCURRENTLY single CASCADE"):
        with pytest.raises(SqlError) as error:
            table.run(statement)
        assert error.value.sqlstate == "0A000"
