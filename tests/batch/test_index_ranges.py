"""Ranges of an indexed column: when the index is read, and that the rows are those of a filter over all."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from risingpy.batch import reads
from risingpy.batch.plan import IndexRange
from risingpy.batch.planner import plan_query
from risingpy.meta.database import Database
from risingpy.optimizer.rules import optimize
from risingpy.storage.engine import storage_table
from tests.batch.conftest import opened
from tests.frontend.binder.bench import bind
from tests.frontend.session.conftest import Client

ROWS = 600


@pytest.fixture(scope="module")
def opened_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Client]]:
    with opened(tmp_path_factory.mktemp("ranges") / "data", parallelism=3) as (database, client):
        client.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b TIMESTAMPTZ, s VARCHAR, j JSONB)")
        client.run("CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a")
        for index in ("ta ON t (a)", "tb ON t (b, a) INCLUDE (id)", "ts ON t (s)", "tj ON t (j)", "vn ON v (n)"):
            client.run(f"CREATE INDEX {index}")
        client.run("CREATE INDEX part ON t (id) WHERE a > 3")
        client.run(
            "INSERT INTO t SELECT g, nullif(g * 7 % 90, 5), '2026-01-01'::timestamptz + g % 50 * INTERVAL '1 day',"
            f" 's' || g % 9, to_jsonb(g % 30) FROM generate_series(1, {ROWS}) g"
        )
        client.run("FLUSH")
        yield database, client


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM t WHERE a > 80", "ta"),
        ("SELECT * FROM t WHERE 80 <= a AND a < 85 AND s = 's1'", None),  # that of s is an equality
        ("SELECT id FROM t WHERE a BETWEEN 3 AND 6 AND id % 2 = 0", "ta"),
        ("SELECT a, id FROM t WHERE b < '2026-01-03'", "tb"),
        ("SELECT s FROM t WHERE b < '2026-01-03'", None),  # the index lacks the column
        ("SELECT id FROM t WHERE s > 's7'", None),  # texts have no ranges yet
        ("SELECT id FROM t WHERE j >= '28'", "tj"),
        ("SELECT * FROM v WHERE n > 6", "vn"),
        ("SELECT * FROM t WHERE id > 590 AND a > 80", None),  # the key has a range
        ("SELECT * FROM t WHERE a > 80 OR id = 3", None),
    ],
)
def test_which_queries_read_an_index(opened_database: tuple[Database, Client], sql: str, expected: str | None) -> None:
    catalog = opened_database[0].reads.catalog
    (rows,) = plan_query(optimize(bind(sql, (), catalog).plan), catalog).inputs
    assert (rows.relation.name if isinstance(rows, IndexRange) else None) == expected


@pytest.mark.parametrize("most", [storage_table.ROWS_PER_BATCH, 20])
def test_random_ranges(opened_database: tuple[Database, Client], monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """With an expression for the table a filter sees all rows. More than `most` rows of the index are not read."""
    monkeypatch.setattr(reads, "ROWS_PER_BATCH", most)
    chance, client = Random(most), opened_database[1]
    for _ in range(60):
        low, span = chance.randrange(-5, 95), chance.choice((0, 1, 10, 100))
        conditions = [f"a {chance.choice(('>', '>='))} {low}", f"a {chance.choice(('<', '<='))} {low + span}"]
        if chance.random() < 0.3:
            conditions = [f"b > '2026-01-01'::timestamptz + {chance.randrange(60)} * INTERVAL '1 day'"]
        where = " AND ".join(chance.sample(conditions, chance.randrange(1, len(conditions) + 1)))
        selected = chance.choice(("id, a, b", "a, count(*)"))
        rest = f"WHERE {where}{' GROUP BY a' if 'count' in selected else ''}"
        found = client.run(f"SELECT {selected} FROM t {rest}")
        assert sorted(found, key=repr) == sorted(
            client.run(f"SELECT {selected} FROM (SELECT * FROM t OFFSET 0) t {rest}"), key=repr
        ), where


def test_parameters_and_changes(opened_database: tuple[Database, Client]) -> None:
    client = opened_database[1]
    sql = "SELECT id FROM t WHERE a > $1 AND a < $2"
    expected = client.run("SELECT id FROM t WHERE a + 0 > 80 AND a + 0 < 83")
    assert sorted(client.run(sql, 80, 83, oids=(23, 23))) == sorted(expected)
    assert client.run(sql, None, 83, oids=(23, 23)) == []
    assert client.run(sql, 83, 80, oids=(23, 23)) == []
    client.run("BEGIN")
    client.run("INSERT INTO t VALUES (10000, 81, NULL, NULL, NULL)")
    client.run("UPDATE t SET a = 1 WHERE a > 81")
    assert sorted(client.run(sql, 80, 83, oids=(23, 23))) == sorted(client.run("SELECT id FROM t WHERE a + 0 = 81"))
    client.run("ROLLBACK")
    assert str(client.run("EXPLAIN SELECT * FROM t WHERE a > 80")[-1][0]).endswith("scan_ranges: [a > 80 by ta] }")
