"""System relations are relations: every part of a query may combine them with a user's tables."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation, SqlError, UndefinedTable


@pytest.fixture
def tables(client: Any) -> Any:
    client.run("CREATE TABLE kv (k INT PRIMARY KEY, v VARCHAR)")
    client.run('CREATE TABLE "Other one" (id INT PRIMARY KEY)')
    client.run("INSERT INTO kv VALUES (1, 'pg_class'), (2, 'kv'), (3, 'nosuch'), (4, '\"Other one\"')")
    return client


def test_joined_with_tables(tables: Any) -> None:
    found = "SELECT t.k, c.relname FROM kv t {} pg_class c ON c.relname = t.v WHERE t.k < 4 ORDER BY 1"
    assert tables.run(found.format("JOIN")) == [(1, "pg_class"), (2, "kv")]
    assert tables.run(found.format("LEFT JOIN")) == [(1, "pg_class"), (2, "kv"), (3, None)]
    assert tables.run(
        "SELECT column_name, count(*) FROM information_schema.columns, kv WHERE table_name = 'kv' GROUP BY 1 ORDER BY 1"
    ) == [("k", 4), ("v", 4)]
    sql = "SELECT v FROM kv WHERE v IN (SELECT relname FROM pg_class) OR EXISTS (SELECT 1 FROM pg_type WHERE oid = k)"
    assert sorted(tables.run(sql)) == [("kv",), ("pg_class",)]


def test_joined_on_a_function_of_the_catalog(tables: Any) -> None:
    sql = "SELECT k FROM kv LEFT JOIN pg_class c ON pg_table_is_visible(c.oid) AND c.relname = v WHERE c.oid IS NULL"
    assert sorted(tables.run(sql)) == [(3,), (4,)]


def test_a_name_in_a_row_is_a_regclass(tables: Any) -> None:
    named = tables.run("SELECT k, v::regclass, v::regclass::oid = to_regclass(v) FROM kv WHERE k <> 3 ORDER BY k")
    assert named == [(1, "pg_class", True), (2, "kv", True), (4, '"Other one"', True)]
    assert tables.run("SELECT to_regclass(v) IS NULL FROM kv WHERE k = 3") == [(True,)]
    with pytest.raises(UndefinedTable, match='relation "nosuch" does not exist'):
        tables.run("SELECT v::regclass FROM kv")
    assert tables.run("SELECT 'seen as ' || v::regclass FROM kv WHERE k = 4") == [('seen as "Other one"',)]


def test_constant_names_are_known_when_the_query_is_bound(tables: Any) -> None:
    with pytest.raises(UndefinedTable) as raised:
        tables.run("SELECT 1, 'nosuch'::regclass")
    assert raised.value.position == 11
    with pytest.raises(SqlError) as refused:
        tables.run("SELECT oid FROM pg_class WHERE oid = 'x'")
    assert (refused.value.sqlstate, refused.value.message) == ("22P02", 'invalid input syntax for type oid: "x"')
    assert tables.run("SELECT count(*) FROM pg_class WHERE oid = 'kv'::regclass AND oid::regclass > 0") == [(1,)]
    with pytest.raises(InvalidTextRepresentation):  # as PostgreSQL: regclass has oid's operators
        tables.run("SELECT oid FROM pg_class WHERE 'kv' = oid::regclass")
    assert tables.run("SELECT current_schemas(NULL), 'bthandler'::regproc::oid") == [(None, 330)]


def test_a_vector_counts_from_0_and_its_parts_are_arrays(tables: Any) -> None:
    tables.run("CREATE TABLE pairs (a int, b int, PRIMARY KEY (b, a))")
    parts = "indkey[0], indkey[0:1], indkey[:0], indkey[1:], array_position(indkey, 1), array_position(indkey, 70000)"
    where = "indrelid = 'pairs'::regclass"
    assert tables.run(f"SELECT {parts} FROM pg_index WHERE {where}") == [(2, [2, 1], [2], [1], 1, None)]


def test_correlated_arrays(tables: Any) -> None:
    sql = (
        "SELECT k, ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(v) AND attnum > 0"
        " ORDER BY attnum LIMIT 2) FROM kv WHERE k > 1 ORDER BY k"
    )
    assert tables.run(sql) == [(2, ["k", "v"]), (3, []), (4, ["id"])]
    sql = (
        "SELECT array_agg(c.oid::regclass ORDER BY c.relname), ARRAY[1259::oid] FROM pg_class c JOIN kv ON v = relname"
    )
    assert tables.run(sql) == [(["kv", "pg_class"], [1259])]


def test_recursion_over_a_row_around_it(tables: Any) -> None:
    sql = (
        "SELECT k, (WITH RECURSIVE up(n) AS (SELECT t.k UNION ALL SELECT n + 1 FROM up WHERE n < 4)"
        " SELECT sum(n) FROM up), (WITH RECURSIVE w(n) AS (SELECT 1 UNION SELECT n % t.k + 1 FROM w)"
        " SELECT count(*) FROM w) FROM kv t ORDER BY k"
    )
    assert tables.run(sql) == [(1, 10, 1), (2, 9, 2), (3, 7, 3), (4, 4, 4)]


def test_vectors_count_from_zero(tables: Any) -> None:
    sql = (
        "SELECT indkey, indkey[0], array_lower(indkey, 1), array_upper(indkey, 1), indkey::text,"
        " array_to_string(indkey, '-'), (SELECT array_agg(s) FROM generate_subscripts(indkey, 1) s)"
        " FROM pg_index WHERE indrelid = 'kv'::regclass"
    )
    assert tables.run(sql) == [([1], 1, 0, 0, "1", "1", [0])]


def test_operators_by_name_and_collations(tables: Any) -> None:
    sql = "SELECT k FROM kv WHERE v OPERATOR(pg_catalog.~) '^(kv|no.*)$' COLLATE pg_catalog.default"
    sql += ' ORDER BY v COLLATE "C"'
    assert tables.run(sql) == [(2,), (3,)]
    with pytest.raises(SqlError, match='collation "de_DE" for encoding "UTF8" does not exist'):
        tables.run('SELECT v COLLATE "de_DE" FROM kv')


def test_statements_that_write_may_read_it(tables: Any) -> None:
    tables.run("INSERT INTO kv SELECT oid::int, relname FROM pg_class WHERE relname = 'pg_type'")
    tables.run("UPDATE kv SET v = (SELECT nspname FROM pg_namespace WHERE oid = 11) WHERE k = 3")
    assert tables.run("SELECT k, v FROM kv WHERE k = 3 OR k > 4 ORDER BY k") == [(3, "pg_catalog"), (1247, "pg_type")]
    assert any("SystemScan" in line for (line,) in tables.run("EXPLAIN SELECT oid FROM pg_class"))


@pytest.mark.parametrize("type_", ["oid", "regclass", "name", "int2vector", "xid"])
def test_no_column_has_such_a_type(tables: Any, type_: str) -> None:
    with pytest.raises(FeatureNotSupported, match=f"type {type_} is not supported"):
        tables.run(f"CREATE TABLE x (a {type_})")
