"""GRANT and REVOKE on languages and types: as PostgreSQL 15 does them, and what is ours, LANGUAGE python."""

from __future__ import annotations

from tests.frontend.session.rights.test_matrix import DONE, Server
from tests.frontend.session.rights.test_matrix import postgres_oracle as postgres_oracle
from tests.frontend.session.rights.test_matrix import servers as servers
from tests.frontend.session.rights.test_privilege_functions import answer
from tests.frontend.session.rights.test_privileges import Users, refused
from tests.frontend.session.rights.test_privileges import users as users

MADE_IN_SQL = "CREATE FUNCTION made(x int) RETURNS int LANGUAGE sql AS 'SELECT $1'; DROP FUNCTION made(int)"
HISTORY = (
    ("root", "GRANT CREATE ON SCHEMA public TO direct, member, stranger"),
    ("direct", MADE_IN_SQL),
    ("root", "REVOKE USAGE ON LANGUAGE sql FROM PUBLIC"),
    ("direct", MADE_IN_SQL),
    ("root", "GRANT USAGE ON LANGUAGE sql TO direct WITH GRANT OPTION"),
    ("direct", MADE_IN_SQL),
    ("direct", "GRANT ALL PRIVILEGES ON LANGUAGE sql TO team"),
    ("member", MADE_IN_SQL),
    ("stranger", MADE_IN_SQL),
    ("stranger", "GRANT USAGE ON LANGUAGE sql TO aloof"),
    ("member", "GRANT USAGE ON LANGUAGE sql TO aloof"),
    ("root", "REVOKE USAGE ON LANGUAGE sql FROM direct"),
    ("root", "DROP ROLE direct"),
    ("root", "REVOKE GRANT OPTION FOR USAGE ON LANGUAGE sql FROM direct CASCADE"),
    ("member", MADE_IN_SQL),
    ("root", "GRANT SELECT ON LANGUAGE sql TO direct"),
    ("root", "GRANT USAGE ON LANGUAGE sql, nosuch TO direct"),
    ("root", "GRANT USAGE ON LANGUAGE internal TO direct"),
    ("root", "GRANT USAGE (a) ON LANGUAGE sql TO direct"),
    ("root", "REVOKE USAGE ON TYPE int8, pg_catalog.text FROM PUBLIC"),
    ("root", "GRANT USAGE ON TYPE int8 TO direct WITH GRANT OPTION"),
    ("direct", "GRANT ALL ON TYPE int8 TO team"),
    ("stranger", "GRANT ALL ON TYPE int8 TO team"),
    ("root", "GRANT USAGE ON TYPE _int8 TO direct"),
    ("root", "GRANT USAGE ON TYPE bigint TO direct"),
    ("root", "GRANT USAGE ON TYPE s.int8 TO direct"),
    ("root", "GRANT USAGE ON TYPE nosuch.int8 TO direct"),
    ("root", "GRANT USAGE ON DOMAIN int8 TO direct"),
    ("root", "GRANT USAGE ON DOMAIN nosuch TO direct"),
    ("root", "GRANT EXECUTE ON TYPE int8 TO direct"),
    ("root", "REVOKE ALL ON TYPE int8 FROM direct"),
    ("owner", "ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO direct"),
    ("owner", "ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT ALL ON TYPES TO team"),
    ("owner", "ALTER DEFAULT PRIVILEGES REVOKE USAGE ON TYPES FROM PUBLIC"),
    ("owner", "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TYPES TO direct"),
    ("root", "DROP OWNED BY direct"),
)
_USERS = "(VALUES ('direct'), ('member'), ('stranger'), ('public')) u (who)"
_WORDS = "(VALUES ('USAGE'), ('USAGE WITH GRANT OPTION')) w (word)"
QUESTIONS = (
    f"SELECT who, word, has_language_privilege(who, 'sql', word) FROM {_USERS}, {_WORDS} ORDER BY 1, 2",
    f"SELECT who, word, name, has_type_privilege(who, name, word) FROM {_USERS}, {_WORDS},"
    " (VALUES ('int8'), ('text'), ('int8[]'), ('int4')) n (name) ORDER BY 1, 2, 3",
    "SELECT array_length(lanacl, 1) FROM pg_language WHERE lanname = 'sql'",
    "SELECT typname, array_length(typacl, 1) FROM pg_type WHERE typname IN ('int8', 'text', '_int8') ORDER BY 1",
    "SELECT grantee::regrole::text, is_grantable FROM pg_type, aclexplode(typacl)"
    " WHERE typname = 'int8' AND grantee <> 10 ORDER BY 1",
    "SELECT defaclobjtype::text, defaclnamespace = 0, defaclacl::text FROM pg_default_acl ORDER BY 2",
)


def test_a_history_as_in_postgres(servers: tuple[Server, Server]) -> None:
    wrong: list[tuple[str, ...]] = []
    for user, sql in HISTORY:
        ours, theirs = (server.run(user, sql) for server in servers)
        if ours != theirs:
            wrong.append((user, sql, ours, theirs))
        for question in QUESTIONS:
            told = [answer(server, "root", question) for server in servers]
            if told[0] != told[1]:
                wrong.append((sql, question, *map(str, told)))
    assert not wrong, "\n".join(map(str, wrong))
    assert servers[0].run("root", "DROP ROLE direct") == DONE


PYTHON = "CREATE FUNCTION p(x int) RETURNS int LANGUAGE python AS $$\ndef p(x):\n    return x + 1\n$$"
DENIED = "42501", "permission denied for language python"


def test_python_is_a_superusers_to_grant(users: Users) -> None:
    assert refused(users["alice"], PYTHON) == DENIED
    asked = "SELECT has_language_privilege('alice', 'python', 'USAGE'), lanacl::text FROM pg_language WHERE oid = 15"
    assert users["root"].run(asked) == [(False, "{root=U/root}")]
    users["root"].run("GRANT USAGE ON LANGUAGE python TO alice")
    assert users["bob"].run(asked) == [(True, "{root=U/root,alice=U/root}")]
    users["alice"].run(PYTHON)
    assert users["bob"].run("SELECT p(41)") == [(42,)]
    users["alice"].run("GRANT USAGE ON LANGUAGE python TO bob")
    assert users["alice"].notices[-1] == 'no privileges were granted for "python"'
    assert refused(users["bob"], PYTHON.replace(" p(", " q(")) == ("42501", "permission denied for schema public")
    assert refused(users["root"], "DROP ROLE alice")[0] == "2BP01"
    users["root"].run("REVOKE USAGE ON LANGUAGE python FROM alice")
    assert refused(users["alice"], PYTHON) == DENIED
    assert users["bob"].run("SELECT p(41)") == [(42,)]  # what was made stays
