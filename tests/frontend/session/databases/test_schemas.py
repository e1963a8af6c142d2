"""Schemas: owners, new names in every text, and DROP … CASCADE, which leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.meta.database import Database
from tests.frontend.session.databases.test_databases import in_database, refusal


def owners(client: Any) -> dict[object, object]:
    sql = "SELECT nspname, rolname FROM pg_namespace JOIN pg_roles ON pg_roles.oid = nspowner WHERE nspowner > 10"
    return dict(client.run(sql))


def test_authorization(client: Any, database: Database) -> None:
    client.run("CREATE USER joe")
    client.run("CREATE SCHEMA AUTHORIZATION joe")
    client.run("CREATE SCHEMA s AUTHORIZATION joe")
    client.run("CREATE SCHEMA IF NOT EXISTS s AUTHORIZATION CURRENT_USER")
    assert owners(client) == {"joe": "joe", "s": "joe"}
    joe = in_database(database, "dev", "joe")
    assert joe.run("SELECT current_schema()") == [("joe",)]  # "$user" is the first of the search path
    joe.run("CREATE TABLE t (a int)")
    assert client.run("SELECT count(*) FROM joe.t") == [(0,)]
    assert refusal(joe, "CREATE SCHEMA x AUTHORIZATION joe") == ("42501", "permission denied for database dev")
    client.run("GRANT CREATE ON DATABASE dev TO joe")
    assert refusal(joe, "CREATE SCHEMA x AUTHORIZATION root") == ("42501", 'must be member of role "root"')
    assert refusal(client, "CREATE SCHEMA x AUTHORIZATION nobody")[0] == "42704"
    assert refusal(client, "CREATE SCHEMA pg_x")[0] == "42939"
    assert refusal(client, "CREATE FUNCTION pg_temp.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'")[0] == "0A000"


def test_a_new_name_is_in_every_text(client: Any, database: Database) -> None:
    client.run("CREATE SCHEMA old")
    client.run("CREATE SCHEMA beside")
    client.run("CREATE TABLE old.t (a int PRIMARY KEY, b int)")
    client.run("CREATE INDEX by_b ON old.t (b)")
    client.run("CREATE FUNCTION old.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    client.run("CREATE VIEW v AS SELECT old.t.a, x.b FROM old.t JOIN old.t AS x USING (a)")
    client.run("SET search_path TO old, public")
    client.run("CREATE VIEW beside.v AS SELECT a FROM t")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT sum(b) AS s FROM t")
    client.run("RESET search_path")
    client.run("CREATE SUBSCRIPTION old.sub FROM old.t WITH (retention = '1D')")
    client.run("INSERT INTO old.t VALUES (1, 2)")
    client.run("ALTER SCHEMA old RENAME TO new")
    client.run("INSERT INTO new.t VALUES (2, 3)")
    client.run("FLUSH")
    assert sorted(client.run("SELECT * FROM v")) == [(1, 2), (2, 3)]
    assert client.run("SELECT * FROM new.m") == [(5,)] and client.run("SELECT new.f(1)") == [(2,)]
    assert sorted(client.run("SELECT * FROM beside.v")) == [(1,), (2,)]
    catalog = database.reads.catalog
    texts = [str(each.definition) for each in (*catalog.relations.values(), *catalog.functions.values())]
    assert not [text for text in texts if "old" in text], texts
    client.run("CREATE SCHEMA old")
    assert refusal(client, "ALTER SCHEMA new RENAME TO old") == ("42P06", 'schema "old" already exists')
    assert refusal(client, "ALTER SCHEMA nosuch RENAME TO x") == ("3F000", 'schema "nosuch" does not exist')
    client.run("CREATE USER joe")
    joe = in_database(database, "dev", "joe")
    assert refusal(joe, "ALTER SCHEMA new RENAME TO x") == ("42501", "must be owner of schema new")


def test_calls_of_a_schemas_functions_follow_its_new_name(client: Any, database: Database) -> None:
    client.run("CREATE SCHEMA old; CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client.run("CREATE FUNCTION old.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    body = "$$\ndef p(x):\n    return x * 2  # old.\n$$"
    client.run(f"CREATE FUNCTION old.p(x int) RETURNS int LANGUAGE python IMMUTABLE AS {body}")
    client.run("CREATE VIEW v AS SELECT old.f(old.f(a)) AS n, dev.old.p(a) AS m FROM t")
    client.run('CREATE MATERIALIZED VIEW mv AS SELECT Old.p(a) AS n FROM t WHERE "old".f(a) > 0')
    client.run("CREATE SINK s AS SELECT old.p(a) AS n FROM t WITH (connector = 'blackhole')")
    client.run("SET search_path TO public, old; CREATE VIEW u AS SELECT f(a) AS n FROM t; RESET search_path")
    client.run('ALTER SCHEMA old RENAME TO "a.b"')
    client.run("INSERT INTO t VALUES (2); FLUSH; CREATE SCHEMA old")
    assert sorted(client.run("SELECT * FROM v")) == [(3, 2), (4, 4)]
    assert sorted(client.run("SELECT * FROM mv")) == [(2,), (4,)]
    assert sorted(client.run("SELECT * FROM u")) == [(2,), (3,)]
    shown = {each.name: each.definition for each in database.reads.catalog.own_relations}
    assert shown["v"] == 'CREATE VIEW v AS SELECT "a.b".f("a.b".f(a)) AS n, dev."a.b".p(a) AS m FROM t'
    assert " ".join(shown["mv"].split()) == (
        'CREATE MATERIALIZED VIEW mv AS SELECT "a.b".p(t.a) AS n FROM t WHERE "a.b".f(t.a) > 0'
    )
    assert '"a.b".p(t.a)' in shown["s"]
    client.run("ALTER TABLE t RENAME TO t2")  # which binds all of the texts anew
    assert sorted(client.run("SELECT * FROM v")) == [(3, 2), (4, 4)]


def test_bodies_in_strings_are_texts_and_others_follow(client: Any, database: Database) -> None:
    """As in PostgreSQL 15: a string is read when the function is called; RETURN's expression is bound."""
    client.run("CREATE SCHEMA old; CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client.run("CREATE FUNCTION old.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    client.run("CREATE FUNCTION text1(int) RETURNS int LANGUAGE sql AS 'SELECT old.f($1)'")
    client.run(
        "CREATE FUNCTION bound(int) RETURNS int LANGUAGE sql RETURN Old.f(dev.\"old\".f($1)) + length('old.f(1)')"
    )
    client.run("CREATE FUNCTION old.inside(int) RETURNS int LANGUAGE sql RETURN old.f($1)")
    client.run(
        "CREATE VIEW of_text AS SELECT text1(a) AS n FROM t; CREATE VIEW of_bound AS SELECT bound(a) AS n FROM t"
    )
    client.run("CREATE MATERIALIZED VIEW kept AS SELECT text1(a) AS n, bound(a) AS m, old.inside(a) AS o FROM t")
    client.run('ALTER SCHEMA old RENAME TO "a.b"')
    client.run("INSERT INTO t VALUES (2); FLUSH")
    assert sorted(client.run("SELECT * FROM of_bound")) == [(11,), (12,)]
    assert sorted(client.run("SELECT * FROM kept")) == [(2, 11, 2), (3, 12, 3)]  # its plan has the functions' bodies
    assert client.run('SELECT "a.b".inside(1)') == [(2,)]
    assert refusal(client, "SELECT text1(1)") == ("42883", "function old.f(integer) does not exist")
    assert sorted(client.run("SELECT * FROM of_text")) == [(2,), (3,)]  # otherwise than in PostgreSQL: plans, too
    shown = {each.name: each.definition for each in database.reads.catalog.functions.values()}
    assert shown["bound"].endswith("""RETURN "a.b".f(dev."a.b".f($1)) + length('old.f(1)')""")
    assert shown["inside"].endswith('CREATE FUNCTION "a.b".inside(int) RETURNS int LANGUAGE sql RETURN "a.b".f($1)')
    client.run('ALTER SCHEMA "a.b" RENAME TO old')
    assert client.run("SELECT text1(1), bound(1), old.inside(1)") == [(2, 11, 2)]
    assert sorted(client.run("SELECT * FROM of_text")) == [(2,), (3,)]


def test_cascade_leaves_nothing(client: Any, database: Database) -> None:
    client.run("CREATE SCHEMA s")
    client.run("CREATE FUNCTION s.f(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'")
    client.run("CREATE TABLE s.t (a int PRIMARY KEY)")
    client.run("CREATE INDEX i ON s.t (a)")
    client.run("CREATE TABLE u (a int PRIMARY KEY)")
    client.run("CREATE VIEW calls AS SELECT s.f(a) AS b FROM u")
    client.run("CREATE VIEW reads AS SELECT a FROM s.t")
    with pytest.raises(SqlError) as caught:
        client.run("DROP SCHEMA s")
    assert caught.value.sqlstate == "2BP01"
    assert caught.value.detail == "table s.t depends on schema s\nfunction s.f(integer) depends on schema s"
    client.run("DROP SCHEMA s CASCADE")
    assert client.notices[-1] == "drop cascades to 4 other objects"
    catalog = database.reads.catalog
    assert not catalog.functions and [r.name for r in catalog.relations.values()] == ["u"]
    client.run("CREATE SCHEMA s")
    assert refusal(client, "SELECT s.f(1)")[0] == "42883"
    client.run("CREATE VIEW s.v AS SELECT 1 AS a")
    client.run("DROP SCHEMA s CASCADE")
    assert client.notices[-1] == "drop cascades to view s.v"
