"""Moments: after every epoch the output is what groups contain at each level at which they change."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import accumulate, chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.optimizer.stream.recursion.differences import LEVEL, UNTIL, WEIGHT
from risingpy.plan.logical import Field
from risingpy.plan.properties import Distribution, DistributionKind, Properties
from risingpy.plan.recursion.operators import MomentsOf, StreamMoments
from risingpy.plan.recursion.tables import moments_table
from risingpy.types import BIGINT, INTEGER, VARCHAR
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, delta, leaf
from tests.executors.histories import groups, histories, texts

TYPES = [BIGINT, INTEGER, BIGINT, VARCHAR, BIGINT]  # level, weight, group, text; a key that the operator passes over
histories_of_differences = histories(
    st.integers(-1, 5), st.sampled_from([1, 1, 2, -1, -2]), groups, texts, keys=12, epochs=5
)


def moments(gives: MomentsOf) -> StreamMoments:
    columns = (Field("g", BIGINT), Field("t", VARCHAR))
    identity = (0,) if gives is MomentsOf.GROUPS else (0, 1)
    number = (Field("number", BIGINT),) if gives is MomentsOf.ROWS else ()
    first = (LEVEL, UNTIL) if gives.are_contents else (LEVEL, WEIGHT)
    schema = (*first, *columns[: len(identity)], *number)
    key = (0, *(2 + i for i in identity), *(4 + i for i in range(len(number))))
    table = moments_table(1, "job", columns[: len(identity)], (), 1)
    out = Properties(schema, key, Distribution(DistributionKind.SINGLE), append_only=False)
    return StreamMoments(leaf(TYPES), 1, len(identity), identity, (), gives, table, out)


def weights_by_group(relation: Relation) -> dict[object, Counter[tuple[int, object]]]:
    """The sum of the weights of each text at each level, where it is not 0."""
    found: dict[object, Counter[tuple[int, object]]] = defaultdict(Counter)
    for level, weight, group, text, _ in relation.values():
        found[group][int(str(level)), text] += int(str(weight))
    kept = {group: Counter({at: weight for at, weight in sums.items() if weight}) for group, sums in found.items()}
    return {group: sums for group, sums in kept.items() if sums}


def contents(relation: Relation, *, once: bool) -> set[Row]:
    rows: set[Row] = set()
    for group, weights in weights_by_group(relation).items():
        levels = sorted({level for level, _ in weights})
        for level, until in zip(levels, [*levels[1:], None], strict=True):
            there: Counter[object] = Counter()
            for (at, text), weight in weights.items():
                there[text] += weight if at <= level else 0
            for text, count in there.items():
                numbers = range(min(count, 1) if once else count)
                rows |= {(level, until, group, text, *(() if once else (n,))) for n in numbers}
    return rows


def comings(relation: Relation) -> set[Row]:
    rows: set[Row] = set()
    for group, weights in weights_by_group(relation).items():
        by_level: Counter[int] = Counter()
        for (level, _), weight in weights.items():
            by_level[level] += weight
        levels = sorted(by_level)
        sums = accumulate(by_level[level] for level in levels)
        for level, (before, after) in zip(levels, pairwise(chain([0], sums)), strict=True):
            if (after > 0) != (before > 0):
                rows.add((level, 1 if after > 0 else -1, group))
    return rows


def extremes(relation: Relation, *, greatest: bool) -> set[Row]:
    """The differences between the extremes at one moment and at the next; NULL is one if a group has nothing else."""
    weights: Counter[tuple[object, object, object]] = Counter()
    texts_at: dict[tuple[object, object, object], set[object]] = defaultdict(set)
    for row in contents(relation, once=True):
        level, until, group, text = row
        texts_at[group, level, until].add(text)
    for (group, level, until), seen in texts_at.items():
        known = [str(text) for text in seen if text is not None]
        best = (max(known) if greatest else min(known)) if known else None
        weights[group, level, best] += 1
        if until is not None:
            weights[group, until, best] -= 1
    return {(level, weight, group, best) for (group, level, best), weight in weights.items() if weight}


EXPECTED: dict[MomentsOf, Callable[[Relation], set[Row]]] = {
    MomentsOf.ROWS: partial(contents, once=False),
    MomentsOf.DISTINCT_ROWS: partial(contents, once=True),
    MomentsOf.GROUPS: comings,
    MomentsOf.LEAST: partial(extremes, greatest=False),
    MomentsOf.GREATEST: partial(extremes, greatest=True),
}


@pytest.mark.parametrize("gives", MomentsOf)
@given(history=histories_of_differences)
@examples(150)
def test_moments(gives: MomentsOf, history: list[Relation]) -> None:
    plan = moments(gives)
    states = [{key: (*row[1:], key) for key, row in state.items()} for state in history]
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output(plan.properties.stream_key)
        for number, (before, after) in enumerate(pairwise([{}, *states])):
            output.take(bench.run(delta(before, after, TYPES, random.Random(number))))
            assert set(output.rows) == EXPECTED[gives](after)
