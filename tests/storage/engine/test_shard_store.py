"""Shards: the commit protocol's refusals and corners, purging, growth, forks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from risingpy.errors import InternalError, IoError
from risingpy.formats import ENCODING, HASH, STORE, VNODES, Format, IncompatibleStore
from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine import shard_store
from risingpy.storage.engine.few_writes import NOT_KNOWN
from risingpy.storage.engine.lmdb_environment import SnapshotEnded
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import ShardStore, StaleEpoch, shard_directory
from risingpy.storage.engine.state_table import StateTable
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.storage.engine.store_check import counted
from risingpy.storage.engine.table_statistics import read_statistics
from risingpy.storage.engine.undo_record import stage_of_turn
from risingpy.storage.journal.entries import Delta

ROWS = 2000


@pytest.fixture
def store(tmp_path: Path) -> ShardStore:
    return ShardStore(shard_directory(tmp_path, 0, 1), shard=0, shards=1)


def fill(table: StateTable, value: int, rows: int = ROWS) -> None:
    keys = pa.array(np.arange(rows, dtype=np.int32))
    table.apply(np.ones(rows, np.int8), [keys, pa.array(np.full(rows, value, np.int32)), keys])


def write(store: ShardStore, schema: TableSchema, epoch: int, value: int, *, stage: int = 0, rows: int = ROWS) -> None:
    with store.begin(epoch, stage) as transaction:
        fill(transaction.state_table(schema), value, rows)
        transaction.commit()


def value_of(store: ShardStore, schema: TableSchema, epoch: int, key: int = 5) -> object:
    with store.begin(epoch, 99) as transaction:
        row = transaction.state_table(schema).get_row([key])
    return None if row is None else row[1]


def test_a_task_of_an_epoch_that_was_given_up_is_refused(store: ShardStore, three_integers: TableSchema) -> None:
    write(store, three_integers, 5, 1)
    with pytest.raises(StaleEpoch), store.begin(4, 1, committed=3):
        pass
    write(store, three_integers, 6, 2)  # the lock is free again


def test_an_abandoned_epoch_is_taken_back_whatever_stage_begins(store: ShardStore, three_integers: TableSchema) -> None:
    write(store, three_integers, 1, 10)
    write(store, three_integers, 2, 20, stage=3)
    with store.begin(3, 0, committed=1) as transaction:
        assert transaction.state_table(three_integers).get_row([5]) == (5, 10, 5)
        transaction.commit()
    assert value_of(store, three_integers, 4) == 10


def test_other_stages_of_the_same_epoch_stay(store: ShardStore, three_integers: TableSchema) -> None:
    write(store, three_integers, 1, 10)
    with store.begin(2, 3, committed=1) as transaction:
        fill(transaction.state_table(three_integers), 20)
        transaction.commit()
    with store.begin(2, 4, committed=1) as transaction:
        table = transaction.state_table(three_integers)
        assert table.get_row([5]) == (5, 20, 5)
        rows, after = table.scan(range(256), None, 3)
        assert rows["c1"].to_pylist() == [20] * 3
        rows, _ = table.scan(range(256), after, 3)
        assert rows["c0"].to_pylist() == [3, 4, 5]


def test_a_stage_that_repeats_is_taken_back_from_its_last_turn_on(
    store: ShardStore, three_integers: TableSchema
) -> None:
    write(store, three_integers, 1, 10)
    turns = [stage_of_turn(3, repetition) for repetition in range(3)]
    for value, turn in enumerate(turns, 20):
        with store.begin(2, turn, committed=1) as transaction:
            fill(transaction.state_table(three_integers), value)
            transaction.commit()
    with store.begin(2, stage_of_turn(4, 1), committed=1) as transaction:  # another stage's leaves them alone
        assert transaction.state_table(three_integers).get_row([5]) == (5, 22, 5)
    with store.begin(2, turns[1], committed=1) as transaction:
        assert transaction.state_table(three_integers).get_row([5]) == (5, 20, 5)
    with store.begin(3, 0, committed=1) as transaction:
        assert transaction.state_table(three_integers).get_row([5]) == (5, 10, 5)


def test_repetitions_of_committed_epochs_are_forgotten(store: ShardStore, three_integers: TableSchema) -> None:
    for repetition in range(3):
        write(store, three_integers, 1, repetition, stage=stage_of_turn(0, repetition))
    assert len(store.basis().ahead) == 3
    write(store, three_integers, 2, 9)
    assert len(store.basis().ahead) == 1
    assert value_of(store, three_integers, 3) == 9


def test_nothing_changed_writes_nothing(store: ShardStore, three_integers: TableSchema) -> None:
    write(store, three_integers, 1, 10)
    before = (store.path / "data.mdb").read_bytes()
    write(store, three_integers, 2, 10)
    assert (store.path / "data.mdb").read_bytes() == before


def test_the_same_thread_cannot_begin_twice_and_the_end_is_final(
    store: ShardStore, three_integers: TableSchema
) -> None:
    with store.begin(1, 0) as transaction:
        table = transaction.state_table(three_integers)
        assert transaction.state_table(three_integers) is table
        with pytest.raises(InternalError), store.begin(1, 1):
            pass
        transaction.commit()
        with pytest.raises(InternalError):
            table.get_row([1])


def test_two_epochs_ahead_is_corruption(store: ShardStore, three_integers: TableSchema) -> None:
    for epoch in (1, 2, 3):
        write(store, three_integers, epoch, epoch)
    with pytest.raises(CorruptData):
        store.undo_beyond(1)
    store.undo_beyond(2)
    assert value_of(store, three_integers, 3) == 2


def statistics_of(store: ShardStore) -> tuple[object, object]:
    """Of all tables: what the shard has noted, and what its rows add up to."""
    snapshot = store.newest()
    with snapshot.use() as transaction:
        noted = read_statistics(transaction)
    rows = counted(snapshot)
    snapshot.close()
    return {table: each for table, each in noted.items() if each.rows}, rows


def test_few_rows_of_several_tables_are_taken_back_together(store: ShardStore, three_integers: TableSchema) -> None:
    """One part of an undo record has them all, in a record of the present version; each table follows for itself."""
    tables = [replace(three_integers, table_id=table_id, name=f"t{table_id}") for table_id in (7, 8, 11)]
    states = []
    for epoch in (1, 2):
        with store.begin(epoch, 0) as transaction:
            for schema in tables:
                for key in range(epoch, epoch + 3):
                    stored = table_prefix(schema.table_id) + bytes((0, 0, 1, 128, 0, 0, key))
                    transaction.state_table(schema).put_stored(stored, bytes((epoch, key)), NOT_KNOWN)
            transaction.commit()
        noted, rows = statistics_of(store)
        assert noted == rows
        states.append(noted)
    store.undo_beyond(1)
    assert statistics_of(store) == (states[0], states[0]) and states[0] != states[1]


def test_earlier_formats_are_noted_anew_before_the_shard_is_written(
    store: ShardStore, three_integers: TableSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = Format.only("store", STORE.read[0], "")
    with monkeypatch.context() as patched:
        patched.setattr(shard_store, "OF_SHARDS", [earlier, ENCODING, HASH, VNODES])
        write(store, three_integers, 1, 10)
        store.close()
    store.newest().close()
    store.close()
    assert store.versions()["store"] == earlier.written, "who only reads changes nothing"
    write(store, three_integers, 2, 20)
    store.close()
    assert store.versions()["store"] == STORE.written


def test_purge_deletes_in_parts_and_is_not_taken_back(store: ShardStore, three_integers: TableSchema) -> None:
    write(store, three_integers, 1, 10)
    finished = []
    for epoch in (2, 3, 4):
        with store.begin(epoch, 0xFFFF) as transaction:
            finished.append(transaction.purge(three_integers.table_id, 900))
            assert transaction.purge(12345, 10)
            transaction.commit()
    assert finished == [False, False, True]
    store.undo_beyond(1)
    assert value_of(store, three_integers, 5) is None


def test_a_store_of_another_format_or_shard_is_refused(
    store: ShardStore, three_integers: TableSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, three_integers, 1, 10)
    store.close()
    for shard, shards in ((1, 2), (0, 2)):
        with pytest.raises(IncompatibleStore):
            ShardStore(store.path, shard=shard, shards=shards).begin(2, 0)
    for version, way_out in ((1, "  Start RisingPy"), (3, "  Start the version that wrote it, and take an export")):
        monkeypatch.setattr(shard_store, "OF_SHARDS", [Format.only("hash", version, ""), STORE, ENCODING, VNODES])
        refusal = f"has hash 2; this version of RisingPy reads hash {version}"
        with pytest.raises(IncompatibleStore, match=refusal) as caught:
            ShardStore(store.path, shard=0, shards=1).begin(2, 0)
        assert caught.value.told.splitlines()[1].startswith(way_out)


def test_a_damaged_file_is_an_error_for_the_operator(tmp_path: Path) -> None:
    path = shard_directory(tmp_path, 0, 1)
    path.mkdir(parents=True)
    (path / "data.mdb").write_bytes(os.urandom(100_000))
    with pytest.raises(IoError):
        ShardStore(path, shard=0, shards=1).begin(1, 0)


def test_the_map_grows_and_the_newest_view_lives_on(tmp_path: Path, three_integers: TableSchema) -> None:
    state = StateStore(tmp_path, 1, map_size=1 << 17)
    store = ShardStore(shard_directory(tmp_path, 0, 1), shard=0, shards=1, map_size=1 << 17)
    write(store, three_integers, 1, 10, rows=100)
    old = state.open_read_view(1)
    write(store, three_integers, 2, 20, rows=100)
    newest = state.open_read_view(2)
    write(store, three_integers, 3, 30, rows=50_000)  # a hundred times the map
    assert sum(batch.num_rows for batch in StorageTable(three_integers, newest).scan([0])) == 100
    with pytest.raises(SnapshotEnded):
        list(StorageTable(three_integers, old).scan([0]))
    old.release()
    newest.release()
    view = state.open_read_view(3)
    assert sum(batch.num_rows for batch in StorageTable(three_integers, view).scan([])) == 50_000
    view.release()


class _Deltas:
    """Keeps the tables of each batch that a commit tells of."""

    def __init__(self) -> None:
        self.tables: list[list[int]] = []

    def put(self, epoch: int, stage: int, shard: int, batches: Sequence[WriteBatch]) -> Delta:
        self.tables += [sorted({int.from_bytes(key[:4]) for key in batch.keys.to_pylist()}) for batch in batches]
        return Delta(f"{epoch}", epoch, shard, 0, {})


def test_few_rows_of_several_tables_are_told_and_taken_back_by_table(
    tmp_path: Path, three_integers: TableSchema
) -> None:
    deltas = _Deltas()
    store = ShardStore(shard_directory(tmp_path, 0, 1), shard=0, shards=1, deltas=deltas)
    tables = [replace(three_integers, table_id=number) for number in (3, 9, 12, 40)]
    for epoch, values in ((1, [10] * 4), (2, [10, 20, 10, 20]), (3, [30] * 4)):
        with store.begin(epoch, 0) as transaction:
            for schema, value in zip(tables, values, strict=True):
                fill(transaction.state_table(schema), value, 3)
            transaction.commit()
    assert deltas.tables == [[3], [9], [12], [40], [9], [40], [3], [9], [12], [40]]  # without what stays as it was
    with store.begin(4, 0, committed=2) as transaction:
        rows = [transaction.state_table(schema).get_row([1]) for schema in tables]
    assert rows == [(1, 10, 1), (1, 20, 1), (1, 10, 1), (1, 20, 1)]
    newest = store.newest()
    with newest.use() as stored:
        noted = read_statistics(stored)
    assert counted(newest) == noted


def test_a_process_that_opened_a_shard_and_forks_keeps_its_views(tmp_path: Path, three_integers: TableSchema) -> None:
    store = ShardStore(shard_directory(tmp_path, 0, 1), shard=0, shards=1)
    write(store, three_integers, 1, 10)
    state = StateStore(tmp_path, 1)
    view = state.open_read_view(1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            view.release()
            state.close()
            ShardStore(store.path, shard=0, shards=1).begin(2, 0)
        except IoError:  # refused: LMDB's locks are the parent's
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    for epoch in range(2, 8):  # pages would be used again if the view were not pinned any more
        write(store, three_integers, epoch, epoch)
    values = [n for batch in StorageTable(three_integers, view).scan([1]) for n in batch["c0"].to_pylist()]
    assert values == [10] * ROWS
    view.release()
