"""New names of functions and of views' columns, and ALTER TABLE where a view reads the table in an unusual way."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

Connect = Callable[[], Client]
BASE = """
CREATE TABLE t (k int PRIMARY KEY, v int, w text);
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
CREATE SCHEMA s;
CREATE ROLE somebody;
CREATE FUNCTION add1(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a + 1';
CREATE FUNCTION add1(a date) RETURNS date LANGUAGE sql IMMUTABLE AS 'SELECT a + 1';
CREATE FUNCTION once(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a';
CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql IMMUTABLE RETURN once(a) * 2;
CREATE FUNCTION called(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT once(a)';
CREATE FUNCTION of_t(a int) RETURNS int LANGUAGE sql STABLE AS 'SELECT v FROM t WHERE k = a';
CREATE VIEW v1 AS SELECT k, add1(v) AS more, once(v) AS same FROM t;
CREATE VIEW v2 AS SELECT k, twice(k) AS d, called(k) AS c FROM t;
CREATE VIEW v3 AS SELECT k, of_t(k) AS found FROM t
"""
VIEWS = ("v1", "v2", "v3")
STATEMENTS = (
    "ALTER FUNCTION add1(int) RENAME TO plus1",
    "ALTER FUNCTION add1 RENAME TO plus2",
    "ALTER FUNCTION plus2(date) RENAME TO plus1",
    "ALTER FUNCTION plus1 RENAME TO other",
    "ALTER FUNCTION nosuch(int) RENAME TO other",
    "ALTER FUNCTION plus1(int) RENAME TO once",
    "ALTER FUNCTION plus1(int) SET SCHEMA s",
    "ALTER FUNCTION s.plus1(int) SET SCHEMA nosuch",
    "ALTER FUNCTION s.plus1(int) SET SCHEMA s",
    'ALTER FUNCTION s.plus1 RENAME TO "Plus 1"',
    "ALTER FUNCTION twice(int) SET SCHEMA s",
    "ALTER ROUTINE s.twice(int) RENAME TO doubled",
    "ALTER PROCEDURE s.doubled(int) RENAME TO x",
    "ALTER AGGREGATE s.doubled(int) RENAME TO x",
    "ALTER FUNCTION s.doubled(int) OWNER TO somebody",
    "ALTER FUNCTION once(int) RENAME TO once_more",
    "ALTER VIEW v1 RENAME COLUMN more TO most",
    "ALTER VIEW v1 RENAME most TO more",
    "ALTER TABLE v1 RENAME COLUMN more TO most",
    "ALTER VIEW v1 RENAME COLUMN nosuch TO x",
    "ALTER VIEW v1 RENAME COLUMN most TO k",
    "ALTER VIEW nosuch RENAME COLUMN a TO b",
    "ALTER VIEW IF EXISTS nosuch RENAME COLUMN a TO b",
    "ALTER TABLE t RENAME TO u",
    "ALTER TABLE u RENAME COLUMN v TO value",
    "DROP FUNCTION s.doubled(int)",
)
FUNCTIONS = (
    "SELECT n.nspname, p.proname, pg_get_function_identity_arguments(p.oid), pg_get_userbyid(proowner) = 'somebody'"
    " FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname IN ('public', 's') ORDER BY 1, 2, 3"
)
COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    " ORDER BY 1, ordinal_position"
)


def _outcome(run: Callable[[str], object], statement: str) -> object:
    try:
        run(statement)
    except SqlError as error:
        return error.sqlstate
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_as_in_postgresql(client: Client, postgres_oracle: PostgresOracle) -> None:
    """Bodies in strings stay, and fail when they are called next; views go on here with what they read."""
    with postgres_oracle.connect() as admin:
        admin.execute("CREATE DATABASE new_names")
        where = f"host={postgres_oracle.directory} port={postgres_oracle.port} user=postgres dbname=new_names"
        with psycopg.connect(where, autocommit=True) as theirs:

            def run(statement: str) -> list[tuple[object, ...]]:
                done = theirs.execute(statement.encode())
                return [] if done.description is None else done.fetchall()

            for statement in BASE.split(";\n"):
                client.run(statement)
                run(statement)
            before = {view: client.run(f"SELECT * FROM {view} ORDER BY k") for view in VIEWS}
            for statement in STATEMENTS:
                assert _outcome(client.run, statement) == _outcome(run, statement), statement
                for query in (FUNCTIONS, COLUMNS):
                    assert client.run(query) == run(query), statement
                for view, rows in before.items():
                    assert client.run(f"SELECT * FROM {view} ORDER BY k") == rows, (statement, view)
        admin.execute("DROP DATABASE new_names (FORCE)")
        admin.execute("DROP ROLE somebody")


def test_texts_of_views_follow_functions(client: Client) -> None:
    for statement in BASE.split(";\n"):
        client.run(statement)
    client.run("CREATE MATERIALIZED VIEW m AS SELECT k, twice(v) AS d, once(v) AS e FROM t WHERE add1(v) > 3")
    client.run("ALTER FUNCTION add1(int) SET SCHEMA s; ALTER FUNCTION twice(int) RENAME TO doubled")
    client.run("ALTER FUNCTION s.add1(int) RENAME TO plus1")
    [[text]] = client.run("SELECT pg_get_viewdef('m'::regclass)")
    assert "s.plus1(" in str(text) and "doubled(" in str(text) and "once(" in str(text)
    client.run("CREATE MATERIALIZED VIEW again AS " + str(text).rstrip(";"))
    client.run("INSERT INTO t VALUES (4, 1, 'd'), (5, 50, 'e')")
    rows = client.run("SELECT * FROM m ORDER BY k")
    assert rows == [(1, 20, 10), (2, 40, 20), (3, 60, 30), (5, 100, 50)]
    assert client.run("SELECT * FROM again ORDER BY k") == rows
    # The body of `doubled` is an expression, and follows.
    client.run("ALTER FUNCTION once(int) SET SCHEMA s")
    assert client.run("SELECT doubled(4)") == [(8,)]
    client.run("ALTER FUNCTION s.once(int) RENAME TO single")
    assert client.run("SELECT doubled(4)") == [(8,)]
    assert "s.single(a)" in str(client.run("SELECT pg_get_functiondef('doubled'::regproc)"))
    with pytest.raises(SqlError) as raised:
        client.run("SELECT called(4)")
    assert raised.value.sqlstate == "42883"


def test_a_column_of_a_materialized_view(client: Client, connect: Connect) -> None:
    client.run("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10), (2, 20)")
    client.run("CREATE MATERIALIZED VIEW m (a, b) AS SELECT k, v FROM t")
    client.run("CREATE INDEX on_b ON m (b)")
    client.run("CREATE VIEW over AS SELECT * FROM m WHERE b > 5")
    client.run("CREATE MATERIALIZED VIEW top AS SELECT max(b) AS b, count(*) AS n FROM m")
    client.run("CREATE SUBSCRIPTION follower FROM m WITH (retention = '1 hour')")
    client.run("COMMENT ON COLUMN m.b IS 'told'")
    reader = connect()
    reader.run("PREPARE p AS SELECT a FROM m WHERE b = 20")
    client.run("ALTER MATERIALIZED VIEW m RENAME COLUMN b TO c")
    assert client.run("SELECT a, c FROM m WHERE c = 20") == [(2, 20)]
    with pytest.raises(SqlError) as raised:
        client.run("SELECT b FROM m")
    assert raised.value.sqlstate == "42703"
    assert client.run("SELECT a, b FROM over ORDER BY 1") == [(1, 10), (2, 20)]
    assert "c AS b" in str(client.run("SELECT pg_get_viewdef('over'::regclass)"))
    assert "max(m.c) AS b" in str(client.run("SELECT pg_get_viewdef('top'::regclass)"))
    assert "(a, c) AS" in str(client.run("SHOW CREATE MATERIALIZED VIEW m"))
    assert "(c)" in str(client.run("SELECT indexdef FROM pg_indexes WHERE indexname = 'on_b'"))
    assert client.run("SELECT col_description('m'::regclass, 2)") == [("told",)]
    client.run("INSERT INTO t VALUES (3, 30)")
    client.run("UPDATE t SET v = 21 WHERE k = 2")
    assert client.run("SELECT * FROM top") == [(30, 3)]
    assert client.run("SELECT a FROM m WHERE c = 21") == [(2,)]
    assert client.run("SELECT count(*) FROM over") == [(3,)]
    client.run("ALTER MATERIALIZED VIEW m RENAME c TO b")
    client.run("CREATE INDEX again ON m (b) INCLUDE (a)")
    assert client.run("SELECT a FROM m WHERE b = 30") == [(3,)]


def test_a_table_under_a_temporal_join(client: Client) -> None:
    client.run("CREATE TABLE dim (gone int, id int PRIMARY KEY, name varchar, extra int)")
    client.run("INSERT INTO dim VALUES (0, 1, 'one', 5), (0, 2, 'two', 6)")
    client.run("CREATE TABLE ev (e int, d int) APPEND ONLY")
    join = "FROM ev JOIN dim FOR SYSTEM_TIME AS OF PROCTIME() ON"
    client.run(f"CREATE MATERIALIZED VIEW by_key AS SELECT e, name {join} ev.d = dim.id")
    client.run(f"CREATE MATERIALIZED VIEW by_value AS SELECT e, name {join} ev.d = dim.extra")
    client.run("INSERT INTO ev VALUES (1, 1), (2, 5)")
    assert client.run("SELECT * FROM by_key") == [(1, "one")]
    with pytest.raises(SqlError) as raised:
        client.run("ALTER TABLE dim DROP COLUMN name")
    assert raised.value.sqlstate == "2BP01"
    client.run("ALTER TABLE dim DROP COLUMN gone")
    client.run("ALTER TABLE dim ADD COLUMN more varchar DEFAULT 'm'")
    client.run("ALTER TABLE dim RENAME COLUMN name TO called")
    client.run("ALTER TABLE dim RENAME TO dimension")
    client.run("INSERT INTO dimension VALUES (3, 'three', 7, 'x')")
    client.run("INSERT INTO ev VALUES (3, 3), (4, 7), (5, 2)")
    assert client.run("SELECT * FROM by_key ORDER BY 1") == [(1, "one"), (3, "three"), (5, "two")]
    assert client.run("SELECT * FROM by_value ORDER BY 1") == [(2, "one"), (4, "three")]
    for view in ("by_key", "by_value"):
        [[text]] = client.run(f"SELECT pg_get_viewdef('{view}'::regclass)")
        client.run(f"CREATE MATERIALIZED VIEW {view}_again AS {str(text).rstrip(';')}")


def test_types_after_an_alter_are_those_of_before(client: Client) -> None:
    client.run("CREATE TABLE t (a text, b varchar, c varchar(3), d text[])")
    client.run("ALTER TABLE t ADD COLUMN e text")
    [[_, text]] = client.run("SHOW CREATE TABLE t")
    assert "a text, b character varying, c character varying(3), d text[], e text" in str(text)


def test_attributes_of_a_type_in_use(client: Client, postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as admin:
        admin.execute("CREATE DATABASE attributes")
        where = f"host={postgres_oracle.directory} port={postgres_oracle.port} user=postgres dbname=attributes"
        with psycopg.connect(where, autocommit=True) as theirs:

            def run(statement: str) -> list[tuple[object, ...]]:
                done = theirs.execute(statement.encode())
                return [] if done.description is None else done.fetchall()

            for statement in (
                "CREATE TYPE spot AS (x int, y text)",
                "CREATE TYPE pair AS (one spot, n int)",
                "CREATE TABLE t (id int PRIMARY KEY, s spot, l spot[], p pair, other int)",
                "CREATE INDEX on_other ON t (other)",
                "INSERT INTO t VALUES (1, '(1,a)', '{\"(2,b)\"}', '(\"(3,c)\",4)', 5), (2, NULL, NULL, NULL, NULL)",
                "ALTER TYPE spot ADD ATTRIBUTE z int",
                "INSERT INTO t VALUES (3, '(1,a,9)', '{\"(2,b,8)\"}', '(\"(3,c,7)\",4)', 5)",
                "ALTER TYPE spot RENAME ATTRIBUTE y TO label",
                "UPDATE t SET s = ROW((s).x + 1, (s).label, 6) WHERE id = 1",
                "ALTER TYPE spot DROP ATTRIBUTE x, ADD ATTRIBUTE w boolean",
                "ALTER TYPE spot ALTER ATTRIBUTE z TYPE bigint",
                "ALTER TYPE spot ADD ATTRIBUTE z int",
                "ALTER TYPE spot DROP ATTRIBUTE IF EXISTS nosuch",
                "INSERT INTO t VALUES (4, '(a,9,t)', NULL, '(\"(c,7,f)\",4)', 6)",
                "BEGIN",
                "INSERT INTO t VALUES (5, '(a,9,t)', NULL, NULL, 6)",
                "ALTER TYPE pair ADD ATTRIBUTE m int",
                "UPDATE t SET other = 7 WHERE id = 5",
                "COMMIT",
            ):
                assert _outcome(client.run, statement) == _outcome(run, statement), statement
                if not statement.startswith("CREATE"):
                    columns = "id, s::text, l::text, p::text, other"
                    query = f"SELECT {columns} FROM t ORDER BY id"
                    assert client.run(query) == run(query), statement
            query = "SELECT id, (s).label, (s).z, ((p).one).w FROM t WHERE other > 4 ORDER BY id"
            assert client.run(query) == run(query)
        admin.execute("DROP DATABASE attributes (FORCE)")


def test_attributes_of_a_type_that_a_view_has(client: Client) -> None:
    client.run("CREATE TYPE spot AS (x int, y text); CREATE TABLE t (id int, s spot)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT id, s FROM t")
    with pytest.raises(SqlError, match='materialized view "m" uses it') as raised:
        client.run("ALTER TYPE spot ADD ATTRIBUTE z int")
    assert raised.value.sqlstate == "0A000"
    client.run("INSERT INTO t VALUES (1, '(1,a)')")
    assert client.run("SELECT (s).x FROM m") == [(1,)]


def test_a_missing_schema_is_told_before_a_missing_type(client: Client) -> None:
    for statement, sqlstate in (
        ("CREATE TABLE nosuch.t (a int, e nosuch)", "3F000"),
        ("CREATE TABLE public.t (a int, e nosuch)", "42704"),
        ("CREATE TABLE pg_temp.t (a int, e nosuch)", "42704"),
    ):
        assert _outcome(client.run, statement) == sqlstate, statement
