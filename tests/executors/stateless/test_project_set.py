"""ProjectSet: after every epoch the output is the elements of the input's arrays."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise, zip_longest
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.stateless.project_set import SeriesSizes
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.plan.operators import StreamProjectSet
from risingpy.types import BIGINT, INTERVAL, TIMESTAMP, TIMESTAMPTZ, VARCHAR, SqlType, array_of
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Relation, Row, delta, leaf, properties
from tests.executors.histories import histories

TYPES = [BIGINT, array_of(BIGINT), array_of(VARCHAR)]
numbers = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=4)
words = st.none() | st.lists(st.none() | st.sampled_from(["a", "b", ""]), max_size=3)


def elements(row: Row, *, outer: bool) -> list[Row]:
    """The rows that one row of the input becomes."""
    lists = [cast(list[object] | None, value) or [] for value in row[1:]]
    found = [(*row, number, *items) for number, items in enumerate(zip_longest(*lists), 1)]
    return found or ([(*row, None, None, None)] if outer else [])


def _without_arrays(changes: pa.Table) -> pa.Table:
    """The arrays as texts, which a set can hold."""
    columns = [column.to_pylist() for column in changes.columns]
    texts = [pa.array([str(value) for value in column]) for column in columns[2:4]]
    return pa.table([*changes.columns[:2], *texts, *changes.columns[4:]], names=changes.column_names)


@pytest.mark.parametrize("outer", [False, True])
@given(history=histories(numbers, words))
@examples(25)
def test_elements(history: list[Relation], outer: bool) -> None:
    lists = tuple(InputRef(k, TYPES[k]) for k in (1, 2))
    types = [*TYPES, BIGINT, BIGINT, VARCHAR]
    plan = StreamProjectSet(leaf(TYPES), lists, outer, properties(types, (0, 3)))
    with FragmentBench(plan) as bench:
        output = Output((0, 3))
        for before, after in pairwise([{}, *history]):
            output.take(_without_arrays(bench.run(delta(before, after, TYPES, random.Random(1)))))
            expected = [row for source in after.values() for row in elements(source, outer=outer)]
            assert set(output.rows) == {(row[0], str(row[1]), str(row[2]), *row[3:]) for row in expected}


@pytest.mark.parametrize(("function", "type_"), [("generate_series", TIMESTAMP), ("generate_series_at", TIMESTAMPTZ)])
@pytest.mark.parametrize(("step", "expected"), [((0, 0, 1000), 86_400_000_001), ((0, 1, 0), 2), ((1, 0, 0), 1)])
def test_series_of_moments_are_counted_before_they_are_made(
    function: str, type_: SqlType, step: tuple[int, int, int], expected: int
) -> None:
    """A gap of a day in microseconds: the wall against large sets must see it without making 86 billion elements."""
    zone = UTC if type_ == TIMESTAMPTZ else None
    first, last = datetime(2026, 1, 1, tzinfo=zone), datetime(2026, 1, 2, tzinfo=zone)
    ends = [InputRef(k, type_) for k in (0, 1)]
    series = Call(function, (*ends, Literal(pa.MonthDayNano(step), INTERVAL)), array_of(type_))
    rows = [pa.array([1, 1], pa.int8()), *(pa.array([each, None], type_.arrow) for each in (first, last))]
    assert SeriesSizes([series]).total(pa.table(rows, names=["op", "c0", "c1"])) == pytest.approx(expected)
