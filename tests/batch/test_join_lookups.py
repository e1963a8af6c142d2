"""Rows that joins look up: which joins allow it, when it is worth it, and that all answers stay what they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from risingpy.batch.explain import explain_plan
from risingpy.batch.lookups import looked_up_rows
from risingpy.batch.planner import plan_query
from risingpy.meta.database import Database
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog
from risingpy.storage.engine.storage_table import StorageTable
from tests.batch.conftest import opened
from tests.batch.test_planner import shown
from tests.frontend.binder.bench import bind
from tests.frontend.session.conftest import Client

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, k INT, s VARCHAR, b BIGINT, f DOUBLE PRECISION);
CREATE TABLE b (id BIGINT PRIMARY KEY, k INT, s VARCHAR, b BIGINT, f DOUBLE PRECISION);
CREATE TABLE c (s VARCHAR PRIMARY KEY, k INT, id INT, b BIGINT, f DOUBLE PRECISION);
CREATE TABLE pair (x INT, y INT, PRIMARY KEY (x, y));
CREATE INDEX a_k ON a (k);
CREATE INDEX a_s ON a (s DESC);
CREATE INDEX b_k ON b (k) INCLUDE (s);
CREATE INDEX b_s ON b (s) WHERE k > 3;
CREATE INDEX c_b ON c (b)
"""


@pytest.fixture(scope="module")
def opened_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Client]]:
    with opened(tmp_path_factory.mktemp("lookups") / "data", parallelism=3) as (database, client):
        for statement in TABLES.strip().split(";"):
            client.run(statement)
        chance = random.Random(1)
        for table, rows in (("a", 60), ("b", 40), ("c", 30)):
            for number in range(rows):
                key = f"'s{number}'" if table == "c" else str(number)
                k, s, b, f = (_value(chance) for _ in range(4))
                text = "NULL" if s == "NULL" else f"'s{s}'"
                values = f"{key}, {k}, {s}, {b}, {f}" if table == "c" else f"{key}, {k}, {text}, {b}, {f}"
                client.run(f"INSERT INTO {table} VALUES ({values})")
        client.run(
            "INSERT INTO a VALUES (1000, 7, 's7', 9223372036854775807, 1), (1001, 7, 's7', -9223372036854775808, 1)"
        )
        client.run("FLUSH")
        yield database, client


def _value(chance: random.Random) -> str:
    return "NULL" if chance.random() < 0.1 else str(chance.randrange(25))


@pytest.fixture
def client(opened_database: tuple[Database, Client]) -> Client:
    return opened_database[1]


@pytest.fixture
def catalog(opened_database: tuple[Database, Client]) -> Catalog:
    return opened_database[0].reads.catalog


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("FROM a JOIN b ON a.k = b.id WHERE a.id = 1", ["b by a"]),
        ("FROM a JOIN b ON a.k = b.k WHERE a.id = 1", []),  # the index has not all columns
        ("FROM a JOIN (SELECT k, s FROM b) b ON a.k = b.k WHERE a.id = 1", ["b_k by a"]),
        ("FROM a LEFT JOIN b ON a.k = b.id WHERE a.id = 1", ["b by a"]),
        ("FROM a RIGHT JOIN b ON a.k = b.id", ["a_k by b"]),
        ("FROM a FULL JOIN b ON a.k = b.id", []),
        ("FROM a JOIN b ON a.k = b.id", ["b by a", "a_k by b"]),
        ("FROM a WHERE EXISTS (SELECT FROM b WHERE b.id = a.k)", ["b by a", "a_k by b"]),
        ("FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.id = a.k)", ["b by a"]),
        ("FROM a JOIN b ON a.f = b.f JOIN c ON c.s = b.s", ["c by b"]),
        ("FROM b JOIN a ON b.s = a.s AND b.id = 3", ["a_s by b"]),  # that of b is partial
        ("FROM a JOIN (SELECT * FROM b LIMIT 5) b ON a.k = b.id", ["a_k by b"]),
        ("FROM a JOIN (SELECT id, count(*) FROM b GROUP BY id) b ON a.k = b.id AND a.id = 1", ["b by a"]),
        ("FROM a JOIN (SELECT max(id) AS id FROM b) b ON a.k = b.id AND a.id = 1", []),
        ("FROM a JOIN pair ON a.k = pair.x WHERE a.id = 1", []),  # a row's shard depends on y, too
        ("FROM a x JOIN a y ON x.k = y.id WHERE x.id = 1", ["a by a"]),
        ("FROM a JOIN b ON a.id = b.id + 1 WHERE b.id = 1", []),
        ("FROM a JOIN (SELECT id FROM b UNION ALL SELECT id FROM c) b ON a.k = b.id", []),
        ("FROM a JOIN pg_class p ON p.relname = a.s", []),
    ],
)  # fmt: skip
def test_which_joins_allow_it(catalog: Catalog, sql: str, expected: list[str]) -> None:
    plan = plan_query(
        optimize(bind(f"SELECT * {sql}" if "EXISTS" in sql else f"SELECT 1, * {sql}", (), catalog).plan), catalog
    )
    found = [f"{each.by.name} by {shown(plan.inputs[each.source]).split(':')[0].split()[-1]}" for each in plan.lookups]
    assert found == expected


def test_explain_shows_lookups(catalog: Catalog) -> None:
    sql = "SELECT a.b, b.s FROM a JOIN (SELECT k, s FROM b) b ON a.id = b.k WHERE a.id > 5"
    plan = plan_query(optimize(bind(sql, (), catalog).plan), catalog)
    scans = [line.partition("BatchScan ")[2] for line in explain_plan(plan) if "BatchScan " in line]
    assert scans == [
        "{ table: public.a, columns: [id, b], scan_ranges: [id > 5], lookups: [id = b_k.k] }",
        "{ table: public.b, columns: [k, s], scan_ranges: [k > 5 by b_k], lookups: [k = a.id by b_k] }",
    ]


def _answers(client: Client, sql: str, worth: float, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], int]:
    """(The rows of a query in order, how often rows were looked up) if a lookup is worth so many rows."""
    monkeypatch.setattr(looked_up_rows, "_WORTH", worth)
    found, read = 0, StorageTable.few_of_prefixes

    def counted(self: StorageTable, prefix: Any, columns: Any, most: int) -> pa.Table | None:
        nonlocal found
        found += 1
        return read(self, prefix, columns, most)

    monkeypatch.setattr(StorageTable, "few_of_prefixes", counted)
    rows = sorted(client.run(sql), key=repr)
    monkeypatch.setattr(StorageTable, "few_of_prefixes", read)
    return rows, found


_KINDS = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_COLUMNS = {"a": ("id", "k", "b"), "b": ("id", "k", "b"), "c": ("k", "id", "b")}


def _item(chance: random.Random, alias: str) -> tuple[str, str]:
    """(An item of FROM, the table whose columns it has)."""
    table = chance.choice("abc")
    form = chance.random()
    if form < 0.6:
        return f"{table} {alias}", table
    if form < 0.7:
        return f"(SELECT id, k, s, max(b) AS b FROM {table} GROUP BY id, k, s) {alias}", table
    if form < 0.8:
        return f"(SELECT * FROM {table} WHERE k < {chance.randrange(25)}) {alias}", table
    if form < 0.9:
        return f"(SELECT * FROM {table} ORDER BY b, id, s LIMIT 7) {alias}", table
    return f"(SELECT id, k, s, sum(b) OVER (PARTITION BY k) AS b FROM {table}) {alias}", table


def _query(chance: random.Random) -> str:
    first, table = _item(chance, "t0")
    tables, text = [table], first
    for number in range(1, chance.randrange(2, 4)):
        item, table = _item(chance, f"t{number}")
        other = chance.randrange(number)
        if chance.random() < 0.3:
            condition = f"t{other}.s = t{number}.s"
        else:
            condition = (
                f"t{other}.{chance.choice(_COLUMNS[tables[other]])} = t{number}.{chance.choice(_COLUMNS[table])}"
            )
        condition += f" AND t{number}.k <> {chance.randrange(25)}" if chance.random() < 0.2 else ""
        text += f" {chance.choice(_KINDS)} {item} ON {condition}"
        tables.append(table)
    wheres = []
    if chance.random() < 0.7:
        number = chance.randrange(len(tables))
        compared = chance.choice(("= {}", "< {}", "IN ({}, 3)", "IS NULL"))
        wheres.append(f"t{number}.{chance.choice(_COLUMNS[tables[number]])} " + compared.format(chance.randrange(25)))
    if chance.random() < 0.4:
        word = chance.choice(("EXISTS", "NOT EXISTS"))
        wheres.append(
            f"{word} (SELECT FROM {chance.choice('ab')} e WHERE e.id = t0.k AND e.b < {chance.randrange(40)})"
        )
    if chance.random() < 0.3:
        word = chance.choice(("IN", "NOT IN"))
        wheres.append(f"t0.k {word} (SELECT k FROM {chance.choice('abc')} WHERE id < {chance.randrange(25)})")
    counted = ", (SELECT count(*) FROM a z WHERE z.k = t0.k)" if chance.random() < 0.3 else ""
    selected = ", ".join(f"t{number}.id, t{number}.s, t{number}.b" for number in range(len(tables)))
    where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
    return f"SELECT {selected}{counted} FROM {text}{where}"


@pytest.mark.parametrize("seed", range(4))
def test_random_joins(client: Client, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance, looked_up = random.Random(seed), 0
    for _ in range(60):
        sql = _query(chance)
        expected, none = _answers(client, sql, 0, monkeypatch)
        rows, found = _answers(client, sql, 1000, monkeypatch)
        assert none == 0
        assert rows == expected, sql
        looked_up += found > 0
    assert looked_up >= 20


def test_a_transaction_sees_its_own_rows(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.run("BEGIN")
    try:
        client.run("INSERT INTO a VALUES (500, 3, 's3', 3, 3)")
        client.run("UPDATE a SET k = 4 WHERE id = 1")
        for sql in (
            "FROM a JOIN b ON a.k = b.id",
            "FROM b JOIN a ON b.k = a.id AND b.id < 9",
            "FROM a JOIN c ON a.s = c.s",
        ):
            expected, _ = _answers(client, f"SELECT * {sql}", 0, monkeypatch)
            assert _answers(client, f"SELECT * {sql}", 1000, monkeypatch)[0] == expected
    finally:
        client.run("ROLLBACK")


def test_many_rows_are_read_and_not_looked_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT count(*) FROM a JOIN b ON a.k = b.id"
    expected, found = _answers(client, sql, 1 / 32, monkeypatch)
    assert found == 0
    monkeypatch.setattr(looked_up_rows, "MOST_FOUND", 2)  # what is found is more than is looked up
    assert _answers(client, sql, 1000, monkeypatch)[0] == expected
    monkeypatch.setattr(looked_up_rows, "MOST_VALUES", 3)  # a range has more rows than that: it is read to its end
    sql = "SELECT count(*) FROM a JOIN b ON a.k = b.id WHERE a.id > 2"
    assert _answers(client, sql, 1000, monkeypatch) == (_answers(client, sql, 0, monkeypatch)[0], 0)
