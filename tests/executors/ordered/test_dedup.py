"""Dedup: after every epoch the output has one row for each value in the input, the first one."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from risingpy.plan.ordered import Dedup
from risingpy.plan.state_tables import seen_values
from risingpy.types import BIGINT, DOUBLE, VARCHAR
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, comparable, delta, leaf, properties
from tests.executors.histories import doubles, groups, texts

TYPES = [BIGINT, BIGINT, DOUBLE, VARCHAR]
epochs = st.lists(st.lists(st.tuples(groups, doubles, texts), max_size=8), min_size=1, max_size=5)


def dedup(key: tuple[int, ...]) -> Dedup:
    input = leaf(TYPES, append_only=True)
    return Dedup(input, key, seen_values(1, "job", input.properties, key, ()), properties(TYPES, key))


@given(epochs=epochs, key=st.sampled_from([(1,), (2, 1), (3,), (1, 2, 3)]))
@examples(200)
def test_dedup(epochs: list[list[tuple[object, ...]]], key: tuple[int, ...]) -> None:
    plan = dedup(key)
    history: list[Relation] = [{}]
    for number, values in enumerate(epochs):
        added: Relation = {(number, k): (number * 100 + k, *row) for k, row in enumerate(values)}
        history.append({**history[-1], **added})
    first: dict[object, Row] = {}
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output(key)
        for before, after in pairwise(history):
            for name in sorted(cast(set[tuple[int, int]], set(after) - set(before))):
                row = after[name]
                first.setdefault(comparable(tuple(row[k] for k in key)), row)
            output.take(bench.run(delta(before, after, TYPES, random.Random(1))))
            assert set(output.rows) == {comparable(row) for row in first.values()}
        assert bench.state() == [{comparable(tuple(row[k] for k in key)) for row in first.values()}]
