"""ALTER COLUMN … TYPE varchar(more), as migrations do: it is allowed under indexes and keys, and rows stay."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client


@pytest.fixture
def users(client: Client) -> Client:
    client.run("CREATE TABLE u (key varchar(3) PRIMARY KEY, name varchar(5) UNIQUE, other varchar(5))")
    client.run("CREATE INDEX by_lower ON u (lower(name), other)")
    client.run("INSERT INTO u VALUES ('a', 'alice', 'x'), ('b', 'bob', 'y')")
    return client


def refused(client: Client, sql: str) -> str | None:
    with pytest.raises(SqlError) as error:
        client.run(sql)
    return error.value.sqlstate


@pytest.mark.parametrize("wider", ["varchar(8)", "varchar", "text"])
def test_longer_texts_fit(users: Client, wider: str) -> None:
    for column in ("key", "name", "other"):
        assert refused(users, f"UPDATE u SET {column} = 'longer' WHERE key = 'a'") == "22001"
        users.run(f"ALTER TABLE u ALTER COLUMN {column} TYPE {wider}")
    users.run("INSERT INTO u VALUES ('longer', 'longer', 'longer')")
    users.run("UPDATE u SET name = 'renamed' WHERE key = 'b'")
    rows = [("a", "alice", "x"), ("b", "renamed", "y"), ("longer", "longer", "longer")]
    assert users.run("SELECT * FROM u ORDER BY key") == rows
    users.run("FLUSH")
    assert users.run("SELECT key FROM u WHERE name = 'longer'") == [("longer",)]
    assert users.run("SELECT key FROM u WHERE lower(name) = 'renamed'") == [("b",)]
    assert users.run("SELECT name FROM u WHERE key = 'longer'") == [("longer",)]
    assert refused(users, "INSERT INTO u VALUES ('c', 'longer', 'z')") == "23505"
    users.run("CREATE MATERIALIZED VIEW m AS SELECT other, count(*) AS n FROM u GROUP BY other")
    assert users.run("SELECT count(*) FROM m") == [(3,)]


def test_what_reads_the_column_forbids_it(users: Client) -> None:
    users.run("CREATE MATERIALIZED VIEW m AS SELECT other FROM u")
    assert refused(users, "ALTER TABLE u ALTER COLUMN other TYPE varchar(9)") == "0A000"
    users.run("ALTER TABLE u ALTER COLUMN name TYPE varchar(9)")
    users.run("INSERT INTO u VALUES ('d', 'longer', 'w')")
    users.run("FLUSH")
    assert users.run("SELECT count(*) FROM m") == [(3,)]


def test_shorter_texts_are_another_type(users: Client) -> None:
    assert refused(users, "ALTER TABLE u ALTER COLUMN other TYPE varchar(0)") is not None
    users.run("INSERT INTO u VALUES ('c', 'carol', 'abcde')")
    assert refused(users, "ALTER TABLE u ALTER COLUMN other TYPE varchar(4)") == "22001"
    users.run("UPDATE u SET other = 'z' WHERE key = 'c'")
    users.run("ALTER TABLE u ALTER COLUMN other TYPE varchar(4)")  # its index is made anew
    assert refused(users, "UPDATE u SET other = 'abcde'") == "22001"
    assert users.run("SELECT key FROM u WHERE lower(name) = 'carol' AND other = 'z'") == [("c",)]
