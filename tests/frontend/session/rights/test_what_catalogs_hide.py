"""Who has no rights finds no secret, no row and no path in any relation of the catalogs, nor in any SHOW.

Every place that can hold one has the marker: passwords, secrets, rows of tables, of state tables and of bad messages,
texts of failures, statements of others. What PostgreSQL shows to everybody (definitions, defaults) has none.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import AdminShutdown, SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.system_catalog.registry import RELATIONS
from risingpy.meta.database import Database
from tests.frontend.session.conftest import Client
from tests.frontend.session.rights.test_privileges import Users, refused
from tests.frontend.session.rights.test_privileges import users as users

MARKER = "hunter2"
SHOWN = (
    *("SHOW ALL", "SHOW PARAMETERS", "SHOW JOBS", "SHOW TABLES", "SHOW SOURCES", "SHOW SINKS", "SHOW SUBSCRIPTIONS"),
    *(
        "SHOW SECRETS",
        "SHOW CONNECTIONS",
        "SHOW FUNCTIONS",
        "SHOW INTERNAL TABLES",
        "SHOW VIEWS",
        "SHOW INDEXES FROM t",
    ),
    *("SHOW CREATE TABLE t", "SHOW CREATE SOURCE src", "SHOW CREATE SINK snk", "SHOW CREATE TABLE hook"),
    *("SHOW CREATE SUBSCRIPTION sub", "DESCRIBE t", "DESCRIBE src"),
)
PROTECTED = ("pg_authid", "pg_shadow", "rw_definitions")


@pytest.fixture
def marked(users: Users, tmp_path: Path) -> Users:
    """The marker is in every place."""
    alice, root = users["alice"], users["root"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.jsonl").write_text('{"a": 1}\n{"a": "' + MARKER + '"}\n')
    root.run(f"ALTER USER alice PASSWORD '{MARKER}'; ALTER USER carol PASSWORD '{MARKER}carol'")
    root.run(f"CREATE SECRET sec WITH (backend = 'meta') AS '{MARKER}'")
    root.run(
        f"CREATE SOURCE src (a int) WITH (connector = 'posix_fs', posix_fs.root = '{tmp_path / 'in'}', "
        "match_pattern = '*.jsonl') FORMAT PLAIN ENCODE JSON"
    )
    root.run("CREATE MATERIALIZED VIEW from_src AS SELECT a FROM src")
    root.run(
        "CREATE TABLE hook (data jsonb) WITH (connector = 'webhook') VALIDATE SECRET sec AS "
        "secure_compare(headers->>'authorization', sec)"
    )
    alice.run(f"CREATE TABLE rows (k varchar PRIMARY KEY, g int); INSERT INTO rows VALUES ('{MARKER}', 1)")
    alice.run("CREATE MATERIALIZED VIEW groups AS SELECT g, count(*) AS n, max(k) < 'a' AS low FROM rows GROUP BY g")
    alice.run("CREATE SUBSCRIPTION sub FROM rows WITH (retention = '1 day')")
    alice.run("CREATE SINK snk FROM rows WITH (connector = 'blackhole', type = 'upsert', primary_key = 'k')")
    alice.run(f"SELECT '{MARKER}'")  # stays the text of its last statement
    end = time.monotonic() + 30
    while MARKER not in str(root.run("SELECT * FROM rw_source_errors")):
        assert time.monotonic() < end
        time.sleep(0.02)
    return users


def everything(client: Client) -> Iterator[tuple[str, str]]:
    """What a client sees of each relation and each SHOW, errors too."""
    named = (f"SELECT * FROM {schema}.{name}" for schema, name in sorted(RELATIONS) if name not in PROTECTED)
    for sql in (*named, *SHOWN):
        yield sql, str(client.run(sql))
    for name in [row[0] for row in client.run("SHOW INTERNAL TABLES")]:
        try:
            yield f"SELECT * FROM {name}", str(client.run(f'SELECT * FROM "{name}"'))
        except SqlError as error:
            yield f"SELECT * FROM {name}", error.sqlstate


def test_no_marker_is_anywhere(marked: Users, database: Database) -> None:
    hidden = MARKER, str(database.data_dir)
    for sql, seen in everything(marked["bob"]):
        assert not [each for each in hidden if each in seen], (sql, seen)
    to_root = [sql for sql, seen in everything(marked["root"]) if any(each in seen for each in hidden)]
    assert {"SELECT * FROM rw_catalog.rw_source_errors", "SHOW PARAMETERS"} <= set(to_root)  # it was there
    assert [sql for sql in to_root if "__internal_groups" in sql]
    for name in PROTECTED:
        assert refused(marked["bob"], f"SELECT * FROM {name}")[0] == "42501"


def test_a_reader_of_a_view_does_not_read_its_state(marked: Users) -> None:
    alice, bob = marked["alice"], marked["bob"]
    alice.run("GRANT ALL ON groups TO bob")
    assert bob.run("SELECT g, n FROM groups") == [(1, 1)]
    states = [str(row[0]) for row in bob.run("SHOW INTERNAL TABLES") if "__internal_groups" in str(row[0])]
    for state in states:
        assert refused(bob, f'SELECT * FROM "{state}"') == ("42501", f"permission denied for internal table {state}")
    assert any(MARKER in str(alice.run(f'SELECT * FROM "{state}"')) for state in states)


def test_the_errors_of_a_source_are_for_its_readers(marked: Users) -> None:
    bob, root = marked["bob"], marked["root"]
    errors = "SELECT reason, message FROM rw_source_errors"
    assert bob.run(errors) == [("<insufficient privilege>", None)]
    root.run("GRANT SELECT ON src TO bob")
    assert MARKER in str(bob.run(errors))


def test_a_digest_is_for_readers(marked: Users) -> None:
    alice, bob = marked["alice"], marked["bob"]
    digest = "SELECT digest FROM rw_table_stats WHERE id = 't'::regclass::int"
    assert bob.run(digest) == [(None,)]
    alice.run("GRANT SELECT ON t TO bob")
    assert bob.run(digest) == alice.run(digest) != [(None,)]


def test_what_needs_a_right_beside_queries(marked: Users) -> None:
    bob, root = marked["bob"], marked["root"]
    for sql, message in (
        ("WAIT SINK snk", "permission denied for sink snk"),
        ("EXPLAIN ANALYZE MATERIALIZED VIEW groups", "permission denied for materialized view groups"),
        ("RECOVER MATERIALIZED VIEW groups", "must be owner of materialized view groups"),
        ("CHECKPOINT", "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT"),
    ):
        assert refused(bob, sql) == ("42501", message)
    root.run("GRANT SELECT ON snk, groups TO bob; GRANT pg_checkpoint, pg_read_all_settings TO bob")
    bob.run("WAIT SINK snk; CHECKPOINT; FLUSH")
    assert bob.run("EXPLAIN ANALYZE MATERIALIZED VIEW groups")
    assert "data_directory" in str(bob.run("SHOW PARAMETERS"))


class Connection:
    """Counts what it is sent."""

    def __init__(self) -> None:
        self.got: list[str] = []

    def cancel(self) -> None:
        self.got.append("cancel")

    def terminate(self, reason: SqlError) -> None:
        assert isinstance(reason, AdminShutdown)
        self.got.append("terminate")

    def notified(self) -> None:
        self.got.append("notified")


def test_signals_as_in_postgres(database: Database, users: Users) -> None:
    connections = {name: Connection() for name in ("root", "alice", "bob")}
    opened = [
        open_session(database, StartupParameters(name, "dev", {}, 500 + number, backend=connection))
        for number, (name, connection) in enumerate(connections.items())
    ]
    bob, root = users["bob"], users["root"]
    of_others = "must be a member of the role whose {} or member of pg_signal_backend"
    assert refused(bob, "SELECT pg_cancel_backend(500)") == ("42501", "must be a superuser to cancel superuser query")
    terminate = "must be a superuser to terminate superuser process"
    assert refused(bob, "SELECT pg_terminate_backend(500)") == ("42501", terminate)
    assert refused(bob, "SELECT pg_cancel_backend(501)") == ("42501", of_others.format("query is being canceled"))
    assert refused(bob, "SELECT pg_terminate_backend(501)")[1] == of_others.format("process is being terminated")
    assert bob.run("SELECT pg_cancel_backend(502), pg_cancel_backend(503)") == [(True, False)]  # 503: there is none
    root.run("GRANT pg_signal_backend TO bob")
    assert bob.run("SELECT pg_terminate_backend(501)") == [(True,)]
    assert refused(bob, "SELECT pg_cancel_backend(500)")[0] == "42501"
    assert root.run("SELECT pg_cancel_backend(500)") == [(True,)]
    assert [each.got for each in connections.values()] == [["cancel"], ["terminate"], ["cancel"]]
    for session in opened:
        session.close()


def test_information_schema_shows_what_one_may_do_something_with(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("CREATE VIEW v AS SELECT a FROM t; CREATE TABLE x (c int DEFAULT 7)")
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
    columns = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1"
    views = "SELECT table_name, view_definition FROM information_schema.views"
    assert (bob.run(tables), bob.run(columns), bob.run(views)) == ([], [], [])
    alice.run("GRANT UPDATE (b) ON t TO bob; GRANT DELETE ON v TO bob")
    assert bob.run(tables) == [("t",), ("v",)]
    assert bob.run(columns) == [("t", "b")]  # as in PostgreSQL: nobody deletes a column
    assert bob.run(views) == [("v", None)]
    assert alice.run(tables) == users["root"].run(tables) == [("t",), ("v",), ("x",)]
    assert alice.run(views) == [("v", " SELECT t.a\n   FROM t;")]


def test_lists_of_rights_in_rw_catalog(users: Users) -> None:
    alice, root = users["alice"], users["root"]
    alice.run("CREATE VIEW v AS SELECT a FROM t; CREATE SUBSCRIPTION s FROM t WITH (retention = '1 day')")
    root.run("CREATE SECRET sec WITH (backend = 'meta') AS 'x'; GRANT USAGE ON SECRET sec TO bob")
    alice.run("GRANT SELECT ON t, v, s TO bob WITH GRANT OPTION")
    of_all, of_bob = "alice=arwdDxt/alice", "bob=r*/alice"
    for relation, name in (("rw_tables", "t"), ("rw_views", "v"), ("rw_subscriptions", "s"), ("rw_relations", "t")):
        assert root.run(f"SELECT acl FROM {relation} WHERE name = '{name}'") == [([of_all, of_bob],)], relation
    assert root.run("SELECT acl FROM rw_secrets") == [(["root=U/root", "bob=U/root"],)]
