"""has_table_privilege and its like, pg_has_role, and the catalogs' aclitems: the same answers as PostgreSQL 15's."""

from __future__ import annotations

import psycopg

from risingpy.errors import SqlError
from tests.frontend.session.rights.test_matrix import Ours, Server, Theirs, granted
from tests.frontend.session.rights.test_matrix import postgres_oracle as postgres_oracle
from tests.frontend.session.rights.test_matrix import servers as servers
from tests.result_rows import result_rows

GRANTS = ("SELECT (a), UPDATE (b) ON t", "USAGE ON SCHEMA s", "EXECUTE ON FUNCTION f(int)")
_OF_TABLES = (
    *("'t', 'SELECT'", "'direct', 't', 'select, update'", "'member', 't', 'SELECT'", "'aloof', 't', 'SELECT'"),
    *("'aloof'::name, 't', 'SELECT'", "'t', 'nonsense'", "'nobody', 't', 'select'", "'nosuch', 'select'"),
    *("'t', 'SELECT WITH GRANT OPTION'", "'public', 't', 'SELECT'", "'pg_class', 'SELECT'", "'pg_authid', 'SELECT'"),
    *("99999999::oid, 'SELECT'", "'t'::regclass, 'INSERT'", "NULL::oid, 'INSERT'", "'t', 'USAGE'", "'t', ''"),
)
_OF_COLUMNS = (
    *("'t', 'a', 'SELECT'", "'direct', 't', 'a', 'SELECT'", "'direct', 't', 'b', 'UPDATE'"),
    *("'direct', 't', 1::smallint, 'SELECT'", "'direct', 't', 'zz', 'SELECT'", "'direct', 't', 'a', 'DELETE'"),
)
_OTHERS = {
    "any_column": ("'direct', 't', 'SELECT'", "'stranger', 't', 'SELECT'"),
    "schema": (
        "'s', 'USAGE'",
        "'direct', 's', 'CREATE'",
        "'nosuch', 'CREATE'",
        "'public', 'CREATE'",
        "'public', 'usage'",
    ),
    "function": ("'f(int)', 'EXECUTE'", "'direct', 'f(int)', 'EXECUTE'", "'nosuch(int)', 'EXECUTE'"),
    "database": (
        *("current_database(), 'CONNECT'", "current_database(), 'CREATE'", "'nosuch', 'CREATE'"),
        "current_database(), 'TEMP'",
    ),
    "type": (
        "'int4', 'USAGE'",
        "'direct', 'text', 'usage'",
        "'nosuch', 'USAGE'",
        "'int4', 'CREATE'",
        "0::oid, 'USAGE'",
    ),
    "language": ("'sql', 'USAGE'", "'direct', 'sql', 'USAGE'", "'nosuch', 'USAGE'", "'sql', 'EXECUTE'"),
    "tablespace": ("'pg_default', 'CREATE'", "'direct', 'pg_default', 'CREATE'", "'nosuch', 'CREATE'"),
    "sequence": ("'t', 'USAGE'", "'nosuch', 'USAGE'", "'t', 'INSERT'", "99999999::oid, 'USAGE'"),
    "server": ("'nosuch', 'USAGE'", "99999999::oid, 'USAGE'"),
    "foreign_data_wrapper": ("'nosuch', 'USAGE'", "99999999::oid, 'USAGE'"),
}
_ROLES = (
    *("'team', 'MEMBER'", "'aloof', 'team', 'USAGE'", "'aloof', 'team', 'MEMBER'", "'member', 'team', 'USAGE'"),
    *("'member', 'team', 'USAGE WITH ADMIN OPTION'", "'nobody', 'team', 'USAGE'", "'team', 'x'"),
)
QUESTIONS = (
    *(f"SELECT has_table_privilege({each})" for each in _OF_TABLES),
    *(f"SELECT has_column_privilege({each})" for each in _OF_COLUMNS),
    *(f"SELECT has_{kind}_privilege({each})" for kind, questions in _OTHERS.items() for each in questions),
    *(f"SELECT pg_has_role({each})" for each in _ROLES),
    "SELECT r.rolname, c.relname FROM pg_roles r, pg_class c WHERE has_table_privilege(r.oid, c.oid, 'SELECT')"
    " AND c.relname IN ('t', 'u', 'v') AND r.rolname IN ('owner', 'direct', 'member', 'aloof') ORDER BY 1, 2",
    "SELECT p, has_table_privilege('direct', 't', p) FROM (VALUES ('SELECT'), ('UPDATE, INSERT')) v (p) ORDER BY 1",
    "SELECT has_table_privilege('t', p) FROM (VALUES ('SELECT'), ('bad')) v (p) ORDER BY 1",
    "SELECT relname, has_table_privilege(u, relname, 'SELECT') FROM pg_class, (VALUES ('direct'), ('stranger')) v (u)"
    " WHERE relname IN ('t', 'u') ORDER BY u, relname",
    "SELECT relacl::text FROM pg_class WHERE relname IN ('t', 'u') ORDER BY relname",
    "SELECT attacl::text FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum",
    "SELECT proacl::text FROM pg_proc WHERE proname = 'f'",
    "SELECT nspacl::text FROM pg_namespace WHERE nspname = 's'",
    *(
        f"SELECT grantor, grantee, table_name, privilege_type, is_grantable FROM information_schema.{each}"
        " WHERE table_name IN ('t', 'v', 'x') ORDER BY 1, 2, 3, 4"
        for each in ("table_privileges", "role_table_grants")
    ),
    "SELECT grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.column_privileges"
    " WHERE table_name IN ('t', 'v') ORDER BY 1, 2, 3, 4, 5",
    "SELECT grantee, routine_name, privilege_type, is_grantable FROM information_schema.routine_privileges"
    " WHERE routine_name = 'f' ORDER BY 1",
    "SELECT grantor::regrole::text, grantee::regrole::text, privilege_type, is_grantable"
    " FROM pg_class, aclexplode(relacl)"
    " WHERE relname = 't' AND grantee = 'team'::regrole ORDER BY 3",
    "SELECT (aclexplode(relacl)).privilege_type FROM pg_class WHERE relname = 't'",
    "SELECT acldefault('f', 'owner'::regrole)::text, acldefault('r', 'owner'::regrole)::text",
    "SELECT count(*) FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) WHERE nspname = 's'",
    "SELECT defaclobjtype::text, defaclacl::text FROM pg_default_acl",
)


def answer(server: Server, user: str, sql: str) -> object:
    """The rows, or the error's SQLSTATE and message."""
    server.run(user, "SELECT 1")  # there is a session now
    try:
        if isinstance(server, Theirs):
            return server.session(user).execute(sql.encode()).fetchall()
        assert isinstance(server, Ours)
        session = server.session(user)
        [statement] = session.split(sql)
        return [tuple(row) for row in result_rows(session.execute(session.prepare(statement, ()), ()))]
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary
    except SqlError as error:
        server.run(user, "ROLLBACK")
        return error.sqlstate, error.message


def test_every_question_as_in_postgres(servers: tuple[Server, Server]) -> None:
    for server in servers:
        for grant in GRANTS:
            granted(server, grant)
        server.run("root", "GRANT SELECT, INSERT ON t TO team WITH GRANT OPTION")
        server.run("owner", "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO direct, PUBLIC")
    wrong = []
    for sql in QUESTIONS:
        for user in ("direct", "stranger", "root", "member"):
            ours, theirs = (answer(server, user, sql) for server in servers)
            if ours != theirs:
                wrong.append((user, sql, ours, theirs))
    assert not wrong, "\n".join(map(str, wrong))
