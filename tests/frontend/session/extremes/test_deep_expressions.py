"""Long and deep expressions: planned in a time that grows with them, or refused; as queries, filters and views."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.parser import parse
from risingpy.functions.evaluation.duckdb_connection import connect
from risingpy.functions.evaluation.duckdb_sql import Selected
from risingpy.functions.evaluation.literal_lists import in_list
from risingpy.nesting import MAX_CONDITIONS, MAX_TERMS
from risingpy.plan.expressions import InputRef
from risingpy.types import BIGINT
from tests.frontend.session.conftest import Client

Chain = Callable[[int], str]

# Over the columns of the table: an expression of n operators, none of which fails.
CHAINS: dict[str, Chain] = {
    "a sum of integers": lambda n: "+".join(["a"] * n),
    "a sum of floats": lambda n: "+".join(["f"] * n),
    "a sum of numerics": lambda n: "-".join(["m"] * n),
    "a sum of constants": lambda n: "+".join(["1"] * n),
    "a product of integers": lambda n: "*".join(["a"] * n),
    "a product of floats": lambda n: "*".join(["f"] * n),
    "CASE": lambda n: "CASE " + " ".join(f"WHEN a = {k} THEN {k}" for k in range(n)) + " END",
    "an IN list": lambda n: "a IN (" + ",".join(map(str, range(n))) + ")",
    "an IN list of texts": lambda n: "s NOT IN (" + ",".join(f"'x{k}'" for k in range(n)) + ")",
    "an IN list of numerics": lambda n: "m IN (" + ",".join(f"{k}.5" for k in range(n)) + ")",
    "an IN list of any items": lambda n: "a IN (a + 1, " + ",".join(map(str, range(n))) + ")",
    "CASE of an operand": lambda n: "CASE a " + " ".join(f"WHEN {k} THEN {k}" for k in range(n)) + " END",
    "AND": lambda n: " AND ".join(f"a <> {k + 5}" for k in range(n)),
    "OR": lambda n: " OR ".join(f"a = {k}" for k in range(n)),
    "NOT": lambda n: "NOT " * n + "(a = 1)",
    "minus": lambda n: "- " * n + "a",
    "||": lambda n: "||".join(["s"] * n),
    "casts": lambda n: "a" + "::int::bigint" * (n // 2),
    "greatest": lambda n: "greatest(" + ",".join(["a"] * n) + ")",
}
# Each level is one of the parser, too.
NESTED: dict[str, Chain] = {
    "CASE in ELSE": lambda n: "".join(f"CASE WHEN a = {k} THEN {k} ELSE " for k in range(n)) + "0" + " END" * n,
    "CASE in THEN": lambda n: "".join(f"CASE WHEN a > {-k} THEN " for k in range(n)) + "0" + " END" * n,
    "AND and OR": lambda n: "(" * n + "a = 1" + "".join(f" {('OR', 'AND')[k % 2]} a = {k})" for k in range(n)),
    "upper": lambda n: "upper(" * n + "s" + ")" * n,
    "coalesce": lambda n: "coalesce(" * n + "a" + ", 1)" * n,
    "parentheses": lambda n: "(" * n + "a" + ")" * n,
    "arrays": lambda n: "array[" * n + "a" + "]" * n,
    "EXISTS": lambda n: "EXISTS (SELECT 1 FROM t WHERE " * n + "true" + ")" * n,
    "calls named like types": lambda n: "date(" * n + "'2020-01-01'" + ")" * n,
}
SHORT, LONG = 40, 400


@pytest.fixture
def numbers(client: Client) -> Client:
    client.run("CREATE TABLE t (a int, f double precision, m numeric, s varchar)")
    client.run("INSERT INTO t VALUES (1, 1.0, 2.5, 'x')")
    client.run("SELECT a + 1 FROM t")
    return client


def _seconds(client: Client, sql: str) -> float:
    began = time.process_time()
    client.run(sql)
    return time.process_time() - began


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_planning_grows_with_a_chain(numbers: Client, chain: Chain) -> None:
    for sql in ("SELECT {} FROM t", "SELECT a FROM t WHERE ({}) IS NULL", "EXPLAIN SELECT {} AS x FROM t"):
        short = max(_seconds(numbers, sql.format(chain(SHORT))), 0.04)
        # Ten times as long, and as much again for a logarithm and for the noise of the machine.
        # Two lengths: a statement that comes again is not planned again.
        assert min(_seconds(numbers, sql.format(chain(length))) for length in (LONG, LONG - 1)) < 25 * short
    [(expected,)] = numbers.run(f"SELECT {chain(LONG)} FROM t")
    numbers.run(f"CREATE MATERIALIZED VIEW v AS SELECT {chain(LONG)} AS x FROM t")
    numbers.run("INSERT INTO t VALUES (1, 1.0, 2.5, 'x')")
    assert numbers.run("SELECT x FROM v") == [(expected,)] * 2
    numbers.run("DROP MATERIALIZED VIEW v")


@pytest.mark.parametrize("chain", [*CHAINS.values(), *NESTED.values()], ids=[*CHAINS, *NESTED])
def test_what_is_too_long_is_refused(numbers: Client, chain: Chain) -> None:
    """Answered or refused, with no other error, whatever the length: the stack of no pass overflows."""
    for length in (30, 300, 2_000):
        began = time.process_time()
        try:
            numbers.run(f"SELECT {chain(length)} FROM t")
        except SqlError as error:
            assert error.sqlstate == "54001"
            assert time.process_time() - began < 6
            assert length > 30
    assert numbers.run("SELECT a FROM t") == [(1,)]


def test_parsing_grows_with_a_nest_of_queries() -> None:
    """No level reads what stands in it once more: ten times as deep, a hundred times as long if one did."""

    def seconds(depth: int) -> float:
        nest = "EXISTS (SELECT 1 FROM t WHERE " * depth + "true" + ")" * depth
        began = time.process_time()
        parse(f"SELECT 1 FROM t WHERE {nest}")
        return time.process_time() - began

    assert min(seconds(500) for _ in range(3)) < 25 * max(seconds(50), 0.01)


MOST_ITEMS = 100_000
LONG_LISTS: dict[str, Chain] = {
    "integers": lambda n: "a IN (" + ",".join(map(str, range(n))) + ")",
    "texts": lambda n: "s IN (" + ",".join(f"'x{k}'" for k in range(n)) + ", 'x')",
    "floats": lambda n: "f NOT IN (" + ",".join(map(str, range(2, n))) + ")",
}


@pytest.mark.parametrize("long_list", LONG_LISTS.values(), ids=LONG_LISTS)
def test_lists_of_100_000_constants(numbers: Client, long_list: Chain) -> None:
    """One constant from the parser to DuckDB and Arrow: some 10 µs an item, and one hash table for all rows."""
    condition = long_list(MOST_ITEMS)
    assert _seconds(numbers, f"SELECT {condition} FROM t") < 8
    assert numbers.run(f"SELECT a FROM t WHERE {condition}") == [(1,)]
    numbers.run(f"CREATE MATERIALIZED VIEW v AS SELECT a, {condition} AS x FROM t")
    began = time.process_time()
    numbers.run("INSERT INTO t VALUES (-1, -1.5, 2.5, 'y'), (NULL, NULL, NULL, NULL)")
    assert time.process_time() - began < 5
    otherwise = "NOT" in condition
    assert sorted(numbers.run("SELECT a, x FROM v"), key=repr) == [(-1, otherwise), (1, True), (None, None)]


def test_a_list_is_looked_up_for_each_row(numbers: Client) -> None:
    """Not searched: 200,000 rows by 100,000 items would take minutes."""
    items = ",".join(str(2 * k) for k in range(MOST_ITEMS))
    seconds = _seconds(numbers, f"SELECT count(*) FROM generate_series(1, 200000) AS g(n) WHERE n IN ({items})")
    assert seconds < 5


def test_rows_stay_in_their_order() -> None:
    """Where DuckDB computes the test, of a chunk or of rows to update, its answers go to the rows by position."""
    rows = 2_000_000
    chunk = pa.table({"c0": np.arange(rows), "c1": np.arange(rows) % 1_000})
    number, rest = InputRef(0, BIGINT), InputRef(1, BIGINT)
    selected = Selected(lambda index: f"t.c{index}")
    columns = f"{selected.sql(number)} AS n, {selected.sql(in_list(rest, range(0, 1_000, 3), BIGINT))} AS x"
    connection = connect()
    connection.execute("SET threads = 4")
    connection.register("chunk", chunk)
    found = connection.sql(f"SELECT {columns} FROM {selected.source('chunk AS t')}").to_arrow_table()
    assert found["n"].equals(chunk["c0"])
    assert (found["x"].to_numpy() == (chunk["c1"].to_numpy() % 3 == 0)).all()


def test_a_list_of_as_many_parameters_as_the_protocol_has(numbers: Client) -> None:
    listed = ", ".join(f"${k}" for k in range(1, 65_001))
    began = time.process_time()
    assert numbers.run(f"SELECT a FROM t WHERE a IN ({listed})", *range(65_000)) == [(1,)]
    assert numbers.run(f"SELECT a FROM t WHERE a NOT IN ({listed})", *range(64_999), None) == []
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("sql", "sqlstate", "at"),
    [
        ("SELECT a IN ({}, 'x') FROM t", "22P02", "'x'"),
        ("SELECT s IN ({}) FROM t WHERE a IN (1)", None, ""),
        ("SELECT a::date IN ({}) FROM t", "42846", "::"),
        ("SELECT $1 IN ({}", "42601", None),
        ("SELECT a IN ({} xyz) FROM t", "42601", "xyz"),
    ],
)
def test_errors_in_a_long_list(numbers: Client, sql: str, sqlstate: str | None, at: str | None) -> None:
    text = sql.format(", ".join(f"'{k}'" for k in range(500)))
    if sqlstate is None:
        assert numbers.run(text) == [(False,)]
        return
    with pytest.raises(SqlError) as raised:
        numbers.run(text)
    assert raised.value.sqlstate == sqlstate
    if at is not None:
        assert raised.value.position == text.index(at) + 1


TOO_LONG = ("AND", "OR", "CASE", "CASE of an operand", "a sum of integers", "||")


@pytest.mark.parametrize("name", TOO_LONG)
@pytest.mark.parametrize("length", [10_000, 100_000])
def test_what_is_far_too_long_is_refused_at_once(numbers: Client, name: str, length: int) -> None:
    sql = f"SELECT {CHAINS[name](length)} FROM t"
    began = time.process_time()
    with pytest.raises(SqlError) as raised:
        numbers.run(sql)
    assert raised.value.sqlstate == "54001"
    assert time.process_time() - began < 6


def test_the_longest_that_is_allowed(numbers: Client) -> None:
    for name in ("AND", "CASE"):
        assert len(numbers.run(f"SELECT {CHAINS[name](MAX_TERMS)} FROM t")) == 1
        with pytest.raises(SqlError) as raised:
            numbers.run(f"SELECT {CHAINS[name](MAX_TERMS + 1)} FROM t")
        assert raised.value.sqlstate == "54001" and "3,000" in raised.value.message
    conditions = "CASE WHEN a = 1 THEN 1 END, " * (MAX_CONDITIONS + 1)
    with pytest.raises(SqlError) as raised:
        numbers.run(f"SELECT {conditions} 1 FROM t")
    assert "10,000" in raised.value.message
    # Of a statement, not of a script.
    part = f"SELECT a FROM t WHERE {' AND '.join(['a = 1'] * 2_000)};"
    assert len(parse(part * 6)) == 6


def test_twelve_floats(numbers: Client) -> None:
    """Its SQL had 5 ^ 11 copies of the first term."""
    chains = (operator.join(["f"] * 12) for operator in "+*/")
    assert _seconds(numbers, f"SELECT {', '.join(chains)} FROM t") < 8  # a tenth of a second at rest


def test_a_condition_on_a_deep_expression(numbers: Client) -> None:
    """DuckDB writes a filter that it moves with the expressions of the SELECT below: not through many SELECTs."""
    assert _seconds(numbers, f"SELECT a FROM t WHERE {'upper(' * 12}s{')' * 12} = 'Y'") < 8


# Functions whose SQL uses an argument more than once, also where DuckDB's own macros would: 2 ^ 60 copies.
NESTED_ALIKE: dict[str, Callable[[str], str]] = {
    "nullif": lambda x: f"nullif({x}, a / 3)",
    "coalesce of nullif": lambda x: f"coalesce(nullif({x}, 3), a / 2)",
    "initcap": lambda x: f"length(initcap(({x})::varchar))",
    "array_length": lambda x: f"array_length(ARRAY[{x}], 1)",
    "array_to_string": lambda x: f"length(array_to_string(ARRAY[{x}], ','))",
    "alternating operators": lambda x: f"({x} * 2 / 2)",
    "to_jsonb": lambda x: f"length((to_jsonb(ARRAY[{x}]))::varchar)",
    "functions of floats": lambda x: f"abs(lgamma(abs({x}) / 1000 + 3))",
}


@pytest.mark.parametrize("level", NESTED_ALIKE.values(), ids=NESTED_ALIKE)
def test_time_grows_with_the_depth(numbers: Client, level: Callable[[str], str]) -> None:
    for depth in (60, 200):
        text = "a"
        for _ in range(depth):
            text = level(text)
        assert _seconds(numbers, f"SELECT {text} FROM t") < 8


def test_time_grows_with_the_rows_of_values(numbers: Client) -> None:
    """DuckDB is given the constants of long VALUES as a table, and the parser takes each by a short way."""

    def sums(n: int) -> str:
        rows = ", ".join(f"({k}, 'x{k}')" for k in range(n))
        return f"SELECT count(*), sum(a), max(length(s)) FROM (VALUES {rows}) AS t (a, s)"

    few, many = 500, 5_000
    short = max(_seconds(numbers, sums(few)), 0.04)
    # Ten times as many, and as much again for the noise of the machine. Squares would be a hundred times as long.
    assert min(_seconds(numbers, sums(n)) for n in (many, many - 1)) < 25 * short
    assert numbers.run(sums(many)) == [(many, many * (many - 1) // 2, 5)]
    n = 2_000
    rows = ", ".join(f"({k}, {k}.5, {'NULL' if k % 2 else 'true'}, date '2020-01-01' + {k})" for k in range(n))
    [row] = numbers.run(f"SELECT sum(a), sum(m), count(b), max(d) FROM (VALUES {rows}) AS t (a, m, b, d)")
    assert row == (n * (n - 1) // 2, Decimal(n * n) / 2, n // 2, date(2025, 6, 22))
    whole = ", ".join(f"({k}, 'x{k}')" for k in range(2_000))
    joined = f"SELECT v.s FROM (VALUES {whole}) AS v (a, s) JOIN t ON t.a = v.a ORDER BY v.a LIMIT 3"
    assert numbers.run(joined) == [("x1",)]
    assert numbers.run(f"SELECT a FROM (VALUES {whole}) AS v (a, s) OFFSET 1998") == [(1998,), (1999,)]
    numbers.run(f"CREATE MATERIALIZED VIEW listed AS SELECT v.s FROM (VALUES {whole}) AS v (a, s) JOIN t ON t.a = v.a")
    assert numbers.run("SELECT * FROM listed") == [("x1",)]
