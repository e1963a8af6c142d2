"""The newest logged rows by key: compared with a dictionary, while epochs take groups of the log."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from risingpy.executors.change_chunk import DELETE, INSERT, make_chunk
from risingpy.meta.writing.pending_rows import KeyedChunk, PendingRow, PendingRows

TABLES = (7, 8)


def chunk(rows: list[tuple[int, int, int]]) -> pa.Table:
    """A change chunk of (op, key, value)."""
    ops, keys, values = zip(*rows, strict=True)
    return make_chunk(np.array(ops, np.int8), [pa.array(keys, pa.int64()), pa.array(values, pa.int64())])


def value_of(found: PendingRow | int | None) -> object:
    """The value of the row that was found; "gone" if the key was deleted, None if the committed state has it."""
    if not isinstance(found, PendingRow):
        return found
    rows = found.row().to_pydict()
    assert list(rows) == ["c0", "c1"]
    return rows["c1"][0] if rows["c1"] else "gone"


@pytest.mark.parametrize("seed", range(20))
def test_random_groups(seed: int) -> None:
    chance, pending = random.Random(seed), PendingRows()
    groups: list[tuple[int, int, dict[int, object] | None]] = []  # lsn, table, values; None: keys are not kept
    lsn = committed = 0
    for _ in range(120):
        table = chance.choice(TABLES)
        if chance.random() < 0.2:
            committed = chance.randint(committed, lsn)
            pending.committed(committed)
        elif chance.random() < 0.1:
            lsn += 1
            pending.add(lsn, (), (table,))
            groups.append((lsn, table, None))
        else:
            lsn += chance.randint(1, 3)
            rows = [(chance.choice((INSERT, DELETE)), chance.randrange(6), chance.randrange(99)) for _ in range(3)]
            pending.add(lsn, [KeyedChunk(table, 1, chunk(rows), [(key,) for _, key, _ in rows])], ())
            groups.append((lsn, table, {key: value if op == INSERT else "gone" for op, key, value in rows}))
        for table in TABLES:
            for key in range(6):
                assert value_of(pending.find(table, (key,))) == _expected(groups, committed, table, key)


def _expected(groups: list[tuple[int, int, dict[int, object] | None]], committed: int, table: int, key: int) -> object:
    for lsn, changed, values in reversed(groups):
        if lsn > committed and changed == table:
            if values is None:
                return lsn
            if key in values:
                return values[key]
    return None


def test_a_group_that_is_told_after_its_epoch_goes_with_the_next() -> None:
    pending = PendingRows()
    pending.committed(5)
    pending.add(5, [KeyedChunk(7, 1, chunk([(INSERT, 1, 10)]), [(1,)])], ())
    assert value_of(pending.find(7, (1,))) == 10
    pending.committed(6)
    assert pending.find(7, (1,)) is None
