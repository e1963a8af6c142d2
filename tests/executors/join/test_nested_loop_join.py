"""Nested-loop joins on several shards: one side is on every one of them, and the view is right after every epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.executors.join import output as join_output
from risingpy.executors.join import side as join_side
from risingpy.executors.relation import backfill as table_scan
from risingpy.plan import logical
from risingpy.plan.catalog import IndexedRelation
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import JoinKind
from risingpy.types import BIGINT, BOOLEAN
from tests.examples import examples
from tests.executors.bench import Row
from tests.executors.epoch.test_stage_runner import (
    COLUMNS,
    Database,
    Log,
    Query,
    Way,
    _apply,
    _check,
    aggregate,
    summed,
    writes,
)
from tests.optimizer.conftest import PlannerBench

WIDTH = 3
NOTHING: Row = (None,) * WIDTH
BELOW = Call("lt", (InputRef(0, BIGINT), InputRef(WIDTH + 1, BIGINT)), BOOLEAN)  # a.k < b.g, or a.k < count(b)
AROUND = Call(  # b.g, or count(b), from a.k to a.g, which may be the smaller one
    "and",
    (
        Call("le", (InputRef(0, BIGINT), InputRef(WIDTH + 1, BIGINT)), BOOLEAN),
        Call("gt", (InputRef(1, BIGINT), InputRef(WIDTH + 1, BIGINT)), BOOLEAN),
    ),
    BOOLEAN,
)
Meets = Callable[[Row, Row], bool]


def is_below(a: Row, b: Row) -> bool:
    return b[1] is not None and a[0] < b[1]  # type: ignore[operator]


def is_around(a: Row, b: Row) -> bool:
    return b[1] is not None and a[1] is not None and a[0] <= b[1] < a[1]  # type: ignore[operator]


def meets_all(a: Row, b: Row) -> bool:
    return True


def joined(kind: JoinKind, meets: Meets, a: Sequence[Row], b: Sequence[Row]) -> list[Row]:
    """The join by the book."""
    pairs = [(x, y) for x in a for y in b if meets(x, y)]
    met_a, met_b = [x for x, _ in pairs], [y for _, y in pairs]
    match kind:
        case JoinKind.LEFT_SEMI:
            return [x for x in a if x in met_a]
        case JoinKind.LEFT_ANTI:
            return [x for x in a if x not in met_a]
    rows = [(*x, *y) for x, y in pairs]
    if kind in (JoinKind.LEFT, JoinKind.FULL):
        rows += [(*x, *NOTHING) for x in a if x not in met_a]
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        rows += [(*NOTHING, *y) for y in b if y not in met_b]
    return rows


CASES = [
    (kind, condition)
    for kind in (
        JoinKind.INNER,
        JoinKind.LEFT,
        JoinKind.RIGHT,
        JoinKind.FULL,
        JoinKind.LEFT_SEMI,
        JoinKind.LEFT_ANTI,
    )
    for condition in (BELOW, AROUND, None)
]
NAMES: dict[Expr | None, str] = {BELOW: "on", AROUND: "around", None: "all"}
MEETS: dict[Expr | None, Meets] = {BELOW: is_below, AROUND: is_around, None: meets_all}


def join(kind: JoinKind, condition: Expr | None, left: logical.LogicalPlan, right: logical.LogicalPlan) -> logical.Join:
    semi = kind in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)
    names = [
        logical.Field(f"c{i}", field.type)
        for i, field in enumerate(left.schema if semi else (*left.schema, *right.schema))
    ]
    return logical.Join(left, right, kind, condition, tuple(names))


def views(
    planner: PlannerBench, a: IndexedRelation, b: IndexedRelation, kind: JoinKind, condition: Expr | None
) -> list[tuple[IndexedRelation, Query]]:
    """The join of both tables, of one with the single row of the other, and of itself."""
    meets = MEETS[condition]
    scan_a, scan_b = planner.scan(a), planner.scan(b)
    total = aggregate(scan_b, None)
    swapped = logical.Project(
        total,
        (InputRef(1, total.schema[1].type), InputRef(0, BIGINT), InputRef(2, BIGINT)),
        (total.schema[1], total.schema[0], total.schema[2]),
    )

    def row_of(b: Sequence[Row]) -> Row:
        count, total, most = summed(b)
        return (total, count, most)

    return [
        (planner.view("tables", join(kind, condition, scan_a, scan_b)), lambda a, b: joined(kind, meets, a, b)),
        (planner.view("row", join(kind, condition, scan_a, swapped)), lambda a, b: joined(kind, meets, a, [row_of(b)])),
        (planner.view("itself", join(kind, condition, scan_a, scan_a)), lambda a, b: joined(kind, meets, a, a)),
    ]


@pytest.mark.parametrize("way", [Way.AT_ONCE, Way.BY_STAGE], ids=lambda way: way.value)
@pytest.mark.parametrize(
    ("kind", "condition"), CASES, ids=[f"{kind.value}-{NAMES[condition]}" for kind, condition in CASES]
)
@given(
    shards=st.integers(1, 3),
    logs=st.lists(st.tuples(writes, writes), min_size=1, max_size=4),
    created=st.integers(0, 2),
    chunk_rows=st.sampled_from([1, 100]),
)
@examples(6)
def test_views_equal_their_queries(
    way: Way,
    kind: JoinKind,
    condition: Expr | None,
    shards: int,
    logs: list[tuple[Log, Log]],
    created: int,
    chunk_rows: int,
) -> None:
    with pytest.MonkeyPatch.context() as patch, Database(shards, way) as database:
        patch.setattr(table_scan, "ROWS_PER_EPOCH", chunk_rows)
        patch.setattr(join_side, "ROWS_PER_PAGE", 2)
        patch.setattr(join_output, "PAIRS_FOR_EACH_ROW", 0)
        a, b = (database.planner.table(name, COLUMNS, ["k"]) for name in ("a", "b"))
        models: tuple[dict[object, Row], dict[object, Row]] = ({}, {})
        made: list[tuple[IndexedRelation, Query]] = []
        for epoch, (log_a, log_b) in enumerate(logs):
            if epoch == created:
                made = views(database.planner, a, b, kind, condition)
            finished = database.run({a.relation_id: log_a, b.relation_id: log_b})
            for model, log in zip(models, (log_a, log_b), strict=True):
                _apply(model, log)
            _check(database, (a, b), models, made if finished else [])
        for _ in range(40):
            if database.run({}):
                break
        _check(database, (a, b), models, made)
