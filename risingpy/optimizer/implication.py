"""Whether one condition implies another: every row for which the first is true is one for which the second is true.

    a = 5 AND b > 10   =>   b > 7
    a = 5              =>   a IS NOT NULL
    s = 'new'          =>   s IN ('new', 'open')

A partial index answers a query, and is an arbiter of ON CONFLICT, only if its rows are all that the condition allows.
As PostgreSQL's predicate_implied_by (src/backend/optimizer/util/predtest.c), this proves what is proved cheaply: False
means that it has no proof.
"""

from __future__ import annotations

from decimal import Decimal

from risingpy.optimizer.facts import rejected_nulls
from risingpy.optimizer.rules.constant_folding import fold
from risingpy.plan.expression_trees import conjuncts, transform
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.types import BOOLEAN, SqlType, TypeKind

_TRUE = Literal(True, BOOLEAN)
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def implies(given: Expr, wanted: Expr) -> bool:
    """Whether `wanted` is true of every row of which `given` is. Both are boolean, over the same columns."""
    known = [_in_order(each) for each in conjuncts(fold(given))]
    constants = dict(_constants(known))

    def with_constants(part: Expr) -> Expr | None:
        return constants.get(part.index) if isinstance(part, InputRef) else None

    def is_implied(part: Expr) -> bool:
        match part:
            case Call("and", (left, right)):
                return is_implied(left) and is_implied(right)
            case Call("or", (left, right)) if is_implied(left) or is_implied(right):
                return True
            case Call("is_not_null", (InputRef(index=column),)) | Call(
                "not", (Call("is_null", (InputRef(index=column),)),)
            ):
                return part in known or any(column in rejected_nulls(each) for each in known)
            case Call("in", (InputRef(index=column), *listed)) if constants.get(column) in listed:
                return True
        if part in known or fold(transform(part, with_constants)) == _TRUE:
            return True
        return any(_is_narrower(each, part) for each in known)

    return is_implied(_in_order(fold(wanted)))


def _in_order(part: Expr) -> Expr:
    """A comparison of a constant with something as one of something with the constant."""
    match part:
        case Call("and" | "or", (left, right)):
            return Call(part.function, (_in_order(left), _in_order(right)), part.type)
        case Call("eq" | "ne" | "lt" | "le" | "gt" | "ge", (Literal() as constant, other)):
            return Call(_TURNED.get(part.function, part.function), (other, constant), part.type)
        case _:
            return part


def _constants(known: list[Expr]) -> list[tuple[int, Literal]]:
    """The columns of which the known conditions say what they are."""
    found: list[tuple[int, Literal]] = []
    for each in known:
        match each:
            case Call("eq", (InputRef(index=column, type=type_), Literal(value) as constant)):
                if constant.type == type_ and _has_order(value, type_):
                    found.append((column, constant))
            case InputRef(index=column, type=type_) if type_ == BOOLEAN:
                found.append((column, _TRUE))
            case Call("not", (InputRef(index=column),)):
                found.append((column, Literal(False, BOOLEAN)))
    return found


def _has_order(value: object, type_: SqlType) -> bool:
    """Whether Python compares such values as SQL does; character(n) is compared without blanks at the end."""
    if isinstance(value, str):
        return type_.kind is TypeKind.VARCHAR
    return isinstance(value, bool | int | Decimal)


def _is_narrower(given: Expr, wanted: Expr) -> bool:
    """Whether a range, or a list, of the same expression lies within another one: `a > 10` in `a > 7`."""
    match given, wanted:
        case Call("in", (a, *inner_list)), Call("in", (b, *outer_list)) if a == b:
            return all(each in outer_list for each in inner_list)
        case Call(one, (a, Literal(inner, type_))), Call(other, (b, Literal(outer))) if a == b:
            if type(inner) is not type(outer) or not _has_order(inner, type_):
                return False
            if one in ("gt", "ge") and other in ("gt", "ge"):
                return inner > outer or (inner == outer and (one == "gt" or other == "ge"))  # type: ignore[operator]
            if one in ("lt", "le") and other in ("lt", "le"):
                return inner < outer or (inner == outer and (one == "lt" or other == "le"))  # type: ignore[operator]
    return False
