"""Where the name of a relation in a query's text ends, and where an alias of it may stand."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from risingpy.frontend.parser.tokenize import tokenize

_VERSION = ["FOR", "SYSTEM_TIME", "AS", "OF"]


def end_of_name(sql: str, start: int, *, most: int = 4) -> int:
    """Where the name ends that begins at `start`, of at most so many words; both count characters from 0."""
    tokens = _tokens_from(sql, start)
    return tokens[_words_of_name(tokens, most) - 1].end + 1


def end_of_item(sql: str, start: int, *, is_argument: bool) -> int:
    """Where the item of FROM ends whose relation's name begins at `start`, without its alias.

    That is after `FOR SYSTEM_TIME AS OF PROCTIME()`. `is_argument`: after the call, as TUMBLE(t, …), that it stands in.
    """
    tokens = _tokens_from(sql, start)
    place = _words_of_name(tokens, 4)
    if is_argument:
        return tokens[_closing(tokens, place)].end + 1
    if [token.text.upper() for token in tokens[place : place + 4]] == _VERSION:
        place = _closing(tokens, place + 6) + 1  # the name of the function, and its parenthesis
    return tokens[place - 1].end + 1


def is_table_statement(sql: str, start: int) -> bool:
    """Whether the name that begins at `start` is that of a query `TABLE name`, which takes no alias."""
    earlier = [token for token in tokenize(sql) if token.start < start]
    return bool(earlier) and earlier[-1].token_type is TokenType.TABLE and earlier[-1].text.upper() == "TABLE"


def _tokens_from(sql: str, start: int) -> list[Token]:
    return [token for token in tokenize(sql) if token.start >= start]


def _words_of_name(tokens: list[Token], most: int) -> int:
    """How many tokens `a.b.c` has, of at most so many words."""
    count = 1
    while count < 2 * most - 1 and len(tokens) > count + 1 and tokens[count].text == ".":
        count += 2
    return count


def _closing(tokens: list[Token], place: int) -> int:
    """The parenthesis that closes what is open at `place`."""
    depth = 1
    while depth:
        depth += (tokens[place].token_type is TokenType.L_PAREN) - (tokens[place].token_type is TokenType.R_PAREN)
        place += 1
    return place - 1
