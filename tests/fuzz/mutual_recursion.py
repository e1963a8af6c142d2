"""Random programs of WITH MUTUALLY RECURSIVE: a SELECT, and views made before the rows and after them.

    python -m tests.fuzz.mutual_recursion SEED [COUNT]

A SELECT computes every query of a program anew in each round; a view keeps differences by level. The two have nothing
in common, so each judges the other. RECURSION LIMIT ends every program after some rounds, also those that would never
end; what they have then depends on all rounds before, and on the order of the queries.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Iterator
from random import Random

import risingpy
from risingpy.embedded import EmbeddedDatabase

PROGRAMS = 6  # of a seed, one after the other over the same tables
STEPS = 5
LARGEST = 5000  # rows of an answer
_NAMES = ("p", "q", "s")
_TABLES = ("CREATE TABLE e (a INT, b INT)", "CREATE TABLE roots (v INT)")


def _rows(random: Random, items: tuple[str, ...]) -> str:
    """A FROM item with the columns x and y."""
    item = random.choice(items)
    read, moved = f"(SELECT n AS x, m AS y FROM {item})", f"(SELECT n % 5 AS x, (m + 1) % 5 AS y FROM {item})"
    stored = ("(SELECT a AS x, b AS y FROM e)", "(SELECT v AS x, v AS y FROM roots)")
    return random.choices((read, moved, *stored), (50, 15, 25, 10))[0]


def _select(random: Random, items: tuple[str, ...]) -> str:
    left, right = _rows(random, items), _rows(random, items)
    distinct = f"(SELECT DISTINCT x, y FROM {left} l) d"
    extreme, kind = random.choice(("min", "max")), random.choice(("JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"))
    among = random.choice(("EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"))
    return random.choice(
        (
            "SELECT v, v FROM roots",
            "SELECT a, b FROM e",
            f"SELECT l.x, r.y FROM {left} l {kind} {right} r ON l.y = r.x",
            f"SELECT l.x, r.y FROM {left} l JOIN {right} r ON l.y = r.x AND l.x <= r.y",
            f"SELECT l.x, l.y FROM {left} l WHERE NOT EXISTS (SELECT 1 FROM {right} r WHERE r.x = l.y)",
            f"SELECT l.x, l.y FROM {left} l WHERE EXISTS (SELECT 1 FROM {right} r WHERE r.x = l.y AND r.y >= l.x)",
            f"SELECT x, y FROM {left} l WHERE x IN (SELECT y FROM {right} r) OR y < {random.randrange(4)}",
            f"SELECT x, {extreme}(y) FROM {left} l GROUP BY x",
            f"SELECT x, (count(*) % 5)::int FROM {left} l GROUP BY x",
            f"SELECT x, (coalesce(sum(y), 0) % 5)::int FROM {left} l GROUP BY x",
            f"SELECT (count(*) % 5)::int, {extreme}(x) FROM {left} l",
            f"SELECT x, (row_number() OVER (PARTITION BY x ORDER BY y, x) % 5)::int FROM {distinct}",
            f"(SELECT x, y FROM {distinct} ORDER BY x, y LIMIT {random.randrange(1, 4)})",
            f"(SELECT x, y FROM {left} l {among} SELECT x, y FROM {right} r)",
        )
    )


def program(random: Random) -> str:
    """A program of one to three queries."""
    items, parts = _NAMES[: random.randrange(1, 4)], []
    for item in items:
        text = _select(random, items)
        for _ in range(random.randrange(3)):
            text += f" {random.choice(('UNION', 'UNION', 'UNION ALL'))} {_select(random, items)}"
        if random.random() < 0.5:
            text = f"SELECT DISTINCT * FROM ({text}) AS z (n, m)"
        parts.append(f"{item} (n int, m int) AS ({text})")
    body = " UNION ALL ".join(f"SELECT '{item}' AS i, n, m FROM {item}" for item in items)
    limit = f"(RETURN AT RECURSION LIMIT {random.randrange(1, 6)})"
    return f"WITH MUTUALLY RECURSIVE {limit} {', '.join(parts)} {body}"


def _change(random: Random) -> str:
    key, value = random.randrange(5), random.choice((*range(5), *range(5), *range(5), "NULL"))
    statements = (
        f"INSERT INTO e VALUES ({key}, {value})",
        f"DELETE FROM e WHERE a = {key}",
        f"UPDATE e SET b = {value} WHERE a = {key}",
        f"INSERT INTO roots VALUES ({key})",
        f"DELETE FROM roots WHERE v = {key}",
    )
    return random.choices(statements, (55, 15, 10, 13, 7))[0]


def _answer(database: EmbeddedDatabase, sql: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in database.sql(sql).fetchall())


def _differences(database: EmbeddedDatabase, random: Random, query: str) -> Iterator[str]:
    """What a view has that the SELECT has not, or the other way round, at the first step at which one differs."""
    database.sql("DELETE FROM e; DELETE FROM roots")
    database.sql(f"CREATE MATERIALIZED VIEW before AS {query}")
    views = ["before"]
    for step in range(STEPS):
        for _ in range(random.choice((1, 2, 4))):
            database.sql(_change(random))
        if step == STEPS - 2:
            database.sql(f"CREATE MATERIALIZED VIEW after AS {query}")
            views.append("after")
        expected = _answer(database, query)
        for view in views:
            found = _answer(database, f"SELECT * FROM {view}")
            if found != expected:
                yield f"step {step}, view made {view}: {found[:6]} and not {expected[:6]}\n    {query}"
                return
        if len(expected) > LARGEST:
            return


def differing(seed: int) -> list[str]:
    """The differences that the programs of a seed show."""
    random = Random(seed)
    found: list[str] = []
    with tempfile.TemporaryDirectory() as directory, risingpy.connect(directory) as database:
        database.sql("ALTER SYSTEM SET job_epoch_ms = 0")  # no view is set aside
        for table in _TABLES:
            database.sql(table)
        for _ in range(PROGRAMS):
            found += _differences(database, random, program(random))
            database.sql("DROP MATERIALIZED VIEW IF EXISTS before; DROP MATERIALIZED VIEW IF EXISTS after")
    return found


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    first, count = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for number in range(first, first + count):
        for each in differing(number):
            print(f"seed {number}, {each}", flush=True)
        print(f"seed {number} done", flush=True)
