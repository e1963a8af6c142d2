"""Draining gives the last write of each key, in key order, however many writes there were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.engine import mem_table
from risingpy.storage.engine.mem_table import Drained, MemTable

writes = st.lists(st.tuples(st.sampled_from([b"a", b"ab", b"b", b"c\0", b"d"]), st.binary(max_size=3), st.booleans()))


def drained(rows: list[tuple[bytes, bytes, bool]], *, are_changes: bool) -> Drained:
    table = MemTable()
    for key, value, put in rows:
        table.add(
            pa.array([key], pa.binary()), pa.array([value], pa.binary()), np.array([put]), are_changes=are_changes
        )
    return table.drain()


@given(writes.filter(bool), st.booleans())
def test_the_last_write_of_each_key_in_order(rows: list[tuple[bytes, bytes, bool]], are_changes: bool) -> None:
    last = {key: value if put else None for key, value, put in rows}
    keys = [key for key, _, _ in rows]
    results = []
    for few in (0, len(rows)):  # by columns, and one by one
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(mem_table, "FEW", few)
            results.append(drained(rows, are_changes=are_changes))
    for result in results:
        assert result.batch.keys.to_pylist() == sorted(last)
        assert result.batch.values.to_pylist() == [last[key] for key in sorted(last)]
        if are_changes:
            assert result.new is not None
            assert result.new.tolist() == [keys.count(key) == 1 and last[key] is not None for key in sorted(last)]
        else:
            assert result.new is None
