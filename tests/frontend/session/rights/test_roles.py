"""Users, groups and memberships, and whose objects are whose; the wording is PostgreSQL 15's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.shown_text import shown_text, shown_unparsed
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client


def refused(client: Client, sql: str) -> tuple[str, str]:
    with pytest.raises(SqlError) as raised:
        client.run(sql)
    return raised.value.sqlstate, raised.value.message


ATTRIBUTES = (
    "SELECT rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolconnlimit, rolvaliduntil::text"
    " FROM pg_roles WHERE rolname = 'r'"
)


@pytest.mark.parametrize(
    ("sql", "attributes"),
    [
        ("CREATE ROLE r", (False, True, False, False, False, -1, None)),
        ("CREATE USER r", (False, True, False, False, True, -1, None)),
        ("CREATE GROUP r NOINHERIT", (False, False, False, False, False, -1, None)),
        ("CREATE USER r WITH SUPERUSER NOLOGIN CONNECTION LIMIT 3", (True, True, False, False, False, 3, None)),
        ("CREATE ROLE r CREATEUSER CREATEDB", (False, True, True, True, False, -1, None)),
        (
            "CREATE ROLE r VALID UNTIL '2031-02-03 04:05:06+02'",
            (False, True, False, False, False, -1, "2031-02-03 02:05:06+00"),
        ),
        ("CREATE ROLE r VALID UNTIL 'infinity'", (False, True, False, False, False, -1, None)),
    ],
)
def test_attributes(client: Client, sql: str, attributes: tuple[object, ...]) -> None:
    client.run(sql)
    assert client.tag == "CREATE ROLE"
    assert client.run(ATTRIBUTES) == [attributes]


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("CREATE ROLE a", "42710", 'role "a" already exists'),
        ("CREATE ROLE public", "42939", 'role name "public" is reserved'),
        ("CREATE ROLE pg_mine", "42939", 'role name "pg_mine" is reserved'),
        ("CREATE ROLE x LOGIN NOLOGIN", "42601", "conflicting or redundant options"),
        ("CREATE ROLE x NONSENSE", "42601", 'unrecognized role option "nonsense"'),
        ("CREATE ROLE x IN ROLE nosuch", "42704", 'role "nosuch" does not exist'),
        ("CREATE USER x PASSWORD 'md5" + 32 * "0" + "'", "0A000", "MD5-encrypted passwords are not supported"),
        ("CREATE USER x UNENCRYPTED PASSWORD 'p'", "0A000", "UNENCRYPTED PASSWORD is no longer supported"),
        ("CREATE USER x WITH OAUTH (issuer = 'i')", "0A000", "authentication by OAUTH is not supported"),
        ("ALTER ROLE nosuch LOGIN", "42704", 'role "nosuch" does not exist'),
        ("ALTER ROLE a RENAME TO b", "42710", 'role "b" already exists'),
        ("ALTER ROLE root RENAME TO c", "0A000", "session user cannot be renamed"),
        ("ALTER ROLE root NOSUPERUSER", "42501", "permission denied to alter role"),
        ("DROP ROLE root", "55006", "current user cannot be dropped"),
        ("DROP ROLE nosuch", "42704", 'role "nosuch" does not exist'),
        ("DROP ROLE pg_monitor", "2BP01", "cannot drop role pg_monitor because it is required by the database system"),
        ("GRANT a TO a", "0LP01", 'role "a" is a member of role "a"'),
        ("GRANT b TO a", "0LP01", 'role "b" is a member of role "a"'),
        ("SET ROLE nosuch", "22023", 'role "nosuch" does not exist'),
        ("SET SESSION AUTHORIZATION nosuch", "22023", 'role "nosuch" does not exist'),
    ],
)
def test_mistakes(client: Client, sql: str, sqlstate: str, message: str) -> None:
    client.run("CREATE ROLE a; CREATE ROLE b IN ROLE a")
    assert refused(client, sql) == (sqlstate, message)


def test_a_role_without_rights(client: Client) -> None:
    client.run("CREATE USER alice; CREATE ROLE other; CREATE USER boss SUPERUSER; SET SESSION AUTHORIZATION alice")
    assert client.run("SHOW is_superuser") == [("off",)]
    for sql, message in (
        ("CREATE ROLE x", "permission denied to create role"),
        ("CREATE ROLE x SUPERUSER", "must be superuser to create superusers"),
        ("ALTER ROLE other LOGIN", "permission denied"),
        ("ALTER ROLE alice CREATEDB", "permission denied"),
        (
            "ALTER ROLE boss PASSWORD 'mine now'",
            "must be superuser to alter superuser roles or change superuser attribute",
        ),
        ("ALTER ROLE alice SUPERUSER", "must be superuser to alter superuser roles or change superuser attribute"),
        ("DROP ROLE other", "permission denied to drop role"),
        ("GRANT other TO alice", 'must have admin option on role "other"'),
        ("GRANT root TO alice", "must be superuser to alter superusers"),
        ("REVOKE other FROM alice", 'must have admin option on role "other"'),
        ("SET ROLE other", 'permission denied to set role "other"'),
        ("SET ROLE root", 'permission denied to set role "root"'),
        ("SELECT set_config('role', 'root', false)", 'permission denied to set role "root"'),
        ("REASSIGN OWNED BY root TO alice", "permission denied to reassign objects"),
        ("DROP OWNED BY root", "permission denied to drop objects"),
        ("SELECT rolpassword FROM pg_authid", "permission denied for table pg_authid"),
        ("SELECT passwd FROM pg_shadow", "permission denied for view pg_shadow"),
    ):
        assert refused(client, sql) == ("42501", message)
    client.run("ALTER USER alice PASSWORD 'her own'")
    # She connected as root, so she may become anybody; a user who connected as alice may not.
    client.run("SET SESSION AUTHORIZATION boss")


def test_who_connected_decides_who_a_session_may_become(client: Client, database: Database) -> None:
    client.run("CREATE USER alice; CREATE USER boss SUPERUSER")
    hers = Client(open_session(database, StartupParameters("alice", "dev", {}, 8)))
    assert refused(hers, "SET SESSION AUTHORIZATION boss") == (
        "42501",
        "permission denied to set session authorization",
    )
    hers.run("SET SESSION AUTHORIZATION alice")
    hers.run("RESET ALL")
    hers.run("DISCARD ALL")
    assert hers.run("SELECT current_user, session_user") == [("alice", "alice")]
    hers.session.close()
    with pytest.raises(SqlError, match='role "mallory" does not exist') as raised:
        open_session(database, StartupParameters("mallory", "dev", {}, 9))
    assert raised.value.sqlstate == "28000"


def test_members_act_as_their_groups(client: Client, database: Database) -> None:
    client.run("CREATE ROLE top; CREATE ROLE middle IN ROLE top; CREATE USER alice IN ROLE middle")
    hers = Client(open_session(database, StartupParameters("alice", "dev", {}, 8)))
    hers.run("SET ROLE top")
    assert hers.run("SELECT current_user, session_user, user, current_role") == [("top", "alice", "top", "top")]
    client.run("ALTER ROLE top RENAME TO summit")
    assert hers.run("SELECT current_user") == [("summit",)]
    hers.run("RESET ROLE")
    hers.run("BEGIN; SET LOCAL ROLE middle")
    assert hers.run("SHOW role") == [("middle",)]
    hers.run("ROLLBACK")
    assert hers.run("SELECT current_user") == [("alice",)]
    client.run("REVOKE middle FROM alice")
    assert refused(hers, "SET ROLE summit") == ("42501", 'permission denied to set role "summit"')
    hers.session.close()


def test_admins_let_others_in(client: Client, database: Database) -> None:
    client.run("CREATE ROLE club; CREATE USER alice; CREATE USER bob; GRANT club TO alice WITH ADMIN OPTION")
    hers = Client(open_session(database, StartupParameters("alice", "dev", {}, 8)))
    hers.run("GRANT club TO bob")
    hers.run("GRANT club TO bob")
    assert hers.notices == ['role "bob" is already a member of role "club"']
    members = "SELECT member::regrole::text, grantor::regrole::text, admin_option FROM pg_auth_members"
    rows = client.run(f"{members} WHERE roleid = 'club'::regrole ORDER BY 1")
    assert rows == [("alice", "root", True), ("bob", "alice", False)]
    client.run("REVOKE ADMIN OPTION FOR club FROM alice")
    assert refused(hers, "REVOKE club FROM bob") == ("42501", 'must have admin option on role "club"')
    hers.session.close()


def test_what_is_made_belongs_to_who_made_it(client: Client) -> None:
    client.run("CREATE ROLE maker; CREATE ROLE heir; GRANT CREATE ON DATABASE dev TO maker")
    client.run("GRANT CREATE ON SCHEMA public TO maker; SET ROLE maker")
    client.run("CREATE SCHEMA s; CREATE TABLE s.t (a INT PRIMARY KEY); CREATE INDEX i ON s.t (a)")
    client.run("CREATE VIEW v AS SELECT a FROM s.t; CREATE MATERIALIZED VIEW m AS SELECT a FROM s.t")
    client.run("CREATE FUNCTION f(INT) RETURNS INT LANGUAGE SQL AS 'SELECT $1'")
    client.run("CREATE SUBSCRIPTION sub FROM s.t WITH (retention = '1h')")
    client.run("RESET ROLE; CREATE INDEX j ON s.t (a)")
    owners = (
        "SELECT DISTINCT pg_get_userbyid(owner) FROM (SELECT relowner AS owner FROM pg_class WHERE relname IN"
        " ('t', 'i', 'j', 'v', 'm') UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = 's'"
        " UNION ALL SELECT proowner FROM pg_proc WHERE proname = 'f' UNION ALL SELECT owner::oid FROM"
        " rw_catalog.rw_subscriptions) AS all_of_them"
    )
    assert client.run(owners) == [("maker",)]
    client.run("CREATE OR REPLACE VIEW v AS SELECT a + 1 AS a FROM s.t; ALTER TABLE s.t ADD COLUMN b INT")
    assert client.run(owners) == [("maker",)], "who changes a thing does not own it"
    sqlstate, message = refused(client, "DROP ROLE maker")
    assert (sqlstate, message) == ("2BP01", 'role "maker" cannot be dropped because some objects depend on it')
    client.run("REASSIGN OWNED BY maker TO heir")
    assert client.run(owners) == [("heir",)]
    client.run("DROP OWNED BY maker; DROP ROLE maker")  # it has the right to create
    client.run("DROP OWNED BY heir CASCADE")
    assert client.run("SELECT count(*) FROM pg_class WHERE relname IN ('t', 'i', 'j', 'v', 'm')") == [(0,)]
    client.run("DROP ROLE heir")


def test_passwords_are_kept_as_scram_secrets_and_shown_to_nobody(client: Client) -> None:
    client.run("CREATE USER u PASSWORD 'geheim'; CREATE USER v")
    [(secret,)] = client.run("SELECT rolpassword FROM pg_authid WHERE rolname = 'u'")
    assert isinstance(secret, str) and secret.startswith("SCRAM-SHA-256$4096:") and "geheim" not in secret
    assert client.run("SELECT rolpassword FROM pg_roles WHERE rolname = 'u'") == [("********",)]
    client.run(f"ALTER USER v PASSWORD '{secret}'")  # as \\password of psql sends it
    assert client.run("SELECT rolpassword FROM pg_authid WHERE rolname = 'v'") == [(secret,)]
    client.run("ALTER USER v PASSWORD NULL")
    client.run("ALTER USER u PASSWORD ''")
    assert client.notices == ["empty string is not a valid password, clearing password"]
    assert client.run("SELECT DISTINCT rolpassword FROM pg_authid WHERE rolname IN ('u', 'v')") == [(None,)]
    for text in ("CREATE USER w PASSWORD 'geheim'", "alter role w with encrypted password 'geheim' login"):
        [statement] = client.session.split(text)
        assert "geheim" not in shown_text(statement)
        assert "geheim" not in shown_unparsed(text)


def test_roles_outlive_a_restart(tmp_path: Path, make_client: Callable[[Database], Client]) -> None:
    def opened() -> Database:
        database = Database(tmp_path / "kept", parallelism=1)
        database.start(InProcessRunner(database.data_dir))
        return database

    database = opened()
    client = make_client(database)
    client.run("CREATE ROLE club; CREATE USER alice PASSWORD 'p' VALID UNTIL '2031-01-01' IN ROLE club")
    client.run("GRANT CREATE ON DATABASE dev TO alice; SET ROLE alice")
    client.run("CREATE SCHEMA hers; CREATE TABLE hers.t (a INT); RESET ROLE")
    shown = "SELECT * FROM pg_authid WHERE rolname !~ '^pg_' ORDER BY oid"
    members = "SELECT * FROM pg_auth_members ORDER BY oid"
    owned = "SELECT nspowner FROM pg_namespace WHERE nspname = 'hers' UNION ALL SELECT relowner FROM pg_class"
    before = [client.run(sql) for sql in (shown, members, f"{owned} WHERE relname = 't'")]
    client.session.close()
    database.close()
    database = opened()
    client = make_client(database)
    assert [client.run(sql) for sql in (shown, members, f"{owned} WHERE relname = 't'")] == before
    client.session.close()
    database.close()


def test_owners_give_things_away(client: Client) -> None:
    client.run(
        "CREATE ROLE club; CREATE ROLE giver IN ROLE club; CREATE ROLE stranger; GRANT CREATE ON DATABASE dev TO giver"
    )
    client.run("SET ROLE giver; CREATE SCHEMA s; GRANT ALL ON SCHEMA s TO club; GRANT USAGE ON SCHEMA s TO stranger")
    client.run("CREATE TABLE s.t (a INT PRIMARY KEY); CREATE INDEX i ON s.t (a)")
    client.run("CREATE VIEW s.v AS SELECT a FROM s.t; CREATE MATERIALIZED VIEW s.m AS SELECT a FROM s.t")
    assert refused(client, "ALTER TABLE s.t OWNER TO stranger") == ("42501", 'must be member of role "stranger"')
    assert refused(client, "ALTER TABLE s.t OWNER TO nosuch") == ("42704", 'role "nosuch" does not exist')
    assert refused(client, "ALTER VIEW s.t OWNER TO club") == ("42809", '"t" is not a view')
    client.run("ALTER TABLE s.t OWNER TO club; ALTER VIEW s.v OWNER TO club; ALTER SCHEMA s OWNER TO club")
    client.run("ALTER MATERIALIZED VIEW s.m OWNER TO CURRENT_USER; ALTER TABLE IF EXISTS s.none OWNER TO club")
    assert client.tag == "ALTER TABLE"
    owners = "SELECT relname, relowner::regrole::text FROM pg_class WHERE relname IN ('t', 'i', 'v', 'm') ORDER BY 1"
    assert client.run(owners) == [("i", "club"), ("m", "giver"), ("t", "club"), ("v", "club")]
    client.run("SET ROLE stranger")
    for sql, what in (("TABLE s.t", "table t"), ("VIEW s.v", "view v"), ("SCHEMA s", "schema s")):
        assert refused(client, f"ALTER {sql} OWNER TO stranger") == ("42501", f"must be owner of {what}")
    assert refused(client, "ALTER SCHEMA nosuch OWNER TO stranger") == ("3F000", 'schema "nosuch" does not exist')


@pytest.fixture
def make_client() -> Callable[[Database], Client]:
    return lambda database: Client(open_session(database, StartupParameters("root", "dev", {}, 7)))


def test_others_statements_are_hidden(client: Client, database: Database) -> None:
    client.run("CREATE USER alice; CREATE ROLE watcher IN ROLE pg_monitor")
    seen = "SELECT query FROM pg_stat_activity WHERE pid = 7"
    hers = Client(open_session(database, StartupParameters("alice", "dev", {}, 8)))
    assert hers.run(seen) == [("<insufficient privilege>",)]
    client.run("GRANT pg_monitor TO alice")
    assert hers.run(seen) != [("<insufficient privilege>",)]
    hers.session.close()
