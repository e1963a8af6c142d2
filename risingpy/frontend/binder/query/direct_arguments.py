"""Direct arguments of aggregates WITHIN GROUP, where several grouping sets copy each row.

    SELECT a, rank(a) WITHIN GROUP (ORDER BY b) FROM t GROUP BY ROLLUP (a)          sets 0: (a), 1: ()
    =>  count(*) FILTER (WHERE b < CASE WHEN copy = 0 THEN a END OR …) + 1

A direct argument is made of the group's keys, which are NULL in a set that lacks them. What is aggregated is of the
row, where `a` has its value in each copy. So binding marks the columns of direct arguments (`DIRECT`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard

from risingpy.frontend.binder.scope.aggregates import DIRECT
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Call, Expr, InputRef


def plain(expr: Expr) -> Expr:
    """`expr` without marks."""
    return transform(expr, lambda e: e.args[0] if _is_mark(e) else None)


def is_direct(expr: Expr) -> bool:
    """Whether a direct argument's columns are in `expr`."""
    return any(map(_is_mark, walk(expr)))


def aggregated_columns(expr: Expr) -> list[InputRef]:
    """The columns in `expr` that are no direct argument's."""
    found: list[InputRef] = []

    def look(part: Expr) -> Expr | None:
        if isinstance(part, InputRef):
            found.append(part)
        return part if _is_mark(part) else None

    transform(expr, look)
    return found


def of_copy(expr: Expr, keys: Mapping[Expr, Expr], column: Callable[[InputRef], Expr]) -> Expr:
    """`expr` over the copies of the rows: of direct arguments `keys` as the copy's set has them, else `column`."""

    def change(part: Expr) -> Expr | None:
        if is_direct(part) and not aggregated_columns(part) and (key := keys.get(plain(part))) is not None:
            return key
        if _is_mark(part):
            return transform(part.args[0], keys.get)
        return column(part) if isinstance(part, InputRef) else None

    return transform(expr, change)


def _is_mark(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.function == DIRECT
