"""Which statements ask the system relations or functions, told from their tokens before anything is parsed.

Such statements speak PostgreSQL's whole language (`OPERATOR(pg_catalog.~)`, `ARRAY(SELECT …)`, casts to regclass),
more of it than our dialect knows, and never touch user data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import Check, unchecked
from risingpy.frontend.catalog.functions import SYSTEM_FUNCTIONS, TABLE_FUNCTIONS
from risingpy.frontend.catalog.registry import RELATIONS
from risingpy.frontend.parser.tokenize import tokenize

# One of these is in every statement that asks the system, and in few others. A regular expression takes seconds to look
# for them in a text of megabytes, in which no other thread runs.
_SUSPECTS = (
    "pg_", "rw_", "information_schema", "regclass", "regtype", "regproc", "regnamespace", "regrole", "format_type",
    "obj_description", "col_description", "current_schemas", "current_setting", "set_config", "to_reg", "_privilege",
    "txid_current", "inet_", "oid",
)  # fmt: skip
_BEGINNINGS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN)
_SCHEMAS = ("pg_catalog", "information_schema", "rw_catalog")
_NAMES = frozenset(name for schema, name in RELATIONS if schema != "information_schema")
# The others (current_user, version()) are the binder's, which takes them together with any relation.
_OF_SESSION = frozenset(("pg_backend_pid", "current_setting", "set_config", "current_schemas"))
_BINDERS = frozenset(("pg_backend_pid", "current_setting"))  # of these, where a query reads relations
_BINDERS_IN_SCHEMAS = frozenset(("_pg_expandarray",))  # the binder's, although a schema stands in front
_FUNCTIONS = SYSTEM_FUNCTIONS | _OF_SESSION | frozenset(TABLE_FUNCTIONS)
_TYPES = frozenset(("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "oid"))


@dataclass(frozen=True, slots=True)
class SystemText:
    """A statement that asks the system: its text, which begins after `offset` characters of the whole text."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class OtherText:
    """One or more other statements, for the parser."""

    text: str
    offset: int


def divide(sql: str, check: Check = unchecked) -> Sequence[SystemText | OtherText]:
    """The text cut into system statements and the rest; a text without any comes back whole, at once."""
    whole = [OtherText(sql, 0)]
    if not _is_suspect(sql):
        return whole
    try:
        tokens = tokenize(sql, check)
    except TokenError:
        return whole  # the parser says what is wrong
    pieces = [
        (SystemText if _asks_system(group) else OtherText)(sql[group[0].start : group[-1].end + 1], group[0].start)
        for group in _statements(tokens)
    ]
    return pieces if any(isinstance(piece, SystemText) for piece in pieces) else whole


def _is_suspect(sql: str) -> bool:
    text = sql.lower()
    return any(each in text for each in _SUSPECTS)


def _statements(tokens: list[Token]) -> list[list[Token]]:
    groups: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            groups.append([])
        else:
            groups[-1].append(token)
    return [group for group in groups if group]


def _asks_system(tokens: list[Token]) -> bool:
    if tokens[0].token_type not in _BEGINNINGS:
        return False
    found = {token.text.lower() for token in _system_tokens(tokens)}
    reads = any(token.token_type is TokenType.FROM for token in tokens)
    return bool(found - _BINDERS if reads else found)


def find_system_name(sql: str) -> tuple[str, int] | None:
    """The first system relation, function or type that a statement uses, and where: characters from 0."""
    if not _is_suspect(sql):
        return None
    token = _system_token(tokenize(sql))
    return None if token is None else (token.text.lower(), token.start)


def _system_token(tokens: list[Token]) -> Token | None:
    return next(_system_tokens(tokens), None)


def _system_tokens(tokens: list[Token]) -> Iterator[Token]:
    for i, token in enumerate(tokens):
        if token.token_type in (TokenType.STRING, TokenType.NUMBER):
            continue
        word = token.text.lower()
        following = tokens[i + 1].token_type if i + 1 < len(tokens) else None
        before = tokens[i - 1].token_type if i else None
        named = tokens[i + 2] if following is TokenType.DOT and i + 2 < len(tokens) else None
        if word in _SCHEMAS and named is not None and named.text.lower() not in _BINDERS_IN_SCHEMAS:
            yield named
        if word in _NAMES and before in (TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.DOT):
            yield token
        if word in _FUNCTIONS and following is TokenType.L_PAREN:
            yield token
        if word in _TYPES and before in (TokenType.DCOLON, TokenType.ALIAS):
            yield token
