"""Which conditions imply which; what is said to be implied is so of random rows, too."""

from __future__ import annotations

import itertools

import pytest

from risingpy.frontend.binder.ddl.index import bind_index
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateIndex
from risingpy.optimizer.implication import implies
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Expr
from tests.frontend.session.conftest import Client
from tests.frontend.session.conftest import client as client
from tests.frontend.session.conftest import connect as connect
from tests.frontend.session.conftest import database as database

IMPLIED = [
    ("a > 5", "a > 5"),
    ("a > 5", "a > 3"),
    ("a > 5", "a >= 5"),
    ("5 < a AND b = 1", "a > 4"),
    ("a = 5", "a > 4"),
    ("a = 5", "a IS NOT NULL"),
    ("a < b", "b IS NOT NULL"),
    ("a = 5", "a IN (4, 5)"),
    ("a = 5", "a <> 4 AND a < 6"),
    ("a IN (4, 5)", "a IN (5, 6, 4)"),
    ("f", "f"),
    ("f AND a = 1", "f AND a > 0"),
    ("NOT f", "NOT f"),
    ("a > 5", "a > 5 OR b > 1"),
    ("s = 'x'", "s = 'x' OR s = 'y'"),
    ("s IS NULL AND f", "s IS NULL"),
    ("a = 2 + 3", "a = 5"),
    ("s > 'b'", "s >= 'a'"),
]
NOT_IMPLIED = [
    ("a > 5", "a > 6"),
    ("a >= 5", "a > 5"),
    ("a < 5", "a > 3"),
    ("a = 5 OR b = 1", "a = 5"),
    ("a IS NOT NULL", "a > 5"),
    ("a IS NULL", "a IS NOT NULL"),
    ("a = 5", "b = 5"),
    ("f", "NOT f"),
    ("a <> 5", "a > 5"),
    ("a IN (4, 5)", "a IN (5, 6)"),
    ("a NOT IN (4, 5)", "a NOT IN (4, 5, 6)"),
    ("a > b", "a > 3"),
    ("f IS NOT TRUE", "NOT f"),
]
CONDITIONS = sorted({each for pair in (*IMPLIED, *NOT_IMPLIED) for each in pair})


def condition(text: str, client: Client, catalog: Catalog) -> Expr:
    [parsed] = parse(f"CREATE INDEX ON t (a) WHERE {text}")
    assert isinstance(parsed.statement, CreateIndex)
    bound = bind_index(parsed.statement, catalog, ("public",), session=client.session.context.session_values())
    assert bound.definition.predicate is not None
    return bound.definition.predicate.expression


@pytest.fixture
def conditions(client: Client) -> dict[str, Expr]:
    client.run("CREATE TABLE t (a int, b int, f bool, s text)")
    catalog = client.session.context.database.reads.catalog
    return {text: condition(text, client, catalog) for text in CONDITIONS}


def test_what_is_implied(conditions: dict[str, Expr]) -> None:
    assert [pair for pair in IMPLIED if not implies(conditions[pair[0]], conditions[pair[1]])] == []
    assert [pair for pair in NOT_IMPLIED if implies(conditions[pair[0]], conditions[pair[1]])] == []


def test_rows_agree(client: Client, conditions: dict[str, Expr]) -> None:
    numbers, flags, texts = "(2), (3), (4), (5), (6), (NULL)", "(true), (false), (NULL)", "('a'), ('b'), ('x'), (NULL)"
    client.run(
        f"INSERT INTO t SELECT * FROM (VALUES {numbers}) a, (VALUES (1), (5), (NULL)) b, (VALUES {flags}) f, "
        f"(VALUES {texts}) s"
    )
    said = [pair for pair in itertools.product(CONDITIONS, repeat=2) if implies(*map(conditions.__getitem__, pair))]
    assert len(said) > len(CONDITIONS)
    counts = ", ".join(f"count(*) FILTER (WHERE ({one}) AND ({other}) IS NOT TRUE)" for one, other in said)
    [found] = client.run(f"SELECT {counts} FROM t")
    assert [pair for pair, count in zip(said, found, strict=True) if count] == []
