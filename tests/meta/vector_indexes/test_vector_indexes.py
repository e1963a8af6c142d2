"""Indexes of vectors: what a search finds after random changes, after a restart, and when the index has gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import risingpy
from risingpy.client.interface import OpenDatabase
from risingpy.embedded.database import EmbeddedDatabase
from risingpy.errors import SqlError
from risingpy.meta.vector_indexes import graphs
from risingpy.meta.vector_indexes.graph import VectorGraph
from risingpy.meta.vector_indexes.graphs import VectorIndexes
from risingpy.meta.vector_indexes.reals import RealForm
from risingpy.plan.catalog import Subscription

Vector = npt.NDArray[np.float64]
DIMENSIONS, ASKED = 12, 10
DISTANCES: dict[str, tuple[str, Callable[[Vector, Vector], float]]] = {
    "vector_l2_ops": ("<->", lambda a, b: float(np.linalg.norm(a - b))),
    "vector_ip_ops": ("<#>", lambda a, b: -float(a @ b)),
    "vector_cosine_ops": ("<=>", lambda a, b: 1 - float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))),
}


def text(vector: Vector) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"


def indexes_of(database: OpenDatabase) -> VectorIndexes:
    assert isinstance(database, EmbeddedDatabase)
    return database._database.vector_indexes


def subscriptions(database: OpenDatabase) -> int:
    """How many there are, those that graphs follow their relations by."""
    assert isinstance(database, EmbeddedDatabase)
    return sum(isinstance(each, Subscription) for each in database._database.reads.catalog.relations.values())


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def searched(database: OpenDatabase, symbol: str, vector: Vector, count: int = ASKED) -> list[int]:
    query = f"SELECT id FROM items ORDER BY v {symbol} '{text(vector)}' LIMIT {count}"
    return [row[0] for row in database.sql(query).fetchall()]


def fill(database: OpenDatabase, rows: dict[int, Vector]) -> None:
    values = ", ".join(f"({key}, '{text(vector)}')" for key, vector in rows.items())
    database.sql(f"INSERT INTO items VALUES {values}")


@pytest.mark.parametrize("operators", DISTANCES)
def test_searches_follow_random_changes(operators: str) -> None:
    symbol, distance = DISTANCES[operators]
    random = np.random.default_rng(7)
    rows = {key: random.standard_normal(DIMENSIONS).round(3) for key in range(300)}
    found = 0
    with risingpy.connect(parallelism=2) as database:
        database.sql(f"CREATE TABLE items (id bigint PRIMARY KEY, v vector({DIMENSIONS}))")
        fill(database, rows)
        database.sql(f"CREATE INDEX near ON items USING hnsw (v {operators})")
        asked = [
            plan
            for (plan,) in database.sql(
                f"EXPLAIN SELECT id FROM items ORDER BY v {symbol} '{text(rows[0])}' LIMIT 3"
            ).fetchall()
        ]
        assert any("by near" in line for line in asked)
        for step in range(12):
            gone = random.choice(list(rows), 5, replace=False).tolist()
            database.sql(f"DELETE FROM items WHERE id IN ({', '.join(map(str, gone))})")
            for key in gone:
                del rows[key]
            moved = random.choice(list(rows), 3, replace=False).tolist()
            for key in moved:
                rows[key] = random.standard_normal(DIMENSIONS).round(3)
                database.sql(f"UPDATE items SET v = '{text(rows[key])}' WHERE id = {key}")
            came = {1000 + 10 * step + k: random.standard_normal(DIMENSIONS).round(3) for k in range(4)}
            fill(database, came)
            rows |= came
            asked_for = random.standard_normal(DIMENSIONS).round(3)
            ids = searched(database, symbol, asked_for)
            exact = sorted(rows, key=lambda key: distance(rows[key], asked_for))[:ASKED]
            assert len(set(ids)) == ASKED
            assert set(ids) <= set(rows)
            assert ids == sorted(ids, key=lambda key: distance(rows[key], asked_for))
            found += len(set(ids) & set(exact))
    assert found >= 0.95 * 12 * ASKED


def test_rows_without_a_vector_come_last_and_are_found_where_they_are_asked_for() -> None:
    with risingpy.connect(parallelism=2) as database:
        database.sql("CREATE TABLE items (id bigint PRIMARY KEY, v vector(2))")
        database.sql("INSERT INTO items VALUES (1, '[1,0]'), (2, NULL), (3, '[0,1]'), (4, '[0,0]')")
        database.sql("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
        assert searched(database, "<->", np.array([1.0, 0.1]), 4) == [1, 4, 3, 2]
        assert searched(database, "<->", np.array([1.0, 0.1]), 2) == [1, 4]
        with pytest.raises(SqlError, match="different vector dimensions 2 and 3"):
            searched(database, "<->", np.array([1.0, 0.1, 0.2]))


def test_a_transaction_sees_its_own_rows() -> None:
    with risingpy.connect(parallelism=2) as database:
        database.sql("CREATE TABLE items (id bigint PRIMARY KEY, v vector(2))")
        database.sql("INSERT INTO items VALUES (1, '[1,0]'), (3, '[0,1]')")
        database.sql("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
        database.sql("BEGIN")
        database.sql("INSERT INTO items VALUES (5, '[0,0.5]')")
        assert searched(database, "<->", np.array([0.0, 0.4]), 1) == [5]
        database.sql("ROLLBACK")
        assert searched(database, "<->", np.array([0.0, 0.4]), 1) == [3]


def test_a_graph_is_built_again_at_a_start_and_goes_with_its_index(tmp_path: Path) -> None:
    with risingpy.connect(tmp_path / "data", parallelism=2) as database:
        database.sql("CREATE TABLE items (id bigint PRIMARY KEY, v vector(2))")
        database.sql("INSERT INTO items VALUES (1, '[1,0]'), (3, '[0,1]')")
        database.sql("CREATE INDEX near ON items USING hnsw (v vector_l2_ops) WITH (m = 4, ef_construction = 8)")
        assert len(indexes_of(database)._built) == 1
    with risingpy.connect(tmp_path / "data") as database:
        database.sql("INSERT INTO items VALUES (5, '[0,0.5]')")
        until(lambda: len(indexes_of(database)._built) == 1)
        assert searched(database, "<->", np.array([0.0, 0.4]), 2) == [5, 3]
        database.sql("ALTER TABLE items ADD COLUMN note text")
        database.sql("INSERT INTO items VALUES (6, '[0,0.4]', 'new')")
        assert searched(database, "<->", np.array([0.0, 0.4]), 2) == [6, 5]
        database.sql("DROP INDEX near")
        until(lambda: not indexes_of(database)._threads)
        assert searched(database, "<->", np.array([0.0, 0.4]), 2) == [6, 5]
        database.sql("CREATE INDEX near ON items USING hnsw (v vector_ip_ops)")
        database.sql("DROP TABLE items")
        until(lambda: not indexes_of(database)._threads)


def test_a_graph_is_built_again_for_a_vector_that_halves_cannot_hold() -> None:
    random = np.random.default_rng(2)
    with risingpy.connect(parallelism=2) as database:
        database.sql(f"CREATE TABLE items (id bigint PRIMARY KEY, v vector({DIMENSIONS}))")
        fill(database, {key: random.standard_normal(DIMENSIONS) for key in range(200)})
        database.sql("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
        assert [each.graph.form for each in indexes_of(database)._built.values()] == [RealForm.HALF]
        far = np.full(DIMENSIONS, 1e6)
        fill(database, {1000: far})
        assert searched(database, "<->", far, 1) == [1000]
        until(lambda: [each.graph.form for each in indexes_of(database)._built.values()] == [RealForm.SINGLE])
        assert searched(database, "<->", far, 1) == [1000]
        until(lambda: subscriptions(database) == 1)


def test_a_graph_that_fails_is_shown_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """While there is no memory for it, searches compare all rows, and `\\d` of psql says INVALID."""
    real, tries = VectorGraph.add, []

    def fails(self: VectorGraph, *args: Any, **named: Any) -> None:
        tries.append(1)
        if len(tries) <= failures:
            raise RuntimeError("Out of memory!")
        real(self, *args, **named)

    failures = 1_000_000
    monkeypatch.setattr(VectorGraph, "add", fails)
    monkeypatch.setattr(graphs, "_FIRST_PAUSE", 0.05)
    monkeypatch.setattr(graphs, "_LONGEST_PAUSE", 0.1)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'near'::regclass"
    state = "SELECT table_name, state, vectors, error FROM rw_catalog.rw_vector_indexes"
    with risingpy.connect(parallelism=2) as database:
        database.sql("CREATE TABLE items (id bigint PRIMARY KEY, v vector(2))")
        database.sql("INSERT INTO items VALUES (1, '[1,0]'), (3, '[0,1]')")
        database.sql("CREATE INDEX near ON items USING hnsw (v vector_l2_ops)")
        assert database.sql(valid).fetchall() == [(False,)]
        assert database.sql(state).fetchall() == [("items", "failed", None, "Out of memory!")]
        assert searched(database, "<->", np.array([0.0, 0.4]), 2) == [3, 1]
        until(lambda: len(tries) > 3)
        failures = 0
        until(lambda: database.sql(state).fetchall() == [("items", "built", 2, None)])
        assert database.sql(valid).fetchall() == [(True,)]
        assert searched(database, "<->", np.array([0.0, 0.4]), 2) == [3, 1]
        # A failure while it follows changes, too; each try has left nothing.
        failures = len(tries) + 1
        database.sql("INSERT INTO items VALUES (5, '[0,0.5]')")
        until(lambda: database.sql(state).fetchall() == [("items", "built", 3, None)])
        assert len(tries) > failures
        assert searched(database, "<->", np.array([0.0, 0.4]), 1) == [5]
        until(lambda: subscriptions(database) == 1)
        failures = 1_000_000
        database.sql("INSERT INTO items VALUES (7, '[0,0.6]')")
        until(lambda: database.sql(valid).fetchall() == [(False,)])
        database.sql("DROP INDEX near")
        until(lambda: not indexes_of(database)._threads)
        assert database.sql(state).fetchall() == []
        until(lambda: subscriptions(database) == 0)


@pytest.mark.parametrize(
    ("definition", "sqlstate"),
    [
        ("(v)", "42704"),
        ("(v vector_hamming_ops)", "42704"),
        ("(w vector_l2_ops)", "22023"),
        ("(id vector_l2_ops)", "42804"),
        ("(v vector_l2_ops, w vector_l2_ops)", "0A000"),
        ("(v vector_l2_ops) WITH (m = 1)", "22023"),
        ("(v vector_l2_ops) WITH (m = 64)", "22023"),
        ("(v vector_l2_ops) WITH (lists = 100)", "22023"),
    ],
)
def test_what_is_no_index_of_vectors_is_refused(definition: str, sqlstate: str) -> None:
    with risingpy.connect(parallelism=1) as database:
        database.sql("CREATE TABLE items (id bigint PRIMARY KEY, v vector(2), w vector)")
        with pytest.raises(SqlError) as raised:
            database.sql(f"CREATE INDEX ON items USING hnsw {definition}")
        assert raised.value.sqlstate == sqlstate
