"""Answers without DuckDB: constants, and rows found by their keys, as Arrow data."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.batch.moments import Clock, GivesNumbers, of_moment, taken
from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import ConstantRows, Direct
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Schema, Values
from risingpy.types import TypeKind

# Of these types the value of a constant is what Arrow takes.
_PLAIN = frozenset(
    (
        *(TypeKind.BOOLEAN, TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.REAL, TypeKind.DOUBLE),
        *(TypeKind.VARCHAR, TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NS, TypeKind.ENUM),
    )
)


def constant_table(
    rows: ConstantRows, schema: Schema, parameters: Parameters, numbers: GivesNumbers, now: Clock
) -> pa.Table | None:
    """The rows as a table (c0…); None if only the evaluator can compute a value, or raise its error.

    Takes `numbers` of sequences if the rows have some, and if all else is known.
    """
    momentary = [[expr for expr in column if of_moment(expr)] for column in rows.columns]
    known = []
    for column, others in zip(rows.columns, momentary, strict=True):
        values = _values([expr for expr in column if not of_moment(expr)] if others else column, parameters)
        if values is None:
            return None
        known.append(values)
    arrays, time = [], now()
    for column, others, values, field in zip(rows.columns, momentary, known, schema, strict=True):
        if others:
            given, rest = iter(taken(others, numbers, time)), iter(values)
            values = [next(given) if of_moment(expr) else next(rest) for expr in column]
        arrays.append(pa.array(values, field.type.arrow))
    return pa.table(arrays, names=_names(len(arrays)))


def constant_rows(plan: Values) -> pa.Table | None:
    """VALUES of constants alone as a table (c0…); None if something is to be computed, or of no type yet."""
    arrays = []
    for column, field in zip(zip(*plan.rows, strict=True), plan.schema, strict=True):
        values = [expr.value for expr in column if isinstance(expr, Literal) and expr.type == field.type]
        if len(values) < len(column) or field.type.kind not in _PLAIN:
            return None
        arrays.append(pa.array(values, field.type.arrow))
    return pa.table(arrays, names=_names(len(arrays)))


def direct_rows(direct: Direct, found: pa.RecordBatch, parameters: Parameters) -> pa.RecordBatch | None:
    """The outputs of a lookup that has found one row or none; None if only the evaluator can compute them."""
    if direct.is_all_of_row:
        return found
    arrays = []
    for output in direct.outputs:
        if isinstance(output, InputRef):
            arrays.append(found.column(output.index))
            continue
        values = _values([output] * found.num_rows, parameters)
        if values is None:
            return None
        arrays.append(pa.array(values, output.type.arrow))
    return pa.RecordBatch.from_arrays(arrays, names=_names(len(arrays)))


def _values(exprs: Sequence[Expr], parameters: Parameters) -> list[object] | None:
    literals = [constant(expr, parameters) for expr in exprs]
    known = [literal.value for literal in literals if literal is not None]
    return known if len(known) == len(literals) else None


def _names(count: int) -> list[str]:
    return [f"c{index}" for index in range(count)]
