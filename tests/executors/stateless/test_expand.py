"""Expand: the change of the copies is a copy of the change."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.logical import Field
from risingpy.plan.operators import StreamExpand
from risingpy.types import BIGINT, INTEGER
from tests.executors.bench import FragmentBench, Output, Relation, comparable, delta, leaf
from tests.executors.histories import groups, histories

TYPES = [BIGINT, INTEGER]


@given(history=histories(groups), copies=st.integers(1, 4))
def test_every_row_is_copied(history: list[Relation], copies: int) -> None:
    input = leaf(TYPES)
    schema = (*input.properties.schema, Field("copy", BIGINT))
    plan = derived(StreamExpand(input, copies, underived(schema)))
    assert plan.properties.stream_key == (0, 2)
    with FragmentBench(plan) as bench:
        output = Output(plan.properties.stream_key)
        for before, after in pairwise([{}, *history]):
            output.take(bench.run(delta(before, after, TYPES, random.Random(1))))
            assert set(output.rows) == {comparable((*row, n)) for row in after.values() for n in range(copies)}
