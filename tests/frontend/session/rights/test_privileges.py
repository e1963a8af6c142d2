"""GRANT, REVOKE and what they decide; the wording is PostgreSQL 15's. `test_matrix.py` compares all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client


class Users:
    """Sessions of several users, by name."""

    def __init__(self, database: Database, root: Client) -> None:
        self._database = database
        self._known = {"root": root}

    def __getitem__(self, name: str) -> Client:
        if name not in self._known:
            session = open_session(self._database, StartupParameters(name, "dev", {}, 100 + len(self._known)))
            self._known[name] = Client(session)
        return self._known[name]

    def close(self) -> None:
        for name, client in self._known.items():
            if name != "root":
                client.session.close()


@pytest.fixture
def users(database: Database, client: Client) -> Iterator[Users]:
    client.run("CREATE USER alice; CREATE USER bob; CREATE USER carol; CREATE ROLE team; GRANT team TO carol")
    client.run("GRANT CREATE ON SCHEMA public TO alice")
    made = Users(database, client)
    made["alice"].run("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 10)")
    yield made
    made.close()


def refused(client: Client, sql: str) -> tuple[str, str]:
    with pytest.raises(SqlError) as raised:
        client.run(sql)
    return raised.value.sqlstate, raised.value.message


DENIED = "42501", "permission denied for table t"


def test_nobody_but_the_owner_has_rights_on_a_new_table(users: Users) -> None:
    for sql in (
        "SELECT * FROM t",
        "SELECT count(*) FROM t",
        "TABLE t",
        "INSERT INTO t VALUES (2, 2)",
        "INSERT INTO t DEFAULT VALUES",
        "UPDATE t SET b = 1",
        "DELETE FROM t",
        "TRUNCATE t",
        "MERGE INTO t USING (VALUES (1)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE",
        "COPY t TO STDOUT",
        "COPY t FROM STDIN",
        "COPY (SELECT a FROM t) TO STDOUT",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "BEGIN; DECLARE c CURSOR FOR SELECT * FROM t",
        "PREPARE p AS SELECT * FROM t; EXECUTE p",
        "WITH w AS (SELECT a FROM t) SELECT 1 FROM w",
        "SELECT 1 WHERE EXISTS (SELECT FROM t)",
        "SUBSCRIBE TO t",
    ):
        assert refused(users["bob"], sql) == DENIED, sql
        users["bob"].session.sync()
        users["bob"].run("ROLLBACK")
    for sql in (
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN c int",
        "ALTER TABLE t RENAME TO u",
        "CREATE INDEX i ON t (b)",
    ):
        assert refused(users["bob"], sql) == ("42501", "must be owner of table t"), sql
    assert users["root"].run("SELECT * FROM t") == [(1, 10)]
    assert users["alice"].run("SELECT * FROM t") == [(1, 10)]


def test_a_prepared_plan_is_checked_again_after_a_revoke(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("GRANT SELECT ON t TO bob")
    assert alice.tag == "GRANT"
    bob.run("PREPARE p AS SELECT b FROM t WHERE a = $1")
    for _ in range(3):
        assert bob.run("SELECT b FROM t WHERE a = 1") == [(10,)]
        assert bob.run("EXECUTE p (1)") == [(10,)]
    alice.run("REVOKE SELECT ON t FROM bob")
    for _ in range(3):
        assert refused(bob, "SELECT b FROM t WHERE a = 1") == DENIED
        assert refused(bob, "EXECUTE p (1)") == DENIED


def test_columns(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("GRANT SELECT (a), INSERT (a), UPDATE (b) ON t TO bob")
    assert bob.run("SELECT a FROM t") == [(1,)]
    assert bob.run("SELECT count(*) FROM t") == [(1,)]
    bob.run("INSERT INTO t (a) VALUES (2)")
    bob.run("UPDATE t SET b = 5 WHERE a = 2")
    for sql in (
        "SELECT * FROM t",
        "SELECT b FROM t",
        "SELECT a FROM t WHERE b = 1",
        "SELECT a FROM t ORDER BY b",
        "SELECT x.a FROM t x JOIN t y USING (a, b)",
        "INSERT INTO t VALUES (3, 3)",
        "INSERT INTO t (a) VALUES (3) RETURNING b",
        "UPDATE t SET a = 3",
        "UPDATE t SET b = b + 1",
        "COPY t TO STDOUT",
        "COPY t (b) TO STDOUT",
    ):
        assert refused(bob, sql) == DENIED, sql
    alice.run("REVOKE SELECT ON t FROM bob")
    assert refused(bob, "SELECT a FROM t") == DENIED


def test_views_read_with_their_owners_rights(users: Users) -> None:
    alice, bob, root = users["alice"], users["bob"], users["root"]
    alice.run("CREATE VIEW v AS SELECT a FROM t; CREATE VIEW w AS SELECT a, current_user AS u FROM v")
    alice.run("GRANT SELECT ON w TO bob")
    assert bob.run("SELECT * FROM w") == [(1, "bob")]
    assert refused(bob, "SELECT * FROM v") == ("42501", "permission denied for view v")
    alice.run("REVOKE SELECT ON v FROM alice")
    assert refused(bob, "SELECT * FROM w") == ("42501", "permission denied for view v")
    assert refused(root, "SELECT * FROM w") == ("42501", "permission denied for view v")
    root.run("GRANT CREATE ON SCHEMA public TO bob")
    bob.run("CREATE VIEW mine AS SELECT b FROM t")  # as in PostgreSQL, it is refused when somebody reads it
    assert refused(bob, "SELECT * FROM mine") == DENIED
    alice.run("GRANT SELECT (b) ON t TO bob")
    assert bob.run("SELECT * FROM mine") == [(10,)]


def test_schemas(users: Users) -> None:
    root, alice, bob = users["root"], users["alice"], users["bob"]
    assert refused(bob, "CREATE TABLE x (a int)") == ("42501", "permission denied for schema public")
    assert refused(bob, "CREATE SCHEMA s") == ("42501", "permission denied for database dev")
    root.run("CREATE SCHEMA s; CREATE TABLE s.x (a int); GRANT SELECT ON s.x TO bob; GRANT CREATE ON SCHEMA s TO alice")
    assert refused(bob, "SELECT * FROM s.x") == ("42501", "permission denied for schema s")
    bob.run("SET search_path = s, public")
    assert refused(bob, "SELECT * FROM x")[0] == "42P01"
    root.run("GRANT USAGE ON SCHEMA s TO PUBLIC")
    assert bob.run("SELECT * FROM x") == []
    alice.run("CREATE MATERIALIZED VIEW s.m AS SELECT a FROM t")
    assert refused(bob, "SELECT * FROM s.m") == ("42501", "permission denied for materialized view m")
    assert refused(bob, "DROP SCHEMA s") == ("42501", "must be owner of schema s")


def test_grant_options(users: Users) -> None:
    alice, bob, carol = users["alice"], users["bob"], users["carol"]
    alice.run("GRANT SELECT ON t TO bob WITH GRANT OPTION")
    bob.run("GRANT SELECT ON t TO team")
    assert carol.run("SELECT a FROM t") == [(1,)]
    carol.run("GRANT SELECT ON t TO PUBLIC")
    assert (carol.notices, carol.notice_states) == (['no privileges were granted for "t"'], ["01007"])
    bob.run("GRANT ALL ON t TO carol")
    assert bob.notices == []
    bob.run("GRANT SELECT, INSERT ON t TO carol")
    assert bob.notices == ['not all privileges were granted for "t"']
    assert refused(alice, "REVOKE SELECT ON t FROM bob") == ("2BP01", "dependent privileges exist")
    assert refused(alice, "GRANT SELECT ON t TO PUBLIC WITH GRANT OPTION")[0] == "0LP01"
    alice.run("REVOKE GRANT OPTION FOR SELECT ON t FROM bob CASCADE")
    assert bob.run("SELECT a FROM t") == [(1,)]
    assert refused(carol, "SELECT a FROM t") == DENIED
    assert refused(carol, "GRANT SELECT ON t TO bob") == DENIED


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("GRANT SELECT ON nosuch TO bob", "42P01", 'relation "nosuch" does not exist'),
        ("GRANT SELECT ON t TO nosuch", "42704", 'role "nosuch" does not exist'),
        ("GRANT SELECT (c) ON t TO bob", "42703", 'column "c" of relation "t" does not exist'),
        ("GRANT EXECUTE ON t TO bob", "0LP01", "invalid privilege type EXECUTE for relation"),
        ("GRANT USAGE ON t TO bob", "0LP01", "invalid privilege type USAGE for table"),
        ("GRANT DELETE (a) ON t TO bob", "0LP01", "invalid privilege type DELETE for column"),
        ("GRANT nonsense ON t TO bob", "42601", 'unrecognized privilege type "nonsense"'),
        ("GRANT SELECT ON SCHEMA public TO bob", "0LP01", "invalid privilege type SELECT for schema"),
        ("GRANT USAGE ON SCHEMA nosuch TO bob", "3F000", 'schema "nosuch" does not exist'),
        ("GRANT CONNECT ON DATABASE nosuch TO bob", "3D000", 'database "nosuch" does not exist'),
        ("GRANT SELECT ON SOURCE t TO bob", "42809", '"t" is not a source'),
        ("GRANT EXECUTE ON FUNCTION f(int) TO bob", "42883", "function f(integer) does not exist"),
        ("GRANT USAGE ON SECRET s TO bob", "42704", 'secret "s" does not exist'),
        ("GRANT SELECT ON t TO bob GRANTED BY alice", "0A000", "grantor must be current user"),
    ],
)
def test_mistakes(users: Users, sql: str, sqlstate: str, message: str) -> None:
    assert refused(users["root"], sql) == (sqlstate, message)


def test_default_privileges_and_all_in_schema(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    alice.run("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO bob")
    assert alice.tag == "ALTER DEFAULT PRIVILEGES"
    alice.run("CREATE TABLE u (a int)")
    assert bob.run("SELECT * FROM u") == []
    assert refused(bob, "SELECT * FROM t") == DENIED
    alice.run("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
    alice.run("CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    assert refused(bob, "SELECT f(1)") == ("42501", "permission denied for function f")
    alice.run("GRANT EXECUTE ON FUNCTION f(int) TO bob; GRANT SELECT ON ALL TABLES IN SCHEMA public TO bob")
    assert bob.run("SELECT f(a) FROM t") == [(2,)]


def test_a_state_table_has_no_rights_of_its_own(users: Users) -> None:
    alice = users["alice"]
    alice.run("CREATE MATERIALIZED VIEW mv AS SELECT b, count(*) AS n FROM t GROUP BY b")
    [(name,), *_] = alice.run("SELECT name FROM rw_catalog.rw_internal_tables")
    for verb in ("GRANT SELECT ON {} TO bob", "REVOKE SELECT ON {} FROM bob", "GRANT ALL ON TABLE t, {} TO bob"):
        assert refused(users["root"], verb.format(name)) == ("42809", f'"{name}" is an internal table')


def test_foreign_keys(users: Users) -> None:
    alice, bob = users["alice"], users["bob"]
    users["root"].run("GRANT CREATE ON SCHEMA public TO bob")
    for sql in ("CREATE TABLE r (x int REFERENCES t)", "CREATE TABLE r (x int, FOREIGN KEY (x) REFERENCES t (a))"):
        assert refused(bob, sql) == DENIED
    bob.run("CREATE TABLE r (x int)")
    assert refused(bob, "ALTER TABLE r ADD FOREIGN KEY (x) REFERENCES t (a)") == DENIED
    alice.run("GRANT REFERENCES (a) ON t TO bob")
    bob.run("ALTER TABLE r ADD FOREIGN KEY (x) REFERENCES t (a)")
    bob.run("INSERT INTO r VALUES (1)")  # the check itself reads t, and needs no right
    assert refused(bob, "INSERT INTO r VALUES (7)")[0] == "23503"


def test_a_role_with_privileges_is_not_dropped(users: Users) -> None:
    root, alice = users["root"], users["alice"]
    alice.run("GRANT SELECT ON t TO bob; GRANT UPDATE (a) ON t TO bob")
    with pytest.raises(SqlError) as raised:
        root.run("DROP ROLE bob")
    assert raised.value.sqlstate == "2BP01"
    assert raised.value.detail == "privileges for table t\nprivileges for column a of table t"
    root.run("DROP OWNED BY bob; DROP ROLE bob")
    root.run("REASSIGN OWNED BY alice TO carol")
    assert users["carol"].run("SELECT a FROM t") == [(1,)]
    assert refused(alice, "SELECT a FROM t") == DENIED


def test_rights_survive_a_restart(tmp_path: Path) -> None:
    opened = Database(tmp_path / "own", parallelism=2)
    opened.start(InProcessRunner(opened.data_dir))
    root = Client(open_session(opened, StartupParameters("root", "dev", {}, 1)))
    root.run("CREATE USER bob; CREATE TABLE t (a int); GRANT SELECT (a), UPDATE ON t TO bob WITH GRANT OPTION")
    root.run("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO bob; REVOKE USAGE ON SCHEMA public FROM PUBLIC")
    root.run("GRANT USAGE ON LANGUAGE python TO bob; REVOKE USAGE ON TYPE jsonb FROM PUBLIC")
    root.run("GRANT SET ON PARAMETER log_statement TO bob; GRANT CREATE ON TABLESPACE pg_default TO bob")
    root.session.close()
    before = opened.reads.catalog
    opened.close()
    again = Database(tmp_path / "own", parallelism=2)
    after = again.reads.catalog
    again.close()
    assert after.relations == before.relations
    assert after.own_database == before.own_database
    assert after.own_database.default_acls
    assert after.own_database.schema_acls
    assert set(after.own_database.language_acls) == {"python"}
    assert set(after.own_database.type_acls) == {"jsonb"}
    assert after.server_acls == before.server_acls
    assert set(after.server_acls.parameters) == {"log_statement"}
    assert set(after.server_acls.tablespaces) == {"pg_default"}
