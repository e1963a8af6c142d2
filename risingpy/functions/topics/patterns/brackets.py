"""Bracket expressions of PostgreSQL's regular expressions: `[^[:alpha:]_-]`.

Character classes are Unicode's. RE2 knows its categories; for Python's `re` they are written out as ranges.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

_SPACE = r"\t-\r "
_WIDE_SPACE = r"\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}"
_VISIBLE = r"\p{L}\p{M}\p{N}\p{P}\p{S}"

RE2_CLASSES: dict[str, str] = {
    "alnum": r"\p{L}\p{N}",
    "alpha": r"\p{L}",
    "blank": r"\t ",
    "cntrl": r"\p{Cc}",
    "digit": "0-9",
    "graph": _VISIBLE,
    "lower": r"\p{Ll}",
    "print": _VISIBLE + r"\p{Zs}",
    "punct": r"\p{P}\p{S}",
    "space": _SPACE + _WIDE_SPACE,
    "upper": r"\p{Lu}",
    "word": r"\p{L}\p{N}_",
    "xdigit": "0-9A-Fa-f",
}
_CATEGORY = re.compile(r"\\p\{(\w+)\}")


@cache
def python_class(name: str) -> str:
    """The class for Python, inside brackets: categories as the ranges of their characters."""
    return _braced(_CATEGORY.sub(lambda found: _ranges(found[1]), RE2_CLASSES[name]))


@cache
def _ranges(category: str) -> str:
    pieces: list[str] = []
    first = last = -2
    for code in range(0x110000):
        if not unicodedata.category(chr(code)).startswith(category):
            continue
        if code > last + 1:
            pieces.append(f"\\U{first:08x}-\\U{last:08x}" if first >= 0 else "")
            first = code
        last = code
    return "".join([*pieces, f"\\U{first:08x}-\\U{last:08x}"])


def _braced(text: str) -> str:
    """Python's escapes instead of RE2's for characters by their number."""
    return re.sub(r"\\x\{(\w+)\}", lambda found: f"\\U{found[1]:0>8}", text)


_ESCAPED_CLASS = {"d": "digit", "s": "space", "w": "word"}
_ESCAPES = {"a": "\a", "b": "\b", "B": "\\", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMES = {"hyphen": "-", "period": ".", "space": " ", "tab": "\t", "newline": "\n", "comma": ",", "slash": "/"}


@dataclass(frozen=True, slots=True)
class Bracket:
    """The members, for both engines, and where the text goes on after the bracket."""

    negated: bool
    re2: str
    python: str
    end: int


def read_bracket(text: str, at: int, *, ignore_case: bool = False) -> Bracket | str:
    """The bracket expression after its `[`, or what is wrong with it."""
    negated = text.startswith("^", at)
    at += negated
    re2: list[str] = []
    python: list[str] = []
    first = True
    while at < len(text):
        if text[at] == "]" and not first:
            return Bracket(negated, "".join(re2), "".join(python), at + 1)
        first = False
        member = _member(text, at)
        if isinstance(member, str):
            return member
        name, char, at = member
        if name:
            name = "alpha" if ignore_case and name in ("upper", "lower") else name
            re2.append(RE2_CLASSES[name])
            python.append(python_class(name))
            continue
        last = char
        if text.startswith("-", at) and at + 1 < len(text) and text[at + 1] != "]":
            member = _member(text, at + 1)
            if isinstance(member, str):
                return member
            name, last, at = member
            if name or ord(last) < ord(char):
                return "invalid character range"
        shown = _one(char) if last == char else f"{_one(char)}-{_one(last)}"
        re2.append(shown)
        python.append(_braced(shown))
    return "brackets [] not balanced"


def _member(text: str, at: int) -> tuple[str, str, int] | str:
    """(class name or "", character, position after it)"""
    opening = text[at : at + 2]
    if opening in ("[:", "[.", "[="):
        end = text.find(opening[1] + "]", at + 2)
        if end < 0:
            return "brackets [] not balanced"
        inner = text[at + 2 : end]
        if opening == "[:":
            return (inner, "", end + 2) if inner in RE2_CLASSES else "invalid character class"
        char = _NAMES.get(inner, inner)
        return ("", char, end + 2) if len(char) == 1 else "invalid collating element"
    if text[at] != "\\":
        return "", text[at], at + 1
    if at + 1 >= len(text):
        return "invalid escape \\ sequence"
    char = text[at + 1]
    if char in _ESCAPED_CLASS:
        return _ESCAPED_CLASS[char], "", at + 2
    if char in _ESCAPES:
        return "", _ESCAPES[char], at + 2
    code = re.compile(r"x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|c(.)").match(text, at + 1)
    if code is not None:
        number = ord(code[4]) & 31 if code[4] else int(code[1] or code[2] or code[3], 16)
        return "", chr(number), code.end()
    if char.isascii() and char.isalnum():
        return "invalid escape \\ sequence"
    return "", char, at + 2


def _one(char: str) -> str:
    if char.isalnum() and char.isascii():
        return char
    return f"\\x{{{ord(char):x}}}"
