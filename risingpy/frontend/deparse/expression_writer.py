"""Expressions as PostgreSQL 15's pg_get_viewdef prints them: get_rule_expr and isSimpleNode of ruleutils.c."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from sqlglot import exp

from risingpy.frontend.deparse.nodes import (
    BooleanOperation,
    Branches,
    Called,
    Converted,
    Element,
    Listed,
    Name,
    Nested,
    Node,
    Operation,
    Order,
    PrintedConstant,
    Quantified,
    Spelled,
    Test,
    WindowText,
)
from risingpy.frontend.deparse.writer import VARIED, Writer
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.types import SqlType
from risingpy.types.system_types import TEXT

_LOW, _HIGH = "+-", "*/%"


class ExpressionWriter:
    """Appends expressions to a text. `write_query` appends a subquery, where it stands."""

    def __init__(
        self, out: Writer, type_name: Callable[[SqlType], str], write_query: Callable[[exp.Expr], None]
    ) -> None:
        self._out = out
        self._type_name = type_name
        self._write_query = write_query

    def write(self, node: Node, *, shows_implicit: bool) -> None:
        """Appends an expression; without `shows_implicit` an implicit cast at its top is left out."""
        add = self._out.add
        match node:
            case Name():
                add("" if node.table is None else f"{quote_ident(node.table)}.")
                add(quote_ident(node.column))
            case PrintedConstant():
                add(node.text + ("" if node.label is None else f"::{self._type_name(node.label)}"))
            case Converted():
                self._cast(node, shows_implicit=shows_implicit)
            case Operation(symbol, (arg,)):
                self._enclosed(lambda: self._prefixed(f"{symbol} ", arg, node, shows_implicit=True))
            case Operation(symbol, args):
                self._enclosed(lambda: self._joined(args, node, f" {symbol} ", shows_implicit=True))
            case BooleanOperation("NOT", (arg,)):
                self._enclosed(lambda: self._prefixed("NOT ", arg, node, shows_implicit=False))
            case BooleanOperation(word, args):
                self._enclosed(lambda: self._joined(args, node, f" {word} ", shows_implicit=False))
            case Test():
                self._enclosed(lambda: self._test(node))
            case Quantified():
                self._enclosed(lambda: self._any(node))
            case Branches():
                self._case(node)
            case Listed(opening, items, closing):
                add(opening)
                self._list(items)
                add(closing)
            case Called():
                self._call(node)
            case Spelled(parts):
                for part in parts:
                    add(part) if isinstance(part, str) else self._inner(part, node, shows_implicit=False)
            case Element():
                self._element(node)
            case Nested():
                self._nested(node)
            case _:
                assert_never(node)

    def sort_group_item(self, node: Node) -> None:
        """An item of GROUP BY, ORDER BY or DISTINCT ON: in parentheses, unless it is a column or has its own."""
        is_call = isinstance(node, Called) or (isinstance(node, Converted) and node.type != TEXT)
        encloses = is_call or (self._out.pretty and not isinstance(node, Name | PrintedConstant))
        self._out.add("(" * encloses)
        self.write(node, shows_implicit=True)
        self._out.add(")" * encloses)

    def order_by(self, keys: Sequence[Order]) -> None:
        """The items of an ORDER BY."""
        for place, key in enumerate(keys):
            self._out.add(", " if place else "")
            self.sort_group_item(key.node)
            if key.descending:
                self._out.add(" DESC" + ("" if key.nulls_first else " NULLS LAST"))
            elif key.nulls_first:
                self._out.add(" NULLS FIRST")

    def window(self, window: WindowText) -> None:
        """What stands between the parentheses of a window."""
        parts: list[Callable[[], None]] = []
        if window.base:
            parts.append(lambda: self._out.add(quote_ident(window.base)))
        if window.partition_by:
            parts.append(lambda: self._partition(window.partition_by))
        if window.order_by:
            parts.append(lambda: self._window_order(window.order_by))
        if window.frame:
            parts.append(lambda: self._out.add(window.frame))
        if window.gap is not None:
            gap = window.gap
            parts.append(lambda: self._prefixed("SESSION WITH GAP ", gap, gap, shows_implicit=True))
        for place, part in enumerate(parts):
            self._out.add(" " if place else "")
            part()

    # -- parts ----------------------------------------------------------------------------------------------------

    def _prefixed(self, words: str, arg: Node, parent: Node, *, shows_implicit: bool) -> None:
        self._out.add(words)
        self._inner(arg, parent, shows_implicit=shows_implicit)

    def _test(self, node: Test) -> None:
        self._inner(node.arg, node, shows_implicit=node.words.endswith("NULL"))
        self._out.add(f" {node.words}")

    def _window_order(self, keys: Sequence[Order]) -> None:
        self._out.add("ORDER BY ")
        self.order_by(keys)

    def _partition(self, keys: Sequence[Node]) -> None:
        self._out.add("PARTITION BY ")
        for place, key in enumerate(keys):
            self._out.add(", " if place else "")
            self.sort_group_item(key)

    def _enclosed(self, write: Callable[[], object]) -> None:
        """In parentheses; in a pretty text the place around decides (`_inner`)."""
        self._out.add("" if self._out.pretty else "(")
        write()
        self._out.add("" if self._out.pretty else ")")

    def _joined(self, args: Sequence[Node], parent: Node, word: str, *, shows_implicit: bool) -> None:
        for place, arg in enumerate(args):
            self._out.add(word if place else "")
            self._inner(arg, parent, shows_implicit=shows_implicit)

    def _inner(self, node: Node, parent: Node, *, shows_implicit: bool) -> None:
        """An argument, in a pretty text in parentheses if it needs some within `parent`."""
        encloses = self._out.pretty and not _is_simple(node, parent)
        self._out.add("(" * encloses)
        self.write(node, shows_implicit=shows_implicit)
        self._out.add(")" * encloses)

    def _list(self, items: Sequence[Node]) -> None:
        for place, item in enumerate(items):
            self._out.add(", " if place else "")
            self.write(item, shows_implicit=True)

    def _cast(self, node: Converted, *, shows_implicit: bool) -> None:
        if node.implicit and not shows_implicit:
            self._inner(node.arg, node, shows_implicit=False)
            return
        if node.bare and isinstance(node.arg, PrintedConstant):
            self._out.add(node.arg.text)
        elif node.bare:
            self.write(node.arg, shows_implicit=True)
        else:
            self._enclosed(lambda: self._inner(node.arg, node, shows_implicit=False))
        self._out.add(f"::{self._type_name(node.type)}")

    def _any(self, node: Quantified) -> None:
        self._inner(node.arg, node, shows_implicit=True)
        self._out.add(f" {node.symbol} {node.word} (")
        self._inner(node.array, node, shows_implicit=True)
        self._out.add(")")

    def _case(self, node: Branches) -> None:
        out = self._out
        out.keyword("CASE", 0, VARIED)
        if node.subject is not None:
            out.add(" ")
            self.write(node.subject, shows_implicit=True)
        for condition, result in node.branches:
            out.keyword("WHEN ")
            self.write(condition, shows_implicit=False)
            out.add(" THEN ")
            self.write(result, shows_implicit=True)
        out.keyword("ELSE ")
        self.write(node.default, shows_implicit=True)
        out.keyword("END", -VARIED)

    def _call(self, node: Called) -> None:
        out = self._out
        out.add(f"{node.name}({'DISTINCT ' if node.distinct else ''}")
        if node.args is None:
            out.add("*")
        else:
            self._list(node.args)
        if node.within:
            out.add(") WITHIN GROUP (ORDER BY ")
            self.order_by(node.within)
        if node.order_by:
            out.add(" ORDER BY ")
            self.order_by(node.order_by)
        if node.condition is not None:
            out.add(") FILTER (WHERE ")
            self.write(node.condition, shows_implicit=False)
        out.add(")")
        out.add(" IGNORE NULLS" * node.ignores_nulls)
        match node.over:
            case str(name):
                out.add(f" OVER {quote_ident(name)}")
            case WindowText() as window:
                out.add(" OVER (")
                self.window(window)
                out.add(")")

    def _element(self, node: Element) -> None:
        encloses = node.is_field or not isinstance(node.arg, Name)
        self._out.add("(" * encloses)
        self.write(node.arg, shows_implicit=True)
        self._out.add(")" * encloses)
        for part in node.parts:
            self._out.add(part) if isinstance(part, str) else self.write(part, shows_implicit=False)

    def _nested(self, node: Nested) -> None:
        """PostgreSQL has a parenthesis of its own around the whole of EXISTS (…) and x IN (…)."""
        out = self._out
        if node.words == "ARRAY":
            out.add("ARRAY(")
            self._write_query(node.tree)
            out.add(")")
            return
        out.add("(")
        if len(node.left) == 1:
            self.write(node.left[0], shows_implicit=True)
        elif node.left:
            out.add("(")
            self._list(node.left)
            out.add(")")
        if node.words:
            out.add(f" {node.words} (" if node.left else f"{node.words} (")
        self._write_query(node.tree)
        out.add("))" if node.words else ")")


def _is_simple(node: Node, parent: Node) -> bool:
    """Whether an argument needs no parentheses within its parent."""
    match node:
        case Name() | PrintedConstant() | Converted() | Branches() | Listed() | Called() | Element():
            return True
        case Spelled():
            return node.is_simple
        case Operation() if isinstance(parent, Operation) and parent.symbol != "IS DISTINCT FROM":
            return _binds_tighter(node, parent)
        case Operation() | Nested() | Test():
            return isinstance(parent, BooleanOperation | Listed | Branches | Called | Element)
        case BooleanOperation():
            if isinstance(parent, BooleanOperation):
                wanted = ("OR",) if node.word == "OR" else ("AND", "OR")
                return parent.word in wanted
            return isinstance(parent, Listed | Branches | Called | Element)
        case Quantified():
            return False
        case _:
            assert_never(node)


def _binds_tighter(node: Operation, parent: Operation) -> bool:
    """Of + - * / % PostgreSQL knows the precedence here, and of no other operator."""
    mine, its = node.symbol, parent.symbol
    if len(node.args) != 2 or len(parent.args) != 2 or mine not in _LOW + _HIGH or its not in _LOW + _HIGH:
        return False
    if mine in _HIGH and its in _LOW:
        return True
    if mine in _LOW and its in _HIGH:
        return False
    return node is parent.args[0]
