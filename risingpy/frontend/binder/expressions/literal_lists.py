"""`x IN (…)` with a long list of plain numbers, texts or parameters, which the parser hands over as one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.errors import SqlError
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Coercer, Operand, widened
from risingpy.frontend.binder.typing.literals import number_literal
from risingpy.frontend.parser.literal_list import LiteralList, items_of
from risingpy.functions.evaluation.literal_lists import in_list, is_listed
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import INTEGER, UNKNOWN, SqlType, TypeKind

MakeParameter = Callable[[int, int], Expr]
Compare = Callable[[Sequence[Operand]], Expr]
_INTEGERS = range(-(1 << 31), 1 << 31)


def bound_list(tree: LiteralList, coercer: Coercer, parameter: MakeParameter, compare: Compare) -> Expr:
    """The test; `compare` makes the call of "in" with some of the items. What does not become constants stays one."""
    items = _operands(tree, parameter)
    # One item of each type settles the type of all.
    call = compare(list({item.type: item for item in reversed(items)}.values()))
    assert isinstance(call, Call)
    operand, *samples = call.args
    target = samples[0].type
    values = _constants(items, target, coercer) if is_listed(target) else None
    return compare(items) if values is None else in_list(operand, values, target)


def _operands(tree: LiteralList, parameter: MakeParameter) -> list[Operand]:
    texts, starts = items_of(str(tree.this))
    first = position_of(tree)
    literals: Sequence[Expr]
    if texts[0].startswith("'"):
        literals = [Literal(text[1:-1].replace("''", "'"), UNKNOWN) for text in texts]
    elif texts[0].startswith("$"):
        literals = [parameter(int(text[1:]), first + start) for text, start in zip(texts, starts, strict=True)]
    elif "." not in tree.this and all(len(text) < 19 and int(text) in _INTEGERS for text in texts):
        literals = [Literal(int(text), INTEGER) for text in texts]
    else:
        literals = [number_literal(text, first + start) for text, start in zip(texts, starts, strict=True)]
    return [Operand(literal, first + start) for literal, start in zip(literals, starts, strict=True)]


def _constants(items: Sequence[Operand], target: SqlType, coercer: Coercer) -> list[object] | None:
    """The items as values of the type; None if one is known only later. Raises the first one's error."""
    plain = target.is_integer or (target.kind is TypeKind.VARCHAR and target.length is None)
    values: list[object] = []
    for item in items:
        expr = item.expr
        if not (plain and isinstance(expr, Literal) and isinstance(expr.value, int if target.is_integer else str)):
            try:
                expr = coercer.exactly(item, target)
            except SqlError as error:
                error.position = error.position or item.position
                raise
            expr = widened(expr) if target.is_wide else expr
        if not isinstance(expr, Literal):
            return None
        values.append(expr.value)
    return values
