"""Projections of a stream plan: they compute, select or add columns. Two projections become one where possible.

A column has the name of the column that it passes on, or the text of its expression, so that EXPLAIN shows its origin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.optimizer.explain.tree import column_names
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Field
from risingpy.plan.operators import StreamPlan, StreamProject
from risingpy.plan.properties import ColumnIndex


def references(plan: StreamPlan) -> list[InputRef]:
    """A reference to every column of `plan`'s output."""
    return [InputRef(i, field.type) for i, field in enumerate(plan.properties.schema)]


def projected(input: StreamPlan, expressions: Sequence[Expr]) -> StreamPlan:
    """`Project(expressions)` over `input`; only `input` if it already has exactly these columns.

    If `input` is a Project and no expression reads a computed column, the two become one.
    """
    if list(expressions) == references(input):
        return input
    if isinstance(input, StreamProject) and _can_merge(input.expressions, expressions):
        inner = input.expressions
        return projected(input.input, [transform(e, lambda part: _replaced(part, inner)) for e in expressions])
    names = column_names(input.properties.schema)
    fields = tuple(_field(input, expression, names) for expression in expressions)
    return derived(StreamProject(input, tuple(expressions), underived(fields)))


def select_columns(input: StreamPlan, positions: Sequence[ColumnIndex]) -> StreamPlan:
    """The columns at `positions` in that order."""
    columns = references(input)
    return projected(input, [columns[i] for i in positions])


def with_columns(input: StreamPlan, expressions: Sequence[Expr]) -> tuple[StreamPlan, tuple[ColumnIndex, ...]]:
    """`input` with columns for `expressions`, and the positions of these columns."""
    columns: list[Expr] = list(references(input))
    key = []
    for expression in expressions:
        if isinstance(expression, InputRef):
            key.append(expression.index)
            continue
        if expression not in columns:
            columns.append(expression)
        key.append(columns.index(expression))
    return projected(input, columns), tuple(key)


def _can_merge(inner: Sequence[Expr], outer: Sequence[Expr]) -> bool:
    """True unless an expression would be computed twice, or an inner error would make more values NULL than before."""
    uses = Counter(part.index for expression in outer for part in walk(expression) if isinstance(part, InputRef))
    once = all(count == 1 or isinstance(inner[i], InputRef | Literal) for i, count in uses.items())
    plain = all(
        isinstance(expression, InputRef)
        or all(isinstance(inner[p.index], InputRef | Literal) for p in walk(expression) if isinstance(p, InputRef))
        for expression in outer
    )
    return once and plain


def _replaced(part: Expr, inner: Sequence[Expr]) -> Expr | None:
    return inner[part.index] if isinstance(part, InputRef) else None


def _field(input: StreamPlan, expression: Expr, names: Sequence[str]) -> Field:
    if isinstance(expression, InputRef):
        return input.properties.schema[expression.index]
    return Field(expression_text(expression, names), expression.type)
