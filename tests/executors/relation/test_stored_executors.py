"""Materialize and TableScan."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.relation import backfill as table_scan
from risingpy.plan.catalog import ColumnDesc
from risingpy.plan.operators import ConflictBehavior, Materialize, TableScan
from risingpy.plan.state_tables import progress_table, relation_table
from risingpy.storage.codec.table_schema import ROW_ID, KeyColumn, TableSchema
from risingpy.storage.engine.state_table import StateTable
from risingpy.types import BIGINT, DOUBLE, INTERVAL, VARCHAR
from tests.examples import examples
from tests.executors.bench import (
    FragmentBench,
    Output,
    Relation,
    Row,
    chunk,
    comparable,
    delta,
    leaf,
    properties,
    rows_of,
)
from tests.executors.histories import doubles, histories, intervals, texts

TYPES = [BIGINT, VARCHAR, DOUBLE, INTERVAL]
rows = histories(texts, doubles, intervals)


def relation(table_id: int, key: tuple[KeyColumn, ...] = (KeyColumn(0),)) -> TableSchema:
    columns = [ColumnDesc(k + 1, f"f{k}", type_) for k, type_ in enumerate(TYPES)]
    return relation_table(table_id, "relation", columns, key, (0,))


def materialize(conflict: ConflictBehavior, table: TableSchema) -> Materialize:
    return Materialize(leaf(TYPES), table, conflict, properties(TYPES, (0,)))


def as_set(state: Relation) -> set[object]:
    return {comparable(row) for row in state.values()}


@given(history=rows)
@examples(25)
def test_no_check_stores_the_change_stream(history: list[Relation]) -> None:
    table = relation(1, (KeyColumn(1, descending=True), KeyColumn(0)))
    with FragmentBench(materialize(ConflictBehavior.NO_CHECK, table), [table]) as bench:
        output = Output((0,))
        for before, after in pairwise([{}, *history]):
            output.take(bench.run(delta(before, after, TYPES, random.Random(1))))
            assert set(output.rows) == as_set(after)
            assert bench.state() == [as_set(after)]


writes = st.lists(st.tuples(st.sampled_from([1, 1, -1]), st.integers(0, 4), texts, doubles, intervals), max_size=12)


@given(epochs=st.lists(writes, min_size=1, max_size=4))
@examples(40)
def test_overwrite_keeps_the_last_write_of_a_key(epochs: list[list[tuple[int, *Row]]]) -> None:
    table = relation(1)
    model: dict[object, Row] = {}
    with FragmentBench(materialize(ConflictBehavior.OVERWRITE, table), [table]) as bench:
        output = Output((0,))
        for logged in epochs:
            for op, *row in logged:
                model.pop(row[0], None)
                if op > 0:
                    model[row[0]] = tuple(row)
            output.take(bench.run(chunk([(op, tuple(row)) for op, *row in logged], TYPES)))
            assert set(output.rows) == as_set(model)
            assert bench.state() == [as_set(model)]


def numbered(table_id: int) -> TableSchema:
    """A table without a primary key, as CREATE TABLE makes it, but for the place of the hidden column."""
    columns = [ColumnDesc(k + 1, f"f{k}" if k else ROW_ID, type_) for k, type_ in enumerate(TYPES)]
    return relation_table(table_id, "relation", columns, (KeyColumn(0),), (0,))


@given(choices=st.lists(st.lists(st.tuples(st.sampled_from("iiiudm"), texts, doubles), max_size=6), max_size=6))
@examples(60)
def test_a_table_without_a_key_has_its_log(choices: list[list[tuple[str, str | None, float | None]]]) -> None:
    """INSERTs of new numbers, UPDATEs and DELETEs of rows, also of the same epoch, and messages that come twice."""
    table = numbered(1)
    model: dict[object, Row] = {}
    number = 0
    with FragmentBench(materialize(ConflictBehavior.OVERWRITE, table), [table]) as bench:
        output = Output((0,))
        for epoch in choices:
            logged: list[tuple[int, Row]] = []
            for what, text, value in epoch:
                standing = [each for each in model if isinstance(each, int) and each >= 0]
                if what == "i" or (what in "ud" and not standing):
                    number += 1
                    key = number
                elif what == "m":
                    key = -1
                else:
                    key = standing[-1]
                    logged.append((-1, model.pop(key)))
                if what != "d" or not standing:
                    model[key] = (key, text, value, None)
                    logged.append((1, model[key]))
            output.take(bench.run(chunk(logged, TYPES)))
            assert set(output.rows) == as_set(model)
            assert bench.state() == [as_set(model)]


def test_new_numbers_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    table, look = numbered(1), StateTable.get_rows
    looked: list[int] = []

    def get_rows(self: StateTable, keys: Sequence[pa.Array]) -> object:
        looked.append(len(keys[0]))
        return look(self, keys)

    monkeypatch.setattr(StateTable, "get_rows", get_rows)
    row: Row = (7, "a", 1.0, None)
    with FragmentBench(materialize(ConflictBehavior.OVERWRITE, table), [table]) as bench:
        bench.run(chunk([(1, row), (1, (9, "b", 1.0, None)), (1, (8, "c", 1.0, None))], TYPES))
        assert not looked
        assert rows_of(bench.run(chunk([(-1, row), (1, (7, "d", 1.0, None))], TYPES))), "an UPDATE"
        assert looked
        assert bench.state() == [
            as_set({key: (key, text, 1.0, None) for key, text in {7: "d", 8: "c", 9: "b"}.items()})
        ]


def test_overwriting_a_row_with_itself_changes_nothing() -> None:
    table = relation(1)
    row: Row = (1, None, float("nan"), None)
    with FragmentBench(materialize(ConflictBehavior.OVERWRITE, table), [table]) as bench:
        assert bench.run(chunk([(1, row)], TYPES)).num_rows == 1
        assert bench.run(chunk([(1, row)], TYPES)).num_rows == 0


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
@given(history=st.data())
@examples(20)
def test_backfill_meets_changes(chunk_rows: int, history: st.DataObject) -> None:
    """A scan that starts late, beside changes: when it is through, and ever after, it has the upstream's rows."""
    states = history.draw(histories(texts, doubles, intervals, keys=8, epochs=5))
    created = history.draw(st.integers(0, len(states)))
    upstream, progress = relation(1), progress_table(2, "job")
    scan = TableScan(upstream, (2, 0), properties([DOUBLE, BIGINT], (1,)), progress)
    order = random.Random(1)
    with pytest.MonkeyPatch.context() as patch, _Pair(upstream, scan) as pair:
        patch.setattr(table_scan, "ROWS_PER_EPOCH", chunk_rows)
        output = Output((1,))
        for before, after in pairwise([{}, *states[:created]]):
            pair.write(delta(before, after, TYPES, order))
        current: Relation = states[created - 1] if created else {}
        rest = states[created:]
        finished = False
        while rest or not finished:
            after = rest.pop(0) if rest else current
            changes, finished = pair.scan(delta(current, after, TYPES, order))
            unchanged = Counter(row[1:] for row in map(comparable, rows_of(changes)))  # type: ignore[index]
            assert set(unchanged.values()) <= {1}
            output.take(changes)
            current = after
            if finished:
                assert set(output.rows) == {comparable((row[2], row[0])) for row in current.values()}


class _Pair:
    """A table and a scan of it, in one store: their fragments run one after the other in an epoch."""

    def __init__(self, upstream: TableSchema, scan: TableScan) -> None:
        self._upstream = upstream
        self._table = FragmentBench(materialize(ConflictBehavior.NO_CHECK, upstream))
        self._scan = FragmentBench(scan)
        self._scan.store.close()
        self._scan.store = self._table.store
        self._scan.stage = 1  # the same epoch again as stage 0 would be another attempt

    def __enter__(self) -> _Pair:
        return self

    def __exit__(self, *error: object) -> None:
        self._table.__exit__()
        self._scan.__exit__()

    def write(self, changes: pa.Table) -> pa.Table:
        return self._table.run(changes)

    def scan(self, changes: pa.Table) -> tuple[pa.Table, bool]:
        """One epoch of both; whether the backfill is through."""
        stored = self.write(changes)
        self._scan.epoch = self._table.epoch - 1
        output = self._scan.run(upstream={self._upstream.table_id: stored})
        assert self._scan.last is not None
        _, finished = self._scan.last.backfill or (0, True)
        return output, finished
