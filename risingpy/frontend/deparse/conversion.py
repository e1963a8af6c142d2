"""From bound trees to nodes: what each form is after PostgreSQL's parse analysis. `comparisons` and `calls` have more.

v || 1                   v || (1)::text
CASE … END without ELSE  ELSE NULL::type
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sqlglot import exp

from risingpy.frontend.binder.expressions.rows import row_fields
from risingpy.frontend.binder.typing.domain_names import domain_named
from risingpy.frontend.binder.typing.literals import written_number
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.deparse import types_shown
from risingpy.frontend.deparse.nodes import (
    BooleanOperation,
    Branches,
    Converted,
    Element,
    Listed,
    Name,
    Nested,
    Node,
    Operation,
    PrintedConstant,
    Spelled,
)
from risingpy.frontend.deparse.notes import NotedColumn, Notes, Unprinted
from risingpy.frontend.deparse.operands import Typed, as_type, common, settled, unknown
from risingpy.frontend.parser.expression_parser import UnaryPlus
from risingpy.frontend.parser.nested_parser import MapConstructor, Subscript
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import BOOLEAN, INTEGER, SqlType, TypeKind, array_of
from risingpy.types.system_types import TEXT


class Surroundings(Protocol):
    """What stands around an expression: its query, and those around that."""

    def column(self, noted: NotedColumn) -> tuple[Name, SqlType]:
        """A column as the text calls it, and its type."""

    def function_name(self, schema: str | None, name: str) -> str:
        """The name of a function as the text needs it."""


Convert = Callable[["Conversion", Any], Typed]


class Conversion:
    """Converts the expressions of one SELECT."""

    def __init__(self, notes: Notes, around: Surroundings, forms: Mapping[type[exp.Expr], Convert]) -> None:
        self.notes = notes
        self.around = around
        self._forms = forms  # what converts each kind of tree

    def node(self, tree: exp.Expr) -> Node:
        """The node of an expression; a literal that nothing types is text."""
        return settled(self.typed(tree)).node

    def typed(self, tree: exp.Expr) -> Typed:
        """The node and its type."""
        convert = self._forms.get(type(tree))
        if convert is None:
            raise Unprinted(tree.key)
        return convert(self, tree)

    def condition(self, tree: exp.Expr) -> Node:
        """A condition."""
        return as_type(self.typed(tree), BOOLEAN)

    def operation(self, symbol: str, args: Sequence[Typed], bound: Expr | None, result: SqlType) -> Typed:
        """A call of an operator. `bound`: what the binder made of it, whose arguments say what literals are."""
        if len(args) == 1:
            [arg] = args
            return Typed(Operation(symbol, (settled(arg).node,)), result)
        left, right = args
        if left.is_unknown and right.is_unknown:
            left, right = settled(left), settled(right)
        if left.is_unknown or right.is_unknown:
            known, place = (right, 0) if left.is_unknown else (left, 1)
            target = types_shown.of_literal(symbol, _bound_type(bound, place, known.type), known.type)
            shown = types_shown.operand_types(symbol, *((target, known.type) if place == 0 else (known.type, target)))
            nodes = tuple(as_type(arg, want) for arg, want in zip((left, right), shown, strict=True))
            return Typed(Operation(symbol, nodes), result)
        wanted = types_shown.operand_types(symbol, left.type, right.type)
        nodes = tuple(as_type(arg, want) for arg, want in zip(args, wanted, strict=True))
        return Typed(Operation(symbol, nodes), result)


def _bound_type(bound: Expr | None, place: int, other: SqlType) -> SqlType:
    """The type of an unknown literal: that which the binder gave it, or the other side's."""
    while isinstance(bound, Call) and bound.function == "not" and len(bound.args) == 1:
        bound = bound.args[0]
    if isinstance(bound, Call) and len(bound.args) >= 2 and isinstance(bound.args[place], Literal):
        return types_shown.text_of(bound.args[place].type)
    return types_shown.text_of(other)


# -- leaves -------------------------------------------------------------------------------------------------------


def _column(self: Conversion, tree: exp.Column) -> Typed:
    name, sql_type = self.around.column(self.notes.column(tree))
    return Typed(name, sql_type)


def _literal(self: Conversion, tree: exp.Literal) -> Typed:
    if tree.is_string:
        return unknown(str(tree.this))
    return Typed(*types_shown.number(str(tree.this)))


def _constant(self: Conversion, tree: exp.Expr) -> Typed:
    """A constant by its value: of TRUE, INTERVAL '…' and spellings of texts."""
    if isinstance(tree, exp.Boolean):
        return Typed(PrintedConstant("true" if tree.this else "false"), BOOLEAN)
    if isinstance(tree, exp.Null):
        return unknown(None)
    match self.notes.expr(tree):
        case Literal(value, sql_type) if sql_type.kind is TypeKind.UNKNOWN:
            return unknown(None if value is None else str(value))
        case Literal() as literal:
            return Typed(types_shown.constant(literal, literal.type), literal.type)
    raise Unprinted(tree.key)


def _negation(self: Conversion, tree: exp.Neg) -> Typed:
    number = written_number(tree)
    if number is not None:
        return Typed(*types_shown.number(number))
    bound = self.notes.expr(tree)
    return self.operation("-", [self.typed(tree.this)], bound, bound.type)


# -- operators ----------------------------------------------------------------------------------------------------


def _paren(self: Conversion, tree: exp.Paren) -> Typed:
    return self.typed(tree.this)


def _connected(self: Conversion, tree: exp.Connector) -> Typed:
    """A flat list: conditions to the left are taken in, whatever parentheses they have."""
    kind, operands = type(tree), [tree.expression]
    left = tree.this
    while type(_bare(left)) is kind:
        left = _bare(left)
        operands.append(left.expression)
        left = left.this
    nodes = tuple(self.condition(each) for each in (left, *reversed(operands)))
    return Typed(BooleanOperation("AND" if kind is exp.And else "OR", nodes), BOOLEAN)


def _bare(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


# -- casts and CASE -----------------------------------------------------------------------------------------------


def _cast(self: Conversion, tree: exp.Cast) -> Typed:
    text = str(tree.args["to"].meta[TYPE_TEXT])
    if domain_named(text, self.notes.types) is not None:
        raise Unprinted("a cast to a domain")
    target = resolve_type(text, 1, self.notes.types, of_column=False)
    words = text.lower().replace("pg_catalog", " ").replace(".", " ").split()
    shown = types_shown.text_of(target) if words[:1] == ["text"] or words[:1] == ['"text"'] else target
    if isinstance(tree.this, exp.Array | MapConstructor) and not tree.this.expressions:
        opening, closing = ("ARRAY[", "]") if isinstance(tree.this, exp.Array) else ("MAP {", "}")
        return Typed(Converted(Listed(opening, (), closing), shown, bare=True), shown)
    fields = row_fields(tree.this.unnest())
    if fields is not None and target.kind is TypeKind.STRUCT and len(fields) == len(target.items):
        nodes = (self.typed(field) for field in fields)
        items = (
            as_type(node, of) if node.is_unknown else node.node for node, of in zip(nodes, target.items, strict=True)
        )
        return Typed(Converted(Listed("ROW(", tuple(items), ")"), target), target)
    operand = self.typed(tree.this)
    if operand.is_unknown:
        constant = as_type(operand, shown)
        if target.length is None and not target.declared:
            return Typed(constant, shown)
        return Typed(Converted(constant, target, bare=True), target)
    if types_shown.plain(operand.type) == types_shown.plain(shown) and shown.length is None and not shown.declared:
        return Typed(operand.node, shown)
    return Typed(Converted(operand.node, shown), shown)


def _case(self: Conversion, tree: exp.Case) -> Typed:
    subject = tree.args.get("this")
    bound = self.notes.expr(tree)
    branches = tree.args["ifs"]
    if subject is None:
        conditions = [self.condition(branch.this) for branch in branches]
    else:
        operand = self.typed(subject)
        made = [self.operation("=", [operand, self.typed(b.this)], None, BOOLEAN).node for b in branches]
        conditions = [each.args[1] for each in made if isinstance(each, Operation)]
    results = [self.typed(branch.args["true"]) for branch in branches]
    default = tree.args.get("default")
    otherwise = unknown(None) if default is None else self.typed(default)
    result = common([otherwise, *results], bound.type)
    nodes = tuple((c, as_type(r, result)) for c, r in zip(conditions, results, strict=True))
    return Typed(Branches(None if subject is None else self.node(subject), nodes, as_type(otherwise, result)), result)


# -- arrays, rows and subqueries ----------------------------------------------------------------------------------


def _array(self: Conversion, tree: exp.Array) -> Typed:
    bound = self.notes.expr(tree)
    items = [self.typed(item) for item in tree.expressions]
    element = common(items, bound.type.element)
    return Typed(Listed("ARRAY[", tuple(as_type(item, element) for item in items), "]"), array_of(element))


def _subscript(self: Conversion, tree: Subscript) -> Typed:
    value = self.typed(tree.this)
    if value.type.kind is TypeKind.MAP:
        key = as_type(self.typed(tree.args["index"]), value.type.items[0])
        return Typed(Element(value.node, ("[", key, "]")), types_shown.text_of(value.type.items[1]))
    if value.type.kind is TypeKind.JSONB:
        return Typed(_whole(tree, value.node, ("[", self.node(tree.args["index"]), "]")), value.type)
    if value.type.kind is not TypeKind.ARRAY:
        raise Unprinted("a subscript of what is no array")
    if not tree.args.get("slice"):
        index = as_type(self.typed(tree.args["index"]), INTEGER)
        whole = _whole(tree, value.node, ("[", index, "]"))
        return Typed(whole, value.type.element)
    bounds = [tree.args.get(key) for key in ("lower", "upper")]
    low, high = ("" if each is None else as_type(self.typed(each), INTEGER) for each in bounds)
    return Typed(_whole(tree, value.node, ("[", low, ":", high, "]")), value.type)


def _whole(tree: Subscript, value: Node, parts: tuple[str | Node, ...]) -> Element:
    """`a[1][2]` is one node."""
    if isinstance(tree.this, Subscript) and isinstance(value, Element):
        return Element(value.arg, (*value.parts, *parts))
    return Element(value, parts)


def _exists(self: Conversion, tree: exp.Exists) -> Typed:
    return Typed(Nested(tree.this, "EXISTS"), BOOLEAN)


def _scalar(self: Conversion, tree: exp.Subquery) -> Typed:
    return Typed(Nested(tree), types_shown.text_of(self.notes.expr(tree).type))


def _zoned(self: Conversion, tree: exp.AtTimeZone) -> Typed:
    zone, value = self.typed(tree.args["zone"]), self.typed(tree.this)
    bound = self.notes.expr(tree)
    parts = ("(", as_type(value, _argument_type(bound, 1, value)), " AT TIME ZONE ", as_type(zone, TEXT), ")")
    return Typed(Spelled(parts), bound.type)


def _extract(self: Conversion, tree: exp.Extract) -> Typed:
    value = self.typed(tree.expression)
    bound = self.notes.expr(tree)
    node = as_type(value, _argument_type(bound, 1, value)) if value.is_unknown else value.node
    return Typed(Spelled((f"EXTRACT({tree.this.name.lower()} FROM ", node, ")")), bound.type)


def _argument_type(bound: Expr, place: int, operand: Typed) -> SqlType:
    """The type of an argument that the binder found, if the operand has none of its own."""
    if not operand.is_unknown:
        return operand.type
    if not isinstance(bound, Call) or len(bound.args) <= place:
        raise Unprinted("a literal in a call that is another now")
    return bound.args[place].type


def _row(self: Conversion, tree: exp.Tuple) -> Typed:
    return Typed(Listed("ROW(", tuple(self.node(each) for each in tree.expressions), ")"), self.notes.expr(tree).type)


def _map(self: Conversion, tree: MapConstructor) -> Typed:
    """RisingWave's; an empty one has its type from the cast around it."""
    bound = self.notes.expr(tree)
    items = [self.typed(each) for each in tree.expressions]
    kinds = [common(items[place::2], bound.type.items[place]) for place in (0, 1)]
    parts: list[str | Node] = ["MAP {"]
    for place, item in enumerate(items):
        parts += [": " if place % 2 else ", " if place else "", as_type(item, kinds[place % 2])]
    return Typed(Spelled((*parts, "}")), bound.type)


_WORDS = (exp.Boolean, exp.Null, exp.Interval)
EXPRESSIONS: dict[type[exp.Expr], Convert] = {
    exp.Column: _column,
    exp.Literal: _literal,
    **dict.fromkeys((*_WORDS, exp.National, exp.Heredoc, exp.RawString, exp.ByteString), _constant),
    exp.Neg: _negation,
    exp.Paren: _paren,
    UnaryPlus: lambda self, tree: self.operation("+", [self.typed(tree.this)], None, self.notes.expr(tree).type),
    exp.And: _connected,
    exp.Or: _connected,
    exp.Cast: _cast,
    exp.Case: _case,
    exp.Array: _array,
    exp.Tuple: _row,
    MapConstructor: _map,
    Subscript: _subscript,
    exp.Exists: _exists,
    exp.Subquery: _scalar,
    exp.AtTimeZone: _zoned,
    exp.Extract: _extract,
}
