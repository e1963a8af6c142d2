"""A few rows of each of several tables go to the store together; what is noted of them stays table by table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from risingpy.storage.codec.key_encoding import vnode_prefix
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.engine.state_table import FEW_ROWS
from risingpy.storage.engine.store_check import counted
from risingpy.storage.engine.table_batches import batch_of_tables, by_table
from risingpy.storage.engine.table_statistics import read_statistics, table_borders
from risingpy.storage.engine.undo_record import read_undo
from risingpy.storage.journal.delta import table_id_of
from risingpy.storage.journal.entries import Delta


def keys_of(table_id: int, *rests: bytes) -> pa.BinaryArray:
    return pa.array([vnode_prefix(table_id, 0) + rest for rest in rests], pa.binary())


def batch_of(table_id: int, **values: bytes | None) -> WriteBatch:
    return WriteBatch(keys_of(table_id, *(rest.encode() for rest in values)), pa.array(values.values(), pa.binary()))


def test_borders_are_where_the_table_changes() -> None:
    keys = pa.concat_arrays([keys_of(1, b"a", b"b"), keys_of(2, b"a"), keys_of(0x0102_0304, b"", b"x", b"y")])
    assert table_borders(keys) == [0, 2, 3, 6]
    assert table_borders(keys.slice(1, 4)) == [0, 1, 2, 4]
    assert table_borders(keys.slice(3)) == [0, 3]
    assert table_borders(keys.slice(6)) == [0]


def test_a_batch_of_tables_ascends_and_falls_apart_again() -> None:
    parts = [batch_of(300, a=b"1", b=None), batch_of(2, z=b""), batch_of(255, a=None)]
    together = batch_of_tables(parts)
    assert together.keys.to_pylist() == sorted(together.keys.to_pylist())
    apart = [(part.keys.to_pylist(), part.values.to_pylist()) for part in by_table(together)]
    assert apart == [(parts[k].keys.to_pylist(), parts[k].values.to_pylist()) for k in (1, 2, 0)]


class KeptDeltas:
    """Stands for shared storage: keeps the batches of each delta."""

    def __init__(self) -> None:
        self.batches: list[WriteBatch] = []

    def put(self, epoch: int, stage: int, shard: int, batches: Sequence[WriteBatch]) -> Delta:
        self.batches = list(batches)
        return Delta("d", epoch, shard, 0, {}, b"")


def tables_like(schema: TableSchema) -> list[TableSchema]:
    return [replace(schema, table_id=table_id, name=f"t{table_id}") for table_id in (9, 3, 256, 70_000)]


def write(store: ShardStore, tables: Sequence[TableSchema], epoch: int, rows: int, value: int) -> None:
    keys, values = pa.array(np.arange(rows), pa.int32()), pa.array([value] * rows, pa.int32())
    with store.begin(epoch, 0) as transaction:
        for table in tables:
            transaction.state_table(table).apply(np.ones(rows, np.int8), [keys, values, keys])
        transaction.commit()


def sums(store: ShardStore, tables: Sequence[TableSchema], epoch: int) -> list[int]:
    with store.begin(epoch, 99) as transaction:
        return [sum(row[1] for row in transaction.state_table(table).scan_rows()) for table in tables]  # type: ignore[misc]


@pytest.mark.parametrize("rows", [1, FEW_ROWS, FEW_ROWS + 1])
def test_few_rows_of_many_tables_are_taken_back_and_counted_by_table(
    tmp_path: Path, three_integers: TableSchema, rows: int
) -> None:
    tables = tables_like(three_integers)
    store = ShardStore(tmp_path / "0-of-1", shard=0, shards=1)
    write(store, tables, 1, rows, 10)
    write(store, tables[:3], 2, rows, 20)
    assert sums(store, tables, 3) == [20 * rows] * 3 + [10 * rows]
    snapshot = store.newest()
    with snapshot.use() as transaction:
        noted = read_statistics(transaction)
        record = read_undo(snapshot.environment, transaction, 0, 2)
    assert noted == counted(snapshot)
    snapshot.close()
    # Each part is of one table: so have all versions read undo records.
    assert [table_borders(part.keys) for part in record.parts] == [[0, rows]] * 3
    store.undo_beyond(1)
    assert sums(store, tables, 3) == [10 * rows] * 4


def test_a_delta_has_batches_of_one_table(tmp_path: Path, three_integers: TableSchema) -> None:
    deltas = KeptDeltas()
    store = ShardStore(tmp_path / "0-of-1", shard=0, shards=1, deltas=deltas)
    write(store, tables_like(three_integers), 1, 2, 10)
    assert sorted(table_id_of(batch) for batch in deltas.batches) == [3, 9, 256, 70_000]
    assert all(table_borders(batch.keys) == [0, 2] for batch in deltas.batches)
