"""CHECK: no row for which the expression is false. A row for which it is NULL passes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.batch import value_of_row
from risingpy.frontend.constraints.violations import check_violation
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import CheckConstraint, Table
from risingpy.plan.expression_trees import remapped
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field
from risingpy.types import BOOLEAN

_FEW_ROWS = 4  # are evaluated here, in microseconds each; DuckDB needs a millisecond for any number of rows


def check_rows(session: StatementContext, table: Table, rows: pa.Table) -> None:
    """`rows` have all columns of the table. Raises 23514 for the first row that a CHECK refuses."""
    checks = sorted((each for each in table.constraints if isinstance(each, CheckConstraint)), key=lambda c: c.name)
    if not checks or not rows.num_rows:
        return
    places = {column.column_id: place for place, column in enumerate(table.columns)}
    expressions = [remapped(check.expression, places) for check in checks]
    failing = None
    if rows.num_rows <= _FEW_ROWS:
        failing = _first_of_few(table, rows, expressions)
    if failing is None:
        failing = _first_of_many(session, rows, expressions)
    row, number = failing
    if row < rows.num_rows:
        raise check_violation(table, checks[number], rows.slice(row, 1))


def _first_of_few(table: Table, rows: pa.Table, expressions: list[Expr]) -> tuple[int, int] | None:
    """(The first row that fails, the expression); (number of rows, 0) if all pass; None if only DuckDB can tell."""
    for row in range(rows.num_rows):
        alone = rows.slice(row, 1)
        for number, expression in enumerate(expressions):
            value = value_of_row(expression, table, alone)
            if value is None:
                return None
            if value.value is False:
                return row, number
    return rows.num_rows, 0


def _first_of_many(session: StatementContext, rows: pa.Table, expressions: list[Expr]) -> tuple[int, int]:
    schema = tuple(Field(f"c{i}", BOOLEAN) for i in range(len(expressions)))
    values = session.evaluate(expressions, schema, rows, ())
    found = [pc.index(column, pa.scalar(False)).as_py() for column in values.columns]
    return min(((row, number) for number, row in enumerate(found) if row >= 0), default=(rows.num_rows, 0))
