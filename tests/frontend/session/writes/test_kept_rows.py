"""Rows that transactions keep in plain Python: the chunks of many do what their statements did, one after the other."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from risingpy.meta.database import Database
from risingpy.meta.writing.kept_rows import KeptRows, chunks_of
from risingpy.plan.catalog import Table
from tests.frontend.session.conftest import Client

_KEYS = st.integers(1, 4)
_STEP = st.tuples(st.sampled_from(["put", "change", "delete"]), _KEYS, st.integers(0, 9))
_TRANSACTIONS = st.lists(st.lists(_STEP, max_size=6), max_size=4)

_State = dict[int, list[bytes | None]]


def _row(key: int, value: int) -> list[bytes | None]:
    return [key.to_bytes(4, "little"), None if value == 0 else value.to_bytes(4, "little")]


def _transaction(table: Table, steps: list[tuple[str, int, int]], state: _State) -> KeptRows:
    """Runs the steps on what the transactions before have left, as short statements do."""
    kept = KeptRows()
    for what, key, value in steps:
        old, new = state.get(key), _row(key, value)
        if what == "put":  # INSERT: it does not look
            kept.put(table, (key,), None, new)
            state[key] = new
        elif old is not None:
            kept.put(table, (key,), old, new if what == "change" else None)
            if what == "change":
                state[key] = new
            else:
                del state[key]
    return kept


def _applied(chunk: pa.Table, stored: _State) -> None:
    """As a table does that has the last write of each key."""
    for op, key, value in zip(*(column.to_pylist() for column in chunk.columns), strict=True):
        if op < 0:
            stored.pop(key, None)
        else:
            stored[key] = _row(key, value or 0)


def test_random_transactions(client: Client, database: Database) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int)")
    [table] = [each for each in database.reads.catalog.relations.values() if each.name == "t"]
    assert isinstance(table, Table)

    @given(st.lists(_KEYS, unique=True), st.lists(_TRANSACTIONS, max_size=3))
    def run(first: list[int], groups: list[list[list[tuple[str, int, int]]]]) -> None:
        state: _State = {key: _row(key, 5) for key in first}
        stored = dict(state)
        for group in groups:
            transactions = [_transaction(table, steps, state) for steps in group]
            for each in chunks_of(transactions, lambda count: 0):
                assert each.keys == [(key,) for key in each.chunk.column(1).to_pylist()]
                _applied(each.chunk, stored)
            assert stored == state

    run()


def test_rows_without_a_key_get_numbers(client: Client, database: Database) -> None:
    client.run("CREATE TABLE t (v varchar, b boolean)")
    [table] = [each for each in database.reads.catalog.relations.values() if each.name == "t"]
    assert isinstance(table, Table)
    one, two = KeptRows(), KeptRows()
    one.add(table, [b"a", b"\1"])
    two.add(table, [None, b"\0"])
    two.add(table, [b"", None])
    asked: list[int] = []

    def numbers(count: int) -> int:
        asked.append(count)
        return 70

    [found] = chunks_of([one, two], numbers)
    assert asked == [3] and found.keys is None and (one.count, two.count) == (1, 2)
    assert found.chunk.to_pydict() == {
        "op": [1, 1, 1],
        "c0": ["a", None, ""],
        "c1": [True, False, None],
        "c2": [70, 71, 72],
    }
