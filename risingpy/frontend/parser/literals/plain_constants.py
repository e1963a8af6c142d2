"""Numbers and texts that stand alone between commas or operators: most of what is in long lists and rows of VALUES.

Through all levels of precedence a constant takes some fifty calls; here it takes a few.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
ENDS = frozenset({TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET})  # of a whole expression
# What may follow an operand, and is no part of it as a cast or a subscript would be.
_OPERATORS = frozenset(
    (
        *(TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD, TokenType.EQ, TokenType.NEQ),
        *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.AND, TokenType.OR),
        *(TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END),
    )
)


def whole_constant(token: Token, following: Token) -> exp.Literal | None:
    """The constant that is a whole expression; None if the token is none, or more may belong to it."""
    return _constant(token) if following.token_type in ENDS else None


def constant_operand(token: Token, following: Token) -> exp.Literal | None:
    """The constant that is an operand; None if the token is none, or more may belong to it."""
    kind = following.token_type
    return _constant(token) if kind in ENDS or kind in _OPERATORS else None


def _constant(token: Token) -> exp.Literal | None:
    kind = token.token_type
    if kind is TokenType.STRING or (kind is TokenType.NUMBER and NUMBER.fullmatch(token.text)):
        return exp.Literal(this=token.text, is_string=kind is TokenType.STRING)
    return None
