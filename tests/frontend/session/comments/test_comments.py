"""COMMENT ON, beside a PostgreSQL, and what becomes of comments: renames, drops, restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle

HISTORY = """
CREATE TABLE t (id int PRIMARY KEY, a int, b text, CONSTRAINT positive CHECK (a > 0))
CREATE INDEX by_a ON t (a)
CREATE VIEW v AS SELECT a FROM t
CREATE SEQUENCE s
CREATE ROLE commented
COMMENT ON SCHEMA public IS NULL
=SELECT obj_description('pg_catalog'::regnamespace)
=SELECT obj_description('public'::regnamespace, 'pg_namespace')
COMMENT ON TABLE t IS 'a table'
COMMENT ON TABLE public.t IS 'it''s a table'
COMMENT ON COLUMN t.a IS 'a column'
COMMENT ON COLUMN public.t.b IS E'two\\nlines'
COMMENT ON COLUMN v.a IS 'of a view'
COMMENT ON VIEW v IS 'a view'
COMMENT ON INDEX by_a IS 'an index'
COMMENT ON INDEX t_pkey IS 'the index of a key'
COMMENT ON SEQUENCE s IS 'numbers'
COMMENT ON SCHEMA public IS 'for all'
COMMENT ON CONSTRAINT positive ON t IS 'above zero'
COMMENT ON CONSTRAINT t_pkey ON t IS 'the key'
COMMENT ON ROLE commented IS 'a role'
COMMENT ON TABLE v IS 'x'
COMMENT ON VIEW t IS 'x'
COMMENT ON INDEX t IS 'x'
COMMENT ON TABLE nothing IS 'x'
COMMENT ON TABLE nowhere.t IS 'x'
COMMENT ON COLUMN t.nothing IS 'x'
COMMENT ON COLUMN s.last_value IS 'x'
COMMENT ON COLUMN by_a.a IS 'x'
COMMENT ON COLUMN a IS 'x'
COMMENT ON CONSTRAINT nothing ON t IS 'x'
COMMENT ON SCHEMA nothing IS 'x'
COMMENT ON DATABASE nothing IS 'x'
COMMENT ON ROLE nothing IS 'x'
COMMENT ON FUNCTION nothing() IS 'x'
COMMENT ON TABLE t IS 5
COMMENT ON TABLE t
=SELECT obj_description('t'::regclass, 'pg_class'), obj_description('t'::regclass), obj_description('t'::regclass, 'x')
=SELECT col_description('t'::regclass, n) FROM generate_series(0, 4) n
=SELECT col_description('v'::regclass, 1), obj_description('v'::regclass, 'pg_class')
=SELECT obj_description('by_a'::regclass, 'pg_class'), obj_description('t_pkey'::regclass, 'pg_class')
=SELECT obj_description('s'::regclass, 'pg_class'), obj_description('public'::regnamespace, 'pg_namespace')
=SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1
=SELECT shobj_description('commented'::regrole, 'pg_authid'), obj_description('commented'::regrole, 'pg_authid')
=SELECT c.relname, d.objsubid, d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid \
WHERE d.classoid = 'pg_class'::regclass AND c.relname IN ('t', 'v', 's', 'by_a', 't_pkey') ORDER BY 1, 2
ALTER TABLE t RENAME COLUMN a TO aa
ALTER TABLE t ALTER COLUMN b TYPE varchar(20)
ALTER TABLE t RENAME TO tt
ALTER INDEX by_a RENAME TO by_aa
=SELECT col_description('tt'::regclass, n) FROM generate_series(0, 4) n
=SELECT obj_description('tt'::regclass), obj_description('by_aa'::regclass)
COMMENT ON COLUMN tt.b IS 'of another type'
=SELECT col_description('tt'::regclass, 3)
COMMENT ON COLUMN tt.b IS NULL
COMMENT ON TABLE tt IS ''
=SELECT col_description('tt'::regclass, 3), obj_description('tt'::regclass, 'pg_class')
ALTER TABLE tt DROP COLUMN b
DROP VIEW v
CREATE VIEW v AS SELECT id AS a FROM tt
=SELECT obj_description('v'::regclass, 'pg_class'), col_description('v'::regclass, 1)
CREATE SCHEMA named
COMMENT ON SCHEMA named IS 'a schema'
ALTER SCHEMA named RENAME TO renamed
=SELECT obj_description('renamed'::regnamespace, 'pg_namespace')
DROP SCHEMA renamed
CREATE SCHEMA renamed
=SELECT obj_description('renamed'::regnamespace, 'pg_namespace')
DROP SCHEMA renamed
COMMENT ON SCHEMA public IS NULL
DROP TABLE tt CASCADE
DROP SEQUENCE s
DROP ROLE commented
=SELECT count(*) FROM pg_description d JOIN pg_class c ON c.oid = d.objoid WHERE c.relname IN ('t', 'tt', 'v', 's')
"""


def test_a_history_gives_what_postgresql_gives(client: Client, postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as connection:
        connection.execute("DROP ROLE IF EXISTS commented")
    different = [each for each in differences(client, postgres_oracle, HISTORY) if "42601" not in repr(each[1:])]
    assert not different


def test_only_owners_comment(client: Client, database: Database) -> None:
    client.run("CREATE TABLE t (a int)")
    client.run("CREATE USER bob")
    bob = Client(open_session(database, StartupParameters("bob", "dev", {}, process_id=99)))
    for what in ("TABLE t", "COLUMN t.a", "SCHEMA public", "DATABASE dev", "ROLE root"):
        with pytest.raises(SqlError) as refused:
            bob.run(f"COMMENT ON {what} IS 'x'")
        assert refused.value.sqlstate == "42501", what
    client.run("ALTER TABLE t OWNER TO bob")
    bob.run("COMMENT ON COLUMN t.a IS 'mine'")
    assert client.run("SELECT col_description('t'::regclass, 1)") == [("mine",)]
    bob.session.close()


def test_comments_on_what_postgresql_has_not(client: Client) -> None:
    client.run("CREATE TABLE t (a int)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    client.run("CREATE SINK k FROM m WITH (connector = 'blackhole')")
    client.run("CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'")
    for what in ("MATERIALIZED VIEW m", "COLUMN m.a", "SINK k", "FUNCTION f(int)", "DATABASE dev"):
        client.run(f"COMMENT ON {what} IS 'on {what}'")
    assert client.run("SELECT obj_description('m'::regclass), col_description('m'::regclass, 1)") == [
        ("on MATERIALIZED VIEW m", "on COLUMN m.a")
    ]
    described = "SELECT description FROM pg_description UNION ALL SELECT description FROM pg_shdescription ORDER BY 1"
    assert [text for (text,) in client.run(described)] == [
        *("on COLUMN m.a", "on DATABASE dev", "on FUNCTION f(int)", "on MATERIALIZED VIEW m", "on SINK k"),
        *("standard public schema", "system catalog schema"),
    ]
    assert client.run("SELECT obj_description('f(int)'::regprocedure, 'pg_proc')") == [("on FUNCTION f(int)",)]
    with pytest.raises(SqlError, match="COMMENT ON TRIGGER is not supported"):
        client.run("COMMENT ON TRIGGER g ON t IS 'x'")


def test_public_says_what_it_is_until_somebody_says_something(client: Client) -> None:
    """pg_dump writes COMMENT ON SCHEMA public for any other text, and for none."""
    said = "SELECT obj_description('public'::regnamespace, 'pg_namespace')"
    assert client.run(said) == [("standard public schema",)]
    for text, expected in (("'ours'", "ours"), ("NULL", None), ("'standard public schema'", "standard public schema")):
        client.run(f"COMMENT ON SCHEMA public IS {text}")
        assert client.run(said) == [(expected,)]


def test_comments_outlive_a_restart_and_a_new_key(tmp_path: Path) -> None:
    for restarted in (False, True):
        opened = Database(tmp_path / "data", parallelism=1)
        opened.start(InProcessRunner(opened.data_dir))
        client = Client(open_session(opened, StartupParameters("root", "dev", {})))
        if not restarted:
            client.run("CREATE TABLE t (a int NOT NULL, b int)")
            client.run("COMMENT ON TABLE t IS 'kept'")
            client.run("COMMENT ON COLUMN t.b IS 'too'")
            client.run("ALTER TABLE t ALTER COLUMN b TYPE bigint")
            client.run("ALTER TABLE t ADD PRIMARY KEY (a)")
        assert client.run("SELECT obj_description('t'::regclass), col_description('t'::regclass, 2)") == [
            ("kept", "too")
        ]
        client.session.close()
        opened.close()
