"""The database in front of a system relation's name, `dev.pg_catalog.pg_class`, which is taken out of the text."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.catalog.pg_namespace import SYSTEM_SCHEMAS
from risingpy.frontend.parser.cursor import fold
from risingpy.frontend.parser.tokenize import tokenize

_LONGEST = 4  # database.schema.relation.column


def without_database(sql: str, databases: Collection[str]) -> str:
    """The text of a system query with blanks in place of its own database's name, so that positions stay.

    Raises FeatureNotSupported where another database's name is.
    """
    if sql.count(".") < 2:
        return sql
    tokens = tokenize(sql)
    text = sql
    for i, token in enumerate(tokens):
        names = _dotted(tokens, i)
        if len(names) < 3 or _name(names[1]) not in SYSTEM_SCHEMAS:
            continue
        if _name(token) not in databases:
            shown = ".".join(map(_name, names))
            is_relation = len(names) == 3 and i > 0 and tokens[i - 1].token_type in (TokenType.FROM, TokenType.JOIN)
            shown = f'"{shown}"' if is_relation else shown
            message = f"cross-database references are not implemented: {shown}"
            raise FeatureNotSupported(message, position=token.start + 1)
        text = text[: token.start] + " " * (names[1].start - token.start) + text[names[1].start :]
    return text


def _dotted(tokens: list[Token], i: int) -> list[Token]:
    """The parts of the dotted name that begins with token `i`; none if it begins before."""
    if i > 0 and tokens[i - 1].token_type is TokenType.DOT:
        return []
    names = [tokens[i]]
    while len(names) < _LONGEST and i + 2 < len(tokens) and tokens[i + 1].token_type is TokenType.DOT:
        i += 2
        names.append(tokens[i])
    return names


def _name(token: Token) -> str:
    return token.text if token.token_type is TokenType.IDENTIFIER else fold(token.text)
