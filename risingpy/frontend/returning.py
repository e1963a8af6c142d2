"""RETURNING: expressions over the rows that a statement has written."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from risingpy.frontend.binder.dml.returning import Returning
from risingpy.frontend.command import Parameters
from risingpy.frontend.results import ResultField
from risingpy.frontend.statement_context import StatementContext


def returning_fields(returning: Returning | None) -> tuple[ResultField, ...] | None:
    """The columns that the client gets; None without RETURNING, where the statement answers with a tag alone."""
    if returning is None:
        return None
    told = zip(returning.fields, returning.shown_types, returning.origins, strict=True)
    return tuple(ResultField(field.name, shown, *origin) for field, shown, origin in told)


def returned(
    session: StatementContext, returning: Returning | None, rows: pa.Table, parameters: Parameters
) -> Iterator[pa.RecordBatch] | None:
    """The RETURNING columns of `rows` (all columns of the relation, c0…), computed at once."""
    if returning is None:
        return None
    batches: list[pa.RecordBatch] = session.evaluate(
        returning.expressions, returning.fields, rows, parameters
    ).to_batches()
    return iter(batches)
