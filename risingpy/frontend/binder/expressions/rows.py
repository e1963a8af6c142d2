"""Row values: `(a, b) = (c, d)`, `ROW(a, b) < ROW(c, d)`, `(a, b) IN ((1, 2), …)`, and IN with a list of any kind.

Rows are equal if all their fields are, unequal if one is not; their order is that of the first fields that differ.
(PostgreSQL's manual, 9.24.5.)
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.literal_lists import bound_list
from risingpy.frontend.binder.expressions.nested import row_items
from risingpy.frontend.binder.expressions.symbols import BINARY
from risingpy.frontend.binder.trees import name_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.frontend.binder.typing.signature_calls import Calls
from risingpy.frontend.parser.literals.literal_list import LiteralList
from risingpy.plan.expressions import Call, Expr
from risingpy.types import BOOLEAN, TypeKind

_STRICT = {"<=": "<", ">=": ">"}
_ORDERS = ("<", ">", *_STRICT)


def row_fields(tree: exp.Expr) -> list[exp.Expr] | None:
    """The fields of a row value; None if the tree is none."""
    if isinstance(tree, exp.Tuple) or (isinstance(tree, exp.Anonymous) and name_of(tree.this) == "row"):
        return list(tree.expressions)
    return None


def compared_rows(calls: Calls, symbol: str, left: Sequence[Operand], right: Sequence[Operand], position: int) -> Expr:
    """`(left) symbol (right)`, of any number of fields."""
    if len(left) != len(right):
        raise SyntaxError_("unequal number of entries in row expressions", position=position)
    if not left:
        raise FeatureNotSupported("cannot compare rows of zero length", position=position)
    if len(left) > 1 and symbol not in ("=", "<>", *_ORDERS):
        raise FeatureNotSupported(f"operator {symbol} of row values is not supported", position=position)
    pairs = list(zip(left, right, strict=True))
    result = calls.operator(symbol, pairs[-1], position)
    for pair in reversed(pairs[:-1]):
        if symbol in _ORDERS:
            tie = Call("and", (calls.operator("=", pair, position), result), BOOLEAN)
            result = Call("or", (calls.operator(_STRICT.get(symbol, symbol), pair, position), tie), BOOLEAN)
        else:
            word = "and" if symbol == "=" else "or"
            result = Call(word, (calls.operator(symbol, pair, position), result), BOOLEAN)
    return result


def row_comparison(binder: ExpressionBinder, tree: exp.Binary) -> Expr | None:
    """`(a, b) = (c, d)`; None if a side is no row value."""
    left, right = row_fields(tree.this), row_fields(tree.expression)
    if left is None or right is None:
        return None
    sides = [row_items(binder, fields) for fields in (left, right)]
    return compared_rows(binder.calls, BINARY[type(tree)], sides[0], sides[1], position_of(tree))


def in_list(binder: ExpressionBinder, tree: exp.In) -> Expr:
    """`x IN (…)` with a list of values."""
    if row_fields(tree.this) is not None:
        return _row_in(binder, tree)
    operand = binder.bind(tree.this)

    def compare(items: Sequence[Operand]) -> Expr:
        kinds = {item.type.kind for item in (operand, *items)} - {TypeKind.UNKNOWN}
        if len(kinds) > 1:
            # Each item must compare with the operand; this raises "operator does not exist" where one does not.
            for item in items:
                binder.calls.operator("=", [operand, item], position_of(tree))
        return binder.calls.form("IN", [operand, *items], "IN")

    match tree.expressions:
        case [LiteralList() as items]:
            return bound_list(items, binder.context.coercer, binder.parameter, compare)
        case items:
            return compare([binder.bind(item) for item in items])


def _row_in(binder: ExpressionBinder, tree: exp.In) -> Expr:
    parts = []
    left = row_items(binder, row_fields(tree.this) or ())
    for item in tree.expressions:
        fields = row_fields(item)
        if fields is None:
            raise FeatureNotSupported("a row value is not supported", position=position_of(tree))
        right = row_items(binder, fields)
        parts.append(compared_rows(binder.calls, "=", left, right, position_of(tree)))
    result = parts[0]
    for part in parts[1:]:
        result = Call("or", (result, part), BOOLEAN)
    return result


def row_null_test(binder: ExpressionBinder, tree: exp.Is, *, negated: bool) -> Expr | None:
    """A row value is NULL if all its fields are, and not NULL if none is. None if it has no field, or is none."""
    fields = row_fields(tree.this)
    if not fields:
        return None
    name = "IS_NOT_NULL" if negated else "IS_NULL"
    parts = [binder.calls.form(name, [binder.bind(field)], "IS NULL") for field in fields]
    result = parts[0]
    for part in parts[1:]:
        result = Call("and", (result, part), BOOLEAN)
    return result
