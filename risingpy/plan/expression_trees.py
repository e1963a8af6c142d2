"""Walking through expressions, and making new ones of their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from risingpy.plan.expressions import Call, Expr, InputRef, Literal, operands, with_operands
from risingpy.types import BOOLEAN, VARCHAR, SqlType

# LET(operand, body, OPERAND): the body, in which `operand_of` stands for the operand, however often; it is computed
# once. A body reads only its own operand, and nothing around it reads that. So one name is enough for all of them.
LET = "let"
OPERAND = Literal("operand", VARCHAR)


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
    rest = [expr]
    while rest:
        part = rest.pop()
        yield part
        rest += reversed(operands(part))


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


def operand_of(type_: SqlType) -> Call:
    """What stands for the operand in the body of a LET."""
    return Call("lambda_parameter", (OPERAND,), type_)


def opened(body: Expr, operand: Expr) -> Expr:
    """The body of a LET over another expression in place of its operand."""

    def change(part: Expr) -> Expr | None:
        match part:
            case Call("lambda_parameter", (name,)) if name == OPERAND:
                return operand
            case Call("let", (inner, own, name)):  # its body does not read the operand around it
                return Call(LET, (transform(inner, change), own, name), part.type)
            case _:
                return None

    return transform(body, change)


def conjunction(parts: Sequence[Expr]) -> Expr | None:
    """The AND of `parts` as a shallow tree: what walks it later recurses. None of nothing."""
    return _balanced("and", parts)


def disjunction(parts: Sequence[Expr]) -> Expr | None:
    """The OR of `parts`. None of nothing."""
    return _balanced("or", parts)


def _balanced(function: str, parts: Sequence[Expr]) -> Expr | None:
    if len(parts) <= 1:
        return parts[0] if parts else None
    middle = (len(parts) + 1) // 2
    left, right = _balanced(function, parts[:middle]), _balanced(function, parts[middle:])
    assert left is not None and right is not None
    return Call(function, (left, right), BOOLEAN)


def conjuncts(expr: Expr) -> list[Expr]:
    """The parts of a conjunction."""
    found: list[Expr] = []
    rest = [expr]
    while rest:
        match rest.pop():
            case Call("and", (left, right)):
                rest += (right, left)
            case part:
                found.append(part)
    return found
