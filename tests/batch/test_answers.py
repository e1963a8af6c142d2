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


def test_rows_between_bounds_of_the_key(client: Any) -> None:
    """More rows than are read at once, keys on both sides of 0, bounds of every kind, and no rows."""
    client.run("CREATE TABLE many (id bigint PRIMARY KEY, n int)")
    client.run("INSERT INTO many SELECT i, i % 7 FROM generate_series(-10000, 79999) AS g(i)")
    client.run("FLUSH")
    asked = "SELECT count(*), min(id), max(id), count(DISTINCT id) FROM many WHERE "
    for condition, low, high in [
        ("id >= -5 AND id < 70000", -5, 69999),
        ("id > -5 AND id <= 70000 AND id <= 80000", -4, 70000),
        ("79990 < id", 79991, 79999),
        ("id BETWEEN 3 AND 9", 3, 9),
        ("id < -9990", -10000, -9991),
        ("id > -9223372036854775808 AND id <= 9223372036854775807", -10000, 79999),
    ]:
        assert client.run(asked + condition) == [(high - low + 1, low, high, high - low + 1)], condition
    for condition in ("id > 5 AND id < 5", "id > 80000", "id < NULL", "id > 9 AND id < 3"):
        assert client.run(asked + condition) == [(0, None, None, 0)], condition
    assert client.run(f"{asked} id >= $1 AND id < $2 + 1", 5, 9, oids=(INT2, INT8)) == [(5, 5, 9, 5)]
    assert client.run(f"{asked} id >= $1", None, oids=(INT8,)) == [(0, None, None, 0)]
    with pytest.raises(NumericValueOutOfRange):
        client.run(f"{asked} id > $1::int", 1 << 40, oids=(INT8,))
    client.run("BEGIN")
    client.run("INSERT INTO many VALUES (80000, 1), (80001, 1)")
    client.run("UPDATE many SET id = -id WHERE id >= 79999 AND id <= 80000")
    assert client.run(asked + "id > 79990") == [(9, 79991, 80001, 9)]
    assert client.run(asked + "id < -10000") == [(2, -80000, -79999, 2)]
    client.run("ROLLBACK")
    assert client.run("DELETE FROM many WHERE id >= 0 AND id < 79999") == []
    client.run("FLUSH")
    assert client.run(asked + "id >= 0") == [(1, 79999, 79999, 1)]


def test_days_and_moments_between_bounds_of_the_key(client: Any) -> None:
    """Also infinite ones, and of a key whose first column may be NULL, or tells no shard."""
    client.run("CREATE TABLE days (day date, at timestamp, n int, PRIMARY KEY (day, n))")
    client.run(
        "INSERT INTO days SELECT DATE '1969-12-30' + i, TIMESTAMP '1969-12-30' + i * INTERVAL '1 day', i "
        "FROM generate_series(0, 9) AS g(i)"
    )
    client.run("INSERT INTO days VALUES ('infinity', 'infinity', 1), ('-infinity', NULL, 2)")
    client.run("CREATE MATERIALIZED VIEW moments AS SELECT at, count(*) AS days FROM days GROUP BY at")
    client.run("FLUSH")
    assert client.run("SELECT count(*) FROM days WHERE day > '1970-01-01' AND day < '1970-01-05'") == [(3,)]
    assert client.run("SELECT count(*) FROM days WHERE day >= '1970-01-01'") == [(9,)]
    assert client.run("SELECT count(*) FROM days WHERE day < '1970-01-01'") == [(3,)]
    assert client.run("SELECT count(*) FROM moments WHERE at >= '1970-01-01 00:00:01'") == [(8,)]
    assert client.run("SELECT count(*) FROM moments WHERE at < 'infinity'") == [(10,)]


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
