"""Project: computes expressions. If its input is a Filter, the same evaluator filters first."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.executors.change_chunk import consolidated
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Expr, InputRef
from risingpy.types import SqlType


class ProjectExecutor:
    """An expression that fails gives NULL, and `errors` counts it.

    `may_cancel`: the two rows of an update can be equal in the output; such pairs are dropped. `passed` counts the rows
    before they are.
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
    """Whether different input rows can give equal output rows: some input column is not in the output unchanged."""
    kept = {expr.index for expr in expressions if isinstance(expr, InputRef)}
    return len(kept) < input_columns
