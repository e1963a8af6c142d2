"""CREATE SCHEMA with the objects in it, beside PostgreSQL."""

from __future__ import annotations

from tests.frontend.session.tools.beside import Beside

STATEMENTS = (
    "CREATE ROLE r1",
    "CREATE SCHEMA s1",
    "CREATE SCHEMA s1",
    "CREATE SCHEMA IF NOT EXISTS s1",
    "CREATE SCHEMA AUTHORIZATION r1",
    "CREATE SCHEMA s2 AUTHORIZATION r1",
    "CREATE SCHEMA IF NOT EXISTS AUTHORIZATION r1",
    "SELECT nspname, pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname IN ('s2','r1') ORDER BY 1",
    "CREATE SCHEMA e1 CREATE TABLE t (id int PRIMARY KEY, n int) CREATE VIEW v AS SELECT id FROM t"
    " CREATE INDEX ix ON t (n) CREATE SEQUENCE q GRANT SELECT ON t TO r1",
    "SELECT relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'e1'"
    " ORDER BY 1",
    "SELECT * FROM e1.v",
    "SELECT has_table_privilege('r1', 'e1.t', 'SELECT')",
    "CREATE SCHEMA e2 AUTHORIZATION r1 CREATE TABLE t (a serial, b text)",
    "SELECT relname, pg_get_userbyid(relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE nspname = 'e2' ORDER BY 1",
    "CREATE SCHEMA e3 CREATE VIEW v AS SELECT * FROM t CREATE TABLE t (a int)",
    "SELECT * FROM e3.v",
    "CREATE SCHEMA IF NOT EXISTS e4 CREATE TABLE t (a int)",
    "CREATE SCHEMA e5 CREATE TABLE e6.t (a int)",
    "SELECT count(*) FROM pg_namespace WHERE nspname = 'e5'",
    "CREATE SCHEMA e5 CREATE TABLE e5.t (a int)",
    "SELECT * FROM e5.t",
    "CREATE SCHEMA e7 CREATE TABLE t (a int) CREATE TABLE t (b int)",
    "SELECT count(*) FROM pg_namespace WHERE nspname = 'e7'",
    "CREATE SCHEMA e7 CREATE VIEW v AS SELECT * FROM nosuch",
    "CREATE SCHEMA e7 CREATE TABLE a (id int PRIMARY KEY) CREATE TABLE b (id int REFERENCES a)"
    " CREATE VIEW v AS SELECT a.id FROM a JOIN b USING (id)",
    "BEGIN",
    "CREATE SCHEMA e8 CREATE TABLE t (a int)",
    "INSERT INTO e8.t VALUES (1)",
    "SELECT * FROM e8.t",
    "ROLLBACK",
    "SELECT count(*) FROM pg_namespace WHERE nspname = 'e8'",
    "CREATE SCHEMA pg_x",
    "CREATE SCHEMA AUTHORIZATION nosuch",
    "CREATE SCHEMA AUTHORIZATION CURRENT_USER CREATE TABLE mine (a int)",
    "SHOW search_path",
    "CREATE SCHEMA e9 CREATE INDEX ix ON t (n) CREATE TABLE t (n int)",
    "CREATE SCHEMA e9 CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA e10 CREATE TEMP TABLE t (a int)",
    "CREATE SCHEMA e11 CREATE TABLE t AS SELECT 1",
    "CREATE SCHEMA e11 CREATE TABLE IF NOT EXISTS t (a int) CREATE UNIQUE INDEX ON t (a)"
    " CREATE OR REPLACE VIEW w AS VALUES (1)",
    "SELECT relname, relkind FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname ="
    " 'e11' ORDER BY 1",
    "CREATE SCHEMA e12 GRANT SELECT, INSERT ON t TO r1 CREATE TABLE t (a int)",
    'CREATE SCHEMA e15 CREATE TABLE "create" (a int) CREATE SEQUENCE "grant" START 4',
    "CREATE SCHEMA e13 CREATE TABLE t (a int); SELECT 1; CREATE SCHEMA e14 CREATE TABLE t (a int) ",
    "CREATE SCHEMA o1; CREATE SCHEMA o2; CREATE TABLE o1.t (a int); CREATE TABLE o2.t (a int)",
    "BEGIN",
    "SET LOCAL search_path = o1",
    "GRANT SELECT ON t TO r1",
    "SET LOCAL search_path = o2",
    "COMMIT",
    "SELECT has_table_privilege('r1', 'o1.t', 'SELECT'), has_table_privilege('r1', 'o2.t', 'SELECT')",
)


def test_as_postgres(beside: Beside) -> None:
    try:
        beside.same(*STATEMENTS)
    finally:  # a role is the whole server's
        beside.connection.execute("DROP OWNED BY r1 CASCADE")
        beside.connection.execute("DROP ROLE r1")


def test_words_that_begin_no_element(beside: Beside) -> None:
    """The GRANT of WITH GRANT OPTION, and CREATE among the rights of a GRANT."""
    beside.same(
        "CREATE ROLE r2",
        "CREATE SCHEMA g CREATE TABLE t (a int) GRANT SELECT ON t TO r2 WITH GRANT OPTION"
        " GRANT USAGE, CREATE ON SCHEMA g TO r2 CREATE VIEW v AS SELECT a FROM t",
        "SELECT has_table_privilege('r2', 'g.t', 'SELECT WITH GRANT OPTION')",
        "SELECT has_schema_privilege('r2', 'g', 'CREATE')",
        "SELECT * FROM g.v",
        "DROP SCHEMA g CASCADE",
        "DROP ROLE r2",
    )
