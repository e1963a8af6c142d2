"""random() and gen_random_uuid() in views: a row keeps its values, and takes just these with it when it goes.

A view that sums what another view shows follows every retraction: a value that was not retracted as it was stored would
stay in its sums.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import risingpy
from risingpy.embedded import EmbeddedDatabase
from risingpy.errors import FeatureNotSupported

VIEWS = {
    "drawn": "SELECT id, a, random() AS r, random() AS s, gen_random_uuid() AS u FROM t",
    "sample": "SELECT id, a FROM t WHERE random() < 0.4",
    "groups": "SELECT a, count(*) AS n, random() AS r FROM t GROUP BY a",
    "pairs": "WITH x AS (SELECT id, a, random() AS r FROM t) "
    "SELECT l.id, l.r, m.r AS again FROM x l JOIN x m USING (id)",
    "sums": "SELECT count(*) AS n, sum(r) AS r, sum(s) AS s, count(DISTINCT u) AS u FROM drawn",
    "branches": "SELECT id, CASE floor(random() * 3)::int WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' END AS c "
    "FROM t",
}


def changed(random_: random.Random) -> str:
    key, chance = random_.randrange(60), random_.random()
    if chance < 0.5:
        return f"INSERT INTO t SELECT n, n % 7 FROM generate_series({key}, {key + random_.randrange(9)}) n"
    if chance < 0.7:
        return f"UPDATE t SET a = a + 1 WHERE id % 5 = {key % 5}"
    if chance < 0.8:
        return f"UPDATE t SET id = id + 1000 WHERE id = {key}"
    return f"DELETE FROM t WHERE id BETWEEN {key} AND {key + 5}"


def check(database: EmbeddedDatabase) -> dict[int, tuple[object, ...]]:
    """Every view is what its inputs make of it; returns what each row has drawn."""

    def rows(query: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in database.sql(query).fetchall()]

    assert rows("SELECT id, a FROM t EXCEPT SELECT id, a FROM drawn") == []
    assert rows("SELECT count(*) FROM t") == rows("SELECT count(*) FROM drawn") == rows("SELECT count(*) FROM pairs")
    assert rows("SELECT * FROM sums") == rows(VIEWS["sums"])
    assert rows("SELECT id, a FROM sample EXCEPT SELECT id, a FROM t") == []
    assert rows("SELECT a, n FROM groups EXCEPT SELECT a, count(*) FROM t GROUP BY a") == []
    assert rows("SELECT count(*) FROM pairs WHERE r <> again") == [(0,)]
    assert rows("SELECT count(*) FROM branches WHERE c IS NULL") == [(0,)]
    return {row[0]: row[1:] for row in rows("SELECT id, r, s, u FROM drawn")}  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(2))
def test_a_row_keeps_its_values(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    drawn: dict[int, tuple[object, ...]] = {}
    with risingpy.connect(tmp_path) as database:
        database.sql("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
        for name, query in VIEWS.items():
            database.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for _ in range(12):
            database.sql(changed(random_))
            now = check(database)
            assert all(now[key] == drawn[key] for key in now.keys() & drawn.keys())
            drawn |= now
    with risingpy.connect(tmp_path) as database:  # what was stored before is retracted after
        database.sql("CREATE MATERIALIZED VIEW late AS SELECT id, r, u FROM drawn")
        for _ in range(6):
            database.sql(changed(random_))
            now = check(database)
            assert all(now[key] == drawn[key] for key in now.keys() & drawn.keys())
            drawn |= now
        assert len({values[-1] for values in drawn.values()}) == len(drawn)
        database.sql("DELETE FROM t")
        assert database.sql("SELECT n, r, s, u FROM sums").fetchall() == [(0, None, None, 0)]
        for name in ("drawn", "sample", "groups", "pairs", "late", "branches"):
            assert database.sql(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]


def test_values_are_spread_evenly(tmp_path: Path) -> None:
    with risingpy.connect(tmp_path) as database:
        database.sql("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
        database.sql("INSERT INTO t SELECT n, 0 FROM generate_series(1, 20000) n")
        database.sql(f"CREATE MATERIALIZED VIEW drawn AS {VIEWS['drawn']}")
        ((mean, deviation, correlated, low, high),) = database.sql(
            "SELECT avg(r), stddev_pop(r), corr(r, s), min(r), max(r) FROM drawn"
        ).fetchall()
        assert abs(mean - 0.5) < 0.02  # four standard errors are 0.0082
        assert abs(deviation - 0.2887) < 0.01
        assert abs(correlated) < 0.04
        assert 0 <= low < 0.01
        assert 0.99 < high < 1
        digits = database.sql("SELECT substr(u::text, 20, 1), count(*) FROM drawn GROUP BY 1 ORDER BY 1").fetchall()
        assert [digit for digit, _ in digits] == ["8", "9", "a", "b"]
        assert all(abs(count - 5000) < 300 for _, count in digits)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT l.id FROM t l JOIN t m ON l.id + random() < m.id",
        "SELECT array_transform(ARRAY[id], |x| random()) AS r FROM t",
        "WITH RECURSIVE r (n) AS (SELECT id FROM t UNION SELECT n + (random() * 3)::int FROM r WHERE n < 9) "
        "SELECT n FROM r",
    ],
)
def test_what_has_no_row_to_belong_to_is_refused(tmp_path: Path, query: str) -> None:
    with risingpy.connect(tmp_path) as database:
        database.sql("CREATE TABLE t (id INT PRIMARY KEY, a INT)")
        with pytest.raises(FeatureNotSupported, match=r"random\(\) in this place"):
            database.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
