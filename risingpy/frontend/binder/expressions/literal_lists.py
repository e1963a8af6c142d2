"""`x IN (…)` with a long list of plain numbers, texts or parameters, which the parser hands over as one text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from risingpy.errors import SqlError
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Coercer, Operand, widened
from risingpy.frontend.binder.typing.literals import number_literal
from risingpy.frontend.parser.literals.literal_list import LiteralList, items_of
from risingpy.functions.evaluation.literal_lists import in_list, is_listed
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import INTEGER, UNKNOWN, SqlType, TypeKind

MakeParameter = Callable[[int, int], Expr]
Compare = Callable[[Sequence[Operand]], Expr]
_INTEGERS = range(-(1 << 31), 1 << 31)
_DIGITS_OF_BIGINT = 19


def bound_list(tree: LiteralList, coercer: Coercer, parameter: MakeParameter, compare: Compare) -> Expr:
    """The test; `compare` makes the call of "in" with some of the items. What does not become constants stays one."""
    texts, starts = items_of(str(tree.this))
    begin = position_of(tree)
    plain = _plain_values(tree, texts)  # a list may be long, and an object for each item takes longest of all
    literals = _literals(texts[:1] if plain else texts, starts, begin, plain, parameter)
    # One item of each type settles the type of all.
    call = compare(list({item.type: item for item in reversed(literals)}.values()))
    assert isinstance(call, Call)
    operand, *samples = call.args
    target = samples[0].type
    if plain and _holds(target, plain[0]):
        return in_list(operand, plain, target)
    items = _literals(texts, starts, begin, plain, parameter) if plain else literals
    values = _constants(items, target, coercer) if is_listed(target) else None
    return compare(items) if values is None else in_list(operand, values, target)


def _plain_values(tree: LiteralList, texts: Sequence[str]) -> Sequence[int] | Sequence[str] | None:
    """The values of the items, if all are integers (of four bytes) or all are texts; else None."""
    if texts[0].startswith("'"):
        return [text[1:-1].replace("''", "'") for text in texts]
    if texts[0].startswith("$") or "." in tree.this or len(max(texts, key=len)) >= _DIGITS_OF_BIGINT:
        return None
    values = list(map(int, texts))
    return values if min(values) in _INTEGERS and max(values) in _INTEGERS else None


def _holds(target: SqlType, value: int | str) -> bool:
    """Whether a plain value is one of the type as it is."""
    if isinstance(value, int):
        return target.is_integer
    return target.kind is TypeKind.VARCHAR and target.length is None and is_listed(target)


def _literals(
    texts: Sequence[str],
    starts: Sequence[int],
    begin: int,
    plain: Sequence[int] | Sequence[str] | None,
    parameter: MakeParameter,
) -> list[Operand]:
    places = [begin + start for start in starts[: len(texts)]]
    literals: Iterable[Expr]
    if plain:
        type_ = INTEGER if isinstance(plain[0], int) else UNKNOWN
        literals = [Literal(value, type_) for value in plain[: len(texts)]]
    elif texts[0].startswith("$"):
        literals = [parameter(int(text[1:]), place) for text, place in zip(texts, places, strict=True)]
    else:
        literals = [number_literal(text, place) for text, place in zip(texts, places, strict=True)]
    return [Operand(literal, place) for literal, place in zip(literals, places, strict=True)]


def _constants(items: Sequence[Operand], target: SqlType, coercer: Coercer) -> list[object] | None:
    """The items as values of the type; None if one is known only later. Raises the first one's error."""
    values: list[object] = []
    for item in items:
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
