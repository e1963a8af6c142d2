"""GRANT and REVOKE on parameters and tablespaces, which belong to no database: as PostgreSQL 15 does them."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.rights.test_matrix import DONE, Server
from tests.frontend.session.rights.test_matrix import postgres_oracle as postgres_oracle
from tests.frontend.session.rights.test_matrix import servers as servers
from tests.frontend.session.rights.test_privilege_functions import answer
from tests.frontend.session.rights.test_privileges import Users, refused
from tests.frontend.session.rights.test_privileges import users as users

SET_LOG = "SET log_statement = 'ddl'"
HISTORY = (
    ("direct", SET_LOG),
    ("direct", "RESET log_statement"),
    ("root", "GRANT SET ON PARAMETER nosuch TO direct"),
    ("root", 'GRANT SET ON PARAMETER "no such.x" TO direct'),
    ("root", "GRANT SET ON PARAMETER a.b.1 TO direct"),
    ("root", "GRANT SET ON PARAMETER Log_Statement, TimeZone TO direct WITH GRANT OPTION"),
    ("direct", SET_LOG),
    ("direct", "RESET log_statement"),
    ("direct", "SELECT set_config('log_statement', 'mod', true)"),
    ("direct", "SET log_min_duration_statement = 3"),
    ("direct", "ALTER ROLE direct SET log_statement = 'mod'"),
    ("direct", "ALTER ROLE direct SET log_min_duration_statement = 3"),
    ("direct", "ALTER ROLE direct RESET log_statement"),
    ("direct", "GRANT SET ON PARAMETER log_statement TO team"),
    ("direct", "GRANT ALL ON PARAMETER log_statement TO team"),
    ("direct", "GRANT SET, ALTER SYSTEM ON PARAMETER log_statement TO team"),
    ("direct", "GRANT ALTER SYSTEM ON PARAMETER log_statement TO team"),
    ("direct", "GRANT SET ON PARAMETER statement_timeout TO team"),
    ("member", SET_LOG),
    ("aloof", SET_LOG),
    ("aloof", "SET ROLE team; SET log_statement = 'ddl'; RESET ROLE"),
    ("stranger", SET_LOG),
    ("stranger", "GRANT SET ON PARAMETER log_statement TO aloof"),
    ("stranger", "REVOKE SET ON PARAMETER statement_timeout FROM aloof"),
    ("stranger", "REVOKE SET ON PARAMETER nosuch FROM aloof"),
    ("root", "GRANT ALTER SYSTEM ON PARAMETER log_statement TO stranger"),
    ("stranger", SET_LOG),
    ("root", "GRANT SET ON PARAMETER Own.Thing TO PUBLIC"),
    ("root", "GRANT SET ON PARAMETER log_statement TO PUBLIC WITH GRANT OPTION"),
    ("root", "GRANT SELECT ON PARAMETER log_statement TO direct"),
    ("root", "GRANT SET (a) ON PARAMETER log_statement TO direct"),
    ("root", "GRANT SET ON TABLE t TO direct"),
    ("root", "GRANT ALTER SYSTEM ON SCHEMA s TO direct"),
    ("root", "ALTER DEFAULT PRIVILEGES GRANT SET ON TABLES TO direct"),
    ("root", "REVOKE SET ON PARAMETER log_statement FROM direct"),
    ("root", "DROP ROLE direct"),
    ("root", "REVOKE ALL ON PARAMETER own.thing FROM PUBLIC"),
    ("root", "REVOKE GRANT OPTION FOR SET ON PARAMETER log_statement FROM direct CASCADE"),
    ("member", SET_LOG),
    ("root", "GRANT CREATE ON TABLESPACE pg_default TO direct WITH GRANT OPTION"),
    ("root", "GRANT CREATE ON TABLESPACE nosuch TO direct"),
    ("root", "GRANT SELECT ON TABLESPACE pg_default TO direct"),
    ("direct", "GRANT ALL PRIVILEGES ON TABLESPACE pg_default TO team"),
    ("stranger", "GRANT CREATE ON TABLESPACE pg_default TO team"),
    ("root", "ALTER ROLE direct CREATEDB"),
    ("root", "ALTER ROLE stranger CREATEDB"),
    ("stranger", "CREATE DATABASE rights_made TABLESPACE pg_default"),
    ("direct", "CREATE DATABASE rights_made TABLESPACE pg_default"),
    ("root", "REVOKE CREATE ON TABLESPACE pg_default FROM direct"),
    ("direct", "DROP DATABASE rights_made"),
    ("root", "DROP ROLE direct"),
    ("root", "DROP OWNED BY direct"),
    ("root", "REVOKE ALL ON TABLESPACE pg_default FROM root_or_not, team"),
    ("root", "REVOKE ALL ON PARAMETER log_statement, timezone FROM stranger, team"),
)
_WHO = "(VALUES ('direct'), ('member'), ('aloof'), ('stranger'), ('public')) u (who)"
_WORDS = (
    "(VALUES ('SET'), ('alter system'), ('SET WITH GRANT OPTION'), ('ALTER SYSTEM WITH GRANT OPTION, SET')) w (word)"
)
QUESTIONS = (
    f"SELECT who, word, name, has_parameter_privilege(who, name, word) FROM {_WHO}, {_WORDS},"
    " (VALUES ('Log_Statement'), ('timezone'), ('nosuch'), ('own.thing')) n (name) ORDER BY 1, 2, 3",
    "SELECT has_parameter_privilege('nosuch', 'SET'), has_parameter_privilege(99999999::oid, 'timezone', 'SET'),"
    " has_parameter_privilege(NULL::text, 'SET'), has_parameter_privilege(NULL::name, 'timezone', 'SET')",
    "SELECT has_parameter_privilege('log_statement', 'x')",
    "SELECT has_parameter_privilege('nobody', 'log_statement', 'SET')",
    "SELECT who, has_tablespace_privilege(who, 'pg_default', 'CREATE'),"
    f" has_tablespace_privilege(who, 1663, 'CREATE WITH GRANT OPTION') FROM {_WHO} ORDER BY 1",
    "SELECT parname, (SELECT array_agg(grantee || privilege_type || is_grantable || grantor ORDER BY grantee,"
    " privilege_type) FROM aclexplode(paracl)"
    " WHERE grantee NOT IN (SELECT oid FROM pg_roles WHERE rolname NOT IN ('root', 'postgres'))) FROM pg_parameter_acl"
    " ORDER BY parname",
    "SELECT array_length(spcacl, 1) FROM pg_tablespace WHERE spcname = 'pg_default'",
    "SELECT array_agg(grantee || privilege_type || is_grantable || grantor) FROM aclexplode(acldefault('p', 10))",
)


def test_a_history_as_in_postgres(servers: tuple[Server, Server]) -> None:
    wrong: list[tuple[str, ...]] = []
    for number, (user, sql) in enumerate(HISTORY):
        ours, theirs = (server.run(user, sql) for server in servers)
        if ours != theirs:
            wrong.append((user, sql, ours, theirs))
        for question in QUESTIONS if number % 7 == 6 or sql == HISTORY[-1][1] else ():
            told = [answer(server, "root", question) for server in servers]
            if told[0] != told[1]:
                wrong.append((sql, question, *map(str, told)))
    assert not wrong, "\n".join(map(str, wrong))
    assert servers[0].run("root", "DROP ROLE direct") == DONE


def test_messages_and_lists(users: Users) -> None:
    root, bob = users["root"], users["bob"]
    assert refused(bob, SET_LOG) == ("42501", 'permission denied to set parameter "log_statement"')
    assert refused(root, "GRANT SET ON PARAMETER nosuch TO bob") == ("42602", 'invalid parameter name "nosuch"')
    shown = "invalid privilege type ALTER SYSTEM for schema"
    assert refused(root, "GRANT ALTER SYSTEM ON SCHEMA public TO bob") == ("0LP01", shown)
    root.run("GRANT ALTER SYSTEM, SET ON PARAMETER LOG_STATEMENT TO bob")
    root.run("GRANT CREATE ON TABLESPACE pg_default TO bob")
    lists = "SELECT parname, paracl::text FROM pg_parameter_acl"
    assert bob.run(lists) == [("log_statement", "{root=sA/root,bob=sA/root}")]
    assert bob.run("SELECT spcacl::text FROM pg_tablespace") == [("{root=C/root,bob=C/root}",)]
    with pytest.raises(SqlError) as error:
        root.run("DROP ROLE bob")
    assert error.value.detail == "privileges for tablespace pg_default\nprivileges for parameter log_statement"
    users["bob"].run("GRANT SET ON PARAMETER log_statement TO carol")
    assert users["bob"].notices[-1] == 'no privileges were granted for "log_statement"'
    root.run("DROP OWNED BY bob")
    assert bob.run(lists) == []


def test_alter_system_is_granted(users: Users) -> None:
    root, alice = users["root"], users["alice"]
    denied = "42501", 'permission denied to set parameter "old_snapshot_threshold"'
    change = "ALTER SYSTEM SET old_snapshot_threshold = '3h'"
    assert refused(alice, change) == denied
    root.run("GRANT SET ON PARAMETER old_snapshot_threshold TO alice")
    assert refused(alice, change) == denied
    root.run("GRANT ALTER SYSTEM ON PARAMETER old_snapshot_threshold TO alice")
    alice.run(change)
    root.run("REVOKE ALL ON PARAMETER old_snapshot_threshold FROM alice")
    assert refused(alice, change) == denied
