"""Changelog: the blocks that it keeps are the deltas that went through it, epoch by epoch."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import cast

import numpy as np
import pyarrow as pa
from hypothesis import given

from risingpy.executors.change_chunk import make_chunk
from risingpy.executors.relation.changelog import BLOCK_BYTES, BLOCK_ROWS, blocks_of, changes_in
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.operators import Changelog
from risingpy.plan.state_tables import changelog_table
from risingpy.types import BIGINT, INTEGER
from tests.executors.bench import FragmentBench, Relation, delta, leaf, rows_of
from tests.executors.histories import groups, histories

TYPES = [BIGINT, INTEGER]


@given(history=histories(groups))
def test_it_keeps_what_goes_through(history: list[Relation]) -> None:
    input = leaf(TYPES)
    table = changelog_table(7, "j")
    plan = derived(Changelog(input, table, underived(input.properties.schema)))
    kept = {}
    with FragmentBench(plan, [table]) as bench:
        for before, after in pairwise([{}, *history]):
            changes = delta(before, after, TYPES, random.Random(1))
            assert bench.run(changes).equals(changes)
            if changes.num_rows:
                kept[bench.epoch] = rows_of(changes)
        (stored,) = bench.state()
    blocks = cast("set[tuple[int, int, bytes]]", stored)
    assert {part for _, part, _ in blocks} <= {0}
    assert {epoch: rows_of(changes_in(pa.py_buffer(block))) for epoch, _, block in blocks} == kept


def test_a_large_delta_has_several_blocks() -> None:
    rows = BLOCK_ROWS * 2 + 1
    chunk = make_chunk(np.ones(rows, np.int8), [pa.array(np.arange(rows))])
    blocks = [changes_in(pa.py_buffer(block)) for block in blocks_of(chunk)]
    assert [block.num_rows for block in blocks] == [BLOCK_ROWS, BLOCK_ROWS, 1]
    assert pa.concat_tables(blocks).equals(chunk)


def test_a_block_of_long_rows_has_few() -> None:
    chunk = make_chunk(np.ones(8, np.int8), [pa.array(["x" * (BLOCK_BYTES // 2)] * 8)])
    blocks = [changes_in(pa.py_buffer(block)) for block in blocks_of(chunk)]
    assert all(block.num_rows <= 2 for block in blocks)
    assert pa.concat_tables(blocks).equals(chunk)


def test_nothing_has_no_block() -> None:
    assert list(blocks_of(make_chunk(np.empty(0, np.int8), [pa.array([], pa.int64())]))) == []
