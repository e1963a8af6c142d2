"""BETWEEN and CASE compute their operand once, however deep they nest; as PostgreSQL answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle, postgres_oracle

__all__ = ["postgres_oracle"]

TABLE = "CREATE TABLE t (a int, b int, m numeric)"
ROWS = "INSERT INTO t VALUES (1, 2, 2.5), (5, -3, 3.0), (0, NULL, 0), (NULL, 7, NULL)"
LEVELS: dict[str, Callable[[str, int], str]] = {
    "BETWEEN": lambda x, k: f"({x} BETWEEN {k % 3} AND a + {k % 5})::int",
    "NOT BETWEEN": lambda x, k: f"({x} NOT BETWEEN {k % 3} AND {k % 5})::int",
    "SYMMETRIC": lambda x, k: f"({x} BETWEEN SYMMETRIC {k % 5} AND b)::int",
    "CASE": lambda x, k: f"CASE {x} WHEN {k % 3} THEN {k % 2} WHEN a THEN 1 WHEN 2 THEN 0 ELSE a END",
    "CASE of a numeric": lambda x, k: (
        f"CASE {x} + m WHEN {k % 3} THEN 1 WHEN 1.50 THEN b WHEN m THEN 2 ELSE {k % 4} END"
    ),
    "CASE in ELSE": lambda x, k: f"CASE a + {k} WHEN 2 THEN 1 WHEN 1 THEN 7 ELSE {x} END",
    "CASE in THEN": lambda x, k: f"CASE a - {k % 4} WHEN 2 THEN 1 WHEN 1 THEN {x} ELSE b END",
}


def _nest(level: Callable[[str, int], str], depth: int) -> str:
    text = "a"
    for k in range(depth):
        text = level(text, k)
    return text


def _mixed(x: str, k: int) -> str:
    return list(LEVELS.values())[k % len(LEVELS)](x, k)


def _random(random: Random, depth: int) -> str:
    """An integer; both operands and bounds are nested."""
    if depth == 0:
        return random.choice(["a", "b", "1", "2", "NULL::int", "(a + b) % 5"])
    x, y, z = (_random(random, random.randrange(depth)) for _ in range(3))
    x = random.choice([x, f"({x} + a * 2 - b + 3 - a + 1 + b)", f"({x}) % 3"])
    kind = random.randrange(4)
    if kind == 0:
        return f"({x} BETWEEN {y} AND {z})::int"
    if kind == 1:
        return f"({x} NOT BETWEEN SYMMETRIC {y} AND {z} OR m > 2)::int"
    if kind == 2:
        return f"CASE {x} + m * 2 WHEN {y} THEN a WHEN 7.0 THEN 3 ELSE {z} END"
    return f"CASE {x} WHEN {y} THEN {z} WHEN 1 THEN a WHEN 10 / nullif(b, a) THEN {y} END"


@pytest.fixture
def table(client: Client) -> Client:
    client.run(TABLE)
    client.run(ROWS)
    return client


def test_answers_as_postgresql_does(table: Client, postgres_oracle: PostgresOracle) -> None:
    random = Random(90)
    queries = [_random(random, 2) for _ in range(30)] + [_nest(level, 6) for level in (*LEVELS.values(), _mixed)]
    deep = _nest(_mixed, 200)
    with postgres_oracle.connect() as postgres:
        postgres.execute("CREATE SCHEMA operands_once; SET search_path = operands_once")
        postgres.execute(TABLE.encode())
        postgres.execute(ROWS.encode())
        answers = [postgres.execute(f"SELECT a, {query} FROM t".encode()).fetchall() for query in queries]
        # PostgreSQL copies the operand of BETWEEN, so it is given one level at a time.
        postgres.execute("ALTER TABLE t ADD COLUMN x int; UPDATE t SET x = a")
        for k in range(200):
            postgres.execute(f"UPDATE t SET x = {_mixed('x', k)}".encode())
        answers.append(postgres.execute("SELECT a, x FROM t").fetchall())
        postgres.execute("DROP SCHEMA operands_once CASCADE")
    expected = [sorted(rows, key=repr) for rows in answers]
    columns = ", ".join(f"{query} AS x{k}" for k, query in enumerate(queries))
    table.run(f"CREATE MATERIALIZED VIEW many AS SELECT a, {columns} FROM t")
    table.run(f"CREATE MATERIALIZED VIEW one AS SELECT a, {deep} AS x{len(queries)} FROM t")
    table.run("INSERT INTO t SELECT a + 10, b, m FROM t WHERE a > 0")
    table.run("DELETE FROM t WHERE a > 10")
    for k, (query, rows) in enumerate(zip([*queries, deep], expected, strict=True)):
        view = "many" if k < len(queries) else "one"
        assert sorted(table.run(f"SELECT a, {query} FROM t"), key=repr) == rows, query
        assert sorted(table.run(f"SELECT a, x{k} FROM {view}"), key=repr) == rows, query


def test_a_failing_row_is_null_in_its_part_only(table: Client) -> None:
    """A view evaluates a chunk with a failing row part by part."""
    sums = " + ".join(["a"] * 60)
    table.run(
        f"CREATE MATERIALIZED VIEW v AS SELECT a, coalesce((10 / a + {sums} BETWEEN b AND 100)::int, -1) AS x, "
        f"coalesce(CASE {sums} WHEN 60 THEN 10 / a WHEN 0 THEN 10 / a ELSE 9 END, -1) AS y FROM t"
    )
    assert sorted(table.run("SELECT * FROM v"), key=repr) == [(0, -1, -1), (1, 1, 10), (5, 0, 9), (None, -1, 9)]


@pytest.mark.parametrize("level", [LEVELS["BETWEEN"], LEVELS["CASE"], _mixed], ids=["BETWEEN", "CASE", "mixed"])
def test_time_grows_with_the_depth(table: Client, level: Callable[[str, int], str]) -> None:
    """A copy at each level would be 2 ^ 200 of them."""
    text = _nest(level, 200)
    began = time.process_time()
    assert len(table.run(f"SELECT {text} FROM t")) == 4
    assert len(table.run(f"SELECT a FROM t WHERE {text} IS NULL OR true")) == 4
    assert time.process_time() - began < 20


def test_what_nests_too_deep_is_refused(table: Client) -> None:
    for level in LEVELS.values():
        with pytest.raises(SqlError) as raised:
            table.run(f"SELECT {_nest(level, 2_000)} FROM t")
        assert raised.value.sqlstate == "54001"


DICE = "floor(random() * 3)::int"


@pytest.mark.parametrize(
    "certain",
    [
        f"CASE {DICE} WHEN 0 THEN 1 WHEN 1 THEN 1 WHEN 2 THEN 1 END",
        f"({DICE} BETWEEN SYMMETRIC 2 AND 0)::int",
        f"((2 * {DICE} BETWEEN 0 AND 1) = (2 * {DICE} NOT BETWEEN 2 AND 9) OR true)::int",
    ],
)
def test_a_volatile_operand_has_one_value(table: Client, certain: str) -> None:
    """Also where no operator below could compute it: in VALUES, an aggregate, a join's condition."""
    assert table.run(f"SELECT sum({certain}) FROM generate_series(1, 300)") == [(300,)]
    assert table.run(f"SELECT count(*) FROM generate_series(1, 300) g JOIN t ON a = 1 AND {certain} = 1") == [(300,)]
    assert table.run(f"SELECT sum(x) FROM (VALUES {', '.join([f'({certain})'] * 50)}) AS v (x)") == [(50,)]


def test_rules_see_through_between(table: Client) -> None:
    """Of keys and of time: a range, a temporal filter, also of a long operand."""
    table.run("CREATE TABLE k (id int PRIMARY KEY, ts timestamptz)")
    plain = table.run("EXPLAIN SELECT * FROM k WHERE id >= 1 AND id <= 5")
    assert table.run("EXPLAIN SELECT * FROM k WHERE id BETWEEN 1 AND 5") == plain
    table.run("INSERT INTO k VALUES (1, now()), (2, now() - interval '1 year'), (3, NULL)")
    moved = "ts" + " + interval '1 minute' - interval '1 minute'" * 40
    for k, operand in enumerate(("ts", "ts + interval '1 minute'", moved)):
        between = f"{operand} BETWEEN now() - interval '1 day' AND now() + interval '1 day'"
        table.run(f"CREATE MATERIALIZED VIEW recent{k} AS SELECT id FROM k WHERE {between}")
        assert table.run(f"SELECT * FROM recent{k}") == [(1,)]


def test_the_plan_is_shown_with_the_operand_once(table: Client) -> None:
    sums = " + ".join(["a"] * 70)
    shown = "\n".join(
        str(row[0]) for row in table.run(f"EXPLAIN SELECT CASE {sums} WHEN 70 THEN b WHEN b THEN 1 END FROM t")
    )
    assert "|operand| CASE WHEN (operand = 70) THEN" in shown
    assert shown.count("+") == 69
