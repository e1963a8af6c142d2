"""ChangeLog: what happened to each row in each epoch, as rows that stay."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given

from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.logical import Field
from risingpy.plan.operators import StreamChangeLog
from risingpy.types import BIGINT, INTEGER, SMALLINT
from tests.executors.bench import FragmentBench, Output, Relation, Row, delta, leaf, rows_of
from tests.executors.histories import groups, histories

TYPES = [BIGINT, INTEGER]


def happened(before: Relation, after: Relation) -> set[Row]:
    """What the log must say of one epoch: rows with 1 insert, 2 delete, 3 and 4 the new and old row of an update."""
    inserts = {(*row, 1) for key, row in after.items() if key not in before}
    deletes = {(*row, 2) for key, row in before.items() if key not in after}
    changed = [key for key in after if key in before and after[key] != before[key]]
    return inserts | deletes | {(*after[key], 3) for key in changed} | {(*before[key], 4) for key in changed}


@given(history=histories(groups))
def test_every_change_is_a_row(history: list[Relation]) -> None:
    input = leaf(TYPES)
    schema = (*input.properties.schema, Field("changelog_op", SMALLINT), Field("epoch", BIGINT))
    plan = derived(StreamChangeLog(input, underived(schema)))
    assert plan.properties.stream_key == (0, 2, 3)
    assert plan.properties.append_only
    with FragmentBench(plan) as bench:
        output = Output(plan.properties.stream_key)
        for before, after in pairwise([{}, *history]):
            changes = bench.run(delta(before, after, TYPES, random.Random(1)))
            output.take(changes)
            rows = rows_of(changes)
            assert {row[0] for row in rows} <= {1}
            assert {row[1:-1] for row in rows} == happened(before, after)
            assert {row[-1] for row in rows} <= {bench.epoch}


def test_a_relation_of_one_row_has_no_key() -> None:
    input = leaf([INTEGER], key=())
    schema = (*input.properties.schema, Field("changelog_op", SMALLINT), Field("epoch", BIGINT))
    with FragmentBench(derived(StreamChangeLog(input, underived(schema)))) as bench:
        rows = rows_of(bench.run(delta({0: (1,)}, {0: (2,)}, [INTEGER], random.Random(1))))
    assert sorted(row[1:3] for row in rows) == [(1, 4), (2, 3)]
