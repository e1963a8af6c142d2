"""Statements become data, with folded names and positions in the whole text."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.parser import ast, parse
from risingpy.plan.catalog import MaterializedView


def one(sql: str) -> ast.Statement:
    (parsed,) = parse(sql)
    return parsed.statement


def test_statements_keep_their_text_and_offset() -> None:
    parsed = parse("  select 1 ; -- nothing\n; flush;SELECT 'a;b'")
    assert [(p.text, p.offset) for p in parsed] == [("select 1", 2), ("flush", 26), ("SELECT 'a;b'", 32)]


@pytest.mark.parametrize("sql", ["", " \n", ";;", "-- comment", "/* a /* nested */ comment */ ;"])
def test_nothing(sql: str) -> None:
    assert parse(sql) == []


def test_create_table() -> None:
    statement = one(
        "CREATE TABLE IF NOT EXISTS s.T (\"A b\" int PRIMARY KEY, c varchar(3) NOT NULL DEFAULT 'x' || 'y',"
        " d timestamp with time zone NULL) APPEND ONLY"
    )
    assert isinstance(statement, ast.CreateTable)
    assert (str(statement.name), statement.if_not_exists, statement.append_only) == ("s.t", True, True)
    a, c, d = statement.columns
    assert (a.name, a.type.text, a.primary_key, a.not_null) == ("A b", "int", True, False)
    assert (c.name, c.type.text, c.not_null, c.default and c.default.text) == (
        "c",
        "varchar ( 3 )",
        True,
        "'x' || 'y'",
    )
    assert d.type.text == "timestamp with time zone"


def test_table_constraint() -> None:
    statement = one("create table t (a int, b int, constraint k primary key (b, a))")
    assert isinstance(statement, ast.CreateTable) and statement.primary_key is not None
    assert [(c.name, c.position) for c in statement.primary_key] == [("b", 57), ("a", 60)]


def test_views_keep_the_query_text() -> None:
    statement = one("create materialized view m (x) as  select a+1 from t ;")
    assert isinstance(statement, ast.CreateMaterializedView)
    assert (statement.query.text, statement.query.position) == ("select a+1 from t", 36)
    assert [c.name for c in statement.column_names] == ["x"]


def test_drop() -> None:
    assert one("drop materialized view if exists a, s.b cascade") == ast.Drop(
        MaterializedView,
        (ast.ObjectName("a", None, 34), ast.ObjectName("b", "s", 37)),
        if_exists=True,
        cascade=True,
    )


def test_insert() -> None:
    statement = one("insert into t (a, b) values (1, default) returning a, *")
    assert isinstance(statement, ast.Insert) and statement.source and statement.returning
    assert [c.name for c in statement.columns or ()] == ["a", "b"]
    assert (statement.source.text, [r.text for r in statement.returning]) == ("values (1, default)", ["a", "*"])
    defaults = one("insert into t default values")
    assert isinstance(defaults, ast.Insert) and defaults.source is None
    from_query = one("insert into t (select 1)")
    assert isinstance(from_query, ast.Insert) and from_query.columns is None


def test_update_and_delete() -> None:
    statement = one("update t as x set a = 1, (b, c) = (2, default) where d returning *")
    assert isinstance(statement, ast.Update)
    assert [(a.column.name, a.value and a.value.text) for a in statement.assignments] == [
        ("a", "1"),
        ("b", "2"),
        ("c", None),
    ]
    assert (statement.alias, statement.where and statement.where.text) == ("x", "d")
    deleted = one("delete from t where a = 1")
    assert isinstance(deleted, ast.Delete) and deleted.where is not None and deleted.alias is None


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        ("copy t from stdin", ()),
        ("copy t from stdin csv header delimiter as ';'", (("format", "csv"), ("header", "true"), ("delimiter", ";"))),
        (
            "copy t from stdin with (format csv, header, delimiter ',', null '')",
            (("format", "csv"), ("header", "true"), ("delimiter", ","), ("null", "")),
        ),
        ("copy t from stdin (format binary)", (("format", "binary"),)),
    ],
)
def test_copy(sql: str, options: tuple[tuple[str, str], ...]) -> None:
    statement = one(sql)
    assert isinstance(statement, ast.Copy)
    assert (statement.direction, statement.options) == (ast.CopyDirection.FROM_STDIN, options)


def test_copy_of_a_query() -> None:
    statement = one("copy (select a from t) to stdout")
    assert isinstance(statement, ast.Copy) and statement.query is not None
    assert (statement.query.text, statement.direction) == ("select a from t", ast.CopyDirection.TO_STDOUT)


@pytest.mark.parametrize(
    ("sql", "verbose", "analyze", "kind"),
    [
        ("explain select 1", False, False, ast.ExplainKind.PHYSICAL),
        ("explain verbose select 1", True, False, ast.ExplainKind.PHYSICAL),
        ("explain analyze select 1", False, True, ast.ExplainKind.PHYSICAL),
        ("explain (verbose, logical) select 1", True, False, ast.ExplainKind.LOGICAL),
        ("explain (verbose false, type distsql) select 1", False, False, ast.ExplainKind.DISTSQL),
        ("explain (select 1)", False, False, ast.ExplainKind.PHYSICAL),
    ],
)
def test_explain(sql: str, verbose: bool, analyze: bool, kind: ast.ExplainKind) -> None:
    statement = one(sql)
    assert isinstance(statement, ast.Explain) and isinstance(statement.statement, ast.Select)
    assert (statement.verbose, statement.analyze, statement.kind) == (verbose, analyze, kind)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("show tables", ast.Show(ast.ShowKind.TABLES)),
        ("show materialized views from s like 'a%'", ast.Show(ast.ShowKind.MATERIALIZED_VIEWS, None, "s", "a%")),
        ("show columns from s.t", ast.Show(ast.ShowKind.COLUMNS, ast.ObjectName("t", "s", 19))),
        (
            "show create materialized view v",
            ast.Show(ast.ShowKind.CREATE_MATERIALIZED_VIEW, ast.ObjectName("v", None, 31)),
        ),
        ("show TimeZone", ast.ShowVariable("timezone", 6)),
        ("show transaction isolation level", ast.ShowVariable("transaction_isolation")),
        ("set a.b to 'x', y, -1", ast.SetVariable("a.b", ("x", "y", "-1"), position=5)),
        ("set local time zone 'UTC'", ast.SetVariable("timezone", ("UTC",), local=True, position=11)),
        ("set x = default", ast.SetVariable("x", None, position=5)),
        ("reset all", ast.SetVariable("all", None, position=7)),
        ("begin isolation level repeatable read, read only", ast.Begin(True, "repeatable read")),
        ("start transaction", ast.Begin(starts=True)),
        ("commit work", ast.Commit()),
        ("end transaction", ast.Commit()),
        ("abort", ast.Rollback()),
        ("discard all", ast.Discard("all")),
        ("deallocate all", ast.Deallocate(None)),
        ("close all", ast.CloseCursor(None)),
        ("describe t", ast.Describe(ast.ObjectName("t", None, 10))),
        ("create schema if not exists s", ast.CreateSchema(ast.ColumnName("s", 29), True)),
        ("drop schema a, b cascade", ast.DropSchema(("a", "b"), cascade=True)),
    ],
)
def test_utility(sql: str, statement: ast.Statement) -> None:
    assert one(sql) == statement


@pytest.mark.parametrize(
    ("sql", "message", "position"),
    [
        ("selec 1", 'syntax error at or near "selec"', 1),
        ("select 1; selec 2", 'syntax error at or near "selec"', 11),
        ("select 1 +; select 2", 'syntax error at or near ";"', 11),
        ("select 1 +", "syntax error at end of input", 11),
        ("create tabel t (a int)", 'syntax error at or near "tabel"', 8),
        ("create table t (a int", "syntax error at end of input", 22),
        ("create table select (a int)", 'syntax error at or near "select"', 14),
        ("select 'é', xx yy zz", 'syntax error at or near "zz"', 19),
        ("select a = b = c", 'syntax error at or near "="', 14),
        ("select * from a join b", "syntax error at end of input", 23),
        ("select * from a,", "syntax error at end of input", 17),
        ("insert into t values (1),", "syntax error at end of input", 26),
        ("insert into t values (1), returning a", 'syntax error at or near "returning"', 27),
        ("insert into t values (1) on conflict (id) do", "syntax error at end of input", 45),
        ("merge into t using s on a when matched", "syntax error at end of input", 39),
        ("merge into t using s on a when not matched then update", 'syntax error at or near "update"', 49),
        ("select 'abc", 'unterminated quoted string at or near "\'abc"', 8),
        ('select "abc', 'unterminated quoted identifier at or near ""abc"', 8),
        ("select '", 'unterminated quoted string at or near "\'"', 8),
        ("select e'", 'unterminated quoted string at or near "e\'"', 8),
        ('select "', 'unterminated quoted identifier at or near """', 8),
        ("select $$", 'unterminated dollar-quoted string at or near "$$"', 8),
        ("select ?", 'syntax error at or near "?"', 8),
        ("from t", 'syntax error at or near "from"', 1),
    ],
)
def test_syntax_errors(sql: str, message: str, position: int) -> None:
    with pytest.raises(SqlError) as raised:
        parse(sql)
    assert (raised.value.sqlstate, raised.value.message, raised.value.position) == ("42601", message, position)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("alter table t add exclude (a with =)", "EXCLUDE constraint is not supported"),
        ("create index i on t using hash (a)", "an index USING hash is not supported"),
        (
            "create table t (a int check (a > 1) initially deferred)",
            "a DEFERRABLE CHECK constraint is not supported",
        ),
        ("create table t (a int, check (a > 1) not enforced)", "CHECK … NOT ENFORCED is not supported"),
        (
            "insert into t values (1) on conflict (a int4_ops) do nothing",
            "an operator class in ON CONFLICT is not supported",
        ),
        (
            "with x as (merge into t using u on true when matched then delete) select 1",
            "MERGE inside of this WITH is not supported",
        ),
        (
            "create view v as with x as (insert into t values (1)) select 1",
            "INSERT inside of this WITH is not supported",
        ),
        ("copy t from '/tmp/x'", "COPY FROM a file or program is not supported"),
    ],
)
def test_refused_by_name(sql: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        parse(sql)
    assert (raised.value.sqlstate, raised.value.message) == ("0A000", message)


def test_two_primary_keys() -> None:
    with pytest.raises(SqlError, match='multiple primary keys for table "t" are not allowed'):
        parse("create table t (a int primary key, b int primary key)")


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    with pytest.raises(SqlError) as raised:
        parse("select " + "(" * 5000 + "1" + ")" * 5000)
    assert raised.value.sqlstate == "54001"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("explain analyze materialized view s.m", ("materialized view", "m", None)),
        ("explain (analyze) table t", ("table", "t", None)),
        ("explain analyze (duration_secs 2.5) index i", ("index", "i", 2.5)),
        ("explain (analyze, duration_secs 3) materialized view m", ("materialized view", "m", 3.0)),
    ],
)
def test_explain_analyze_of_a_job(sql: str, expected: tuple[str, str, float | None]) -> None:
    [parsed] = parse(sql)
    found = parsed.statement
    assert isinstance(found, ast.ExplainAnalyze)
    assert (found.words, found.name.name, found.seconds) == expected
