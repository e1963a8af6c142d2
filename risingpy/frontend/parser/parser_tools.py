"""What every level of our parser uses: positions on nodes, and insisting on what must come next."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import exp
from sqlglot.parsers.risingwave import RisingWaveParser
from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import TooManyConditions
from risingpy.nesting import MAX_TERMS

START = "start"  # meta key: where a node's own token begins, counted in characters from 0
TYPE_TEXT = "type_text"  # meta key of a DataType: the type as written

E = TypeVar("E", bound=exp.Expr)
Operand = Callable[[], exp.Expr | None]


def check_terms(terms: int) -> None:
    """Refuses a chain of too many terms before the rest of it is read."""
    if terms > MAX_TERMS:
        raise TooManyConditions(f"an expression of more than {MAX_TERMS:,} terms is too complex")


def cast_as_a_whole(comparison: exp.Expr) -> exp.Expr:
    """The comparison, where it ends in ANY, SOME or ALL with casts: `x = ANY (a)::int` is `(x = ANY (a))::int`."""
    right = comparison.args.get("expression")
    holder, place = (right, "this") if isinstance(right, exp.Any) else (comparison, "expression")
    inner, casts = holder.args.get(place), []
    while isinstance(inner, exp.Cast):
        casts.append(inner)
        inner = inner.this
    if not casts or not (isinstance(inner, exp.Paren) if holder is right else _is_quantified(inner)):
        return comparison
    holder.set(place, inner)
    for cast in reversed(casts):
        cast.set("this", comparison)
        comparison = cast
    return comparison


def _is_quantified(operand: exp.Expr | None) -> bool:
    is_named = isinstance(operand, exp.Anonymous) and operand.name.upper() in ("ALL", "SOME")
    return is_named or isinstance(operand, exp.Any | exp.All)


class ParserTools(RisingWaveParser):
    """sqlglot's parser with a few verbs of ours."""

    def _left_associative(self, kinds: dict[TokenType, type[exp.Expr]], operand: Operand) -> exp.Expr | None:
        left, terms = operand(), 1
        while left is not None and self._curr.token_type in kinds:
            token = self._curr
            self._advance()
            left = self._at(kinds[token.token_type](this=left, expression=self._needed(operand)), token)
            terms += 1
            check_terms(terms)
        return left

    def _parse_case(self) -> exp.Expr | None:
        token = self._prev
        operand = None if self._curr.text.upper() == "WHEN" else self._needed(self._parse_disjunction)
        branches = []
        while self._match(TokenType.WHEN):
            condition = self._needed(self._parse_disjunction)
            self._expect(TokenType.THEN)
            branches.append(exp.If(this=condition, true=self._needed(self._parse_disjunction)))
            if len(branches) > MAX_TERMS:
                raise TooManyConditions(f"a CASE of more than {MAX_TERMS:,} branches is too complex")
        if not branches:
            self.raise_error("WHEN expected")
        default = self._needed(self._parse_disjunction) if self._match(TokenType.ELSE) else None
        self._expect(TokenType.END)
        return self._at(exp.Case(this=operand, ifs=branches, default=default), token)

    def _needed(self, operand: Operand) -> exp.Expr:
        this = operand()
        if this is None:
            self.raise_error("expression expected")
        assert this is not None
        return this

    def _expect(self, token_type: TokenType) -> None:
        if not self._match(token_type):
            self.raise_error(f"{token_type.name} expected")

    def _taken(self, node: E, token: Token) -> E:
        """The node that is made of the current token, which is taken."""
        self._advance()
        return self._at(node, token)

    def _at(self, node: E, token: Token, *, only_if_missing: bool = False) -> E:
        if not (only_if_missing and START in node.meta):
            node.meta[START] = token.start
        return node
