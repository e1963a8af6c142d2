"""Evaluates a filter and a projection on change chunks. A failing evaluation gives NULL and is counted.

A view must not stop because of one row, so evaluation is not strict. It first tries the fast way on the whole chunk:
Arrow if it can, else one DuckDB query. Only if a row fails, it evaluates the expression part by part (`part_by_part`).
A predicate that is NULL then counts as false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.evaluation.arrow_functions import Evaluate, compile_arrow
from risingpy.functions.evaluation.chunk_query import (
    FAILURES,
    Column,
    by_arrow,
    raise_if_invalid,
    run,
    select_of,
    typed,
)
from risingpy.functions.evaluation.part_by_part import part_by_part
from risingpy.plan.expressions import Expr, Literal

_CONSTANTS_PER_QUERY = 256


@dataclass(slots=True)
class _Compiled:
    """Expressions that are evaluated together: each compiled for Arrow if possible, the others as SQL.

    The SQL is made at its first use: most views need none.
    """

    expressions: Sequence[Expr]
    arrow: list[Evaluate | None]
    _selects: dict[tuple[int, ...], str] = field(default_factory=dict)

    @classmethod
    def of(cls, expressions: Sequence[Expr]) -> _Compiled:
        return cls(expressions, [compile_arrow(expr) for expr in expressions])

    def columns(self, chunk: pa.Table) -> tuple[list[Column], int]:
        """The expressions' values, and how many evaluations failed."""
        values = [by_arrow(arrow, expr, chunk) for arrow, expr in zip(self.arrow, self.expressions, strict=True)]
        rest = tuple(k for k, value in enumerate(values) if value is None)
        columns, errors = self._by_duckdb(rest, chunk) if rest else ([], 0)
        others = dict(zip(rest, columns, strict=True))
        return [others[k] if value is None else value for k, value in enumerate(values)], errors

    def _by_duckdb(self, positions: tuple[int, ...], chunk: pa.Table) -> tuple[list[Column], int]:
        """The values by one query, or if that fails each by its own; and how many evaluations failed."""
        wanted = [self.expressions[k] for k in positions]
        if positions not in self._selects:
            self._selects[positions] = select_of(wanted)
        try:
            columns = run(self._selects[positions], chunk)
            return [typed(column, expr.type) for column, expr in zip(columns, wanted, strict=True)], 0
        except FAILURES as error:
            raise_if_invalid(error)
        answers = [part_by_part(expr, chunk) for expr in wanted]
        return [column for column, _ in answers], sum(errors for _, errors in answers)


class Evaluator:
    """A predicate or None, and expressions or None (the input's columns), compiled once for many change chunks."""

    def __init__(self, predicate: Expr | None, expressions: Sequence[Expr] | None) -> None:
        self._predicate = None if predicate is None else _Compiled.of([predicate])
        self._expressions = None if expressions is None else _Compiled.of(expressions)

    def evaluate(self, chunk: pa.Table) -> tuple[pa.Table, int]:
        """The rows of `chunk` that satisfy the predicate, projected; and how many evaluations failed."""
        errors = 0
        if self._predicate is not None:
            chunk, errors = _filtered(chunk, self._predicate)
        if self._expressions is None:
            return chunk, errors
        columns, failed = self._expressions.columns(chunk)
        names = ["op", *(f"c{k}" for k in range(len(columns)))]
        return pa.table([chunk.column(0), *columns], names=names), errors + failed


def evaluate_constants(expressions: Sequence[Expr]) -> tuple[list[pa.Array], int]:
    """The values of expressions that read no columns, and how many evaluations failed."""
    one_row = pa.table([pa.array([1], pa.int8())], names=["op"])
    columns, errors = _Compiled(expressions, [None] * len(expressions)).columns(one_row)
    return [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns], errors


def evaluate_columns(columns: Sequence[Sequence[Expr]], types: Sequence[pa.DataType]) -> tuple[list[pa.Array], int]:
    """Columns of expressions that read no columns, as arrays of these types; and how many evaluations failed.

    Most are literals, of which Arrow makes an array. The others are computed by some hundreds at a time: each query
    costs a millisecond, and DuckDB takes longer than in proportion for thousands of outputs.
    """
    arrays: list[pa.Array] = []
    errors = 0
    for column, type_ in zip(columns, types, strict=True):
        parts = [pa.array([expr.value for expr in column if isinstance(expr, Literal)], type_)]
        computed = [expr for expr in column if not isinstance(expr, Literal)]
        for start in range(0, len(computed), _CONSTANTS_PER_QUERY):
            values, failed = evaluate_constants(computed[start : start + _CONSTANTS_PER_QUERY])
            parts += values
            errors += failed
        array = pa.concat_arrays(parts)
        if computed and len(parts[0]):  # the parts are of other rows: each row's value goes to its place
            is_computed = np.array([not isinstance(expr, Literal) for expr in column])
            array = array.take(pa.array(np.argsort(np.argsort(is_computed, kind="stable"))))
        arrays.append(array)
    return arrays, errors


def _filtered(chunk: pa.Table, predicate: _Compiled) -> tuple[pa.Table, int]:
    (mask,), errors = predicate.columns(chunk)
    if pc.all(mask, skip_nulls=False, min_count=0).as_py():
        return chunk, errors
    return chunk.filter(mask), errors
