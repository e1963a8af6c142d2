"""Tools on expressions: look inside, rebuild, move to another input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

from risingpy.executors.expression.nodes import Call, Case, Cast, Expr, InputRef, Literal, Parameter


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside."""
    match expr:
        case Call():
            return expr.args
        case Cast():
            return (expr.arg,)
        case Case():
            return (*(part for branch in expr.branches for part in branch), expr.default)
        case InputRef() | Literal() | Parameter():
            return ()
        case _:
            assert_never(expr)


def with_operands(expr: Expr, parts: Sequence[Expr]) -> Expr:
    """`expr` with other expressions inside, in the order of `operands`."""
    match expr:
        case Call():
            return Call(expr.function, tuple(parts), expr.type)
        case Cast():
            return Cast(parts[0], expr.type)
        case Case():
            branches = tuple(zip(parts[0:-1:2], parts[1:-1:2], strict=True))
            return Case(branches, parts[-1], expr.type)
        case InputRef() | Literal() | Parameter():
            return expr
        case _:
            assert_never(expr)


def transform(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rewrites top-down: what `change` returns stands (None: go inside)."""
    changed = change(expr)
    if changed is not None:
        return changed
    parts = operands(expr)
    rewritten = [transform(part, change) for part in parts]
    if all(new is old for new, old in zip(rewritten, parts, strict=True)):
        return expr
    return with_operands(expr, rewritten)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, outside in."""
    yield expr
    for part in operands(expr):
        yield from walk(part)


def columns_read(expr: Expr) -> set[int]:
    """The input columns that the expression reads."""
    return {part.index for part in walk(expr) if isinstance(part, InputRef)}


def shifted(expr: Expr, offset: int) -> Expr:
    """The expression over an input in which `offset` columns have come before its own."""
    return transform(expr, lambda e: InputRef(e.index + offset, e.type) if isinstance(e, InputRef) else None)


def substituted(expr: Expr, columns: Sequence[Expr]) -> Expr:
    """The expression with each input column replaced by the expression that computes it."""
    return transform(expr, lambda e: columns[e.index] if isinstance(e, InputRef) else None)


def remapped(expr: Expr, positions: dict[int, int]) -> Expr:
    """The expression over an input whose columns have moved: old position → new position."""
    return transform(expr, lambda e: InputRef(positions[e.index], e.type) if isinstance(e, InputRef) else None)


def conjuncts(expr: Expr) -> list[Expr]:
    """The parts of a conjunction."""
    match expr:
        case Call("and", (left, right)):
            return conjuncts(left) + conjuncts(right)
        case _:
            return [expr]
