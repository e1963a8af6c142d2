"""Lists, literals and aliases without the freedom that sqlglot gives: it passes over an element that is missing.

`INSERT INTO t VALUES (1, , 2)` would write other values than were meant, and `SELECT a, FROM t` is most often a column
that was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from risingpy.frontend.parser.literals.literal_list import LITERALS
from risingpy.frontend.parser.nested_parser import NestedParser

T = TypeVar("T")
_ORDER_OPERATORS = {TokenType.LT: TokenType.ASC, TokenType.GT: TokenType.DESC}


class StrictLists(NestedParser):
    """The methods for what stands between commas, and for names behind AS."""

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        """Elements between commas; none at all is for the caller to judge, as in the call `f()`."""
        element = parse_method()
        if element is None:
            if self._curr.token_type is sep:
                self.raise_error("element expected")
            return []
        elements = [element]
        while self._match(sep):
            element = parse_method()
            if element is None:
                self.raise_error("element expected after the comma")
                raise AssertionError("raise_error returns never")
            elements.append(element)
        return elements

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        """A row of VALUES: of expressions, which have no aliases, and DEFAULT."""
        if not self._match(TokenType.L_PAREN):
            return None
        row = self.expression(exp.Tuple(expressions=self._parse_csv(self._parse_element)))
        if not row.expressions:
            self.raise_error("expression expected")
        self._expect(TokenType.R_PAREN)
        return row

    def _parse_element(self) -> exp.Expr | None:
        if self._match(TokenType.DEFAULT):
            return exp.var("DEFAULT")
        return self._parse_disjunction()

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        """VALUES, or `(VALUES …) AS name`: rows without parentheses around them have no name."""
        is_derived = self._match_pair(TokenType.L_PAREN, TokenType.VALUES)
        if not is_derived and not self._match(TokenType.VALUES):
            return None
        rows = self._parse_csv(self._parse_value)
        if not rows:
            self.raise_error("row expected")
        alias = None
        if is_derived and self._curr.token_type is not LITERALS:
            self._expect(TokenType.R_PAREN)
            alias = self._parse_table_alias()
        return self.expression(exp.Values(expressions=rows, alias=alias))

    def _parse_primary(self) -> exp.Expr | None:
        """A literal in parts, each on a line of its own, is one; `.5` has no blank in it."""
        first = self._curr
        if first.token_type is TokenType.DOT and self._next.start != first.end + 1:
            self.raise_error("number expected")
        index = self._index
        primary: exp.Expr | None = super()._parse_primary()
        if not isinstance(primary, exp.Concat):
            return primary
        for place in range(index + 1, self._index):
            between = self.sql[self._tokens[place - 1].end + 1 : self._tokens[place].start]
            if "\n" not in between and "\r" not in between:
                self._retreat(place)
                self.raise_error("a literal in parts needs a line for each")
        return exp.Literal.string("".join(part.name for part in primary.expressions))

    def _parse_ordered(self, parse_method: Callable[[], exp.Expr | None] | None = None) -> exp.Ordered | None:
        """PostgreSQL's `x USING <` and `x USING >` are ASC and DESC."""
        this = parse_method() if parse_method else self._parse_disjunction()
        word = _ORDER_OPERATORS.get(self._next.token_type)
        if word is not None and self._match(TokenType.USING):
            self._curr.token_type = word
        return super()._parse_ordered(lambda: this)

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        index, says_as = self._index, self._curr.token_type is TokenType.ALIAS
        if self._curr.token_type is TokenType.L_PAREN or (isinstance(this, exp.Star) and not says_as):
            return this  # other dialects have `x (a, b)` and `* name`
        if says_as and self._next.token_type is TokenType.STRING:
            self._advance()
            self.raise_error("name expected")
        named = super()._parse_alias(this, explicit)
        if says_as and (this is None or not isinstance(named, exp.Alias)):
            self._retreat(index if this is None else index + 1)
            self.raise_error("name expected")
        return named

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        index, says_as = self._index, self._curr.token_type is TokenType.ALIAS
        if (self._next if says_as else self._curr).token_type is TokenType.STRING:
            self._advance(int(says_as))
            self.raise_error("name expected")
        alias: exp.TableAlias | None = super()._parse_table_alias(*args, **kwargs)
        if says_as and alias is None:
            self._retreat(index + 1)
            self.raise_error("name expected")
        return alias
