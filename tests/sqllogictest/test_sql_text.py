"""SQL looked at as text."""

from __future__ import annotations

import pytest

from risingpy.sqllogictest.execution import Untranslatable
from risingpy.sqllogictest.oracle_sql import to_postgresql
from risingpy.sqllogictest.sql_text import (
    defined_relation,
    first_words,
    is_query,
    names,
    split_statements,
    without_final_order,
)
from risingpy.sqllogictest.substitution import UnknownVariable, substitute


def test_first_words_skip_comments() -> None:
    assert first_words("-- hello\n/* and */ create  Table t", 2) == ["CREATE", "TABLE"]


@pytest.mark.parametrize(
    "sql",
    [
        *("SELECT 1", "VALUES (1)", "(SELECT 1)", "with x AS (SELECT 1) SELECT 2"),
        "WITH x (a) AS (SELECT 1), delete AS (SELECT 2) SELECT 2",
    ],
)
def test_queries(sql: str) -> None:
    assert is_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        *("SHOW TABLES", "INSERT INTO t VALUES (1)", "EXPLAIN SELECT 1", ""),
        "WITH x (a) AS (SELECT 1), y AS (SELECT (2)) INSERT INTO t SELECT * FROM x, y",
    ],
)
def test_no_queries(sql: str) -> None:
    assert not is_query(sql)


@pytest.mark.parametrize(
    ("sql", "cut"),
    [
        ("SELECT a FROM t ORDER BY a DESC;", "SELECT a FROM t"),
        ("SELECT a FROM t ORDER BY a LIMIT 3", "SELECT a FROM t ORDER BY a LIMIT 3"),
        ("VALUES ((SELECT a FROM t ORDER BY a))", "VALUES ((SELECT a FROM t ORDER BY a))"),
        ("SELECT a FROM (SELECT a FROM t LIMIT 1) u ORDER BY a", "SELECT a FROM (SELECT a FROM t LIMIT 1) u"),
        ("SELECT 'ORDER BY' FROM t", "SELECT 'ORDER BY' FROM t"),
        ('SELECT "order" FROM t', 'SELECT "order" FROM t'),
    ],
)
def test_the_last_order_by_is_cut(sql: str, cut: str) -> None:
    assert without_final_order(sql) == cut


def test_names_are_those_of_words_and_quoted_names() -> None:
    assert names("""SELECT A, "B c" FROM T WHERE x = 'not me' -- nor me""") == {
        "select", "a", "B c", "from", "t", "where", "x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "relation"),
    [
        ("CREATE TABLE IF NOT EXISTS Foo (table_name INT)", "foo"),
        ('CREATE MATERIALIZED VIEW "Foo" AS SELECT 1', "Foo"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "v"),
        ("DROP TABLE IF EXISTS t CASCADE", "t"),
        ("ALTER TABLE t ADD COLUMN b INT", "t"),
        ("CREATE INDEX IF NOT EXISTS i ON t (a)", "i"),
        ("CREATE SCHEMA s", None),
        ("INSERT INTO t VALUES (1)", None),
    ],
)
def test_the_relation_that_a_statement_defines(sql: str, relation: str | None) -> None:
    assert defined_relation(sql) == relation


def test_statements_part_at_semicolons_outside_strings() -> None:
    assert split_statements("SELECT ';'; -- ;\n ;\nSELECT 2") == ["SELECT ';'", "SELECT 2"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "CREATE VIEW v AS SELECT 1"),
        ("create materialized view if not exists v AS SELECT 1", "CREATE OR REPLACE VIEW v AS SELECT 1"),
        ("DROP MATERIALIZED VIEW IF EXISTS v", "DROP VIEW IF EXISTS v"),
        ("CREATE TABLE t (a INT) APPEND ONLY", "CREATE TABLE t (a INT) "),
        ("SELECT 'APPEND ONLY'", "SELECT 'APPEND ONLY'"),
        ("FLUSH", None),
        ("SHOW timezone", "SHOW timezone"),
    ],
)
def test_statements_for_postgresql(ours: str, theirs: str | None) -> None:
    assert to_postgresql(ours) == theirs


@pytest.mark.parametrize("sql", ["SHOW TABLES", "DESCRIBE t", "EXPLAIN SELECT 1", "SET visibility_mode = 'checkpoint'"])
def test_what_postgresql_is_not_asked(sql: str) -> None:
    with pytest.raises(Untranslatable):
        to_postgresql(sql)


def test_variables() -> None:
    variables = {"A": "1", "B_2": "two"}
    assert substitute(r"$A ${B_2}x ${C:default} \$A $1", variables) == "1 twox default $A $1"
    with pytest.raises(UnknownVariable, match="'C'"):
        substitute("${C}", variables)
