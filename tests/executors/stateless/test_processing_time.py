"""proctime() over a source: the time of the epoch, the same for all of its rows and whenever the epoch is tried."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from risingpy.executors.change_chunk import make_chunk
from risingpy.executors.stateless.project import ProjectExecutor, over_time
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.types import BIGINT, INTERVAL, TIMESTAMPTZ, VARCHAR

PROCTIME = Call("proctime", (), TIMESTAMPTZ)
YEAR_2024 = datetime(2024, 1, 1, tzinfo=UTC)


def test_every_row_has_the_epochs_time() -> None:
    day = Literal(pa.MonthDayNano((0, 1, 0)), INTERVAL)
    before = Call("timestamptz_minus", (PROCTIME, day, Literal("UTC", VARCHAR)), TIMESTAMPTZ)
    expressions = over_time((InputRef(0, BIGINT), PROCTIME, before), 1)
    rows = make_chunk(pa.array([1, 1, 1], pa.int8()), [pa.array([7, 8, 9])])
    for _ in range(2):
        executor = ProjectExecutor(
            evaluator=Evaluator(None, expressions),
            types=[BIGINT, TIMESTAMPTZ, TIMESTAMPTZ],
            may_cancel=False,
            time=int(YEAR_2024.timestamp()) * 1000,
        )
        projected = executor.execute([rows])
        assert projected.column("c0").to_pylist() == [7, 8, 9]
        assert projected.column("c1").to_pylist() == [YEAR_2024] * 3
        assert projected.column("c2").to_pylist() == [YEAR_2024 - timedelta(days=1)] * 3


def test_expressions_without_it_stay_as_they_are() -> None:
    expressions = (InputRef(0, BIGINT), Literal(1, BIGINT))
    assert over_time(expressions, 1) == expressions
