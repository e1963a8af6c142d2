"""Splits a join condition into the equalities between the two sides, and the rest.

    a.x = b.y AND a.s || '!' = b.t AND a.n > b.n  =>  keys (a.x, b.y), (a.s || '!', b.t); rest a.n > b.n

A key is an equality, or IS NOT DISTINCT FROM, of an expression over the left side with one over the right. Both sides
are cast to one type, so that equal values have equal bytes. If no type holds the values of both, the equality stays in
the rest. So does a second equality of a column that is already a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from risingpy.functions.numeric_results import NumericRule, numeric_of, numeric_result
from risingpy.optimizer.rules.numeric_keys import key_of_expression
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, shifted
from risingpy.plan.expressions import Call, Cast, Expr, Literal
from risingpy.storage.codec.column_buffers import physical
from risingpy.types import BOOLEAN, DOUBLE, MAX_PRECISION, TIMESTAMP, SqlType, TypeKind

_KEYS = {"eq": False, "is_not_distinct_from": True}
_TRUE = Literal(True, BOOLEAN)


@dataclass(frozen=True, slots=True)
class EquiKey:
    """`left` over the left side's columns equals `right` over the right side's; with `null_safe`, NULLs are equal."""

    left: Expr
    right: Expr
    null_safe: bool


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """Rows match if all `keys` are equal and `rest` (over both sides' columns; None: always) is true."""

    keys: tuple[EquiKey, ...]
    rest: Expr | None


def split_condition(condition: Expr | None, left_width: int) -> JoinCondition:
    """Splits `condition`, whose columns are `left_width` left ones, then the right ones."""
    keys: list[EquiKey] = []
    rest: list[Expr] = []
    for part in [] if condition is None else conjuncts(condition):
        if part == _TRUE:
            continue
        key = equi_key(part, left_width)
        if key is None or any(key.left == other.left or key.right == other.right for other in keys):
            rest.append(part)
        else:
            keys.append(key)
    return JoinCondition(tuple(keys), conjunction(rest))


def equi_key(part: Expr, left_width: int) -> EquiKey | None:
    """The conjunct as a key; None if it is not an equality of the two sides."""
    match part:
        case Call(function, (first, second)) if function in _KEYS:
            sides = [_side(operand, left_width) for operand in (first, second)]
            if sides == [1, 0]:
                first, second = second, first
            elif sides != [0, 1]:
                return None
            common = _common_type(first.type, second.type)
            if common is None:
                return None
            left, right = (_as_type(operand, common) for operand in (first, second))
            return EquiKey(left, shifted(right, -left_width), _KEYS[function])
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Inequality:
    """`left comparison right`, of one type; the right side over its own columns."""

    left: Expr
    comparison: str
    right: Expr


_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def inequality(part: Expr, left_width: int) -> Inequality | None:
    """The conjunct as an inequality of the two sides; None if it is not one."""
    match part:
        case Call(function, (first, second)) if function in _COMPARISONS:
            comparison = _COMPARISONS[function]
            sides = [_side(operand, left_width) for operand in (first, second)]
            if sides == [1, 0]:
                first, second, comparison = second, first, _MIRRORED[comparison]
            elif sides != [0, 1]:
                return None
            common = _common_type(first.type, second.type)
            if common is None:
                return None
            return Inequality(_as_type(first, common), comparison, shifted(_as_type(second, common), -left_width))
        case _:
            return None


def _side(expr: Expr, left_width: int) -> int | None:
    """0 if the expression reads left columns only, 1 if right ones only."""
    sides = {int(column >= left_width) for column in columns_read(expr)}
    return sides.pop() if len(sides) == 1 else None


def _common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """A type that holds all values of both and gives equal values equal keys; None if there is none."""
    if left.arrow == right.arrow:
        return left if _has_key(left) else None
    if left.kind is right.kind is TypeKind.NUMERIC:
        common = numeric_result(NumericRule.LARGER, (left, right))
        fits = all(_digits(common) >= _digits(each) and _scale(common) >= _scale(each) for each in (left, right))
        return common if fits else None
    if {left.kind, right.kind} == {TypeKind.DATE, TypeKind.TIMESTAMP}:
        return TIMESTAMP
    if left.is_float and right.is_float:
        return DOUBLE
    if {left.kind, right.kind} <= {TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT}:
        return max(left, right, key=lambda each: int(each.arrow.bit_width))
    if all(each.is_integer or each.kind is TypeKind.NUMERIC for each in (left, right)):
        return _common_type(numeric_of(left), numeric_of(right))
    return None


def _digits(type_: SqlType) -> int:
    return (type_.precision or MAX_PRECISION) - _scale(type_)


def _scale(type_: SqlType) -> int:
    return type_.scale or 0


def _has_key(type_: SqlType) -> bool:
    """Whether equal values have equal keys. NULLs in arrays are equal; intervals there keep their units."""
    if type_.kind is TypeKind.ARRAY:
        return (
            type_.is_in_keys
            and not type_.has_json
            and type_.leaf.kind is not TypeKind.INTERVAL
            and _has_key(type_.leaf)
        )
    try:
        physical(type_.arrow)
    except TypeError:
        return False
    return True


def _as_type(expr: Expr, type_: SqlType) -> Expr:
    """The expression as that type; wide numerics by their keys, since 3.0 and 3.00 have different bytes.

    Two numerics of at most 38 digits may have a type in common that is wide, as numeric(38,1) and numeric(8,2) have.
    """
    cast = expr if expr.type.arrow == type_.arrow else Cast(expr, type_)
    return key_of_expression(cast) if type_.leaf.is_wide else cast


def key_expressions(keys: Sequence[EquiKey]) -> tuple[list[Expr], list[Expr]]:
    """The left and the right sides of `keys`."""
    return [key.left for key in keys], [key.right for key in keys]
