"""Comparisons as nodes: operators, rows, IN, ANY and ALL, BETWEEN, IS, NOT.

a BETWEEN SYMMETRIC b AND c    a >= b AND a <= c OR a >= c AND a <= b
a IN (1, 2, b)                 a = ANY (ARRAY[1, 2]) OR a = b
(a, b) = (1, 2)                a = 1 AND b = 2
(a, b) < (1, 2)                ROW(a, b) < ROW(1, 2)
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.frontend.binder.expressions.rows import row_fields
from risingpy.frontend.binder.expressions.subqueries import quantifier
from risingpy.frontend.binder.expressions.symbols import BINARY
from risingpy.frontend.binder.trees import begin_of, position_of
from risingpy.frontend.deparse import types_shown
from risingpy.frontend.deparse.conversion import Conversion, Convert
from risingpy.frontend.deparse.nodes import BooleanOperation, Listed, Nested, Node, Operation, Quantified, Spelled, Test
from risingpy.frontend.deparse.notes import Unprinted
from risingpy.frontend.deparse.operands import Typed, as_type, common, settled, unknown
from risingpy.frontend.parser.expression_parser import Operator
from risingpy.frontend.parser.literals.literal_list import LiteralList, items_of
from risingpy.plan.expressions import Call
from risingpy.types import BOOLEAN, TypeKind, array_of


def _binary(self: Conversion, tree: exp.Binary) -> Typed:
    return _by_symbol(self, tree, BINARY[type(tree)], [tree.this, tree.expression])


def _operator(self: Conversion, tree: Operator) -> Typed:
    return _by_symbol(self, tree, str(tree.this), tree.expressions)


def _named_operator(self: Conversion, tree: exp.Operator) -> Typed:
    """`a OPERATOR(pg_catalog.~) b`, which is printed without the schema, as it is always found."""
    sides = [self.typed(tree.this), self.typed(tree.expression)]
    bound = self.notes.expr(tree)
    symbol = str(tree.args["operator"]).rpartition(".")[2].strip()
    return self.operation(symbol, sides, bound, types_shown.text_of(bound.type))


def _by_symbol(self: Conversion, tree: exp.Expr, symbol: str, sides: Sequence[exp.Expr]) -> Typed:
    if len(sides) == 2:
        quantified = quantifier(sides[1])
        if quantified is not None:
            return _quantified(self, symbol, sides[0], *quantified)
        left, right = row_fields(sides[0]), row_fields(sides[1])
        if left is not None and right is not None:
            return Typed(_compared_rows(self, symbol, left, right), BOOLEAN)
        if left is not None and isinstance(sides[1], exp.Subquery):
            return Typed(Nested(sides[1], symbol, tuple(map(self.node, left))), BOOLEAN)
    bound = self.notes.expr(tree)
    return self.operation(symbol, [self.typed(side) for side in sides], bound, types_shown.text_of(bound.type))


def _compared_rows(self: Conversion, symbol: str, left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> Node:
    """Equal rows are a list of conditions after PostgreSQL's parse analysis, and only an order of rows stays one."""
    pairs = [
        self.operation(symbol, [self.typed(a), self.typed(b)], None, BOOLEAN).node
        for a, b in zip(left, right, strict=True)
    ]
    if len(pairs) == 1:
        return pairs[0]
    if symbol in ("=", "<>"):
        return BooleanOperation("AND" if symbol == "=" else "OR", tuple(pairs))
    made = [each.args for each in pairs if isinstance(each, Operation)]
    ours, theirs = (Listed("ROW(", tuple(args[side] for args in made), ")") for side in (0, 1))
    return Spelled(("(", ours, f" {symbol} ", theirs, ")"), is_simple=False)


def _quantified(self: Conversion, symbol: str, left: exp.Expr, inner: exp.Expr, everything: bool) -> Typed:
    word = "ALL" if everything else "ANY"
    if isinstance(inner, exp.Query | exp.Values):
        words = "IN" if (symbol, word) == ("=", "ANY") else f"{symbol} {word}"
        return Typed(Nested(inner, words, _fields(self, left)), BOOLEAN)
    operand, array = self.typed(left), self.typed(inner)
    if array.is_unknown and not operand.is_unknown:
        shown = types_shown.text_of(types_shown.plain(operand.type))
        array = Typed(as_type(array, array_of(shown)), array_of(shown))
    if array.is_unknown or array.type.kind is not TypeKind.ARRAY:
        raise Unprinted("ANY of a literal")
    if operand.is_unknown:
        operand = Typed(as_type(operand, array.type.element), array.type.element)
    wanted, element = types_shown.operand_types(symbol, operand.type, array.type.element)
    items = types_shown.cast(array.node, array.type, array_of(element))
    return Typed(Quantified(as_type(operand, wanted), symbol, word, items), BOOLEAN)


def _fields(self: Conversion, tree: exp.Expr) -> tuple[Node, ...]:
    """What stands before IN (SELECT …): an expression, or several in parentheses."""
    fields = row_fields(tree)
    return tuple(map(self.node, [tree] if fields is None else fields))


# -- NOT and IS ---------------------------------------------------------------------------------------------------


def _not(self: Conversion, tree: exp.Not) -> Typed:
    inner = tree.this
    if position_of(tree) > begin_of(inner):  # `a NOT IN …`, which is no NOT of a condition
        match inner:
            case exp.Is():
                return _is(self, inner, negated=True)
            case exp.In() if _query_of(inner) is None:
                return _in(self, inner, negated=True)
            case exp.Between():
                return _between(self, inner, negated=True)
    return Typed(BooleanOperation("NOT", (self.condition(inner),)), BOOLEAN)


def _is(self: Conversion, tree: exp.Is, *, negated: bool = False) -> Typed:
    word = tree.expression.sql().upper()
    fields = row_fields(tree.this)
    arg = self.node(tree.this) if fields is None else Listed("ROW(", tuple(map(self.node, fields)), ")")
    return Typed(Test(arg, f"IS {'NOT ' * negated}{word}"), BOOLEAN)


def _distinct_from(self: Conversion, tree: exp.Binary) -> Typed:
    left, right = row_fields(tree.this), row_fields(tree.expression)
    if left is not None and right is not None:
        rows = (Listed("ROW(", tuple(map(self.node, fields)), ")") for fields in (left, right))
        of_rows = Operation("IS DISTINCT FROM", tuple(rows))
        return Typed(of_rows if isinstance(tree, exp.NullSafeNEQ) else BooleanOperation("NOT", (of_rows,)), BOOLEAN)
    sides = [self.typed(tree.this), self.typed(tree.expression)]
    made = self.operation("=", sides, self.notes.expr(tree), BOOLEAN).node
    assert isinstance(made, Operation)
    test = Operation("IS DISTINCT FROM", made.args)
    return Typed(test if isinstance(tree, exp.NullSafeNEQ) else BooleanOperation("NOT", (test,)), BOOLEAN)


# -- BETWEEN and IN -----------------------------------------------------------------------------------------------


def _between(self: Conversion, tree: exp.Between, *, negated: bool = False) -> Typed:
    operand = self.typed(tree.this)
    low, high = self.typed(tree.args["low"]), self.typed(tree.args["high"])
    symbols, inner, outer = (("<", ">"), "OR", "AND") if negated else ((">=", "<="), "AND", "OR")

    def within(low: Typed, high: Typed) -> Node:
        pairs = zip(symbols, (low, high), strict=True)
        parts = [self.operation(symbol, [operand, bound], None, BOOLEAN).node for symbol, bound in pairs]
        return BooleanOperation(inner, tuple(parts))

    if tree.args.get("symmetric"):
        return Typed(BooleanOperation(outer, (within(low, high), within(high, low))), BOOLEAN)
    return Typed(within(low, high), BOOLEAN)


def _query_of(tree: exp.In) -> exp.Expr | None:
    """The query of IN; that of a VALUES, too, which the parser takes for an item."""
    query: exp.Expr | None = tree.args.get("query")
    if query is None and len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Values):
        return tree.expressions[0]
    return query


def _in(self: Conversion, tree: exp.In, *, negated: bool = False) -> Typed:
    """PostgreSQL makes an array of the items that read no column, and a comparison of each other one."""
    query = _query_of(tree)
    if query is not None:
        return Typed(Nested(query, "IN", _fields(self, tree.this)), BOOLEAN)
    symbol, word, joins = ("<>", "ALL", "AND") if negated else ("=", "ANY", "OR")
    left = row_fields(tree.this)
    if left is not None:
        rows = [row_fields(item) for item in tree.expressions]
        return _joined(joins, [_compared_rows(self, symbol, left, row or ()) for row in rows])
    operand = self.typed(tree.this)
    items = [item for each in tree.expressions for item in _listed(self, each)]
    constant = [item for item, reads in items if not reads]
    known = {types_shown.plain(each.type) for each in (operand, *(item for item, _ in items)) if not each.is_unknown}
    if len(known) > 1 and 1 < len(items) != len(constant):  # our IN has one type for all, PostgreSQL one for each
        parts: list[str | Node] = ["(", self.node(tree.this), " NOT IN (" if negated else " IN ("]
        for place, (item, _) in enumerate(items):
            parts += [", " if place else "", settled(item).node]
        return Typed(Spelled((*parts, "))"), is_simple=False), BOOLEAN)
    compared: list[Node] = []
    if len(constant) > 1:
        compared.append(_among(self, tree, operand, constant, symbol, word))
        items = [(item, reads) for item, reads in items if reads]
    compared += [self.operation(symbol, [operand, item], None, BOOLEAN).node for item, _ in items]
    return _joined(joins, compared)


def _joined(word: str, parts: Sequence[Node]) -> Typed:
    made = parts[0]
    for part in parts[1:]:
        made = BooleanOperation(word, (made, part))
    return Typed(made, BOOLEAN)


def _among(
    self: Conversion, tree: exp.In, operand: Typed, items: Sequence[Typed], symbol: str, word: str
) -> Quantified:
    bound = self.notes.expr(tree)
    while isinstance(bound, Call) and bound.function == "not":
        bound = bound.args[0]
    if not isinstance(bound, Call):
        raise Unprinted("IN that is a constant")
    element = common([operand, *items], bound.args[0].type)
    array = Listed("ARRAY[", tuple(as_type(item, element) for item in items), "]")
    wanted, inner = types_shown.operand_types(symbol, element if operand.is_unknown else operand.type, element)
    return Quantified(
        as_type(operand, wanted), symbol, word, types_shown.cast(array, array_of(element), array_of(inner))
    )


def _listed(self: Conversion, tree: exp.Expr) -> list[tuple[Typed, bool]]:
    """The items of a list, which the parser may have left in one text, and whether each reads a column."""
    if not isinstance(tree, LiteralList):
        return [(self.typed(tree), tree.find(exp.Column) is not None)]
    texts, _ = items_of(str(tree.this))
    found = []
    for text in texts:
        if text.startswith("$"):
            raise Unprinted("a parameter")
        is_text = text.startswith("'")
        made = unknown(text[1:-1].replace("''", "'")) if is_text else Typed(*types_shown.number(text))
        found.append((made, False))
    return found


COMPARISONS: dict[type[exp.Expr], Convert] = {
    **dict.fromkeys(BINARY, _binary),
    Operator: _operator,
    exp.Operator: _named_operator,
    exp.Not: _not,
    exp.Is: _is,
    exp.NullSafeEQ: _distinct_from,
    exp.NullSafeNEQ: _distinct_from,
    exp.Between: _between,
    exp.In: _in,
}
