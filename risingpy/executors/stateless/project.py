"""Project: computes expressions. If its input is a Filter, the same evaluator filters first."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.executors.change_chunk import consolidated, make_chunk
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.types import TIMESTAMPTZ, SqlType

_PROCTIME = Call("proctime", (), TIMESTAMPTZ)


class ProjectExecutor:
    """An expression that fails gives NULL, and `errors` counts it.

    `may_cancel`: the two rows of an update can be equal in the output; such pairs are dropped. `passed` counts the rows
    before they are. `time`: the epoch's in milliseconds, where the expressions read it as a column after the input's.
    """

    def __init__(
        self, *, evaluator: Evaluator, types: Sequence[SqlType], may_cancel: bool, time: int | None = None
    ) -> None:
        self._evaluator = evaluator
        self._types = types
        self._may_cancel = may_cancel
        self._time = time
        self.errors = 0
        self.passed = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        if self._time is not None:
            moment = pa.scalar(1000 * self._time, pa.timestamp("us", "UTC"))
            changes = make_chunk(changes.column(0), [*changes.columns[1:], pa.repeat(moment, changes.num_rows)])
        projected, self.errors = self._evaluator.evaluate(changes)
        self.passed = projected.num_rows
        return consolidated(projected, self._types) if self._may_cancel else projected


def over_time(expressions: Sequence[Expr], input_columns: int) -> tuple[Expr, ...]:
    """The expressions with proctime() read from a column after the input's. All tries of an epoch see one time."""
    return tuple(
        transform(
            expression,
            lambda part: InputRef(input_columns, part.type) if part == _PROCTIME else None,
        )
        for expression in expressions
    )


def may_cancel(expressions: Sequence[Expr], input_columns: int) -> bool:
    """Whether different input rows can give equal output rows: some input column is not in the output unchanged."""
    kept = {expr.index for expr in expressions if isinstance(expr, InputRef)}
    return len(kept) < input_columns
