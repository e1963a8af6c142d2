"""What prepared queries answer when keys, parameters, the catalog and the transaction's own changes meet."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import NumericValueOutOfRange

INT2, INT4, INT8 = 21, 23, 20


@pytest.fixture
def rows(client: Any) -> Any:
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar)")
    client.run("INSERT INTO t VALUES (1, 10, 'x'), (2, 10, 'y'), (3, 30, 'z')")
    client.run("FLUSH")
    return client


def test_a_point_query_with_every_kind_of_value(rows: Any) -> None:
    sql = "SELECT b, $2, id FROM t WHERE id = $1"
    assert rows.run(sql, 2, 7, oids=(INT2, INT4)) == [("y", 7, 2)]
    assert rows.run(sql, 9, 7, oids=(INT2, INT4)) == []
    assert rows.run(sql, None, 7, oids=(INT2, INT4)) == []
    assert rows.run("SELECT count(*) FROM t WHERE id = $1", None, oids=(INT4,)) == [(0,)]


def test_a_key_that_overflows_is_the_evaluators_error(rows: Any) -> None:
    assert rows.run("SELECT b FROM t WHERE id = $1::int", 3, oids=(INT8,)) == [("z",)]
    with pytest.raises(NumericValueOutOfRange):
        rows.run("SELECT b FROM t WHERE id = $1::int", 1 << 40, oids=(INT8,))


def test_conditions_that_values_decide(rows: Any) -> None:
    sql = "SELECT id FROM t WHERE $1 IS NULL OR id = $1"
    assert rows.run(sql, 2, oids=(INT4,)) == [(2,)]
    assert sorted(rows.run(sql, None, oids=(INT4,))) == [(1,), (2,), (3,)]


def test_one_statement_in_and_out_of_a_transaction(rows: Any) -> None:
    """The plan for the transaction's own changes is not the one for what is committed."""
    by_key, by_a = "SELECT b FROM t WHERE id = $1", "SELECT id FROM t WHERE a = $1 ORDER BY id"
    rows.run("CREATE INDEX by_a ON t (a)")
    assert rows.run(by_key, 1, oids=(INT4,)) == [("x",)]
    rows.run("BEGIN")
    rows.run("INSERT INTO t VALUES (1, 30, 'new'), (4, 10, 'four')")
    rows.run("DELETE FROM t WHERE id = 3")
    assert rows.run(by_key, 1, oids=(INT4,)) == [("new",)]
    assert rows.run(by_key, 3, oids=(INT4,)) == []
    assert rows.run(by_key, None, oids=(INT4,)) == []
    assert rows.run(by_a, 10, oids=(INT4,)) == [(2,), (4,)]
    assert rows.run(by_a, 30, oids=(INT4,)) == [(1,)]
    assert rows.run(by_a, None, oids=(INT4,)) == []
    rows.run("ROLLBACK")
    assert rows.run(by_key, 1, oids=(INT4,)) == [("x",)]
    assert rows.run(by_a, 10, oids=(INT4,)) == [(1,), (2,)]


def test_indexes_that_come_and_go_between_runs(rows: Any) -> None:
    sql = "SELECT id FROM t WHERE a = $1 ORDER BY id"
    [statement] = rows.session.split(sql)
    prepared = rows.session.prepare(statement, (INT4,))

    def run() -> list[object]:
        result = rows.session.execute(prepared, (10,))
        found = [row for batch in result.batches for row in batch.column(0).to_pylist()]
        rows.session.sync()
        return found

    assert run() == [1, 2]
    rows.run("CREATE INDEX by_a ON t (a)")
    assert run() == [1, 2]
    rows.run("DROP INDEX by_a")
    rows.run("ALTER TABLE t ADD COLUMN d int")
    assert run() == [1, 2]
    explained = rows.run("EXPLAIN SELECT b FROM t WHERE id = 5")
    assert any("scan_ranges: [id = 5]" in line for (line,) in explained), explained


FILTERED = (
    "count(*)", "count(a)", "sum(a)", "avg(a)", "min(b)", "max(a)", "bool_and(a > 10)", "bit_or(a)", "sum(a::numeric)",
    "avg(a::numeric)", "sum(a::double precision)", "count(DISTINCT a)", "sum(DISTINCT a)",
    "string_agg(b, ',' ORDER BY id)", "array_agg(a ORDER BY id)",
)  # fmt: skip
CONDITIONS = ("id = 2", "a > 10", "b = 'none'", "a IS NULL", "NULL", "id > 0", "b <> 'x'")


def test_hundreds_of_filtered_aggregates_answer_as_each_alone(rows: Any) -> None:
    rows.run("INSERT INTO t VALUES (4, NULL, 'n'), (5, 30, NULL)")
    rows.run("FLUSH")
    calls = [f"{call} FILTER (WHERE {condition})" for call in FILTERED for condition in CONDITIONS]
    (together,) = rows.run(f"SELECT {', '.join(calls)} FROM t")
    for call, value in zip(calls, together, strict=True):
        assert rows.run(f"SELECT {call} FROM t") == [(value,)], call
