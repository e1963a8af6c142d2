"""What information_schema shows to users with few rights: the same as PostgreSQL 15's."""

from __future__ import annotations

from tests.frontend.session.rights.test_matrix import DONE, Server, granted
from tests.frontend.session.rights.test_matrix import postgres_oracle as postgres_oracle
from tests.frontend.session.rights.test_matrix import servers as servers
from tests.frontend.session.rights.test_privilege_functions import answer

SETUP = (
    "CREATE TABLE p (a int PRIMARY KEY, b int UNIQUE, c int CHECK (c > 0), d int NOT NULL)",
    "CREATE TABLE r (a int PRIMARY KEY REFERENCES p (b), x int, CONSTRAINT both_ UNIQUE (a, x))",
    "CREATE SEQUENCE s.counting",
    "CREATE SEQUENCE s.other",
)
GRANTS = (
    "",
    "SELECT ON p, r",
    "INSERT ON p",
    "UPDATE (b) ON p",
    "SELECT (a), INSERT (x) ON r",
    "REFERENCES ON r",
    "USAGE ON SEQUENCE s.counting",
    "SELECT ON SEQUENCE s.other",
    "USAGE ON SCHEMA s",
    "CREATE ON SCHEMA s",
)
_NAMED = "constraint_name NOT LIKE '%not_null' AND"
QUESTIONS = (
    f"SELECT table_name, constraint_name, constraint_type FROM information_schema.table_constraints WHERE {_NAMED}"
    " table_name IN ('p', 'r') ORDER BY 1, 2",
    "SELECT table_name, count(*) FROM information_schema.table_constraints WHERE table_name IN ('p', 'r') GROUP BY 1"
    " ORDER BY 1",
    "SELECT constraint_name, column_name, ordinal_position, position_in_unique_constraint"
    " FROM information_schema.key_column_usage WHERE table_name IN ('p', 'r') ORDER BY 1, 2",
    "SELECT constraint_name, unique_constraint_name FROM information_schema.referential_constraints ORDER BY 1",
    "SELECT constraint_name FROM information_schema.check_constraints WHERE constraint_name LIKE 'p_%' ORDER BY 1",
    "SELECT count(*) FROM information_schema.check_constraints WHERE constraint_schema = 'public'",
    "SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage"
    " WHERE table_name IN ('p', 'r') ORDER BY 1, 2, 3",
    "SELECT table_name, constraint_name FROM information_schema.constraint_table_usage"
    " WHERE table_name IN ('p', 'r') ORDER BY 1, 2",
    "SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('s', 'public', 'pg_catalog') ORDER BY 1",
    *(
        "SELECT grantor, grantee, object_schema, object_name, object_type, privilege_type, is_grantable"
        f" FROM information_schema.{each} WHERE object_type = 'SEQUENCE' ORDER BY 2, 4"
        for each in ("usage_privileges", "role_usage_grants")
    ),
    "SELECT grantee, object_name, is_grantable FROM information_schema.usage_privileges WHERE object_name = 'default'",
)


def test_who_sees_what_as_in_postgres(servers: tuple[Server, Server]) -> None:
    for server in servers:
        for sql in SETUP:
            assert server.run("owner", sql) == DONE, (server.name, sql)
    wrong = []
    for grant in GRANTS:
        for server in servers:
            granted(server, grant)
        for user in ("owner", "direct", "stranger", "root") if not grant else ("direct", "member"):
            for question in QUESTIONS:
                ours, theirs = (answer(server, user, question) for server in servers)
                if ours != theirs:
                    wrong.append((grant, user, question, ours, theirs))
        for server in servers:
            granted(server, grant, revoked=True)
    assert not wrong, "\n".join(map(str, wrong))
