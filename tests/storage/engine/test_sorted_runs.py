"""Sorted runs: which batches become runs, how many rows wait in them, and that no reader sees a difference."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import lmdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.codec.column_buffers import CorruptData, address, buffers_of
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.storage.engine.ranges import Ranges, joined
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.engine.shard_writer import ShardWriter
from risingpy.storage.engine.sorted_runs import RUNS, SLICES, SortedRun, Waiting, in_one, run_key
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.storage.engine.store_check import counted, find_problems
from risingpy.storage.engine.stored_rows import rows_of
from risingpy.storage.engine.transactions import StoreTransaction
from risingpy.storage.kernels import run_search
from risingpy.storage.tuning import DEFAULT_TUNING
from risingpy.types.sql_type import BIGINT
from tests.examples import examples

TABLE = TableSchema(
    table_id=11,
    name="t",
    columns=(TableColumn(1, "k", BIGINT), TableColumn(2, "v", BIGINT)),
    key=(KeyColumn(0),),
    distribution=(0,),
    value_columns=(1,),
    value_format=ValueFormat.ROW,
)
OTHER = replace(TABLE, table_id=12)
ROWS = 100_000
Model = dict[int, int]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ShardStore]:
    """With the even numbers up to twice `ROWS`, each with itself."""
    store = ShardStore(shard_directory(tmp_path, 0, 1), shard=0, shards=1)
    write(store, 1, range(0, 2 * ROWS, 2))
    yield store
    store.close()


def write(
    store: ShardStore, epoch: int, keys: Sequence[int], *, add: int = 0, op: int = 1, commit: bool = True
) -> None:
    """Puts the keys with themselves and something more, or deletes them."""
    columns = [pa.array(keys, pa.int64()), pa.array(np.asarray(keys) + add, pa.int64())]
    with store.begin(epoch, 0) as transaction:
        transaction.state_table(TABLE).apply(np.full(len(keys), op, np.int8), columns)
        if commit:
            transaction.commit()


def waiting(store: ShardStore) -> int:
    """How many rows of the table are not in the tree."""
    snapshot = store.newest()
    with rows_of(snapshot) as rows:
        found = rows.waiting().get(TABLE.table_id, Waiting())
    tables = {each.table_id: each for each in (TABLE, OTHER)}
    assert not list(find_problems(snapshot, tables, (), range(256)))
    snapshot.close()
    return found.rows


def values(store: ShardStore, epoch: int, keys: Sequence[int]) -> list[int | None]:
    with store.begin(epoch, 9) as transaction:
        _, (column,) = transaction.state_table(TABLE).get_rows([pa.array(keys, pa.int64())])
        return list(column.to_pylist())


def scattered(seed: int, rows: int = 5000) -> list[int]:
    return sorted(np.random.default_rng(seed).choice(2 * ROWS, rows, replace=False).tolist())


def test_a_scattered_batch_waits_and_is_seen_at_once(store: ShardStore) -> None:
    write(store, 2, scattered(1), add=7)
    assert waiting(store) == 5000
    write(store, 3, scattered(2)[:2500], op=-1)
    assert 5000 < waiting(store) < 7500  # those that were there
    model = {key: key for key in range(0, 2 * ROWS, 2)} | {key: key + 7 for key in scattered(1)}
    for key in scattered(2)[:2500]:
        model.pop(key, None)
    keys = list(range(0, 2 * ROWS, 3))
    assert values(store, 4, keys) == [model.get(key) for key in keys]
    assert [values(store, 4, [key])[0] for key in keys[:300]] == [model.get(key) for key in keys[:300]]


def test_few_rows_of_a_table_that_has_runs_join_them(store: ShardStore) -> None:
    """Each would otherwise go to the tree, where a run would hide it."""
    write(store, 2, scattered(1), add=7)
    key = scattered(1)[17]
    for epoch in range(3, 200):
        write(store, epoch, [key, 2 * epoch], add=epoch)
    assert values(store, 200, [key, 100, 398]) == [key + 199, 150, 597]
    assert 5000 < waiting(store) < 5200
    snapshot = store.newest()
    with rows_of(snapshot) as rows:
        assert max(len(rows.runs(TABLE.table_id, slice_)) for slice_ in range(SLICES)) <= 2
    snapshot.close()


def test_neighbours_go_to_the_tree(store: ShardStore) -> None:
    """Keys that lie together in each vnode, as those of rows that come in the order of their keys."""
    write(store, 2, range(2 * ROWS, 2 * ROWS + 5000))
    assert waiting(store) == 0
    write(store, 3, range(1000, 10_000))
    assert waiting(store) == 0


def test_a_large_part_of_the_table_goes_to_the_tree_with_all_that_waits(store: ShardStore) -> None:
    write(store, 2, scattered(1), add=7)
    write(store, 3, scattered(2, ROWS // 2), add=8)
    assert waiting(store) == 0
    model = {key: key + 7 for key in scattered(1)} | {key: key + 8 for key in scattered(2, ROWS // 2)}
    assert values(store, 4, list(model)) == list(model.values())


def test_at_most_a_part_of_the_table_waits(store: ShardStore) -> None:
    most = 0
    for epoch in range(2, 30):
        write(store, epoch, scattered(epoch), add=epoch)
        most = max(most, waiting(store))
    assert 3 * 5000 < most <= 2 * ROWS // DEFAULT_TUNING.waiting_part
    model: Model = {}
    for epoch in range(2, 30):
        model |= {key: key + epoch for key in scattered(epoch)}
    assert values(store, 30, list(model)) == list(model.values())


def test_who_reads_in_order_has_the_table_merged_once(store: ShardStore) -> None:
    write(store, 2, scattered(1), add=7)
    with store.begin(3, 1) as transaction:
        rows, _ = transaction.state_table(TABLE).scan(range(256), None, ROWS * 2)
        transaction.commit()
    model = {key: key for key in range(0, 2 * ROWS, 2)} | {key: key + 7 for key in scattered(1)}
    assert dict(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == model
    assert waiting(store) == 0
    write(store, 4, scattered(2), add=8)
    assert waiting(store) == 0  # it is remembered


def test_what_was_merged_for_a_reader_is_merged_again_in_a_larger_map(
    store: ShardStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of several tables go to the tree at once, where runs would hide those of a table that has some again."""
    write(store, 2, scattered(1), add=7)
    full, commit = [True], ShardWriter._commit

    def commit_in_the_second_map(writer: ShardWriter) -> None:
        if full:
            full.pop()
            raise lmdb.MapFullError("mdb_put: MDB_MAP_FULL")
        commit(writer)

    monkeypatch.setattr(ShardWriter, "_commit", commit_in_the_second_map)
    keys = np.array(scattered(1)[:3])
    with store.begin(3, 0) as transaction:
        transaction.state_table(TABLE).scan(range(256), None, 10)
        for schema in (TABLE, OTHER):
            transaction.state_table(schema).apply(np.ones(3, np.int8), [pa.array(keys), pa.array(keys + 9)])
        transaction.commit()
    assert not full
    assert values(store, 4, keys.tolist()) == (keys + 9).tolist()
    assert waiting(store) == 0
    store.undo_beyond(2)
    assert values(store, 3, keys.tolist()) == (keys + 7).tolist()


def test_what_waits_is_taken_back_like_everything(store: ShardStore) -> None:
    write(store, 2, scattered(1), add=7)
    snapshot = store.newest()
    before = counted(snapshot)
    snapshot.close()
    write(store, 3, scattered(3), add=9)
    store.undo_beyond(2)
    snapshot = store.newest()
    assert counted(snapshot) == before
    snapshot.close()
    assert values(store, 3, scattered(1)) == [key + 7 for key in scattered(1)]
    write(store, 3, scattered(4), add=9, commit=False)
    assert values(store, 3, scattered(1)) == [key + 7 for key in scattered(1)]


def test_a_purge_takes_the_runs_too(store: ShardStore) -> None:
    write(store, 2, scattered(1), add=7)
    epoch = 3
    done = False
    while not done:
        with store.begin(epoch, 0) as transaction:
            done = transaction.purge(TABLE.table_id, 30_000)
            transaction.commit()
        epoch += 1
    assert waiting(store) == 0
    snapshot = store.newest()
    with rows_of(snapshot) as rows:
        assert rows.tables() == []
        assert rows.transaction.entries(RUNS) == 0
    snapshot.close()


def test_a_view_is_read_whole_in_parts_and_at_points(store: ShardStore, tmp_path: Path) -> None:
    write(store, 2, scattered(1), add=7)
    write(store, 3, scattered(2), op=-1)
    model = {key: key for key in range(0, 2 * ROWS, 2)} | {key: key + 7 for key in scattered(1)}
    for key in scattered(2):
        model.pop(key, None)
    state = StateStore(tmp_path, 1)
    view = state.open_read_view(3)
    table = StorageTable(TABLE, view)
    read = [pair for batch in table.scan([0, 1]) for pair in zip(*(c.to_pylist() for c in batch), strict=True)]
    assert len(read) == len(model)
    assert dict(read) == model
    assert sum(value for batch in table.scan([1]) for value in batch["c0"].to_pylist()) == sum(model.values())
    keys = list(range(1000))
    found = table.scan_prefix([pa.array(keys, pa.int64())])
    assert found["c0"].to_pylist() == [key for key in keys if key in model]
    backwards = [pa.array(keys[::-1], pa.int64())]
    assert table.prefixes_with_rows(backwards) == sorted(len(keys) - 1 - key for key in keys if key in model)
    least = table.first_from(pa.array([501], pa.int64()), beyond=True)
    assert least is not None
    assert least.as_py() == min(key for key in model if key > 501)
    view.release()
    state.close()


@pytest.mark.parametrize("page_rows", [None, 200, 7])
def test_many_ranges_at_once_are_read_as_each_alone(store: ShardStore, page_rows: int | None) -> None:
    """In any order, empty ones and some that overlap among them; a page that is too small is no harm."""
    for epoch in range(2, 6):
        write(store, epoch, scattered(epoch), add=epoch, op=-1 if epoch == 4 else 1)
    chance = random.Random(7)
    snapshot = store.newest()
    with rows_of(snapshot) as rows:
        whole_range = Ranges.of_prefix(table_prefix(TABLE.table_id))
        keys = joined([*rows.read(whole_range)]).keys.to_pylist()
        ends = [chance.randrange(len(keys) - 400) for _ in range(6000)]
        bounds = [(keys[end], keys[end + chance.choice([0, 1, 1, 2, 5])]) for end in ends]
        bounds[17] = (keys[300], keys[900])
        assert rows.waiting()
        for chosen in (bounds, sorted(bounds), bounds[:2]):
            batches = [*rows.read(Ranges.of(chosen), page_rows=page_rows)]
            assert all(0 < len(batch) <= (page_rows or 65_536) for batch in batches)
            found = joined(batches)
            alone = [joined([*rows.read(Ranges.of([each]))]) for each in chosen]
            assert found.numbers.tolist() == [n for n, each in enumerate(alone) for _ in range(len(each))]
            assert found.keys.to_pylist() == [key for each in alone for key in each.keys.to_pylist()]
            assert found.values.to_pylist() == [value for each in alone for value in each.values.to_pylist()]
    snapshot.close()


def test_a_damaged_run_is_found(store: ShardStore) -> None:
    write(store, 2, scattered(1), add=7)

    def damage(data: bytes, transaction: StoreTransaction) -> None:
        transaction.put(run_key(TABLE.table_id, 3, 0), data, db=RUNS)

    def problems() -> list[str]:
        snapshot = store.newest()
        found = list(find_problems(snapshot, {TABLE.table_id: TABLE}, (), range(256)))
        snapshot.close()
        return found

    snapshot = store.newest()
    with rows_of(snapshot) as rows:
        (run,) = rows.runs(TABLE.table_id, 3)
        whole = run.encode().to_pybytes()
        backwards = SortedRun(0, run.keys[::-1].take(list(range(len(run)))), run.values).encode().to_pybytes()
        fewer = SortedRun(0, run.keys[1:], run.values[1:]).encode().to_pybytes()
    snapshot.close()
    for data, reason in [
        (whole[:5], "shorter than its head"),
        (whole[:50], "shorter than its keys"),
        (whole[:-1], "not as long as its rows"),
        (backwards, "not sorted"),
        (fewer, "rows wait in sorted runs where 5000 are noted"),
    ]:
        store._open().write(partial(damage, data))
        (problem,) = problems()
        assert reason in problem
    store._open().write(partial(damage, whole[:-1]))
    with pytest.raises(CorruptData):
        values(store, 3, scattered(1))


def run_of(number: int, rows: dict[bytes, bytes]) -> SortedRun:
    keys = sorted(rows)
    return SortedRun(number, pa.array(keys, pa.binary()), pa.array([rows[key] for key in keys], pa.binary()))


keys_of_runs = st.lists(st.binary(min_size=0, max_size=20) | st.binary(max_size=2).map(lambda end: b"\x80" * 9 + end))


@examples(200)
@given(keys_of_runs, keys_of_runs, st.booleans())
def test_searches_are_those_of_a_list(keys: list[bytes], wanted: list[bytes], sort: bool) -> None:
    ordered = sorted(set(keys))
    run = SortedRun.decode(0, run_of(0, {key: b"v" + key for key in ordered}).encode())
    wanted = (sorted(wanted) if sort else wanted) + keys[:3]
    for each in wanted:
        assert run.place(each) == bisect_left(ordered, each)
    bounds = Ranges.of([(each, each + b"\1") for each in wanted])
    within, numbers = run.within(bounds)
    expected = [
        (place, number)
        for number, each in enumerate(wanted)
        for place, key in enumerate(ordered)
        if each <= key < each + b"\1"
    ]
    assert [*zip(within.tolist(), numbers.tolist(), strict=True)] == expected
    places = np.zeros((len(wanted), 2), np.int64)
    asked, key, value = (buffers_of(column) for column in (pa.array(wanted, pa.binary()), run.keys, run.values))
    found = run_search.find_rows(
        asked.data, asked.offsets, 0, len(wanted), key.data, key.offsets, len(run), value.data, value.offsets,
        address(places),
    )  # fmt: skip
    assert found == sum(each in ordered for each in wanted)
    offsets = {k: (value.data + int(start), len(k) + 1) for k, start in zip(ordered, value.starts, strict=True)}
    assert [tuple(place) for place in places.tolist()] == [offsets.get(each, (0, 0)) for each in wanted]


def test_runs_in_one_have_the_newest_of_each_key() -> None:
    older, newer, newest = {b"a": b"1", b"b": b"1", b"c": b"1"}, {b"b": b"", b"d": b"2"}, {b"c": b"3"}
    batch = in_one([run_of(number, rows) for number, rows in enumerate((older, newer, newest))])
    assert batch.keys.to_pylist() == [b"a", b"b", b"c", b"d"]
    assert batch.values.to_pylist() == [b"1", None, b"3", b"2"]
