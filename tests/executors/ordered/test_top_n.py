"""TopN: after every epoch the output is what ORDER BY … OFFSET … LIMIT gives over the input, group by group."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.plan.logical import SortKey
from risingpy.plan.operators import ConflictBehavior, Materialize
from risingpy.plan.ordered import LocalTopN, StreamTopN
from risingpy.plan.state_tables import one_row_per_group, ordered_rows
from risingpy.types import BIGINT, DOUBLE, VARCHAR
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, comparable, delta, leaf, properties
from tests.executors.histories import doubles, groups, histories, texts

TYPES = [BIGINT, BIGINT, DOUBLE, VARCHAR]
KEY, GROUP, VALUE, TEXT = range(4)
long_texts = st.one_of(texts, st.sampled_from(["x" * 600 + "b", "x" * 600 + "a", "x" * 490]))
rows = histories(groups, doubles, long_texts, keys=9, epochs=5)
orders = st.sampled_from(
    [
        (),
        (SortKey(VALUE),),
        (SortKey(VALUE, descending=True, nulls_first=True),),
        (SortKey(TEXT, nulls_first=True), SortKey(VALUE, descending=True)),
        (SortKey(TEXT, descending=True),),
    ]
)


def top_n(
    group_key: tuple[int, ...],
    order: tuple[SortKey, ...],
    limit: int | None,
    offset: int,
    *,
    with_ties: bool,
    append_only: bool = False,
) -> StreamTopN:
    input = leaf(TYPES, append_only=append_only)
    table = ordered_rows(1, "job", "top_n", input.properties, group_key, order, ())
    key = group_key if limit == 1 and not with_ties else (*group_key, KEY)
    plan = StreamTopN(input, group_key, order, limit, offset, with_ties, table, properties(TYPES, key))
    return replace(plan, table=one_row_per_group(table)) if plan.keeps_one_row else plan


def sort_value(value: Any, key: SortKey) -> Any:
    """Orders values as SQL does: NaN above all numbers, texts by their bytes, NULLs where the key says."""
    if value is None:
        return (0 if key.nulls_first else 2,)
    if isinstance(value, float):
        rank: Any = (math.isnan(value), 0.0 if math.isnan(value) else value)
    else:
        rank = value.encode()
    return 1, _Reversed(rank) if key.descending else rank


class _Reversed:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.value == other.value


def expected(relation: Relation, plan: StreamTopN) -> list[Row]:
    """The answer, by the book."""
    by_group: dict[object, list[Row]] = {}
    for row in relation.values():
        by_group.setdefault(tuple(row[k] for k in plan.group_key), []).append(row)
    answer: list[Row] = []

    def ordered(row: Row) -> Any:
        return [sort_value(row[key.index], key) for key in plan.order]

    for members in by_group.values():
        members.sort(key=lambda row: (ordered(row), row[KEY]))
        end = len(members) if plan.limit is None else plan.offset + plan.limit
        chosen = members[plan.offset : end]
        if plan.with_ties and chosen:
            chosen += [row for row in members[end:] if ordered(row) == ordered(chosen[-1])]
        answer += chosen
    return answer


shapes = st.tuples(st.sampled_from([(), (GROUP,)]), orders, st.sampled_from([1, 2, 4]), st.sampled_from([0, 0, 1, 3]))


def check(plan: StreamTopN, history: list[Relation]) -> None:
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output(plan.properties.stream_key)
        for number, (before, after) in enumerate(pairwise([{}, *history])):
            output.take(bench.run(delta(before, after, TYPES, random.Random(number))))
            assert set(output.rows) == {comparable(row) for row in expected(after, plan)}
        (state,) = bench.state()
        if plan.input.properties.append_only:
            assert plan.limit is not None
            with FragmentBench(plan, [plan.table]) as fresh:
                fresh.run(delta({}, history[-1], TYPES, random.Random(1)))
                assert [state] == fresh.state()
        else:
            assert state == {comparable(row) for row in history[-1].values()}


@given(history=rows, shape=shapes, with_ties=st.booleans())
@examples(300)
def test_top_n(history: list[Relation], shape: Any, with_ties: bool) -> None:
    check(top_n(*shape, with_ties=with_ties and bool(shape[1])), history)


@given(history=rows, shape=shapes)
@examples(50)
def test_offset_alone(history: list[Relation], shape: Any) -> None:
    group_key, order, _, offset = shape
    check(top_n(group_key, order, None, offset + 1, with_ties=False), history)


def grown(history: list[Relation]) -> list[Relation]:
    """A history in which rows only come."""
    states: list[Relation] = []
    for number, state in enumerate(history):
        added: Relation = {(number, key): (number * 100 + int(str(key)), *row[1:]) for key, row in state.items()}
        states.append({**(states[-1] if states else {}), **added})
    return states


@given(history=rows, shape=shapes, with_ties=st.booleans())
@examples(150)
def test_append_only(history: list[Relation], shape: Any, with_ties: bool) -> None:
    check(top_n(*shape, with_ties=with_ties and bool(shape[1]), append_only=True), grown(history))


@given(history=rows, order=orders)
@examples(150)
def test_the_first_row_of_each_group_in_the_view_itself(history: list[Relation], order: tuple[SortKey, ...]) -> None:
    top = top_n((GROUP,), order, 1, 0, with_ties=False, append_only=True)
    plan = Materialize(top.input, top.table, ConflictBehavior.NO_CHECK, top.properties, first_by=order)
    with FragmentBench(plan, [plan.table]) as bench:
        output = Output(plan.properties.stream_key)
        for number, (before, after) in enumerate(pairwise([{}, *grown(history)])):
            output.take(bench.run(delta(before, after, TYPES, random.Random(number))))
            answer = {comparable(row) for row in expected(after, top)}
            assert set(output.rows) == answer
            assert bench.state() == [answer]


@given(history=rows, shape=shapes, with_ties=st.booleans())
@examples(150)
def test_the_first_phase_lets_the_first_rows_through(history: list[Relation], shape: Any, with_ties: bool) -> None:
    """Of one epoch's rows, exactly those that are among the first, if there are more."""
    _, order, limit, offset = shape
    with_ties = with_ties and bool(order)
    input = leaf(TYPES, append_only=True)
    reach = limit + offset
    plan = LocalTopN(input, order, reach, with_ties, input.properties)
    whole = top_n((), order, reach, 0, with_ties=with_ties)
    for state in history:
        with FragmentBench(plan) as bench:
            output = Output(plan.properties.stream_key)
            output.take(bench.run(delta({}, state, TYPES, random.Random(1))))
            found = set(output.rows)
            assert found >= {comparable(row) for row in expected(state, whole)}
            if len(state) > reach:
                assert found == {comparable(row) for row in expected(state, whole)}


@pytest.mark.parametrize("append_only", [False, True])
def test_a_change_far_from_the_window_reads_only_the_window(append_only: bool, monkeypatch: Any) -> None:
    """A group of many rows: an epoch reads offset + limit of them, and as many again as it deletes."""
    read: list[int] = []
    plan = top_n((GROUP,), (SortKey(VALUE),), 2, 1, with_ties=False, append_only=append_only)
    many: Relation = {k: (k, 0, float(k), None) for k in range(1000)}
    with FragmentBench(plan) as bench:
        bench.run(delta({}, many, TYPES, random.Random(1)))
        from risingpy.storage.engine.state_table import StateTable

        scan = StateTable.scan_prefix

        def counted(*args: Any) -> pa.Table:
            found = scan(*args)
            read.append(found.num_rows)
            return found

        monkeypatch.setattr(StateTable, "scan_prefix", counted)
        after = dict(many) | {1000: (1000, 0, 1000.0, None)}
        if not append_only:
            after = {key: row for key, row in after.items() if key not in (0, 500)}
        changes = bench.run(delta(many, after, TYPES, random.Random(1)))
    assert read == [3 if append_only else 5]
    assert changes.num_rows == (0 if append_only else 2)
