"""Read views: one epoch, although this process or another one writes meanwhile; recovery over all shards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from risingpy.errors import InternalError
from risingpy.storage.codec.single_rows import SingleKeys, datums
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.lmdb_environment import SnapshotTooOld
from risingpy.storage.engine.read_views import ReadView, StateStore
from risingpy.storage.engine.shard_store import ShardStore, shard_directory
from risingpy.storage.engine.storage_table import ROWS_PER_BATCH, StorageTable
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning
from tests.eager_runs import EAGER_RUNS

ROWS = 3 * ROWS_PER_BATCH + 5
SHARDS = 2


def write(data_dir: Path, schema: TableSchema, epoch: int, *, shards: int = SHARDS, stage: int = 0) -> None:
    """Every shard gets all rows, with the epoch as their value: a mixture would show."""
    for shard in range(shards):
        store = ShardStore(shard_directory(data_dir, shard, SHARDS), shard=shard, shards=SHARDS)
        with store.begin(epoch, stage) as transaction:
            keys = pa.array(np.arange(ROWS, dtype=np.int32))
            values = pa.array(np.full(ROWS, epoch, np.int32))
            transaction.state_table(schema).apply(np.ones(ROWS, np.int8), [keys, values, values])
            transaction.commit()
        store.close()


def values(schema: TableSchema, view: ReadView) -> set[tuple[int, int]]:
    return {
        pair
        for batch in StorageTable(schema, view).scan([1, 2])
        for pair in zip(batch["c0"].to_pylist(), batch["c1"].to_pylist(), strict=True)
    }


def test_a_view_stays_while_another_process_writes(tmp_path: Path, three_integers: TableSchema) -> None:
    first_read, first_write = os.pipe()
    second_read, second_write = os.pipe()
    writer = os.fork()  # before anything is opened here
    if writer == 0:
        try:
            write(tmp_path, three_integers, 1)
            os.write(first_write, b"1")
            os.read(second_read, 1)
            for epoch in range(2, 8):
                write(tmp_path, three_integers, epoch)
            os.write(first_write, b"2")
        finally:
            os._exit(0)
    os.read(first_read, 1)
    state = StateStore(tmp_path, SHARDS)
    view = state.open_read_view(1)
    scan = StorageTable(three_integers, view).scan([1])
    assert set(next(scan)["c0"].to_pylist()) == {1}
    os.write(second_write, b"go")
    os.read(first_read, 1)
    assert {n for batch in scan for n in batch["c0"].to_pylist()} == {1}
    assert values(three_integers, view) == {(1, 1)}
    newest = state.open_read_view(7)
    assert values(three_integers, newest) == {(7, 7)}
    os.waitpid(writer, 0)
    view.release()
    newest.release()


@pytest.mark.parametrize("tuning", [DEFAULT_TUNING, EAGER_RUNS], ids=["tree", "runs"])
def test_rows_of_a_few_keys(tmp_path: Path, three_integers: TableSchema, tuning: StoreTuning) -> None:
    """One by one, and together: in the order of the keys that are asked for."""
    store = ShardStore(shard_directory(tmp_path, 0, 1), shard=0, shards=1, tuning=tuning)
    for epoch, gone in ((1, []), (2, [3, 4])):
        with store.begin(epoch, 0) as transaction:
            keys = pa.array([*range(10)] if epoch == 1 else gone, pa.int32())
            ops = np.full(len(keys), 1 if epoch == 1 else -1, np.int8)
            transaction.state_table(three_integers).apply(ops, [keys, keys, keys])
            transaction.commit()
    store.close()
    view = StateStore(tmp_path, 1, tuning=tuning).open_read_view(2)
    single = SingleKeys(three_integers)
    asked = [single.encode([number])[1] for number in (7, 3, 0, 42, 9)]
    together = view.points.values(0, three_integers.table_id, asked)
    assert together == [view.points.value(0, three_integers.table_id, key) for key in asked]
    assert [None if row is None else datums(row, [2]) for row in together] == [
        [b"\7\0\0\0"], None, [b"\0\0\0\0"], None, [b"\t\0\0\0"],
    ]  # fmt: skip
    view.release()


def test_many_threads_share_a_view_and_the_last_one_ends_it(tmp_path: Path, three_integers: TableSchema) -> None:
    write(tmp_path, three_integers, 1)
    state = StateStore(tmp_path, SHARDS)
    view = state.open_read_view(1)
    seen: list[set[tuple[int, int]]] = []
    stop = threading.Event()

    def read() -> None:
        held = view.acquire()
        seen.append(values(three_integers, held))
        found, columns = StorageTable(three_integers, held).get_rows(
            [pa.array([7, -1], pa.int32())], three_integers.value_columns
        )
        assert found.tolist() == [True, False]
        assert columns[0].to_pylist() == [1, None]
        held.release()

    def keep_writing() -> None:
        epoch = 2
        while not stop.is_set():
            write(tmp_path, three_integers, epoch)
            epoch += 1

    writer = threading.Thread(target=keep_writing)
    readers = [threading.Thread(target=read) for _ in range(6)]
    for thread in [writer, *readers]:
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    writer.join()
    assert seen == [{(1, 1)}] * 6
    assert view.age > 0
    view.release()
    with pytest.raises(InternalError):
        view.acquire()
    with pytest.raises(InternalError):
        values(three_integers, view)


def test_a_shard_that_is_ahead_is_no_view_until_it_is_recovered(tmp_path: Path, three_integers: TableSchema) -> None:
    write(tmp_path, three_integers, 1)
    write(tmp_path, three_integers, 2, shards=1)  # the crash came before the second shard
    state = StateStore(tmp_path, SHARDS)
    with pytest.raises(InternalError):
        state.open_read_view(1)
    state.recover(1)
    view = state.open_read_view(1)
    assert values(three_integers, view) == {(1, 1)}
    view.release()
    assert state.size_bytes > 0
    state.close()


def readers_of(path: Path) -> str:
    """What another process sees of the environment's readers."""
    script = f"import lmdb; print(lmdb.open({str(path)!r}, max_dbs=4, create=False).readers())"
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def test_an_outdated_view_is_cut_and_gives_its_place_back(tmp_path: Path, three_integers: TableSchema) -> None:
    write(tmp_path, three_integers, 1)
    state = StateStore(tmp_path, SHARDS)
    view = state.open_read_view(1).acquire()
    scan = StorageTable(three_integers, view).scan([1])
    next(scan)
    write(tmp_path, three_integers, 2)
    assert state.cut_views(0.0) is None  # nobody has said that it is outdated
    view.mark_outdated()
    due = state.cut_views(60.0)
    assert due is not None and 59 < due <= 60
    with view.snapshots[1].use():
        assert state.cut_views(0.0) is not None  # it is being read, so it is looked at again
    assert state.cut_views(0.0) is None
    assert state.views() == []
    with pytest.raises(SnapshotTooOld):
        next(scan)
    for snapshot in view.snapshots:
        assert "no active readers" in readers_of(snapshot.environment.path)  # its slot is free
    newest = state.open_read_view(2)
    assert values(three_integers, newest) == {(2, 2)}
    size = state.size_bytes
    for epoch in range(3, 9):
        write(tmp_path, three_integers, epoch)
        newest.release()
        newest = state.open_read_view(epoch)
    assert state.size_bytes <= 2 * size  # what the view held is used again
    for each in (view, view, newest):
        each.release()
