"""What sqlglot passes over, and PostgreSQL refuses: missing elements, literals side by side, names that are none."""

from __future__ import annotations

import pytest

from risingpy.errors import SyntaxError_
from risingpy.frontend.parser.parse import parse

REFUSED = [
    ("SELECT 1, FROM t", "FROM"),
    ("SELECT , 1", ","),
    ("SELECT 1, , 2", ", 2"),
    ("SELECT f(1, )", ")"),
    ("SELECT f(, 1)", ", 1"),
    ("SELECT 1 IN (1, )", ")"),
    ("SELECT 1 ORDER BY 1, ", ""),
    ("SELECT 1 GROUP BY a, , b", ", b"),
    ("INSERT INTO t VALUES (1, , 2)", ", 2"),
    ("INSERT INTO t VALUES (, 2)", ", 2"),
    ("INSERT INTO t VALUES (1, 2), , (3, 4)", ", (3"),
    ("INSERT INTO t VALUES (1, 2), (3, 4),", ""),
    ("INSERT INTO t VALUES (1, 2) (3, 4)", "(3"),
    ("INSERT INTO t VALUES (1, 'a') NULL (3, 'b')", "NULL"),
    ("INSERT INTO t VALUES (1 x, 2)", "x"),
    ("INSERT INTO t VALUES ()", ")"),
    ("INSERT INTO t VALUES 1, 2", "1"),
    ("VALUES (1) AS t", "AS"),
    ("SELECT 'a' 'b'", "'b'"),
    ("SELECT f('a' /* no line */ 'b')", "'b'"),
    ("SELECT 1 AS", ""),
    ("SELECT 1 AS, 2", ", 2"),
    ("SELECT 1 AS 'a'", "'a'"),
    ("SELECT * everything", "everything"),
    ("SELECT x (a, b) (c)", "(c)"),
    ("SELECT 1 FROM t AS", ""),
    ("SELECT 1 FROM t 'a'", "'a'"),
    ("SELECT 1 FROM 'a'", "'a'"),
    ("SELECT 1 FROM . t", ". t"),
    ("SELECT . 5", ". 5"),
    ("WITH a AS (SELECT 1), SELECT 2", "SELECT 2"),
]

TAKEN = [
    "SELECT",
    "SELECT f()",
    "SELECT 'a'\n'b'",
    "SELECT 'a' -- to the end\n 'b'",
    "SELECT .5, 1., t.*, count(*) FROM t",
    "SELECT * FROM (VALUES (1, 2), (3, 4)) AS t (a, b)",
    "SELECT * FROM (VALUES (1, 2), (3, 4)) t",
    "SELECT * FROM jsonb_to_record('{}') AS (a INT, b TEXT)",
    'SELECT 1 AS values, 2 "x", 3 y',
    "INSERT INTO t VALUES (DEFAULT, 1), (2, DEFAULT)",
    "VALUES (1), (2) ORDER BY 1 LIMIT 1",
    "(VALUES (1)) UNION ALL (VALUES (2))",
]


@pytest.mark.parametrize(("sql", "rest"), REFUSED)
def test_a_statement_with_something_missing_is_refused_where_it_is_missing(sql: str, rest: str) -> None:
    with pytest.raises(SyntaxError_) as caught:
        parse(sql)
    position = caught.value.position
    assert position is not None
    assert sql[position - 1 :].startswith(rest) if rest else position > len(sql.rstrip())


@pytest.mark.parametrize("sql", TAKEN)
def test_statements_that_look_alike_are_taken(sql: str) -> None:
    parse(sql)
