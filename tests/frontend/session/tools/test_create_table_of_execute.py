"""CREATE TABLE … AS EXECUTE of a prepared query, beside PostgreSQL."""

from __future__ import annotations

from tests.frontend.session.tools.beside import Beside

STATEMENTS = (
    "CREATE TABLE s (a int, b text)",
    "INSERT INTO s VALUES (1,'x'),(2,'y'),(3,'z')",
    "PREPARE p(int) AS SELECT a, b FROM s WHERE a >= $1 ORDER BY a",
    "PREPARE q AS VALUES (1, 'one'), (2, 'two')",
    "PREPARE ins AS INSERT INTO s VALUES (9, 'n') RETURNING a",
    "CREATE TABLE t1 AS EXECUTE p(2)",
    "SELECT * FROM t1 ORDER BY a",
    "CREATE TABLE t2 (x, y) AS EXECUTE p(1 + 1) WITH NO DATA",
    "SELECT * FROM t2",
    "CREATE TABLE t3 AS EXECUTE q",
    "SELECT * FROM t3 ORDER BY 1",
    "CREATE TABLE IF NOT EXISTS t3 AS EXECUTE q",
    "CREATE TABLE t3 AS EXECUTE q",
    "CREATE TABLE t4 AS EXECUTE ins",
    "CREATE TABLE t4 AS EXECUTE nosuch",
    "CREATE TABLE t4 AS EXECUTE p",
    "CREATE TABLE t4 AS EXECUTE p(1, 2)",
    "CREATE TABLE t4 AS EXECUTE p('x')",
    "CREATE TABLE t4 (a, b, c) AS EXECUTE p(1)",
    "CREATE TEMP TABLE t5 AS EXECUTE p(3)",
    "SELECT * FROM t5",
    "CREATE TABLE t6 AS EXECUTE p(3) WITH DATA",
    "SELECT * FROM t6",
    "BEGIN",
    "CREATE TABLE t7 AS EXECUTE p(2)",
    "SELECT * FROM t7 ORDER BY a",
    "ROLLBACK",
    "SELECT * FROM t7",
    "CREATE TABLE IF NOT EXISTS t6 AS EXECUTE ins",
    "CREATE UNLOGGED TABLE t9 AS EXECUTE q",
    "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't9'::regclass AND attnum > 0",
    "CREATE TABLE IF NOT EXISTS t10 AS EXECUTE p(2) WITH NO DATA",
    "CREATE TABLE t11 AS EXECUTE p((SELECT 1))",
    "PREPARE u AS SELECT $1 AS v",
    "CREATE TABLE t12 AS EXECUTE u('abc')",
    "SELECT * FROM t12",
    "PREPARE upd AS UPDATE s SET b = 'q'",
    "CREATE TABLE t13 AS EXECUTE upd",
)


def test_as_postgres(beside: Beside) -> None:
    beside.same(*STATEMENTS)


def test_the_query_is_that_of_the_moment(beside: Beside) -> None:
    beside.same(
        "CREATE TABLE s AS SELECT 1 AS a",
        "PREPARE p AS SELECT * FROM s",
        "CREATE TABLE one AS EXECUTE p",
        "DEALLOCATE p",
        "PREPARE p AS SELECT 'x' AS other",
        "CREATE TABLE two AS EXECUTE p",
        "SELECT * FROM one, two",
    )
    [(tag, rows)] = [beside.ours("EXPLAIN CREATE TABLE three AS EXECUTE p")]
    assert tag == "EXPLAIN" and rows
