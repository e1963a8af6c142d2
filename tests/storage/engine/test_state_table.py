"""The state table: seed 001's examples."""

from __future__ import annotations

from pathlib import Path

from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.shard_store import ShardStore


def test_get_of_seed_001(tmp_path: Path, three_integers: TableSchema) -> None:
    store = ShardStore(tmp_path, shard=0, shards=1)
    with store.begin(1, 0) as transaction:
        table = transaction.state_table(three_integers)
        table.insert_row([1, 11, 111])
        table.insert_row([2, 22, 222])
        table.delete_row([2, 22, 222])
        table.insert_row([3, 33, 333])
        transaction.commit()
    with store.begin(2, 0) as transaction:
        table = transaction.state_table(three_integers)
        table.insert_row([3, 3333, 3333])
        assert table.get_row([1]) == (1, 11, 111)
        assert table.get_row([2]) is None
        assert table.get_row([3]) == (3, 3333, 3333)


def test_scan_of_seed_001_merges_the_store_and_the_mem_table(tmp_path: Path, three_integers: TableSchema) -> None:
    """In the store 1, 2, 3, 4; in the mem-table 2 and 3 deleted, 5 and 6 new: 1 -> 4 -> 5 -> 6."""
    store = ShardStore(tmp_path, shard=0, shards=1)
    with store.begin(1, 0) as transaction:
        table = transaction.state_table(three_integers)
        for key in (4, 1, 3, 2):
            table.insert_row([key, key, key])
        transaction.commit()
    with store.begin(2, 0) as transaction:
        table = transaction.state_table(three_integers)
        table.delete_row([3, 3, 3])
        table.insert_row([6, 6, 6])
        table.update_row([4, 4, 4], [4, 44, 44])
        table.delete_row([2, 2, 2])
        table.insert_row([5, 5, 5])
        assert list(table.scan_rows()) == [(1, 1, 1), (4, 44, 44), (5, 5, 5), (6, 6, 6)]
        rows, _ = table.scan(range(256), None, 10)
        assert rows["c0"].to_pylist() == [1, 4, 5, 6]
        rows, before = table.scan_backward(range(256), None, 3)
        assert rows["c0"].to_pylist() == [6, 5, 4] and before is not None
        rows, before = table.scan_backward(range(256), before, 3)
        assert rows["c0"].to_pylist() == [1] and before is None
