"""A table gets several rows of one key, and keeps the row that a model keeps, which takes them one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.plan.catalog import ColumnDesc
from risingpy.plan.operators import ConflictBehavior, Materialize
from risingpy.plan.state_tables import relation_table
from risingpy.storage.codec.table_schema import KeyColumn
from risingpy.types import BIGINT, DOUBLE, VARCHAR
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Row, chunk, comparable, leaf, properties

TYPES = [BIGINT, VARCHAR, DOUBLE, BIGINT]  # key, text, number, version
VERSION = 3
Model = dict[object, Row]
Write = Callable[[Model, Row], None]

values = st.tuples(
    st.integers(0, 3),
    st.none() | st.sampled_from(["", "a", "b"]),
    st.none() | st.sampled_from([0.0, 1.5]),
    st.none() | st.integers(-2, 2),
)
writes = st.lists(st.tuples(st.sampled_from([1, 1, 1, -1]), values), max_size=14)


def overwrite(model: Model, row: Row) -> None:
    model[row[0]] = row


def ignore(model: Model, row: Row) -> None:
    model.setdefault(row[0], row)


def fill(model: Model, row: Row) -> None:
    old = model.get(row[0], row)
    model[row[0]] = tuple(o if n is None else n for o, n in zip(old, row, strict=True))


def newer(write: Write) -> Write:
    """`write`, if the row's version is no less than that of the last row that was taken; NULL is least."""
    taken: dict[object, object] = {}

    def checked(model: Model, row: Row) -> None:
        if row[0] not in model:
            taken.pop(row[0], None)
        last = taken.get(row[0], _LEAST)
        version = _LEAST if row[VERSION] is None else row[VERSION]
        if version >= last:  # type: ignore[operator]
            write(model, row)
            taken[row[0]] = version

    return checked


_LEAST = -100


@pytest.mark.parametrize(
    ("behavior", "version", "make"),
    [
        (ConflictBehavior.IGNORE, None, lambda: ignore),
        (ConflictBehavior.FILL, None, lambda: fill),
        (ConflictBehavior.OVERWRITE, VERSION, lambda: newer(overwrite)),
        (ConflictBehavior.FILL, VERSION, lambda: newer(fill)),
    ],
)
@given(epochs=st.lists(writes, min_size=1, max_size=4))
@examples(60)
def test_conflicts(
    behavior: ConflictBehavior, version: int | None, make: Callable[[], Write], epochs: list[list[tuple[int, Row]]]
) -> None:
    columns = [ColumnDesc(k + 1, f"f{k}", type_) for k, type_ in enumerate(TYPES)]
    table = relation_table(1, "relation", columns, (KeyColumn(0),), (0,))
    plan = Materialize(leaf(TYPES), table, behavior, properties(TYPES, (0,)), version)
    model: Model = {}
    write = make()
    with FragmentBench(plan, [table]) as bench:
        output = Output((0,))
        for logged in epochs:
            for op, row in logged:
                if op > 0:
                    write(model, row)
                else:
                    model.pop(row[0], None)
            output.take(bench.run(chunk(logged, TYPES)))
            expected = {comparable(row) for row in model.values()}
            assert set(output.rows) == expected
            assert bench.state() == [expected]
