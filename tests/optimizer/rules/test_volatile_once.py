"""A volatile operand has one value for each row, however often the plan reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.optimizer.explain import explain_logical
from risingpy.optimizer.rewrite import is_volatile
from risingpy.optimizer.rules.volatile_once import volatile_once
from risingpy.plan.logical import Project
from tests.frontend.binder.bench import bind
from tests.meta.conftest import Client, Server

ROWS = 400


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory: Path = tmp_path_factory.mktemp("volatile")
    server = Server(directory)
    client = server.client()
    client.run("CREATE TABLE v (a int, b int, c int)")
    client.run(f"INSERT INTO v SELECT 0, 1, 2 FROM generate_series(1, {ROWS})")
    client.run("CREATE FUNCTION twice(x int) RETURNS int LANGUAGE sql AS 'SELECT x + x'")
    yield client
    server.stop()


DICE = "floor(random() * 3)::int"
# True of each row if the operand has one value.
CERTAIN = (
    f"CASE {DICE} WHEN 0 THEN true WHEN 1 THEN true WHEN 2 THEN true END",
    f"CASE {DICE} + a WHEN a THEN true WHEN b THEN true WHEN c THEN true END",
    f"CASE (SELECT {DICE}) WHEN 0 THEN true WHEN 1 THEN true WHEN 2 THEN true END",
    f"CASE (SELECT {DICE} + a) WHEN 0 THEN true WHEN 1 THEN true WHEN 2 THEN true END",
    f"{DICE} IN (a, b, c)",
    f"({DICE}, a) IN ((0, 0), (1, 0), (2, 0))",
    f"({DICE}, 1) >= (0, 1)",
    f"{DICE} IN (SELECT n FROM generate_series(0, 2) n)",
    f"({DICE}, a) IN (SELECT n, 0 FROM generate_series(0, 2) n)",
    f"{DICE} = ANY (SELECT n FROM generate_series(0, 2) n)",
    f"NOT ({DICE} NOT IN (SELECT n FROM generate_series(0, 2) n))",
    f"twice({DICE}) % 2 = 0",
    f"coalesce(nullif({DICE}, 0), 5) IS NOT NULL",
    f"{DICE} BETWEEN a AND c",
)


@pytest.mark.parametrize("condition", CERTAIN)
def test_one_value_for_each_row(client: Client, condition: str) -> None:
    assert client.run(f"SELECT count(*) FROM v WHERE {condition}") == [(ROWS,)]
    assert client.run(f"SELECT count(*) FROM (SELECT {condition} AS holds FROM v) s WHERE holds") == [(ROWS,)]
    if not re.search(r"\b[abc]\b", condition):
        assert client.run(f"SELECT {condition}") == [(True,)]


def test_two_calls_are_two_values(client: Client) -> None:
    ((equal,),) = client.run("SELECT count(*) FROM v WHERE random() = random()")
    columns = f"CASE {DICE} WHEN 7 THEN 7 ELSE 8 END, random() AS r"
    ((distinct,),) = client.run(f"SELECT count(DISTINCT r) FROM (SELECT {columns} FROM v) s")
    assert (equal, distinct) == (0, ROWS)


def test_what_is_not_volatile_stays_where_it_is() -> None:
    plan = bind("SELECT CASE a WHEN 1 THEN 2 WHEN 2 THEN 3 END FROM t WHERE b IN (SELECT b FROM t)").plan
    assert explain_logical(volatile_once(plan)) == explain_logical(plan)


def test_it_is_computed_below() -> None:
    plan = bind("SELECT (random(), 1) >= (a, b) FROM t").plan
    above = volatile_once(plan)
    assert isinstance(above, Project) and isinstance(above.input, Project)
    assert not any(map(is_volatile, above.expressions))
    assert sum(map(is_volatile, above.input.expressions)) == 1
