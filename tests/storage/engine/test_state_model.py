"""State tables against dicts: random epochs with reads, aborts, retries, abandoned epochs, undo and full maps."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.codec.key_encoding import compute_vnodes
from risingpy.storage.codec.python_rows import LongRow, PythonRows
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.storage.engine.few_writes import NOT_KNOWN
from risingpy.storage.engine.lmdb_environment import BINDING_VARIABLE, MAP_BYTES
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import EpochTransaction, ShardStore
from risingpy.storage.engine.state_table import StateTable
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.storage.engine.store_check import counted, find_problems, stored_rows
from risingpy.storage.engine.table_statistics import TableStatistics, read_statistics
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning
from risingpy.types.sql_type import BIGINT, INTEGER, VARCHAR
from tests.eager_runs import EAGER_RUNS
from tests.examples import examples


@pytest.fixture(
    scope="module",
    params=["native tree", "py-lmdb tree", "native runs", "py-lmdb runs"],
)
def tuning(request: pytest.FixtureRequest) -> Iterator[StoreTuning]:
    """Both bindings, and rows in the tree or in runs: the batches here are small and would all go into the tree."""
    binding, place = request.param.split()
    with mock.patch.dict(os.environ, {BINDING_VARIABLE: binding}):
        yield EAGER_RUNS if place == "runs" else DEFAULT_TUNING


Row = tuple[Any, ...]
Model = dict[tuple[Any, ...], Row]


def schema(table_id: int, value_format: ValueFormat) -> TableSchema:
    """Key: group (bigint), name (varchar, descending, nulls first); value: an integer and a text."""
    return TableSchema(
        table_id=table_id,
        name=f"t{table_id}",
        columns=(
            TableColumn(1, "g", BIGINT),
            TableColumn(2, "name", VARCHAR),
            TableColumn(5, "n", INTEGER),
            TableColumn(9, "text", VARCHAR),
        ),
        key=(KeyColumn(0), KeyColumn(1, descending=True, nulls_first=True)),
        distribution=(0,),
        value_columns=(2, 3),
        value_format=value_format,
    )


TABLES = [schema(1, ValueFormat.ROW), schema(2, ValueFormat.PLAIN), schema(0x00FFFFFF, ValueFormat.ROW)]

STEM = "s" * 494  # keys of this stem share all that is stored of a long key but its hash
# Few different values, so that keys meet and writes bring old values back.
names = st.sampled_from([None, "", "b\0c", STEM[:482], STEM[:489], STEM, STEM + "0", STEM + "xxx1", STEM + "xx"])
rows = st.tuples(st.integers(0, 1), names, st.sampled_from([None, 1]), st.sampled_from([None, ""]))
writes = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 1, -1]), rows), max_size=12)


def columns(table: TableSchema, values: Sequence[Row]) -> list[pa.Array]:
    return [pa.array([row[i] for row in values], column.type.arrow) for i, column in enumerate(table.columns)]


def apply(transaction: EpochTransaction, models: list[Model], batch: list[tuple[int, int, Row]]) -> None:
    for number, table in enumerate(TABLES):
        mine = [(op, row) for where, op, row in batch if where == number]
        ops = np.array([op for op, _ in mine], np.int8)
        if len(batch) % 2 or not applied_row_by_row(transaction.state_table(table), mine):
            transaction.state_table(table).apply(ops, columns(table, [row for _, row in mine]))
        for op, row in mine:
            if op > 0:
                models[number][row[:2]] = row
            else:
                models[number].pop(row[:2], None)


def applied_row_by_row(table: StateTable, changes: list[tuple[int, Row]]) -> bool:
    """Writes rows as executors of a few rows do; False if these are none for them."""
    codec = PythonRows.of(table.schema)
    if codec is None:
        return False
    try:
        keys = codec.keys(row for _, row in changes)
    except LongRow:
        return False
    for key, (op, row) in zip(keys, changes, strict=True):
        before = table.get_stored([key])[0] if len(key) % 2 else NOT_KNOWN
        table.put_stored(key, codec.value(row) if op > 0 else None, before)
    return True


def in_key_order(model: Model) -> list[Row]:
    """By vnode, group, and name from the last to the first; a NULL name comes first."""

    def order(row: Row) -> tuple[Any, ...]:
        name = row[1]
        vnode = int(compute_vnodes([pa.array([row[0]], pa.int64())], 1)[0])
        # Descending: invert the bytes, and let a longer name come before its own beginning.
        inverted = None if name is None else bytes(255 - b for b in name.encode()) + b"\xff" * 600
        return vnode, row[0], name is not None, inverted or b""

    return sorted(model.values(), key=order)


def read_all(table: StateTable, limit: int) -> list[Row]:
    """A scan in pages."""
    found: list[Row] = []
    after: bytes | None = None
    while True:
        page, after = table.scan(range(256), after, limit)
        assert page.num_rows <= limit
        found += zip(*(column.to_pylist() for column in page.columns), strict=True)
        if after is None:
            return found


def read_all_backward(table: StateTable, limit: int) -> list[Row]:
    """A scan in pages, from the end."""
    found: list[Row] = []
    before: bytes | None = None
    while True:
        page, before = table.scan_backward(range(256), before, limit)
        assert page.num_rows <= limit
        found += zip(*(column.to_pylist() for column in page.columns), strict=True)
        if before is None:
            return found


def check_statistics(store: ShardStore) -> None:
    """What the shard has noted of its tables is what their rows add up to."""
    snapshot = store.newest()
    with snapshot.use() as transaction:
        noted = read_statistics(transaction)
    assert {table: held for table, held in noted.items() if held.rows} == counted(snapshot)
    assert all(held == TableStatistics() for held in noted.values() if not held.rows)
    assert not list(find_problems(snapshot, {table.table_id: table for table in TABLES}, (), range(256)))
    snapshot.close()


def check(transaction: EpochTransaction, models: list[Model], probe: list[Row], limit: int) -> None:
    for schema_, model in zip(TABLES, models, strict=True):
        table = transaction.state_table(schema_)
        ordered = in_key_order(model)
        assert read_all(table, limit) == ordered
        assert list(table.scan_rows(limit)) == ordered
        assert read_all_backward(table, limit) == ordered[::-1]
        keys = [row[:2] for row in probe] + list(model)
        key_columns = [pa.array([k[0] for k in keys], pa.int64()), pa.array([k[1] for k in keys], pa.string())]
        found, values = table.get_rows(key_columns)
        assert found.tolist() == [key in model for key in keys]
        expected = [model.get(key, (None,) * 4)[2:] for key in keys]
        assert list(zip(*(column.to_pylist() for column in values), strict=True)) == expected
        groups = [row[0] for row in probe] or [0]
        prefix = [pa.array(groups, pa.int64())]
        by_group = [[row for row in ordered if row[0] == group] for group in groups]
        for group, expected_rows in zip(groups, by_group, strict=True):
            assert table.scan_prefix_backward([group], limit) == expected_rows[::-1][:limit]
        found, first = table.first_rows(prefix)
        assert found.tolist() == [bool(members) for members in by_group]
        firsts = [members[0] if members else (None,) * 4 for members in by_group]
        assert list(zip(*(column.to_pylist() for column in first.columns), strict=True)) == firsts
        matches = table.scan_prefix(prefix)
        everything = [(*row, number) for number, members in enumerate(by_group) for row in members]
        assert list(zip(*(column.to_pylist() for column in matches.columns), strict=True)) == everything
        # A prefix that is the whole key, long or not.
        assert table.scan_prefix(key_columns).num_rows == sum(key in model for key in keys)
        found, _ = table.first_rows(key_columns)
        assert found.tolist() == [key in model for key in keys]


def read_points(transaction: EpochTransaction, batch: list[tuple[int, int, Row]]) -> None:
    """Reads just the keys that are written next, as an aggregate does."""
    for number, table in enumerate(TABLES):
        keys = [row[:2] for where, _, row in batch if where == number]
        transaction.state_table(table).get_rows(
            [pa.array([k[0] for k in keys], pa.int64()), pa.array([k[1] for k in keys], pa.string())]
        )


def run(
    transaction: EpochTransaction, models: list[Model], batch: tuple[Any, bool, bool], probe: list[Row], limit: int
) -> None:
    changes, read_before, read_after = batch
    if read_before:
        read_points(transaction, changes)
    apply(transaction, models, changes)
    if read_after:
        check(transaction, models, probe, limit)


def contents(store: ShardStore) -> dict[bytes, bytes]:
    snapshot = store._open().snapshot()
    found = {
        key: value
        for _, batch in stored_rows(snapshot)
        for key, value in zip(batch.keys.to_pylist(), batch.values.to_pylist(), strict=True)
    }
    snapshot.close()
    return found


@contextmanager
def new_store(map_size: int, tuning: StoreTuning) -> Iterator[ShardStore]:
    with tempfile.TemporaryDirectory() as directory:
        store = ShardStore(Path(directory), shard=0, shards=1, map_size=map_size, tuning=tuning)
        yield store
        store.close()


steps = st.lists(
    st.tuples(
        st.sampled_from(["commit", "commit", "abort", "retry", "abandon", "undo"]),
        # Each batch: read its keys before it is written; read everything after that.
        st.lists(st.tuples(writes, st.booleans(), st.booleans()), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=5,
)


@examples(60)
@given(steps, st.lists(rows, max_size=5), st.integers(1, 7), st.sampled_from([MAP_BYTES, 1 << 16]))
def test_random_epochs(tuning: StoreTuning, steps_: list[Any], probe: list[Row], limit: int, map_size: int) -> None:
    models: list[Model] = [{}, {}, {}]
    with new_store(map_size, tuning) as store:
        committed = epoch = 0
        for kind, batches in steps_:
            epoch += 1
            before = contents(store) if committed else {}
            # What an earlier attempt at the epoch may have left.
            if kind in ("retry", "abandon", "undo"):
                scratch = [dict(model) for model in models]
                with store.begin(epoch, 0, committed=committed) as transaction:
                    for batch in reversed(batches):
                        run(transaction, scratch, batch, probe, limit)
                    transaction.commit()
                if kind == "undo":
                    store.undo_beyond(committed)
                    assert contents(store) == before
                epoch += kind == "abandon"
            after = [dict(model) for model in models]
            with store.begin(epoch, 0, committed=committed) as transaction:
                for batch in batches:
                    run(transaction, after, batch, probe, limit)
                if kind != "abort":
                    transaction.commit()
            if kind == "abort":
                assert contents(store) == before
            else:
                models, committed = after, epoch
            check_statistics(store)
        store.undo_beyond(committed)
        check_statistics(store)
        with store.begin(epoch + 1, 0, committed=committed) as transaction:
            check(transaction, models, probe, limit)


@examples(40)
@given(st.lists(writes, min_size=1, max_size=3), st.lists(rows, min_size=1, max_size=4), st.integers(1, 3))
def test_a_read_view_over_shards(tuning: StoreTuning, batches: list[Any], probe: list[Row], shards: int) -> None:
    models: list[Model] = [{}, {}, {}]
    with tempfile.TemporaryDirectory() as directory:
        state = StateStore(Path(directory), shards, tuning=tuning)
        stores = state.stores
        for epoch, batch in enumerate(batches, 1):
            vnodes = compute_vnodes([pa.array([row[0] for _, _, row in batch], pa.int64())], len(batch))
            for shard, store in enumerate(stores):
                with store.begin(epoch, 0) as transaction:
                    mine = [w for w, vnode in zip(batch, vnodes, strict=True) if vnode * shards // 256 == shard]
                    apply(transaction, models, mine)
                    transaction.commit()
        view = state.open_read_view(len(batches))
        for schema_, model in zip(TABLES, models, strict=True):
            table = StorageTable(schema_, view)
            ordered = in_key_order(model)
            pages = [zip(*(c.to_pylist() for c in page), strict=True) for page in table.scan([3, 0, 1])]
            scanned = [row for page in pages for row in page]
            assert Counter(scanned) == Counter((row[3], row[0], row[1]) for row in ordered)
            values = [n for batch_ in table.scan([2]) for n in batch_["c0"].to_pylist()]
            assert Counter(values) == Counter(row[2] for row in ordered)
            assert sum(batch_.num_rows for batch_ in table.scan([])) == len(model)
            keys = [row[:2] for row in probe] + list(model)
            columns_ = [pa.array([k[0] for k in keys], pa.int64()), pa.array([k[1] for k in keys], pa.string())]
            found, (third,) = table.get_rows(columns_, [2])
            assert found.tolist() == [key in model for key in keys]
            thirds = {row[:2]: row[2] for row in ordered}
            assert third.to_pylist() == [thirds.get(key) for key in keys]
            groups = [row[0] for row in probe]
            matches = table.scan_prefix([pa.array(groups, pa.int64())])
            everything = [(*row, i) for i, group in enumerate(groups) for row in ordered if row[0] == group]
            assert list(zip(*(column.to_pylist() for column in matches.columns), strict=True)) == everything
            assert table.scan_prefix([]).num_rows == len(model)
        view.release()
        state.close()


def write(transaction: EpochTransaction, op: int, *written: Row) -> None:
    table = TABLES[0]
    ops = np.full(len(written), op, np.int8)
    transaction.state_table(table).apply(ops, columns(table, written))


def test_what_was_read_before_a_write_is_not_believed_after_it(tuning: StoreTuning) -> None:
    with new_store(MAP_BYTES, tuning) as store:
        with store.begin(1, 0) as transaction:
            write(transaction, 1, (0, "k", 1, "old"))
            transaction.commit()
        with store.begin(2, 0) as transaction:
            read_points(transaction, [(0, 1, (0, "k", None, None))])
            write(transaction, 1, (0, "k", 1, "new"))
            assert len(read_all(transaction.state_table(TABLES[0]), 10)) == 1
            write(transaction, 1, (0, "k", 1, "old"))
            assert transaction.state_table(TABLES[0]).get_row([0, "k"]) == (0, "k", 1, "old")
