"""Rows of plain constants as an Arrow table, without asking DuckDB: what most INSERTs are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import LogicalPlan, Project, Schema, Values


def literal_rows(plan: LogicalPlan) -> pa.Table | None:
    """The plan's rows, if it is VALUES of literals, perhaps with columns added or moved; else None."""
    if not plan.schema:  # an Arrow table without columns has no rows
        return None
    if isinstance(plan, Values):
        if not all(isinstance(expr, Literal) for row in plan.rows for expr in row):
            return None
        return _table([[_value(row[index]) for row in plan.rows] for index in range(len(plan.schema))], plan.schema)
    if isinstance(plan, Project) and isinstance(plan.input, Values):
        if not all(isinstance(expr, Literal | InputRef) for expr in plan.expressions):
            return None
        rows = plan.input.rows
        if not all(isinstance(expr, Literal) for row in rows for expr in row):
            return None
        return _table([_column(expr, rows) for expr in plan.expressions], plan.schema)
    return None


def _column(expr: Expr, rows: Sequence[Sequence[Expr]]) -> list[object]:
    if isinstance(expr, InputRef):
        return [_value(row[expr.index]) for row in rows]
    return [_value(expr)] * len(rows)


def _value(expr: Expr) -> object:
    assert isinstance(expr, Literal)
    return expr.value


def _table(columns: Sequence[Sequence[object]], schema: Schema) -> pa.Table:
    arrays = [pa.array(values, field.type.arrow) for values, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, names=[f"c{index}" for index in range(len(arrays))])
