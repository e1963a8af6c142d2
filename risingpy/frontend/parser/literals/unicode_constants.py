r"""U&'…' and U&"…" [UESCAPE 'mark']: tokens whose text has the characters that their escapes stand for.

U&"d\0061ta"  =>  the name data          U&'d!0061ta' UESCAPE '!'  =>  the text data

sqlglot reads U&"…" as three tokens. A string whose escapes are resolved is a BYTE_STRING here, as an e'…' is.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import SyntaxError_
from risingpy.functions.topics.texts.unicode_escapes import LARGEST, escapes

_NO_MARKS = frozenset("0123456789abcdefABCDEF+'\"")
_BEFORE_TEXT = 3  # the U, the & and the quote
_STRINGS = (TokenType.STRING, TokenType.BYTE_STRING)


def has_unicode_constants(sql: str) -> bool:
    """Whether the text may have such constants: almost none has."""
    return "U&" in sql or "u&" in sql


def with_unicode_constants(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens, each such constant as one token. Raises SyntaxError_ for escapes that are none, as PostgreSQL."""
    done, place = list[Token](), 0
    while place < len(tokens):
        token, following = tokens[place], place + 1
        if _begins_name(tokens, place, sql):
            token = _joined(token, tokens[place + 2], TokenType.IDENTIFIER)
            following = place + 3
        elif token.token_type is not TokenType.UNICODE_STRING:
            done.append(token)
            place += 1
            continue
        begin, quote = token.start, '"' if token.token_type is TokenType.IDENTIFIER else "'"
        written = sql[begin + _BEFORE_TEXT : token.end].replace(quote * 2, quote)
        while quote == "'" and _goes_on(tokens, following, sql):
            token = _joined(token, tokens[following], token.token_type)
            written += tokens[following].text
            following += 1
        mark = "\\"
        if following < len(tokens) and tokens[following].text.upper() == "UESCAPE":
            mark = _mark(tokens, following + 1, sql)
            token = _joined(token, tokens[following + 1], token.token_type)
            following += 2
        kind = TokenType.IDENTIFIER if quote == '"' else TokenType.BYTE_STRING
        token = _joined(token, token, kind)
        token.text = _decoded(written, mark, begin)
        done.append(token)
        place = following
    return done


def _begins_name(tokens: list[Token], place: int, sql: str) -> bool:
    """Whether U, & and a quoted name follow each other without blanks."""
    if place + 2 >= len(tokens) or tokens[place].text not in ("U", "u"):
        return False
    start = tokens[place].start
    is_name = tokens[place + 2].token_type is TokenType.IDENTIFIER
    return is_name and sql[start + 1 : start + _BEFORE_TEXT] == '&"' and tokens[place + 2].start == start + 2


def _goes_on(tokens: list[Token], place: int, sql: str) -> bool:
    """Whether a string stands in a later line and goes on with the one before it, as the standard has it."""
    if place >= len(tokens) or tokens[place].token_type is not TokenType.STRING:
        return False
    between = sql[tokens[place - 1].end + 1 : tokens[place].start]
    return "\n" in between and not between.strip()


def _joined(first: Token, last: Token, kind: TokenType) -> Token:
    return Token(kind, last.text, first.line, first.col, first.start, last.end, first.comments)


def _mark(tokens: list[Token], place: int, sql: str) -> str:
    if place >= len(tokens):
        message = "UESCAPE must be followed by a simple string literal at end of input"
        raise SyntaxError_(message, position=len(sql) + 1)
    token = tokens[place]
    shown = f'at or near "{sql[token.start : token.end + 1]}"'
    if token.token_type not in _STRINGS:
        message = f"UESCAPE must be followed by a simple string literal {shown}"
        raise SyntaxError_(message, position=token.start + 1)
    if len(token.text) != 1 or token.text in _NO_MARKS or token.text.isspace():
        raise SyntaxError_(f"invalid Unicode escape character {shown}", position=token.start + 1)
    return token.text


def _decoded(written: str, mark: str, begin: int) -> str:
    """The text with its characters; `begin` counts characters before the constant, for the places of errors."""
    out, high, done = list[str](), None, 0
    first = begin + _BEFORE_TEXT + 1
    for found in escapes(mark).finditer(written):
        if high is not None and found.start() > done:
            raise _no_pair(first + done)
        out.append(written[done : found.start()])
        position, done = first + found.start(), found.end()
        if found["other"] is not None:
            hint = r"Unicode escapes must be \XXXX or \+XXXXXX."
            raise SyntaxError_("invalid Unicode escape", position=position, hint=hint)
        code = None if found.lastindex is None else int(found[found.lastindex], 16)
        if code is not None and not 0 < code <= LARGEST:
            raise SyntaxError_("invalid Unicode escape value", position=position)
        if (high is not None) is not (code is not None and 0xDC00 <= code < 0xE000):
            raise _no_pair(position)
        if code is None:  # the mark twice
            out.append(mark)
        elif 0xD800 <= code < 0xDC00:
            high = code
        else:
            out.append(chr(code if high is None else 0x10000 + (high - 0xD800) * 0x400 + code - 0xDC00))
            high = None
    if high is not None:
        raise _no_pair(first + done)
    return "".join([*out, written[done:]])


def _no_pair(position: int) -> SyntaxError_:
    return SyntaxError_("invalid Unicode surrogate pair", position=position)
