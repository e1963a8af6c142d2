"""Projections that the planner itself needs: columns picked, columns added; none stacked upon another."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.executors.expression.nodes import Call, Case, Cast, Expr, InputRef, Literal, Parameter
from risingpy.optimizer.logical import Field
from risingpy.optimizer.plan import ColumnIndex, Project, StreamPlan
from risingpy.optimizer.properties import derived, underived


def references(plan: StreamPlan) -> list[InputRef]:
    """A reference to every column of `plan`'s output."""
    return [InputRef(i, field.type) for i, field in enumerate(plan.properties.schema)]


def projected(input: StreamPlan, expressions: Sequence[Expr], schema: Sequence[Field]) -> Project:
    """`Project(expressions)` over `input`; where all only pick columns of another Project, that one is narrowed."""
    picked = [e.index for e in expressions if isinstance(e, InputRef)]
    if isinstance(input, Project) and len(picked) == len(expressions):
        return projected(input.input, [input.expressions[i] for i in picked], schema)
    return derived(Project(input, tuple(expressions), underived(tuple(schema))))


def select_columns(input: StreamPlan, positions: Sequence[ColumnIndex]) -> StreamPlan:
    """The columns at `positions` in that order; `input` itself if that is what it has."""
    if list(positions) == list(range(len(input.properties.schema))):
        return input
    columns = references(input)
    return projected(input, [columns[i] for i in positions], [input.properties.schema[i] for i in positions])


def append_columns(input: StreamPlan, expressions: Sequence[Expr], fields: Sequence[Field]) -> StreamPlan:
    """`input` with computed columns at its end; `input` itself if there are none."""
    if not expressions:
        return input
    return projected(input, [*references(input), *expressions], [*input.properties.schema, *fields])


def subexpressions(expression: Expr) -> list[Expr]:
    """The expression and everything inside it, outside in."""
    found = [expression]
    match expression:
        case Call():
            parts: Sequence[Expr] = expression.args
        case Cast():
            parts = [expression.arg]
        case Case():
            parts = [part for branch in expression.branches for part in branch] + [expression.default]
        case InputRef() | Literal() | Parameter():
            parts = []
    for part in parts:
        found += subexpressions(part)
    return found
