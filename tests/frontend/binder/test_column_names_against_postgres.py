"""Columns without an alias get the names that PostgreSQL gives them.

Each line of `cases/column_names.sql` is an expression over `kinds`, or a whole query.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.frontend.binder.bench import bind, make_catalog

CASES = (Path(__file__).parent / "cases" / "column_names.sql").read_text().splitlines()
COLUMNS = (
    "a int, arr int[], j jsonb, ts timestamptz, d date, x varchar, b boolean, f double precision, iv interval,"
    " n numeric"
)
CATALOG = make_catalog(f"create table kinds ({COLUMNS}, s struct<v1 int, v2 varchar>)")


@pytest.fixture(scope="module")
def kinds(postgres: psycopg.Connection[tuple[object, ...]]) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    postgres.execute("create type pair as (v1 int, v2 varchar)")
    postgres.execute(f"create table kinds ({COLUMNS}, s pair)".encode())
    yield postgres
    postgres.execute("drop table kinds; drop type pair")


def query(case: str) -> str:
    return case if case.startswith("select ") else f"select {case} from kinds"


@pytest.mark.parametrize("case", CASES)
def test_name(kinds: psycopg.Connection[tuple[object, ...]], case: str) -> None:
    described = kinds.execute(query(case).encode()).description
    assert described is not None
    assert [field.name for field in bind(query(case), catalog=CATALOG).fields] == [column.name for column in described]
