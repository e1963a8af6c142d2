"""GAP_FILL over rows that change in every way: SELECT and views equal a model in plain Python."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from math import floor
from operator import itemgetter
from pathlib import Path

import pytest

import risingpy
from risingpy.embedded import EmbeddedDatabase

QUERY = (
    "SELECT * FROM GAP_FILL(t, at, INTERVAL '10 minutes', PARTITION_BY(p), LOCF(held), INTERPOLATE(drawn), "
    "INTERPOLATE(counted), KEEPNULL(empty))"
)
START, STEP = datetime(2024, 1, 1), timedelta(minutes=10)
Row = tuple[object, ...]
# id → p, at, held, drawn, counted, empty
COLUMNS = "p VARCHAR, at TIMESTAMP, held INT, drawn DOUBLE PRECISION, counted BIGINT, empty INT"
Rows = dict[int, tuple[str | None, datetime | None, int | None, float | None, int | None, int]]


def filled(rows: Rows) -> list[str]:
    """The rows and those in the gaps."""
    output: list[Row] = []
    for p in {row[0] for row in rows.values()}:
        partition = sorted(((row[1], row) for row in rows.values() if row[0] == p and row[1]), key=itemgetter(0))
        output += [(id_, *row) for id_, row in rows.items() if row[0] == p]
        for (last_at, last), (at, this) in pairwise(partition):
            steps = -((last_at - at) // STEP)
            for k in range(1, steps):
                drawn, counted = between(last[3], this[3], k, steps), between(last[4], this[4], k, steps)
                rounded = None if counted is None else floor(counted + Fraction(1, 2))
                drawn = None if drawn is None else float(drawn)
                output.append((None, p, last_at + k * STEP, last[2], drawn, rounded, None))
    return sorted(map(repr, output))


def between(last: float | None, this: float | None, step: int, steps: int) -> Fraction | float | None:
    """The value after so many of the steps from the last to this one, exactly."""
    return None if last is None or this is None else (Fraction(last) * (steps - step) + Fraction(this) * step) / steps


def answer(database: EmbeddedDatabase, query: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in database.sql(query).fetchall())


def changed(random_: random.Random, rows: Rows) -> str:
    """A statement, and the same done to `rows`. No two rows of a partition have the same time."""
    id_, p = random_.randrange(12), random_.choice(["a", "b", None])
    at = random_.choice([None, *(START + timedelta(minutes=5 * random_.randrange(40)) for _ in range(9))])
    taken = any(row[:2] == (p, at) for key, row in rows.items() if key != id_)
    if random_.random() < 0.3 or (taken and at):
        rows.pop(id_, None)
        return f"DELETE FROM t WHERE id = {id_}"
    held, drawn, counted = (random_.choice([None, *range(8)]) for _ in range(3))
    rows[id_] = (p, at, held, None if drawn is None else float(drawn), counted, 1)
    values = ", ".join("NULL" if value is None else f"'{value}'" for value in rows[id_])
    return f"INSERT INTO t VALUES ({id_}, {values})"


@pytest.mark.parametrize("seed", range(2))
def test_select_and_views_equal_the_model(tmp_path: Path, seed: int) -> None:
    random_, rows = random.Random(seed), Rows()
    queries = [QUERY, "SELECT * FROM before"]
    with risingpy.connect(tmp_path) as database:
        database.sql(f"CREATE TABLE t (id INT PRIMARY KEY, {COLUMNS})")
        database.sql(f"CREATE MATERIALIZED VIEW before AS {QUERY}")
        for step in range(7):
            for _ in range(random_.choice([1, 4, 8])):
                database.sql(changed(random_, rows))
            if step == 3:
                database.sql(f"CREATE MATERIALIZED VIEW after AS {QUERY}")
                queries.append("SELECT * FROM after")
            expected = filled(rows)
            for query in queries:
                assert answer(database, query) == expected, (step, query)
