"""Conditions on keys of jsonb: what a query reads for them, and that it finds the rows of equal values."""

from __future__ import annotations

import pytest

from risingpy.batch.point_reads import point_read
from risingpy.batch.prefix_reads import prefix_read
from risingpy.batch.prepared_query import PreparedQuery
from risingpy.meta.database import Database
from risingpy.optimizer.rules import optimize
from risingpy.types import JSONB
from tests.frontend.binder.bench import bind
from tests.frontend.session.conftest import Client

LONG = "x" * 600  # a key with it is stored in its long form


@pytest.fixture(autouse=True)
def tables(client: Client) -> None:
    client.run("CREATE TABLE t (j jsonb PRIMARY KEY, v int)")
    client.run("CREATE TABLE m (a int, j jsonb, v int, PRIMARY KEY (a, j))")
    client.run("CREATE INDEX by_v ON m (j, v DESC)")
    rows = ("1.0", "2", "[]", "[1, 2.00]", '{"a": 1}', f'"{LONG}"', f'["{LONG}", 1]', f'["{LONG}", 2]', "null")
    client.run("INSERT INTO t VALUES " + ", ".join(f"('{text}', {number})" for number, text in enumerate(rows)))
    client.run("INSERT INTO m VALUES " + ", ".join(f"({n % 2}, '{text}', {n})" for n, text in enumerate(rows)))


@pytest.mark.parametrize(
    ("condition", "read", "found"),
    [
        ("j = '1'", "j = '1'", [0]),
        ("'[1.0, 2]' = j", "j = '[1.0, 2]'", [3]),
        ("j IN ('1.00')", "j = '1.00'", [0]),
        ("j IN ('1.00', '1', '[]', '7', NULL)", "j IN (3 values)", [0, 2]),
        ("j = ANY (ARRAY['1.00', '1', 'null', NULL]::jsonb[])", "j IN (2 values)", [0, 8]),
        ("j > '[1, 2]'", "j > '[1, 2]'", [4]),
        (f"""j >= '["{LONG}", 2.0]'""", f"""j >= '["{LONG}", 2.0]'""", [3, 4, 7]),
        (f"""j < '["{LONG}", 2.0]' AND j > '2.0'""", f"""j < '["{LONG}", 2.0]', j > '2.0'""", [6]),
        ("j <= 'null'", "j <= 'null'", [2, 8]),
        ("j <> '1'", None, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("j -> 'a' = '1.0'", None, [4]),
    ],
)
def test_conditions_on_a_primary_key(client: Client, condition: str, read: str | None, found: list[int]) -> None:
    plan = "\n".join(str(line) for (line,) in client.run(f"EXPLAIN SELECT v FROM t WHERE {condition}"))
    assert (f"scan_ranges: [{read}]" in plan) if read else ("scan_ranges" not in plan)
    assert client.run(f"SELECT v FROM t WHERE {condition} ORDER BY v") == [(v,) for v in found]
    client.run("BEGIN")  # own rows are laid over those that are found
    client.run("INSERT INTO t VALUES ('1.000', 0), ('[3]', 100)")
    rows = client.run("SELECT j, v FROM t ORDER BY v")
    expected = [row for row in rows if client.run(f"SELECT {_at(condition, row)}") == [(True,)]]
    assert client.run(f"SELECT j, v FROM t WHERE {condition} ORDER BY v") == expected
    client.run("ROLLBACK")


def _at(condition: str, row: tuple[object, ...]) -> str:
    """The condition about the value of one row."""
    return " ".join(f"'{row[0]}'::jsonb" if word == "j" else word for word in condition.split(" "))


@pytest.mark.parametrize("condition", ["a = 1 AND j = '2.0'", "j = '2.00' AND v = 1", "j = '2.00'"])
def test_conditions_on_further_columns_and_indexes(client: Client, condition: str) -> None:
    (*_, (scan,)) = client.run(f"EXPLAIN SELECT v FROM m WHERE {condition}")
    assert f"table: public.{'m' if 'a =' in condition else 'by_v'}" in str(scan) and "j = " in str(scan)
    assert client.run(f"SELECT v FROM m WHERE {condition}") == [(1,)]


def test_prepared_lookups_take_no_query(client: Client, database: Database) -> None:
    catalog = database.reads.catalog

    def prepared(sql: str) -> PreparedQuery:
        return PreparedQuery(optimize(bind(sql, [JSONB], catalog).plan), catalog)

    by_key = point_read(prepared("SELECT v, j FROM t WHERE j = $1").plan)
    by_index = prefix_read(prepared("SELECT v, j FROM m WHERE j = $1").plan)
    assert by_key is not None and by_index is not None
    client.run("FLUSH")
    view = database.reads.snapshot().view
    try:
        found = by_index.rows(view, ["1.00"])
        assert found == [[(0).to_bytes(4, "little"), b"1.0"]]
    finally:
        view.release()
