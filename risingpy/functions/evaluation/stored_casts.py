"""Casts of stored rows: rows written before ALTER COLUMN TYPE are read through the cast that it recorded.

Storage knows no expressions of its own: whoever opens a store passes it `cast_stored`.
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
    """The expression over one column. ALTER has seen every row through it, so that none fails."""
    ops = pa.repeat(pa.scalar(1, pa.int8()), len(column))  # the evaluator passes on what happened to a row
    rows, _ = _evaluator(cast(Expr, expression)).evaluate(pa.table([ops, column], names=["op", "c0"]))
    return rows.column(1).combine_chunks()
