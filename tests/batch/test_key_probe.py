"""Committed keys that are looked up a few at a time: the same are found as of many, of long keys and many rows, too."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest

from risingpy.batch import CommittedKeys, probe_of_index, probe_of_table
from risingpy.meta.database import Database
from risingpy.plan.catalog import Index, Table
from risingpy.storage.engine.stored_rows import rows_of
from tests.frontend.session.conftest import Client

_LONG = 600  # characters: such a key is stored in its long form


def _numbers(answers: Callable[[list[pa.Array]], list[int]], keys: list[pa.Array], most: int) -> list[int]:
    """The answers to all keys, of which so many are asked for at a time."""
    return [
        start + number
        for start in range(0, len(keys[0]), most)
        for number in answers([each.slice(start, most) for each in keys])
    ]


@pytest.mark.parametrize("rows", [40, 5_000])
def test_few_as_many(client: Client, database: Database, rows: int) -> None:
    client.run("CREATE TABLE t (v varchar, id int, flag boolean, n bigint, PRIMARY KEY (id, v))")
    client.run("CREATE UNIQUE INDEX i ON t (n, flag, v)")
    chance = random.Random(rows)

    def text(number: int) -> str:
        return ("x" * _LONG if number % 10 == 3 else "") + f"v{number}"

    chosen = [(text(number), number - rows // 2, number % 3 == 0, number * 7) for number in range(rows)]
    for start in range(0, rows, 1000):
        client.run("INSERT INTO t VALUES " + ", ".join(map(str, chosen[start : start + 1000])))
    client.run(f"DELETE FROM t WHERE n % {5 * 7} = 0")
    client.run("FLUSH")
    catalog = database.reads.catalog
    table = next(each for each in catalog.relations.values() if each.name == "t")
    index = next(each for each in catalog.relations.values() if each.name == "i")
    assert isinstance(table, Table) and isinstance(index, Index)
    asked = chance.choices(chosen, k=70) + [(text(k + 1), k - rows // 2, False, k * 7 + k % 2) for k in range(70)]
    columns = [
        pa.array(values, column.type.arrow)
        for values, column in zip(zip(*asked, strict=True), table.columns, strict=True)
    ]
    by_key = [columns[place] for place in table.primary_key]
    by_index = [columns[3], columns[2], columns[0]]
    stands = [row for row in chosen if row[3] % (5 * 7)]
    at_key, at_index = {row[:2] for row in stands}, {(row[0], *row[2:]) for row in stands}
    view = database.reads.snapshot().view
    try:
        for of, keys, expected in (
            (None, by_key, [place for place, row in enumerate(asked) if row[:2] in at_key]),
            (index, by_index, [place for place, row in enumerate(asked) if (row[0], *row[2:]) in at_index]),
        ):
            assert expected
            for most in (1, 7, 140):
                answers = partial(CommittedKeys().of_columns, view, table, of)
                assert _numbers(answers, keys, most) == expected
    finally:
        view.release()


def test_keys_that_wait_in_runs(client: Client, database: Database) -> None:
    """A large scattered write does not go to the tree at once: a lookup finds what lies over it, and what is gone."""
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n bigint UNIQUE)")
    row = "i::bigint * 7919 % 1000003, i::bigint * 104729 % 1000003"
    for first, last in ((1, 200_000), (200_001, 220_000)):
        client.run(f"INSERT INTO t SELECT {row} FROM generate_series({first}, {last}) AS i")
        client.run("FLUSH")
    client.run("DELETE FROM t WHERE id % 97 = 5")
    client.run("FLUSH")
    catalog = database.reads.catalog
    table = next(each for each in catalog.relations.values() if each.name == "t")
    assert isinstance(table, Table)
    (index,) = catalog.unique_indexes_of(table.relation_id)
    rows = [(i * 7919 % 1000003, i * 104729 % 1000003) for i in range(199_990, 220_030)]
    stands = [k for k, (key, _) in enumerate(rows) if key % 97 != 5 and k <= 20_010]
    view = database.reads.snapshot().view
    try:
        for snapshot in view.snapshots:
            with rows_of(snapshot) as stored:
                assert stored.has_runs(index.relation_id)
        for place, probe in enumerate((probe_of_table(table), probe_of_index(index))):
            assert probe is not None
            keys = [(row[place],) for row in rows]
            assert sorted(probe.with_rows(view, keys)) == stands
            assert probe.with_rows(view, []) == []
            assert [k for k in range(0, 20_040, 97) if probe.has_row(view, keys[k])] == [
                k for k in stands if k % 97 == 0
            ]
    finally:
        view.release()
