"""Casts of stored rows: rows written before ALTER COLUMN TYPE are read through the cast that ALTER has recorded.

Storage does not know expressions, so the code that opens a store passes `cast_stored` to it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import pyarrow as pa

from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Expr


@lru_cache(maxsize=256)
def _evaluator(expression: Expr) -> Evaluator:
    return Evaluator(None, (expression,))


def cast_stored(expression: object, column: pa.Array) -> pa.Array:
    """The expression's values over one column. ALTER has evaluated it for every row, so none fails."""
    ops = pa.repeat(pa.scalar(1, pa.int8()), len(column))  # the evaluator takes change chunks, which have ops
    rows, _ = _evaluator(cast(Expr, expression)).evaluate(pa.table([ops, column], names=["op", "c0"]))
    return rows.column(1).combine_chunks()
