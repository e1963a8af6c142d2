"""Lengths of texts and bit strings inside of arrays and rows: a value that is stored there must not be longer.

INSERT INTO t (a) VALUES (x)   =>   array_transform(x, each -> check_length(each, 4))   for a column a varchar(4)[]
A cast cuts what is too long, an assignment raises 22001 (PostgreSQL's manual, 8.3). So the value comes with its parts
unlimited, and each part is then assigned as a column of the part's type would be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from risingpy.plan.expressions import Call, Case, Expr, Literal
from risingpy.types import BOOLEAN, VARCHAR, SqlType, TypeKind

AssignPart = Callable[[Expr, SqlType], Expr]


def limits_parts(type_: SqlType) -> bool:
    """Whether a part of an array's or a row's type has a length."""
    return type_.kind in (TypeKind.ARRAY, TypeKind.STRUCT) and any(
        limits_parts(item) or ((item.is_text or item.is_bits) and item.length is not None) for item in type_.items
    )


def without_lengths(type_: SqlType) -> SqlType:
    """The type with texts and bit strings of any length in it."""
    if type_.kind in (TypeKind.ARRAY, TypeKind.STRUCT):
        return replace(type_, items=tuple(map(without_lengths, type_.items)))
    return replace(type_, length=None) if type_.is_text or type_.is_bits else type_


def with_parts_assigned(value: Expr, target: SqlType, assign: AssignPart, depth: int = 0) -> Expr:
    """`value`, of `without_lengths(target)`, as `target`; `assign` checks one part. `depth`: of lambdas."""
    if not limits_parts(target):
        return assign(value, target)
    if isinstance(value, Literal):
        return Literal(_constant(value.value, value.type, target, assign), target)
    if target.kind is TypeKind.ARRAY:
        name = Literal(f"part{depth}", VARCHAR)
        part = Call("lambda_parameter", (name,), value.type.element)
        body = with_parts_assigned(part, target.element, assign, depth + 1)
        return Call("array_transform", (value, body, name), target)
    fields = tuple(
        with_parts_assigned(Call("field", (value, Literal(name, VARCHAR)), given), wanted, assign, depth)
        for name, given, wanted in zip(value.type.names, value.type.items, target.items, strict=True)
    )
    absent = Call("is_null", (value,), BOOLEAN)
    return Case(((absent, Literal(None, target)),), Call("row", fields, target), target)


def _constant(value: object, given: SqlType, target: SqlType, assign: AssignPart) -> object:
    if value is None:
        return None
    if not limits_parts(target):
        made = assign(Literal(value, given), target)
        assert isinstance(made, Literal)
        return made.value
    assert isinstance(value, tuple)
    is_array = target.kind is TypeKind.ARRAY
    givens = [given.element] * len(value) if is_array else given.items
    wanted = [target.element] * len(value) if is_array else target.items
    return tuple(_constant(*part, assign) for part in zip(value, givens, wanted, strict=True))
