"""Filter: passes the changes whose row satisfies a predicate."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.functions.evaluation.evaluate import Evaluator


class FilterExecutor:
    """`predicate` has a predicate and no columns of its own. `errors` counts failed rows; they count as false."""

    def __init__(self, *, predicate: Evaluator) -> None:
        self._predicate = predicate
        self.errors = 0

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        passed, self.errors = self._predicate.evaluate(changes)
        return passed
