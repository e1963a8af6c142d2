"""Extensions that are built in, the words that tools list, and EXPLAIN of what stores no rows."""

from __future__ import annotations

import hashlib
from uuid import NAMESPACE_DNS, UUID, uuid3, uuid5

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle


def test_uuids_of_names_and_digests(client: Client) -> None:
    client.run('CREATE EXTENSION IF NOT EXISTS "uuid-ossp"')
    client.run("CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA public")
    client.run("CREATE TABLE t (id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), name text)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT name, digest(name, 'sha256') AS d FROM t")
    client.run("INSERT INTO t (name) VALUES ('a'), ('b'), (NULL)")
    versions = client.run("SELECT count(DISTINCT id), min(substr(id::text, 15, 1)) FROM t")
    assert versions == [(3, "4")]
    named = "SELECT uuid_generate_v3(uuid_ns_dns(), 'python.org')::text, uuid_generate_v5(uuid_ns_dns(), 'é')::text"
    assert client.run(named) == [(str(uuid3(NAMESPACE_DNS, "python.org")), str(uuid5(NAMESPACE_DNS, "é")))]
    assert client.run("SELECT uuid_nil()::text") == [(str(UUID(int=0)),)]
    expected = [(name, hashlib.sha256(name.encode()).digest()) for name in ("a", "b")]
    assert client.run("SELECT * FROM m WHERE name IS NOT NULL ORDER BY name") == expected
    assert client.run("SELECT digest('\\xff'::bytea, 'MD5')") == [(hashlib.md5(b"\xff").digest(),)]
    drawn = client.run("SELECT length(gen_random_bytes(16)), gen_random_bytes(8) = gen_random_bytes(8) FROM t")
    assert drawn == [(16, False)] * 3
    assert client.run("SELECT count(DISTINCT gen_random_bytes(8)) FROM t") == [(3,)]


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("SELECT digest('a', 'sha3')", "22023", 'Cannot use "sha3": No such hash algorithm'),
        ("SELECT gen_random_bytes(0)", "39000", "Length not in range"),
        ("SELECT crypt('a', 'b')", "0A000", "function crypt is not supported"),
        ("SELECT gen_salt('bf')", "0A000", "function gen_salt is not supported"),
        ("SELECT uuid_generate_v1()", "0A000", "function uuid_generate_v1 is not supported"),
        ("CREATE EXTENSION postgis", "0A000", 'extension "postgis" is not available'),
        ("CREATE MATERIALIZED VIEW m AS SELECT gen_random_bytes(1)", "0A000", None),
    ],
)
def test_what_is_not_there_is_refused_by_name(client: Client, sql: str, sqlstate: str, message: str | None) -> None:
    with pytest.raises(SqlError) as refused:
        client.run(sql)
    assert refused.value.sqlstate == sqlstate
    assert message is None or refused.value.message == message


def test_keywords_are_those_of_postgresql(client: Client, postgres_oracle: PostgresOracle) -> None:
    sql = 'SELECT * FROM pg_catalog.pg_get_keywords() ORDER BY word COLLATE "C"'
    with postgres_oracle.connect() as connection:
        expected = connection.execute(sql.encode()).fetchall()
    assert client.run("SELECT * FROM pg_catalog.pg_get_keywords() ORDER BY word") == expected


def test_explain_of_a_source_and_of_a_view(client: Client) -> None:
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int)")
    source = "CREATE SOURCE s (a int, b varchar) WITH (connector = 'datagen')"
    lines = [str(line) for (line,) in client.run(f"EXPLAIN {source}")]
    assert any("Source" in line for line in lines), lines
    assert client.run(f"EXPLAIN (LOGICAL) {source}")
    assert client.run("EXPLAIN CREATE VIEW v AS SELECT b, count(*) FROM t GROUP BY b")
    assert client.run("SELECT count(*) FROM pg_class WHERE relname IN ('s', 'v')") == [(0,)]
    with pytest.raises(SqlError):
        client.run("EXPLAIN CREATE SOURCE s (a int) WITH (connector = 'nothing')")


ERRORS = [
    "INSERT INTO c VALUES (NULL, 1, 1, 1)",
    "INSERT INTO c VALUES (1, 1, 1, -1)",
    "INSERT INTO c VALUES (1, 9, 1, 1)",
    "INSERT INTO c VALUES (3, 1, 1, 1)",
    "INSERT INTO c (a, d) VALUES (4, -4)",
    "DELETE FROM p",
    "SELECT (-4)::positive",
    "ALTER TABLE c ADD CONSTRAINT k CHECK (a > 100)",
    "ALTER TABLE c ADD UNIQUE (u)",
    "ALTER TABLE c ALTER COLUMN n SET NOT NULL",
    "UPDATE c SET a = NULL",
]


def test_errors_name_what_they_are_about(server: WireServer, postgres_oracle: PostgresOracle) -> None:
    """The fields by which drivers know the table, the column, the constraint and the type."""

    def told(connection: psycopg.Connection[tuple[object, ...]]) -> list[tuple[object, ...]]:
        connection.execute("CREATE DOMAIN positive AS int CONSTRAINT above CHECK (VALUE > 0)")
        connection.execute("CREATE TABLE p (id int PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE c (a int NOT NULL UNIQUE, p int REFERENCES p, u int, n int CHECK (n > 0), d positive)"
        )
        connection.execute("INSERT INTO p VALUES (1)")
        connection.execute("INSERT INTO c VALUES (3, 1, 7, NULL), (2, NULL, 7, NULL)")
        found: list[tuple[object, ...]] = []
        for sql in ERRORS:
            with pytest.raises(psycopg.Error) as raised:
                connection.execute(sql.encode())
            diag = raised.value.diag
            place = diag.schema_name, diag.table_name, diag.column_name, diag.datatype_name, diag.constraint_name
            found.append((sql, diag.sqlstate, *place))
        return found

    ours = psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)
    with ours, postgres_oracle.connect() as theirs:
        theirs.execute("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
        assert told(ours) == told(theirs)
