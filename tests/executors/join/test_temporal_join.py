"""TemporalJoin: each left row is joined with the row that the table had when the left row arrived."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.optimizer.stream.distribution import BROADCAST
from risingpy.optimizer.stream.temporal_join import plan_temporal_join
from risingpy.plan import logical
from risingpy.plan.catalog import Catalog, ColumnDesc, Table
from risingpy.plan.expressions import Call
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import ConflictBehavior, Materialize, StreamPlan
from risingpy.plan.state_tables import relation_table
from risingpy.plan.traversal import all_state_tables
from risingpy.storage.codec.table_schema import KeyColumn
from risingpy.types import BIGINT, BOOLEAN, INTEGER
from tests.examples import examples
from tests.executors.bench import FragmentBench, Output, Row, comparable, delta, leaf, properties
from tests.executors.bench import Relation as Rows
from tests.executors.histories import groups, histories
from tests.executors.join.test_hash_join import ID, KEY, LEFT, RIGHT, VALUE, aligned, both, by_key, input_of, reference

TYPES = [BIGINT, INTEGER, INTEGER]
values = st.sampled_from([None, 0, 1, 2])
TABLE = relation_table(
    100, "t", [ColumnDesc(k + 1, f"f{k}", type_) for k, type_ in enumerate(TYPES)], (KeyColumn(KEY),), (KEY,)
)


def plan_of(kind: JoinKind) -> StreamPlan:
    """Left rows with the table's row of that key, if the left value is less than its."""
    left = input_of(TYPES, (ID,), (KEY,))
    schema = left.properties.schema
    equal = Call("eq", (reference(LEFT + KEY), reference(RIGHT + KEY)), BOOLEAN)
    less = Call("lt", (reference(LEFT + VALUE), reference(RIGHT + VALUE)), BOOLEAN)
    scan = logical.Scan(100, "t", (0, 1, 2), schema)
    join = logical.Join(logical.Values((), schema), scan, kind, both(equal, less), (*schema, *schema))
    relation = Table(100, "public", "t", (), "", table=TABLE, stream_key=())
    return plan_temporal_join(join, left, Catalog(relations={100: relation}), "job", count(1).__next__)


def found(row: Row, table: Rows) -> Row | None:
    for other in table.values():
        if None not in (row[KEY], row[VALUE], other[VALUE]) and row[KEY] == other[KEY] and row[VALUE] < other[VALUE]:  # type: ignore[operator]
            return other
    return None


@pytest.mark.parametrize("kind", [JoinKind.TEMPORAL, JoinKind.TEMPORAL_LEFT], ids=lambda kind: kind.value)
@given(left=histories(groups, values), right=histories(groups, values))
@examples(40)
def test_temporal_join(kind: JoinKind, left: list[Rows], right: list[Rows]) -> None:
    order = random.Random(1)
    plan = plan_of(kind)
    left, right = aligned(left, by_key(right))
    table = FragmentBench(Materialize(leaf(TYPES, (KEY,)), TABLE, ConflictBehavior.NO_CHECK, properties(TYPES, (KEY,))))
    memo = [each for each in all_state_tables(plan) if Path(each.name).name.startswith("__internal_job_memo")]
    with table, FragmentBench(plan, memo) as bench:
        bench.store.close()
        bench.store, bench.stage = table.store, 1
        output = Output(plan.properties.stream_key)
        known: dict[object, Row] = {}
        for (old_left, new_left), (old_right, new_right) in zip(pairwise(left), pairwise(right), strict=True):
            table.run(delta(old_right, new_right, TYPES, order))
            bench.epoch = table.epoch - 1
            output.take(bench.run(delta(old_left, new_left, TYPES, order)))
            came = {key: row for key, row in new_left.items() if comparable(old_left.get(key)) != comparable(row)}
            known = {key: row for key, row in known.items() if key in new_left and key not in came}
            for key, row in came.items():
                partner = found(row, new_right)
                if partner is not None or kind is JoinKind.TEMPORAL_LEFT:
                    known[key] = (*row, *(partner or (None,) * 3))
            assert set(output.rows) == {comparable(row) for row in known.values()}
            assert len(bench.state()[0]) == sum(row[RIGHT] is not None for row in known.values())


@pytest.mark.parametrize("equal", [(), (KEY,), (KEY, VALUE)], ids=["no equality", "one", "two"])
@pytest.mark.parametrize("bounded", [False, True], ids=["alone", "with a condition"])
@given(left=histories(groups, values), right=histories(groups, values))
@examples(15)
def test_rows_that_meet_all_of_the_table(
    equal: tuple[int, ...], bounded: bool, left: list[Rows], right: list[Rows]
) -> None:
    """The equalities do not tell the key: the rows of each epoch, which stay, meet the rows that the table has then."""
    order = random.Random(1)
    table = relation_table(
        100, "t", [ColumnDesc(k + 1, f"f{k}", type_) for k, type_ in enumerate(TYPES)], (KeyColumn(ID),), (ID,)
    )
    given_rows = input_of(TYPES, (ID,), (KEY,))
    grows = replace(given_rows.properties, append_only=True, distribution=BROADCAST)
    schema = grows.schema
    parts = [Call("eq", (reference(LEFT + column), reference(RIGHT + column)), BOOLEAN) for column in equal]
    if bounded:
        parts.append(Call("lt", (reference(LEFT + VALUE), reference(RIGHT + KEY)), BOOLEAN))
    condition = both(*parts) if parts else None
    scan = logical.Scan(100, "t", (0, 1, 2), schema)
    join = logical.Join(logical.Values((), schema), scan, JoinKind.TEMPORAL, condition, (*schema, *schema))
    relation = Table(100, "public", "t", (), "", table=table, stream_key=())
    plan = plan_temporal_join(
        join, replace(given_rows, properties=grows), Catalog(relations={100: relation}), "job", count(1).__next__
    )

    def meet(a: Row, b: Row) -> bool:
        if any(a[k] is None or a[k] != b[k] for k in equal):
            return False
        return not bounded or (a[VALUE] is not None and b[KEY] is not None and a[VALUE] < b[KEY])  # type: ignore[operator]

    left, right = aligned(left, right)
    stored = FragmentBench(Materialize(leaf(TYPES, (ID,)), table, ConflictBehavior.NO_CHECK, properties(TYPES, (ID,))))
    with stored, FragmentBench(plan) as bench:
        bench.store.close()
        bench.store, bench.stage = stored.store, 1
        output = Output(plan.properties.stream_key)
        expected = set()
        for epoch, (new_left, (old_right, new_right)) in enumerate(zip(left[1:], pairwise(right), strict=True)):
            stored.run(delta(old_right, new_right, TYPES, order))
            bench.epoch = stored.epoch - 1
            fresh = [(100 * epoch + k, *row[1:]) for k, row in enumerate(new_left.values())]
            came: dict[object, tuple[object, ...]] = {row[ID]: row for row in fresh}
            output.take(bench.run(delta({}, came, TYPES, order)))
            expected |= {comparable((*a, *b)) for a in came.values() for b in new_right.values() if meet(a, b)}
            assert set(output.rows) == expected
