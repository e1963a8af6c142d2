"""From text to statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import Check, SqlError, StatementTooComplex, SyntaxError_, unchecked
from risingpy.frontend.parser.ast import Expression, ParsedStatement, Query
from risingpy.frontend.parser.creation.atomic_body import semicolons_inside
from risingpy.frontend.parser.cursor import STRINGS, Cursor
from risingpy.frontend.parser.dialect import UnexpectedToken
from risingpy.frontend.parser.statements import parse_statement
from risingpy.frontend.parser.tokenize import tokenize

T = TypeVar("T")
_UNTERMINATED = re.compile(r"Missing (.+) from \d+:(\d+)")


def parse(sql: str, check: Check = unchecked) -> list[ParsedStatement]:
    """The statements of a text; none for a text of blanks, comments and semicolons.

    Raises SyntaxError_ with PostgreSQL's wording, and FeatureNotSupported for statements that exist elsewhere;
    positions count characters of `sql` from 1. `check` is asked every few hundred tokens.
    """
    statements = []
    for tokens, semicolon in _split(_tokenize(sql, check)):
        statement = _guarded(tokens, semicolon, sql, parse_statement, check)
        start, end = tokens[0].start, tokens[-1].end + 1
        statements.append(ParsedStatement(statement, sql[start:end], start))
    return statements


def parse_query(sql: str) -> Query:
    """One query, such as the stored text of a view."""
    return _guarded(_tokenize(sql), None, sql, Cursor.query)


def parse_expression(sql: str) -> Expression:
    """One expression, such as the stored text of a column's default."""
    return _guarded(_tokenize(sql), None, sql, Cursor.expression)


def _tokenize(sql: str, check: Check = unchecked) -> list[Token]:
    try:
        return tokenize(sql, check)
    except TokenError as error:
        raise _unterminated(sql, str(error.__cause__)) from None


def _unterminated(sql: str, cause: str) -> SyntaxError_:
    found = _UNTERMINATED.search(cause)
    assert found is not None, cause
    delimiter, start = found.group(1), int(found.group(2))
    if delimiter == "*/":
        return SyntaxError_(f'unterminated /* comment at or near "{sql[start:]}"', position=start + 1)
    if delimiter == '"':
        what = "quoted identifier"
        start -= 2 * (sql[max(0, start - 2) : start].upper() == "U&")
    elif delimiter.startswith("$"):
        what = "dollar-quoted string"
    else:
        what = "quoted string"
    return SyntaxError_(f'unterminated {what} at or near "{sql[start:]}"', position=start + 1)


def _split(tokens: list[Token]) -> list[tuple[list[Token], Token | None]]:
    """Each statement's tokens and the semicolon that ends it; empty statements are left out."""
    parts: list[tuple[list[Token], Token | None]] = []
    part: list[Token] = []
    inside = semicolons_inside(tokens)
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.SEMICOLON and place not in inside:
            parts.append((part, token))
            part = []
        else:
            part.append(token)
    parts.append((part, None))
    return [(part, semicolon) for part, semicolon in parts if part]


def _guarded(
    tokens: list[Token], following: Token | None, sql: str, read: Callable[[Cursor], T], check: Check = unchecked
) -> T:
    if not tokens:
        raise SyntaxError_("syntax error at end of input", position=len(sql) + 1)
    cursor = Cursor(tokens, sql, check)
    nameless = next((t for t in tokens if not t.text and t.token_type is TokenType.IDENTIFIER), None)
    try:
        result = read(cursor)
        cursor.finish()
    except UnexpectedToken as error:
        unexpected = error.token or following
        if nameless is None or (unexpected is not None and unexpected.start < nameless.start):
            raise _syntax_error(unexpected, tokens, sql) from None
    except SqlError:
        if nameless is None:
            raise
    except RecursionError:
        raise StatementTooComplex from None
    if nameless is not None:
        position = nameless.start + 1
        shown = sql[nameless.start : nameless.end + 1]
        raise SyntaxError_(f'zero-length delimited identifier at or near "{shown}"', position=position)
    return result


def _syntax_error(token: Token | None, tokens: list[Token], sql: str) -> SyntaxError_:
    if token is None:
        return SyntaxError_("syntax error at end of input", position=tokens[-1].end + 2)
    text = sql[token.start : token.end + 1]
    if token.token_type in STRINGS and any(each.text.upper() == "SECRET" for each in tokens[:2]):
        text = "'***'"  # it is the secret
    return SyntaxError_(f'syntax error at or near "{text}"', position=token.start + 1)
