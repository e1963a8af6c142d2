"""What a shard's cache notes: its committed epoch, and whose attempts it has beyond."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.shard_basis import drop_attempts, write_committed
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES


def rows(*names: str) -> WriteBatch:
    keys = [(7).to_bytes(TABLE_ID_BYTES) + b"\0\0" + name.encode() for name in names]
    return WriteBatch(pa.array(keys, pa.binary()), pa.array([b"v"] * len(keys), pa.binary()))


def adopt(store: ShardStore, epoch: int, stage: int, name: str, *keys: str) -> None:
    with store.begin(epoch, stage, committed=4) as transaction:
        transaction.adopt(name, [rows(*keys)])
        transaction.commit()


def test_attempts_that_do_not_count_are_taken_back_and_others_stay(tmp_path: Path) -> None:
    store = ShardStore(tmp_path, shard=0, shards=1)
    assert store.basis().committed is None
    store.change(lambda each: write_committed(each.transaction, 4))
    adopt(store, 5, 0, "d/first", "a")
    adopt(store, 5, 1, "d/second", "b", "c")
    basis = store.basis()
    assert basis.committed == 4
    assert basis.beyond() == {0: (5, "d/first"), 1: (5, "d/second")}
    assert basis.ahead == {0, 1}

    store.change(lambda each: drop_attempts(each, {1}, basis))
    assert store.basis().beyond() == {0: (5, "d/first")}
    found: list[pa.BinaryArray] = []
    store.change(lambda each: found.append(each.get_values(rows("a", "b", "c").keys)))
    assert found[0].to_pylist() == [b"v", None, None]

    store.change(lambda each: write_committed(each.transaction, 5))
    assert store.basis().beyond() == {}
    store.close()
