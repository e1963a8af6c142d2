"""CREATE TABLE's columns and keys, types by all their names, defaults, and the columns of views."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.binder import TableDefinition, bind_default, bind_table, bind_view
from risingpy.frontend.binder.typing.type_names import BUILT_IN_TYPES, resolve_type
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateTable, CreateView
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Literal
from tests.frontend.binder.bench import CATALOG, bind, make_catalog


def table(sql: str) -> TableDefinition:
    statement = parse(sql)[0].statement
    assert isinstance(statement, CreateTable)
    return bind_table(statement)


def view_columns(sql: str) -> list[tuple[str, str]]:
    statement = parse(sql)[0].statement
    assert isinstance(statement, CreateView | CreateMaterializedView)
    return [(c.name, str(c.type)) for c in bind_view(statement, CATALOG, ("public",)).columns]


def test_columns_and_key() -> None:
    definition = table("create table t (a int, b varchar(3) not null default 'x', c text, primary key (c, a))")
    a, b, c = definition.columns
    assert [(x.column_id, x.name, str(x.type), x.not_null, x.default) for x in (a, b, c)] == [
        (1, "a", "integer", True, None),
        (2, "b", "character varying(3)", True, "'x'"),
        (3, "c", "character varying", True, None),
    ]
    assert definition.primary_key == (2, 0)
    assert table("create table t (a int, b int primary key)").primary_key == (1,)
    assert table("create table t (a int)").primary_key == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((n, "integer") for n in ("int", "INT4", "Integer", "pg_catalog.int4", '"int4"')),
        *((n, "smallint") for n in ("smallint", "int2")),
        *((n, "bigint") for n in ("bigint", "int8")),
        *((n, "real") for n in ("real", "float4", "float(24)")),
        *((n, "double precision") for n in ("double precision", "float8", "float", "float(25)")),
        *((n, "numeric") for n in ("numeric", "decimal", "dec")),
        *((n, "character varying") for n in ("text", "varchar", "character varying")),
        ("numeric(10)", "numeric(10,0)"),
        ("decimal(10, 2)", "numeric(10,2)"),
        ("varchar(7)", "character varying(7)"),
        ("character(7)", "character(7)"),
        ("char", "character(1)"),
        ("bpchar", "character"),
        ("jsonb", "jsonb"),
        ("uuid", "uuid"),
        ("int[]", "integer[]"),
        ("int[][]", "integer[][]"),
        ("numeric(5,2)[]", "numeric(5,2)[]"),
        ("text array", "character varying[]"),
        ("struct<a int, b struct<c varchar[]>>", "struct<a integer, b struct<c character varying[]>>"),
        ("map(varchar, int[])", "map(character varying,integer[])"),
        ("bool", "boolean"),
        ("bytea", "bytea"),
        ("time", "time without time zone"),
        ("timestamp(6)", "timestamp(6) without time zone"),
        ("timestamp with time zone", "timestamp with time zone"),
        ("timestamptz", "timestamp with time zone"),
        ("interval day to second", "interval"),
    ],
)
def test_type_names(name: str, expected: str) -> None:
    assert str(table(f"create table t (a {name})").columns[0].type) == expected
    assert str(bind(f"select null::{name} as x").fields[0].type) == expected


@pytest.mark.parametrize(
    ("name", "sqlstate", "message"),
    [
        ("nosuch", "42704", 'type "nosuch" does not exist'),
        ("xml", "0A000", "type xml is not supported"),
        ("map(boolean, int)", "42804", "invalid map key type: boolean"),
        ("time with time zone", "0A000", "type time with time zone is not supported"),
        ("varchar(0)", "22023", "length for type varchar must be at least 1"),
        ("numeric(0)", "22023", "NUMERIC precision 0 must be between 1 and 1000"),
        ("int4(3)", "22023", 'type modifier is not allowed for type "int4"'),
    ],
)
def test_bad_types(name: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        resolve_type(name, 1, BUILT_IN_TYPES)
    assert (raised.value.sqlstate, raised.value.message) == (sqlstate, message)


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message", "position"),
    [
        ("create table t (a int, a int)", "42701", 'column "a" specified more than once', 24),
        ("create table t (a int, primary key (b))", "42703", 'column "b" named in key does not exist', 37),
        (
            "create table t (a int, primary key (a, a))",
            "42701",
            'column "a" appears twice in primary key constraint',
            40,
        ),
        ("create table t (a int default 'x')", "22P02", 'invalid input syntax for type integer: "x"', 31),
        (
            "create table t (a int default true)",
            "42804",
            'column "a" is of type integer but default expression is of type boolean',
            31,
        ),
        ("create table t (a int default b)", "0A000", "cannot use column reference in DEFAULT expression", 31),
        (
            "create table t (a int default count(*))",
            "42803",
            "aggregate functions are not allowed in DEFAULT expressions",
            31,
        ),
    ],
)
def test_table_errors(sql: str, sqlstate: str, message: str, position: int) -> None:
    with pytest.raises(SqlError) as raised:
        table(sql)
    assert (raised.value.sqlstate, raised.value.message, raised.value.position) == (sqlstate, message, position)


def test_defaults_are_of_the_columns_type() -> None:
    (column,) = table("create table t (a bigint default 5)").columns
    assert bind_default(column, Catalog()) == Literal(5, column.type)
    (bare,) = table("create table t (a bigint)").columns
    assert bind_default(bare, Catalog()) is None


def test_view_columns() -> None:
    assert view_columns("create materialized view m as select a, count(*), sum(b) as s, 'x' from t group by a") == [
        ("a", "integer"),
        ("count", "bigint"),
        ("s", "numeric"),
        ("?column?", "character varying"),
    ]
    assert view_columns("create view w (x) as select a, b from t") == [("x", "integer"), ("b", "bigint")]


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("create view w as select a, a from t", "42701", 'column "a" specified more than once'),
        ("create materialized view w as select 1, 2", "42701", 'column "?column?" specified more than once'),
        ("create view w (a, b) as select 1", "42601", "CREATE VIEW specifies more column names than columns"),
        ("create view w as select $1::int", "42P02", "there is no parameter $1"),
    ],
)
def test_view_errors(sql: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        view_columns(sql)
    assert (raised.value.sqlstate, raised.value.message) == (sqlstate, message)


def test_views_depend_on_what_they_name() -> None:
    bound = bind("select 1 from v join t on true join v w on true")
    assert bound.dependencies == (4, 1)


def test_an_error_inside_a_view_names_the_view() -> None:
    catalog = make_catalog("create table t (a int); create view v as select a from t")
    broken = make_catalog("create table other (b int); create view v as select b from other")
    relations = {**catalog.relations, 2: broken.relations[2]}
    with pytest.raises(SqlError) as raised:
        bind("select * from v", catalog=type(catalog)(relations=relations))
    assert (raised.value.message, raised.value.position, raised.value.where) == (
        'relation "other" does not exist',
        None,
        'view "v"',
    )
