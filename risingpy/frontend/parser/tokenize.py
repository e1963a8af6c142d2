"""Tokens of a text, with sqlglot's tokenizer made to see parameters and the ends of numbers.

sqlglot takes `$1,$2` for the beginning of a dollar-quoted string whose tag is `1,`, and `1e3+2` for a number. A blank
after `$1` and `1e3` helps; the positions are corrected afterwards.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import Check, InvalidTextRepresentation, SqlError, SyntaxError_, unchecked
from risingpy.frontend.parser.dialect import InterruptibleCore, RisingPyDialect
from risingpy.frontend.parser.escape_strings import decode_escapes
from risingpy.frontend.parser.literals.literal_list import LITERALS
from risingpy.frontend.parser.literals.unicode_constants import has_unicode_constants, with_unicode_constants

_DIALECT = RisingPyDialect()
_KEYWORDS = _DIALECT.tokenizer_class.KEYWORDS
_MISTAKEN = re.compile(r"\$\d+[^\s$]+\$|\d\.?[eE]\d+[+-]")
_VERSION = ["FOR", "SYSTEM_TIME", "AS", "OF"]
_BIT_STRING = re.compile("[xXbB]'")
# What may hold a dollar sign that is no parameter, or a number, comes first.
_MISTAKES = re.compile(
    r"""'[^']*(?:''[^']*)*' | "[^"]*(?:""[^"]*)*" | --[^\n]* | /\*.*?\*/ | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
    | (?<!\w)(?:\$\d+ | (?:\d+\.?\d*|\.\d+)[eE]\d+(?=[+-]))(?P<end>)""",
    re.DOTALL | re.VERBOSE,
)


def tokenize(sql: str, check: Check = unchecked) -> list[Token]:
    """The tokens; `start` and `end` count characters of `sql` from 0.

    Raises sqlglot's TokenError, SqlError for what is wrong in an e'…', and what `check` raises: it is asked every few
    hundred tokens.
    """
    blanks = _ends_of_mistakes(sql)
    text = _with_blanks(sql, blanks)
    if text.endswith("'") and "$" in text:  # sqlglot miscounts doubled quotes after a $, if they end the text
        text += "\n"
    core = _DIALECT.tokenizer()._core
    assert isinstance(core, InterruptibleCore)
    core.check = check
    try:
        tokens = core.tokenize(text)
    except TokenError as error:
        cause = _explained(error.__cause__, text, core._start)
        if isinstance(cause, SqlError):
            raise cause from None
        raise error from cause
    for before, token in pairwise(tokens):
        if before.text == "@":  # sqlglot takes the word after it for the name of a variable
            token.token_type = _KEYWORDS.get(token.text.upper(), token.token_type)
    if blanks:
        # The k-th blank (from 0) stands at its own place plus the k blanks before it.
        places = [end + k for k, end in enumerate(blanks)]
        for token in tokens:
            token.start -= bisect_left(places, token.start)
            token.end -= bisect_left(places, token.end)
            if token.token_type is LITERALS:
                token.text = sql[token.start : token.end + 1]
    for before, token in pairwise(tokens):
        if before.token_type is TokenType.NUMBER and token.start == before.end + 1 and _is_word(token):
            text = sql[before.start : token.end + 1]
            raise SyntaxError_(f'trailing junk after numeric literal at or near "{text}"', position=before.start + 1)
    for token in tokens:
        if token.token_type is TokenType.BYTE_STRING:
            token.text = decode_escapes(sql[token.start : token.end + 1], token.start)
    return with_unicode_constants(tokens, sql) if has_unicode_constants(sql) else tokens


def _is_word(token: Token) -> bool:
    is_quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return not is_quoted and (token.text[:1].isalpha() or token.text[:1] == "_")


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


def with_blanks(sql: str) -> str:
    """The text with a blank after each parameter and number where sqlglot needs it."""
    return _with_blanks(sql, _ends_of_mistakes(sql))


def _explained(cause: BaseException | None, sql: str, start: int) -> BaseException | None:
    """What is wrong with the token that begins at `start`, of which sqlglot says `cause`."""
    text = sql[start:]
    if isinstance(cause, IndexError):  # it steps over an opening quote that ends the text
        quote = text[-1] if text[-1] in "'\"" else text
        return ValueError(f"Missing {quote} from 0:{start}")
    if isinstance(cause, TokenError) and _BIT_STRING.match(text):
        digits, kind = ("0123456789abcdefABCDEF", "hexadecimal") if text[0] in "xX" else ("01", "binary")
        wrong = next((each for each in text[2:].partition("'")[0] if each not in digits), None)
        if wrong is not None:
            return InvalidTextRepresentation(f'"{wrong}" is not a valid {kind} digit', position=start + 1)
    return cause


def _ends_of_mistakes(sql: str) -> list[int]:
    if _MISTAKEN.search(sql) is None:
        return []
    return [found.end() for found in _MISTAKES.finditer(sql) if found["end"] is not None]


def _with_blanks(sql: str, ends: list[int]) -> str:
    borders = [0, *ends, len(sql)]
    return " ".join(sql[start:end] for start, end in pairwise(borders))
