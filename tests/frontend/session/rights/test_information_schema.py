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
    "CREATE FUNCTION s.g(varchar, y timestamptz[]) RETURNS varchar LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1'",
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
    "EXECUTE ON FUNCTION f(int)",
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
    "SELECT routine_schema, routine_name, routine_type, data_type, type_udt_schema, type_udt_name, dtd_identifier,"
    " routine_body, routine_definition, external_name, external_language, parameter_style, is_deterministic,"
    " sql_data_access, is_null_call, schema_level_routine, max_dynamic_result_sets, security_type, as_locator,"
    " is_udt_dependent, udt_name, sql_path, created, result_cast_dtd_identifier, character_maximum_length"
    " FROM information_schema.routines WHERE routine_schema IN ('public', 's') ORDER BY routine_name",
    "SELECT specific_schema, ordinal_position, parameter_mode, is_result, as_locator, parameter_name, data_type,"
    " udt_schema, udt_name, dtd_identifier, parameter_default, numeric_precision"
    " FROM information_schema.parameters WHERE specific_schema IN ('public', 's')"
    " ORDER BY split_part(specific_name, '_', 1), ordinal_position",
    "SELECT routine_type, data_type, routine_definition IS NULL, external_language FROM information_schema.routines"
    " WHERE routine_schema = 'pg_catalog' AND routine_name = 'cosh'",
    *(
        "SELECT grantor, grantee, routine_schema, routine_name, privilege_type, is_grantable"
        f" FROM information_schema.{each} WHERE routine_name IN ('f', 'g') ORDER BY 2, 4, 1"
        for each in ("routine_privileges", "role_routine_grants")
    ),
    "SELECT grantee, privilege_type, is_grantable FROM information_schema.routine_privileges"
    " WHERE routine_name = 'cosh' AND grantee = 'PUBLIC'",
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
