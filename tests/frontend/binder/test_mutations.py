"""Broken statements: whatever is done to their tokens, the answer is a plan or an SqlError, never another exception."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.binder import bind_delete, bind_insert, bind_query, bind_table, bind_update, bind_view
from risingpy.frontend.parser import ast, parse
from risingpy.optimizer.rules import optimize
from tests.frontend.binder.bench import CATALOG

TESTS = Path(__file__).parents[2]
STATEMENTS = [
    *(TESTS / "optimizer" / "cases_of_batch.sql").read_text().splitlines(),
    *(TESTS / "frontend" / "binder" / "cases" / "errors.sql").read_text().splitlines(),
    "insert into u (id, a) values (1, default), (2, 3) returning *",
    "update t set a = 1, (b, c) = (2, default) where d = 'x' returning a",
    "delete from t where a = 1 returning b",
    "create table x (a int primary key, b varchar(3) default 'x' not null, primary key (a, b)) append only",
    "create materialized view m as select a, count(*) from t group by a",
    "copy t (a, b) from stdin with (format csv, header true)",
    "explain (verbose) select 1",
    "set a.b to 'x', 3",
    "show columns from t",
    "drop table if exists a, b cascade",
    "begin isolation level read committed",
]
WORDS = (  # noqa: SIM905 - a page of words reads better than a page of quotes
    "select from where group by having order limit ( ) , . * + - :: 'x' 1 $1 null and or not in between like is case "
    "when then end as join on using left natural union all distinct values with count sum interval date ~ ! @ ? [ ] "
    "{ } ; : = < > || int text extract trim any exists lateral over filter array row default"
).split()


def mutated(chance: random.Random) -> str:
    tokens = chance.choice(STATEMENTS).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    for _ in range(chance.randint(1, 3)):
        where = chance.randrange(len(tokens) + 1)
        match chance.choice(("delete", "insert", "splice")):
            case "delete":
                tokens[where : where + 1] = []
            case "insert":
                tokens.insert(where, chance.choice(WORDS))
            case "splice":
                tokens[where : where + 1] = chance.choice(STATEMENTS).split()[: chance.randint(1, 5)]
    return " ".join(tokens)


def digest(sql: str) -> None:
    for parsed in parse(sql):
        match parsed.statement:
            case ast.Select(query):
                plan = bind_query(query, CATALOG, ("public",)).plan
                assert optimize(plan).schema == plan.schema
            case ast.Insert() as statement:
                bind_insert(statement, CATALOG, ("public",))
            case ast.Update() as statement:
                bind_update(statement, CATALOG, ("public",))
            case ast.Delete() as statement:
                bind_delete(statement, CATALOG, ("public",))
            case ast.CreateTable() as statement:
                bind_table(statement)
            case ast.CreateView() | ast.CreateMaterializedView() as statement:
                bind_view(statement, CATALOG, ("public",))


@pytest.mark.parametrize("seed", range(4))
def test_mutations(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(800):
        sql = mutated(chance)
        try:
            digest(sql)
        except SqlError as error:
            assert error.sqlstate != "XX000", sql
        except Exception as error:
            raise AssertionError(sql) from error
