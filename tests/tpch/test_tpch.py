"""All 22 queries of TPC-H: as SELECT and as live views, equal to PostgreSQL after each step of a history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle
from tests.query_histories import Run, comparable, new_database, postgres_schema
from tests.tpch.generator import ORDERS, PARTS, Generator, insert

HERE = Path(__file__).parent
SCHEMA = (HERE / "schema.sql").read_text()
QUERIES = dict(re.findall(r"-- (q\d\d)\n(.*?);\n", (HERE / "queries.sql").read_text(), re.DOTALL))


def history() -> Iterator[str]:
    """What happens to the tables after they are filled."""
    more = Generator(23)
    yield insert("orders", [more.order(i) for i in range(ORDERS + 1, ORDERS + 21)])
    yield insert("lineitem", [row for i in range(ORDERS + 1, ORDERS + 21) for row in more.items(i)])
    yield "DELETE FROM lineitem WHERE l_orderkey % 7 = 0"
    yield "UPDATE lineitem SET l_quantity = l_quantity + 9, l_receiptdate = l_commitdate + 3 WHERE l_partkey % 3 = 0"
    yield "UPDATE partsupp SET ps_supplycost = ps_supplycost / 2, ps_availqty = ps_availqty + 30 WHERE ps_suppkey < 6"
    yield "UPDATE supplier SET s_nationkey = 7 - s_nationkey, s_comment = 'Customer Complaints' WHERE s_suppkey > 9"
    yield "DELETE FROM orders WHERE o_custkey IN (SELECT c_custkey FROM customer WHERE c_nationkey = 3)"
    yield "UPDATE customer SET c_acctbal = c_acctbal * 2, c_nationkey = 6 WHERE c_custkey % 4 = 1"
    yield insert("part", [more.part(i) for i in range(PARTS + 1, PARTS + 6)])
    yield "UPDATE part SET p_brand = 'Brand#23', p_container = 'MED BOX', p_size = 15 WHERE p_partkey % 5 = 0"
    yield "UPDATE nation SET n_name = 'GERMANY' WHERE n_name = 'FRANCE'"
    yield "DELETE FROM region WHERE r_name = 'ASIA'"
    yield "DELETE FROM lineitem WHERE l_orderkey > 20"
    yield "DELETE FROM lineitem"


@pytest.fixture(scope="module")
def postgres(postgres_oracle: PostgresOracle) -> Iterator[Run]:
    with postgres_schema(postgres_oracle, "tpch") as run:
        yield run


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with new_database(tmp_path_factory.mktemp("tpch") / "data") as client:
        yield client


@pytest.mark.timeout(600)
def test_queries_and_views_stay_equal_to_postgresql(ours: Client, postgres: Run) -> None:
    ours.run(SCHEMA)
    postgres(SCHEMA)
    live = [name for name in QUERIES if int(name[1:]) % 2]  # half before the data, half after it
    for name in live:
        ours.run(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    for table, rows in Generator().database():
        both(ours, postgres, insert(table, rows))
    for name in sorted(set(QUERIES) - set(live)):
        ours.run(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    found = check(ours, postgres, "filled")
    assert {name: rows for name, rows in found.items() if not rows} == {}, "a query that finds nothing shows nothing"
    for statement in history():
        both(ours, postgres, statement)
        check(ours, postgres, statement[:60])


def both(ours: Client, postgres: Run, statement: str) -> None:
    ours.run(statement)
    postgres(statement)


def check(ours: Client, postgres: Run, step: str) -> dict[str, int]:
    """That every query and every view give what PostgreSQL gives; how many rows that are."""
    wrong = []
    found = {}
    for name, sql in QUERIES.items():
        expected = comparable(postgres(sql))
        found[name] = len(expected)
        if comparable(ours.run(sql)) != expected:
            wrong.append(f"{name} as SELECT")
        if comparable(ours.run(f"SELECT * FROM {name}")) != expected:
            wrong.append(f"{name} as view")
    assert wrong == [], step
    return found
