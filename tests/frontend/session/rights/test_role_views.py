"""What information_schema says of roles, and of what RisingPy does not have: the same as PostgreSQL 15."""

from __future__ import annotations

from risingpy.frontend.system_catalog.objects.absent_objects import ABSENT_OBJECTS
from tests.frontend.session.rights.test_matrix import Server
from tests.frontend.session.rights.test_matrix import postgres_oracle as postgres_oracle
from tests.frontend.session.rights.test_matrix import servers as servers
from tests.frontend.session.rights.test_privilege_functions import answer

_OURS = "(SELECT rolname FROM pg_roles WHERE rolname IN ('owner', 'direct', 'member', 'aloof', 'stranger', 'team'))"
QUESTIONS = (
    f"SELECT role_name::text FROM information_schema.enabled_roles WHERE role_name IN {_OURS} ORDER BY 1",
    "SELECT grantee::text, role_name::text, is_grantable::text FROM information_schema.applicable_roles"
    f" WHERE grantee IN {_OURS} ORDER BY 1, 2",
    "SELECT grantee::text, role_name::text FROM information_schema.administrable_role_authorizations"
    f" WHERE grantee IN {_OURS} ORDER BY 1, 2",
    "SELECT catalog_name = current_database() FROM information_schema.information_schema_catalog_name",
)


def test_roles(servers: tuple[Server, Server]) -> None:
    for server in servers:
        server.run("root", "GRANT team TO direct WITH ADMIN OPTION")
        server.run("root", "GRANT direct TO stranger")
    for user in ("root", "owner", "direct", "member", "aloof", "stranger"):
        for question in QUESTIONS:
            ours, theirs = (answer(server, user, question) for server in servers)
            assert ours == theirs, (user, question)
    rows = answer(servers[0], "stranger", QUESTIONS[2])
    assert "direct" in str(rows)


def test_what_is_absent_has_the_same_columns_and_no_rows(servers: tuple[Server, Server]) -> None:
    for found in ABSENT_OBJECTS:
        name = f"{found.schema}.{found.name}"
        asked = f"SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = '{name}'::regclass"
        ours, theirs = (answer(server, "root", f"{asked} AND attnum > 0") for server in servers)
        assert ours == theirs, name
        assert str(answer(servers[0], "root", f"SELECT * FROM {name}")) in ("[]", "()"), name
