"""A right that goes between a statement's checks and its change: the change is refused, and nothing of it remains."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import pytest

from risingpy.meta.cancellation import Cancelled
from risingpy.meta.database import Database
from risingpy.meta.epochs.graph_changes import GraphChange, TakesChanges
from risingpy.meta.state import MetaState
from tests.frontend.session.conftest import Client
from tests.frontend.session.rights.test_privileges import Users, refused
from tests.frontend.session.rights.test_privileges import users as users


class Between:
    """Changes of the schema, before the next of which something else happens."""

    def __init__(self, changes: TakesChanges) -> None:
        self._changes = changes
        self.happens: Callable[[], object] | None = None

    def apply(self, change: GraphChange, cancelled: Cancelled = None) -> MetaState:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return self._changes.apply(change, cancelled)

    def submit(self, change: GraphChange) -> Future[MetaState]:
        return self._changes.submit(change)


SETUP = """
CREATE SCHEMA s AUTHORIZATION alice; GRANT CREATE ON DATABASE dev TO alice; GRANT CREATE ON SCHEMA public TO bob;
CREATE TABLE other (a int PRIMARY KEY); GRANT SELECT, INSERT, UPDATE, DELETE ON other TO alice;
GRANT USAGE ON LANGUAGE python TO alice; CREATE SECRET hidden WITH (backend = 'meta') AS 'x';
GRANT USAGE ON SECRET hidden TO alice; CREATE USER sam SUPERUSER
"""
OWNED = """
CREATE TABLE s.x (a int); CREATE VIEW v AS SELECT a FROM t; CREATE TABLE nokey (a int);
CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE SECRET own WITH (backend = 'meta') AS 'x'; CREATE SUBSCRIPTION sub FROM t WITH (retention = '1 hour');
CREATE MATERIALIZED VIEW mv AS SELECT a FROM t
"""
NO_CREATE = "REVOKE CREATE ON SCHEMA public FROM alice", "permission denied for schema public"
GIVEN_AWAY = "ALTER TABLE t OWNER TO bob", "must be owner of table t"
VIEW_AWAY = "ALTER VIEW v OWNER TO bob", "must be owner of view v"
FUNCTION_AWAY = "ALTER FUNCTION f(int) OWNER TO bob", "must be owner of function f"
SECRET_AWAY = "ALTER SECRET own OWNER TO bob"
SCHEMA_AWAY = "ALTER SCHEMA s OWNER TO bob", "must be owner of schema s"
PYTHON = "CREATE FUNCTION p(x int) RETURNS int LANGUAGE python AS $$\ndef p(x):\n    return x\n$$"
VALIDATED = "CREATE TABLE made (data jsonb) WITH (connector = 'webhook') VALIDATE SECRET hidden AS true"
RACES = (
    ("CREATE TABLE made (a int)", *NO_CREATE),
    ("CREATE TABLE made AS SELECT a FROM t", *NO_CREATE),
    ("CREATE VIEW made AS SELECT 1 AS a", *NO_CREATE),
    ("CREATE MATERIALIZED VIEW made AS SELECT a FROM t", *NO_CREATE),
    ("CREATE FUNCTION made(x int) RETURNS int LANGUAGE sql AS 'SELECT 1'", *NO_CREATE),
    ("CREATE SINK made FROM t WITH (connector = 'blackhole')", *NO_CREATE),
    ("CREATE SOURCE made (a int) WITH (connector = 'datagen') FORMAT PLAIN ENCODE JSON", *NO_CREATE),
    ("CREATE SUBSCRIPTION made FROM t WITH (retention = '1 hour')", *NO_CREATE),
    ("CREATE INDEX made ON t (b)", *NO_CREATE),
    ("CREATE INDEX made ON t (b)", *GIVEN_AWAY),
    ("CREATE UNIQUE INDEX made ON t (b)", *GIVEN_AWAY),
    ("CREATE SECRET made WITH (backend = 'meta') AS 'x'", *NO_CREATE),
    ("CREATE SCHEMA made", "REVOKE CREATE ON DATABASE dev FROM alice", "permission denied for database dev"),
    (PYTHON, "REVOKE USAGE ON LANGUAGE python FROM alice", "permission denied for language python"),
    ("CREATE TABLE made (a jsonb)", "REVOKE USAGE ON TYPE jsonb FROM PUBLIC", "permission denied for type jsonb"),
    ("CREATE MATERIALIZED VIEW made AS SELECT a FROM other", "REVOKE SELECT ON other FROM alice", "for table other"),
    ("CREATE SINK made AS SELECT a FROM t WITH (connector = 'blackhole')", *NO_CREATE),
    ("CREATE SINK made INTO other AS SELECT a FROM t", "REVOKE INSERT ON other FROM alice", "for table other"),
    ("CREATE SUBSCRIPTION made FROM other WITH (retention = '1h')", "REVOKE SELECT ON other FROM alice", "table other"),
    (VALIDATED, "REVOKE USAGE ON SECRET hidden FROM alice", "permission denied for secret hidden"),
    ("ALTER TABLE t ADD COLUMN c int", *GIVEN_AWAY),
    ("ALTER TABLE t RENAME TO made", *GIVEN_AWAY),
    ("ALTER TABLE t RENAME TO made", *NO_CREATE),
    ("ALTER TABLE t SET SCHEMA s", *GIVEN_AWAY),
    ("ALTER TABLE t OWNER TO alice", *GIVEN_AWAY),
    ("ALTER TABLE nokey ADD PRIMARY KEY (a)", "ALTER TABLE nokey OWNER TO bob", "must be owner of table nokey"),
    ("ALTER TABLE t SWAP WITH nokey", "ALTER TABLE nokey OWNER TO bob", "must be owner of table nokey"),
    ("ALTER SUBSCRIPTION sub SET retention TO '2 hours'", "ALTER SUBSCRIPTION sub OWNER TO bob", "subscription sub"),
    ("ALTER SECRET own WITH (backend = 'meta') AS 'y'", SECRET_AWAY, "for secret own"),
    ("ALTER SCHEMA s RENAME TO made", *SCHEMA_AWAY),
    ("CREATE OR REPLACE VIEW v AS SELECT a FROM t WHERE a > 0", *VIEW_AWAY),
    ("CREATE OR REPLACE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT 2'", *FUNCTION_AWAY),
    ("DROP TABLE nokey", "ALTER TABLE nokey OWNER TO bob", "must be owner of table nokey"),
    ("DROP VIEW v", *VIEW_AWAY),
    ("DROP MATERIALIZED VIEW mv", "ALTER MATERIALIZED VIEW mv OWNER TO bob", "must be owner of materialized view mv"),
    ("DROP FUNCTION f(int)", *FUNCTION_AWAY),
    ("DROP SECRET own", SECRET_AWAY, "must be owner of secret own"),
    ("DROP SCHEMA s CASCADE", *SCHEMA_AWAY),
)


@pytest.fixture
def between(database: Database, users: Users, client: Client, monkeypatch: pytest.MonkeyPatch) -> Between:
    client.run(SETUP)
    users["alice"].run(OWNED)
    context = users["alice"].session.context
    watched = Between(context.database.ddl._changes)
    monkeypatch.setattr(context.database.ddl, "_changes", watched)
    return watched


def test_what_is_revoked_before_the_change(users: Users, client: Client, between: Between) -> None:
    def state() -> object:
        catalog = client.session.context.database.reads.catalog
        return [catalog.own_relations, catalog.own_functions, catalog.own_secrets, catalog.schemas]

    undo = {"t": "TABLE", "v": "VIEW", "nokey": "TABLE", "sub": "SUBSCRIPTION", "mv": "MATERIALIZED VIEW"}
    wrong = []
    for sql, action, message in RACES:
        after: list[object] = []

        def happens(action: str = action, after: list[object] = after) -> None:
            client.run(action)
            after.append(state())

        between.happens = happens
        try:
            code, said = refused(users["alice"], sql)
        except BaseException as error:  # it was done
            code, said = "00000", str(error)
        if code != "42501" or not said.endswith(message) or after != [state()]:
            wrong.append((sql, action, code, said, len(after)))
        for name, kind in undo.items():
            client.run(f"ALTER {kind} {name} OWNER TO alice")
        client.run("GRANT CREATE ON SCHEMA public TO alice; GRANT CREATE ON DATABASE dev TO alice")
        client.run("ALTER FUNCTION f(int) OWNER TO alice; ALTER SECRET own OWNER TO alice")
        client.run("ALTER SCHEMA s OWNER TO alice; GRANT USAGE ON LANGUAGE python TO alice")
        client.run("GRANT SELECT, INSERT, UPDATE, DELETE ON other TO alice; GRANT USAGE ON TYPE jsonb TO PUBLIC")
        client.run("GRANT USAGE ON SECRET hidden TO alice")
    assert not wrong, "\n".join(map(str, wrong))


def test_a_superuser_who_is_none_any_more(users: Users, client: Client, between: Between) -> None:
    sam = users["sam"]
    sam.session.context.database.ddl._changes = between
    between.happens = lambda: client.run("ALTER USER sam NOSUPERUSER")
    assert refused(sam, "DROP VIEW v") == ("42501", "must be owner of view v")


def test_a_statement_does_not_ask_what_an_earlier_one_did(users: Users, client: Client, between: Between) -> None:
    alice = users["alice"]
    assert refused(alice, "DROP TABLE other") == ("42501", "must be owner of table other")
    alice.run("PREPARE made AS SELECT a FROM t; EXECUTE made; ALTER TABLE t RENAME TO t2")
    client.run("ALTER TABLE t2 OWNER TO bob; REVOKE SELECT ON t2 FROM alice")
    alice.run("CREATE TABLE made (a int)")
    assert refused(alice, "ALTER TABLE t2 RENAME TO t") == ("42501", "must be owner of table t2")
