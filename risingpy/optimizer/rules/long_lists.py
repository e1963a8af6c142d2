"""Makes one array constant of the items of a long IN list. Parameters in it have become constants before this rule.

Filter(x IN (1, 2, …, 1000); a)  =>  Filter(in_list(x, ARRAY[1, 2, …, 1000]); a)
Filter(x = ANY ('{1,2,…}'); a)   =>  Filter(x IN (1, 2, …); a), which is then one of these

ANY over an array compares each row with each element, and IN looks rows up in a hash table.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.functions.evaluation.literal_lists import SHORTEST, in_list, is_listed, listed
from risingpy.optimizer.rewrite import map_expressions, rewrite_plan
from risingpy.plan.expressions import Call, Cast, Expr, Literal, operands, with_operands
from risingpy.plan.logical import LogicalPlan, Values
from risingpy.types import BOOLEAN, SqlType, TypeKind

_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)


def long_lists(plan: LogicalPlan) -> LogicalPlan:
    """The plan with each long list as one constant; a short list, or one with an item that varies, stays."""
    return rewrite_plan(plan, _with_lists)


def _with_lists(plan: LogicalPlan) -> LogicalPlan:
    return plan if isinstance(plan, Values) else map_expressions(plan, _listed)  # the rows of an INSERT may be many


def _listed(expr: Expr) -> Expr:
    parts = operands(expr)
    changed = [_listed(part) for part in parts]
    if any(new is not old for new, old in zip(changed, parts, strict=True)):
        expr = with_operands(expr, changed)
    if not isinstance(expr, Call):
        return expr
    match expr.function:
        case "in":
            return listed(expr)
        case "any_eq":
            return _with_items(expr) or expr
        case "all_ne":
            found = _with_items(expr)
            return expr if found is None else Call("not", (found,), BOOLEAN)
    return expr


def _with_items(call: Call) -> Call | None:
    """`operand IN (elements)`, of a comparison with a constant array of one dimension that has any; else None."""
    operand, array = call.args
    element = array.type.element
    if isinstance(array, Cast) and _is_of_smaller_integers(array.arg.type, element):
        array = array.arg  # drivers send small integers as int2
    if not isinstance(array, Literal) or not array.value or not is_listed(element) or operand.type != element:
        return None
    assert isinstance(array.value, Sequence)
    if len(array.value) >= SHORTEST and any(value is not None for value in array.value):
        return in_list(operand, array.value, element)
    return listed(Call("in", (operand, *(Literal(value, element) for value in array.value)), BOOLEAN))


def _is_of_smaller_integers(array: SqlType, element: SqlType) -> bool:
    """Whether an array's elements are integers that `element` has room for."""
    if array.kind is not TypeKind.ARRAY or array.element.kind not in _INTEGERS:
        return False
    return element.kind in _INTEGERS[_INTEGERS.index(array.element.kind) :]
