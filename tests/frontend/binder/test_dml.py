"""INSERT, UPDATE, DELETE and COPY: the rows to log, defaults, casts, and what is refused."""

from __future__ import annotations

from typing import TypeVar

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.binder import bind_copy_target, bind_delete, bind_insert, bind_update
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import Copy, Delete, Insert, Update
from risingpy.plan.expressions import Literal, Parameter
from risingpy.plan.logical import Project
from risingpy.types import BIGINT, INTEGER, VARCHAR
from tests.frontend.binder.bench import CATALOG, make_catalog, run

T = TypeVar("T")

TABLES = make_catalog(
    """
    create table d (id int primary key, n numeric(5,1) not null default 1 + 1, s varchar(3) default 'abc', b bigint);
    create table ao (a int) append only;
    create view vw as select a from ao
    """
)


def statement(sql: str, kind: type[T]) -> T:
    (parsed,) = parse(sql)
    assert isinstance(parsed.statement, kind)
    return parsed.statement


def inserted(sql: str) -> list[tuple[str | None, ...]]:
    return run(bind_insert(statement(sql, Insert), TABLES, ("public",)).plan, catalog=TABLES)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("insert into d values (1, 2.25, 'x', 4)", [("1", "2.3", "x", "4")]),
        ("insert into d values (1), (2)", [("1", "2.0", "abc", None), ("2", "2.0", "abc", None)]),
        ("insert into d (s, id) values ('q', '7')", [("7", "2.0", "q", None)]),
        ("insert into d values (1, default, default, 1.6)", [("1", "2.0", "abc", "2")]),
        ("insert into d values (1, 3, null)", [("1", "3.0", None, None)]),
        ("insert into d (id) select 1 union all select 2", [("1", "2.0", "abc", None), ("2", "2.0", "abc", None)]),
        ("insert into d (id, s) select 5, 'y' where true", [("5", "2.0", "y", None)]),
        ("insert into d (s, id) values ('ab  ', 1)", [("1", "2.0", "ab ", None)]),
        ("insert into d (s, id) values (12, 1)", [("1", "2.0", "12", None)]),
    ],
)
def test_insert(sql: str, rows: list[tuple[str | None, ...]]) -> None:
    assert inserted(sql) == rows


def test_insert_of_defaults_only() -> None:
    bound = bind_insert(statement("insert into d default values", Insert), TABLES, ("public",))
    assert run(bound.plan, catalog=TABLES) == [(None, "2.0", "abc", None)]
    assert bound.columns == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message", "position"),
    [
        ("insert into nope values (1)", "42P01", 'relation "nope" does not exist', 13),
        ("insert into vw values (1)", "42809", 'cannot insert into view "vw"', 13),
        ("insert into d (x) values (1)", "42703", 'column "x" of relation "d" does not exist', 16),
        ("insert into d (id, id) values (1, 2)", "42701", 'column "id" specified more than once', 20),
        (
            "insert into d values (1, 2, 'x', 4, 5)",
            "42601",
            "INSERT has more expressions than target columns",
            37,
        ),
        ("insert into d (id, s) values (1)", "42601", "INSERT has more target columns than expressions", 20),
        ("insert into d values ('x')", "22P02", 'invalid input syntax for type integer: "x"', 23),
        (
            "insert into d values (true)",
            "42804",
            'column "id" is of type integer but expression is of type boolean',
            23,
        ),
        (
            "insert into d select 'a'::text",
            "42804",
            'column "id" is of type integer but expression is of type character varying',
            22,
        ),
        ("insert into d values (id)", "42703", 'column "id" does not exist', 23),
        ("insert into d values (1, 2, 'abcd')", "22001", "value too long for type character varying(3)", None),
        ("insert into d values (default + 1)", "42601", 'syntax error at or near "+"', 31),
    ],
)
def test_insert_errors(sql: str, sqlstate: str, message: str, position: int | None) -> None:
    with pytest.raises(SqlError) as raised:
        inserted(sql)
    error = raised.value
    assert (error.sqlstate, error.message, error.position) == (sqlstate, message, position)


def test_text_too_long_from_a_query_is_refused_when_it_runs() -> None:
    with pytest.raises(SqlError) as raised:
        inserted("insert into d (id, s) select 1, 'ab' || 'cd'")
    assert (raised.value.sqlstate, raised.value.message) == ("22001", "value too long for type character varying(3)")


def test_insert_parameters_take_the_columns_types() -> None:
    bound = bind_insert(statement("insert into d (id, s, b) values ($1, $2, $3 + 1)", Insert), TABLES, ("public",))
    assert bound.parameter_types == (INTEGER, VARCHAR, INTEGER)
    given = bind_insert(statement("insert into d (id) values ($1)", Insert), TABLES, ("public",), (BIGINT,))
    assert given.parameter_types == (BIGINT,)


def test_returning_reads_whole_rows() -> None:
    bound = bind_insert(
        statement("insert into d (id) values (1) returning s, id + 1 as x, *", Insert), TABLES, ("public",)
    )
    assert bound.returning is not None
    assert [f.name for f in bound.returning.fields] == ["s", "x", "id", "n", "s", "b"]


def test_update_gives_old_and_new_rows() -> None:
    bound = bind_update(statement("update t set b = b + 1, d = default where a = 2", Update), CATALOG, ("public",))
    assert bound.has_new
    assert run(bound.plan) == [
        ("2", "20", "2.25", "two", "1.5", "f", "2", "2", "21", "2.25", None, "1.5", "f", "2"),
        ("2", "30", "-3.75", "Two", None, None, "3", "2", "31", "-3.75", None, None, None, "3"),
    ]


def test_update_casts_to_the_column() -> None:
    bound = bind_update(statement("update t as x set c = x.e, a = '7' where x.a = 1", Update), CATALOG, ("public",))
    (row,) = run(bound.plan)
    assert row[7:10] == ("7", "10", "0.50")


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("update t set nope = 1", "42703", 'column "nope" of relation "t" does not exist'),
        ("update t set a = 1, a = 2", "42601", 'multiple assignments to same column "a"'),
        ("update t set a = d", "42804", 'column "a" is of type integer but expression is of type character varying'),
        ("update t set a = count(*)", "42803", "aggregate functions are not allowed in UPDATE"),
        ("update t set a = 1 where b", "42804", "argument of WHERE must be type boolean, not type bigint"),
        ("update v set a = 1", "42809", 'cannot update view "v"'),
        ("update t as x set a = t.b", "42P01", 'invalid reference to FROM-clause entry for table "t"'),
    ],
)
def test_update_errors(sql: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        bind_update(statement(sql, Update), CATALOG, ("public",))
    assert (raised.value.sqlstate, raised.value.message) == (sqlstate, message)


def test_delete_gives_the_old_rows() -> None:
    bound = bind_delete(statement("delete from u where name like '%n%' returning id", Delete), CATALOG, ("public",))
    assert not bound.has_new
    assert run(bound.plan) == [("3", "2", "none", None)]
    assert bound.returning is not None and [f.name for f in bound.returning.fields] == ["id"]


@pytest.mark.parametrize("sql", ["update ao set a = 1", "delete from ao"])
def test_append_only_tables_only_grow(sql: str) -> None:
    parsed = parse(sql)[0].statement
    with pytest.raises(SqlError, match="append-only table does not support update or delete"):
        if isinstance(parsed, Update):
            bind_update(parsed, TABLES, ("public",))
        elif isinstance(parsed, Delete):
            bind_delete(parsed, TABLES, ("public",))


def test_copy_target() -> None:
    target = bind_copy_target(statement("copy d (b, id) from stdin", Copy), TABLES, ("public",))
    assert target.columns == (3, 0)
    assert [index for index, _ in target.defaults] == [1, 2]
    assert target.defaults[1][1] == Literal("abc", TABLES.relations[1].columns[2].type)
    everything = bind_copy_target(statement("copy t from stdin", Copy), CATALOG, ("public",))
    assert everything.columns == (0, 1, 2, 3, 4, 5)


def test_parameters_stay_in_the_plan() -> None:
    bound = bind_update(statement("update t set a = $2 where b = $1", Update), CATALOG, ("public",))
    assert bound.parameter_types == (BIGINT, INTEGER)
    assert isinstance(bound.plan, Project) and Parameter(2, INTEGER) in bound.plan.expressions
