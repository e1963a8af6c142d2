"""WITH RECURSIVE in views over random graphs whose edges change: SELECT and views, made before and after, agree.

PostgreSQL judges views and SELECT in `tests/meta/recursion`, over more graphs.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import risingpy
from risingpy.embedded import EmbeddedDatabase
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError

GRAPHS = 3
NODES = 7
QUERIES = {
    "reached": "WITH RECURSIVE r (n) AS (SELECT v FROM roots UNION SELECT e.b FROM r JOIN e ON e.a = r.n) "
    "SELECT n FROM r",
    "pairs": "WITH RECURSIVE r (a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON e.a = r.b) "
    "SELECT a, b FROM r",
    "paths": "WITH RECURSIVE r (n, d) AS (SELECT v, 0 FROM roots UNION ALL SELECT e.b, r.d + 1 FROM r "
    "JOIN e ON e.a = r.n WHERE r.d < 4) SELECT n, d, count(*) FROM r GROUP BY n, d",
    "shortest": "WITH RECURSIVE r (n, d) AS (SELECT v, 0::numeric FROM roots UNION SELECT e.b, r.d + e.w FROM r "
    "JOIN e ON e.a = r.n WHERE r.d < 9) SELECT n, min(d) FROM r GROUP BY n",
    "levels": "WITH RECURSIVE r (n) AS (SELECT v FROM roots UNION SELECT DISTINCT e.b FROM r JOIN e ON e.a = r.n "
    "WHERE NOT EXISTS (SELECT 1 FROM roots o WHERE o.v = e.b)) SELECT n FROM r",
}


def answer(database: EmbeddedDatabase, query: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in database.sql(query).fetchall())


def changed(random_: random.Random) -> str:
    a, b, chance = random_.randrange(NODES), random_.randrange(NODES), random_.random()
    if chance < 0.5:
        return f"INSERT INTO e VALUES ({a}, {b}, {random_.choice(['1', '1.0', '2.5'])})"
    if chance < 0.7:
        return f"DELETE FROM e WHERE a = {a} AND b <= {b}"
    if chance < 0.8:
        return f"UPDATE e SET w = 3 WHERE a = {a}"
    return f"DELETE FROM roots WHERE v = {a}" if chance < 0.9 else f"INSERT INTO roots VALUES ({a})"


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_select_and_views_agree(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    with risingpy.connect(tmp_path) as database:
        database.sql("CREATE TABLE e (a INT, b INT, w NUMERIC, PRIMARY KEY (a, b))")
        database.sql("CREATE TABLE roots (v INT PRIMARY KEY)")
        for name, query in QUERIES.items():
            database.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        made = list(QUERIES)
        for step in range(12):
            for _ in range(random_.choice([1, 3, 10])):
                database.sql(changed(random_))
            if step == 7:
                for name, query in QUERIES.items():
                    database.sql(f"CREATE MATERIALIZED VIEW {name}_after AS {query}")
                made += [f"{name}_after" for name in QUERIES]
            for name in made:
                expected = answer(database, QUERIES[name.removesuffix("_after")])
                assert answer(database, f"SELECT * FROM {name}") == expected, (step, name)


def test_a_view_that_takes_too_many_steps_stops_and_others_go_on(tmp_path: Path) -> None:
    walks = "WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT e.b FROM r JOIN e ON e.a = r.n) SELECT n FROM r"
    with risingpy.connect(tmp_path) as database:
        database.sql("CREATE TABLE e (a INT, b INT, PRIMARY KEY (a, b))")
        database.sql(f"CREATE MATERIALIZED VIEW walks WITH (recursion_limit = 5) AS {walks}")
        database.sql("CREATE MATERIALIZED VIEW number AS SELECT count(*) FROM e")
        database.sql("INSERT INTO e VALUES (1, 2), (2, 3)")
        assert answer(database, "SELECT * FROM walks") == ["(1,)", "(2,)", "(3,)"]
        database.sql("INSERT INTO e VALUES (3, 1)")
        assert answer(database, "SELECT * FROM number") == ["(3,)"]
        with pytest.raises(SqlError, match='the recursion in "again" has not ended after 5 steps'):
            database.sql(f"CREATE MATERIALIZED VIEW again WITH (recursion_limit = 5) AS {walks}")
        with pytest.raises(InvalidParameterValue):
            database.sql(f"CREATE MATERIALIZED VIEW none WITH (recursion_limit = 0) AS {walks}")
        with pytest.raises(FeatureNotSupported, match="now"):
            database.sql(
                "CREATE MATERIALIZED VIEW timed AS WITH RECURSIVE r (t) AS (SELECT timestamptz '2020-01-01' UNION "
                "SELECT t FROM r WHERE t > now()) SELECT * FROM r"
            )
