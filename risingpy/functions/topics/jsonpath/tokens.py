"""The words of a jsonpath: names, strings, numbers, variables and symbols. Source: PostgreSQL 15's jsonpath_scan.l."""

from __future__ import annotations

import re
from dataclasses import dataclass

from risingpy.errors import SqlError, SyntaxError_

_SYMBOLS = re.compile(r"\*\*|&&|\|\||==|!=|<>|<=|>=|[?%$.\[\]{}()|&!=<>@#,*:\-+/]")
_BLANK = re.compile(r"(?:[ \t\n\r\f]+|/\*.*?\*/)+", re.DOTALL)
_OTHER = r'[^?%$.\[\]{}()|&!=<>@#,*:\-+/ \t\n\r\f\\"]'
_NUMBER = re.compile(r"(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_JUNK = re.compile(rf"(?:[eE][-+])?{_OTHER}?")
_PLAIN = re.compile(rf"{_OTHER}+")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([^ux]))", re.DOTALL)
_NAMED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SAME_SYMBOL = {"<>": "!="}


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is name, string, number, variable, end, or symbol; `text` the value, `shown` as it was written."""

    kind: str
    text: str
    shown: str


def invalid(token: Token) -> SqlError:
    """A syntax error at a token."""
    if token.kind == "end":
        return SyntaxError_("syntax error at end of jsonpath input")
    return SyntaxError_(f'syntax error at or near "{token.shown}" of jsonpath input')


def tokenize(text: str) -> list[Token]:
    """The tokens, the last of which is the end. Raises 42601."""
    tokens: list[Token] = []
    at = 0
    while True:
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        if at >= len(text):
            return [*tokens, Token("end", "", "")]
        if text.startswith("/*", at):
            raise SyntaxError_("unexpected end of comment at end of jsonpath input")
        token, at = _token(text, at)
        tokens.append(token)


def _token(text: str, at: int) -> tuple[Token, int]:
    if text[at] == '"':
        value, end = _quoted(text, at + 1)
        return Token("string", value, text[at:end]), end
    if text[at] == "$" and text[at + 1 : at + 2] == '"':
        value, end = _quoted(text, at + 2)
        return Token("variable", value, text[at:end]), end
    if text[at] == "$" and _word_begins(text, at + 1):
        value, end = _word(text, at + 1)
        return Token("variable", value, text[at:end]), end
    number = _NUMBER.match(text, at)
    if number is not None:
        junk = _JUNK.match(text, number.end())
        if junk is not None and junk[0]:
            shown = text[at : junk.end()]
            raise SyntaxError_(f'trailing junk after numeric literal at or near "{shown}" of jsonpath input')
        return Token("number", number[0], number[0]), number.end()
    symbol = _SYMBOLS.match(text, at)
    if symbol is not None:
        return Token("symbol", _SAME_SYMBOL.get(symbol[0], symbol[0]), symbol[0]), symbol.end()
    value, end = _word(text, at)
    return Token("name", value, text[at:end]), end


def _word_begins(text: str, at: int) -> bool:
    return text[at : at + 1] == "\\" or _PLAIN.match(text, at) is not None


def _word(text: str, at: int) -> tuple[str, int]:
    """A name without quotes, which may have escapes."""
    pieces: list[str] = []
    while at < len(text):
        plain = _PLAIN.match(text, at)
        if plain is not None:
            pieces.append(plain[0])
            at = plain.end()
        elif text[at] == "\\":
            piece, at = _escaped(text, at)
            pieces.append(piece)
        else:
            break
    return _joined(pieces), at


def _quoted(text: str, at: int) -> tuple[str, int]:
    pieces: list[str] = []
    while at < len(text):
        if text[at] == '"':
            return _joined(pieces), at + 1
        if text[at] == "\\":
            piece, at = _escaped(text, at)
        else:
            piece, at = text[at], at + 1
        pieces.append(piece)
    raise SyntaxError_("unexpected end of quoted string at end of jsonpath input")


def _escaped(text: str, at: int) -> tuple[str, int]:
    found = _ESCAPE.match(text, at)
    if found is None:
        if at + 1 >= len(text):
            raise SyntaxError_("unexpected end after backslash at end of jsonpath input")
        kind = "Unicode" if text[at + 1] == "u" else "hexadecimal character"
        shown = text[at : at + 6]
        raise SyntaxError_(f'invalid {kind} sequence at or near "{shown}" of jsonpath input')
    braced, four, two, character = found.groups()
    if character is not None:
        return _NAMED.get(character, character), found.end()
    code = int(braced or four or two, 16)
    if code == 0:
        detail = "\\u0000 cannot be converted to text."
        raise SqlError("unsupported Unicode escape sequence", sqlstate="22P05", detail=detail)
    if code > 0x10FFFF:
        raise SyntaxError_(f'invalid Unicode escape sequence at or near "{found[0]}" of jsonpath input')
    return chr(code), found.end()


def _joined(pieces: list[str]) -> str:
    """The pieces, with pairs of surrogates as the characters that they mean."""
    text = "".join(pieces)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        detail = "Unicode low surrogate must follow a high surrogate."
        raise SqlError("invalid input syntax for type jsonpath", sqlstate="22P02", detail=detail) from None
