"""Answers that are columns of one input as they come: DuckDB would bind a query only to pass them on."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import CopiedRows, Input, PointGet, PrefixScan
from risingpy.batch.reads import PlanRun
from risingpy.plan.expressions import Literal
from risingpy.types import BIGINT

_ABSENT = Literal(None, BIGINT)


def copied_rows(copied: CopiedRows, input_: Input, reads: PlanRun, most: int) -> Iterator[pa.RecordBatch] | None:
    """The answer in batches of at most `most` rows, each taken when it is asked for. Columns have any names.

    None if only DuckDB can tell which rows these are: a value that a key's type does not have, a LIMIT that is refused.
    """
    bounds = _bounds(copied, reads.parameters)
    if bounds is None or (isinstance(input_, PointGet | PrefixScan) and not reads.knows_key(input_)):
        return None
    return _pieces(copied.columns, input_, reads, most, *bounds)


def _bounds(copied: CopiedRows, parameters: Parameters) -> tuple[int, int | None] | None:
    """How many rows are skipped, and how many come (None: all)."""
    known = [_ABSENT if expr is None else constant(expr, parameters) for expr in (copied.offset, copied.limit)]
    numbers = [None if each is None else each.value for each in known]
    if None in known or any(isinstance(number, int) and number < 0 for number in numbers):
        return None
    offset, limit = (number if isinstance(number, int) else None for number in numbers)
    return offset or 0, limit


def _pieces(
    columns: tuple[int, ...], input_: Input, reads: PlanRun, most: int, skipped: int, left: int | None
) -> Iterator[pa.RecordBatch]:
    if left == 0:
        return
    rows = reads.rows(input_)
    for batch in rows.to_batches() if isinstance(rows, pa.Table) else rows:
        wanted = batch.slice(min(skipped, batch.num_rows))
        skipped -= batch.num_rows - wanted.num_rows
        wanted = wanted.slice(0, left)
        copied = pa.RecordBatch.from_arrays([wanted.column(k) for k in columns], [f"c{k}" for k in range(len(columns))])
        yield from (copied.slice(first, most) for first in range(0, copied.num_rows, most))
        if left is not None:
            left -= copied.num_rows
            if not left:
                return
