"""Project: computes expressions; a Filter right below it is evaluated on the way."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.executors.change_chunk import consolidated
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Expr, InputRef
from risingpy.types import SqlType


class ProjectExecutor:
    """An expression that fails gives NULL; `errors` counts them.

    With `may_cancel`, an update can leave the output as it was: such pairs are dropped. `passed`: rows before that.
    """

    def __init__(self, *, evaluator: Evaluator, types: Sequence[SqlType], may_cancel: bool) -> None:
        self._evaluator = evaluator
        self._types = types
        self._may_cancel = may_cancel
        self.errors = 0
        self.passed = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        projected, self.errors = self._evaluator.evaluate(changes)
        self.passed = projected.num_rows
        return consolidated(projected, self._types) if self._may_cancel else projected


def may_cancel(expressions: Sequence[Expr], input_columns: int) -> bool:
    """Whether different input rows can have equal output rows: some column is not passed on as it is."""
    kept = {expr.index for expr in expressions if isinstance(expr, InputRef)}
    return len(kept) < input_columns
