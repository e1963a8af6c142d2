"""The meta store opens again, whatever its transactions did."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from risingpy.storage.engine.meta_store import MetaStore


@pytest.mark.parametrize("seed", [1, 5, 6, 19, 24, 26, 33, 34])
def test_a_store_opens_after_many_deletions_in_one_transaction(tmp_path: Path, seed: int) -> None:
    """LMDB leaves out pages at the file's end that the transaction has freed again: the file is not damaged then."""
    chance = random.Random(seed)
    store = MetaStore(tmp_path)
    count, longest = chance.choice([50, 100, 300]), chance.choice([120, 300, 600])
    with store.transaction() as txn:
        for k in range(count):
            txn.put(f"m/{k}", b"x" * chance.randrange(50, longest))
    for _ in range(chance.randrange(3)):
        with store.transaction() as txn:
            txn.put("a", b"y" * chance.randrange(100))
    with store.transaction() as txn:
        for k in range(count):
            txn.delete(f"m/{k}")
    store.close()
    MetaStore(tmp_path).close()
