"""PostgreSQL's regular expressions (AREs), translated for RE2 and for Python's `re`.

    \\m(\\w+)[[:space:]]+\\1   →   no RE2 (a back reference); Python: \\b(?=\\w)(\\w+)[\\t-\\r ]+\\1

RE2 runs inside Arrow, over whole columns; Python takes what RE2 lacks: back references, looking around, word boundaries
in text beyond ASCII. Both prefer the first alternative that matches where PostgreSQL takes the longest match (or the
shortest, if the first quantifier is lazy): `Pattern.extent` says when that may matter. Source: the manual, 9.7.3.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.functions.topics.patterns.brackets import RE2_CLASSES, python_class, read_bracket

_MAX_REPETITIONS = 255
_QUANTIFIERS = "*+?{"
_SPECIAL = "()[.^$\\|" + _QUANTIFIERS
_SIMPLE = {"a": "\a", "b": "\b", "B": "\\", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SHORTHAND = {"d": "digit", "s": "space", "w": "word"}
_HEX = {"x": r"[0-9a-fA-F]+", "u": r"[0-9a-fA-F]{4}", "U": r"[0-9a-fA-F]{8}"}


class Extent(Enum):
    """Which of several matches at the same start is the right one."""

    FIRST = "first"  # the one that backtracking finds first is the right one
    LONGEST = "longest"
    SHORTEST = "shortest"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A translated expression. `re2` is None if RE2 lacks a feature, and with `ascii_only` only right for ASCII texts.

    `looks_back`: a match depends on the text before it. `certain` are the groups that take part in every match, once.
    """

    re2: str | None
    ascii_only: bool
    python: re.Pattern[str]
    groups: int
    certain: frozenset[int]
    looks_back: bool
    extent: Extent

    def re2_with_group(self, wanted: int) -> str | None:
        """RE2's form with one group, named m: group `wanted`, or the whole match for 0."""
        if self.re2 is None:
            return None
        numbers = iter(range(1, self.groups + 1))
        named = _GROUP.sub(lambda _: "(?P<m>" if next(numbers) == wanted else "(?:", self.re2)
        return named if wanted else f"(?P<m>{named})"

    @property
    def re2_with_groups(self) -> str | None:
        """RE2's form with all groups, named g1, g2, …"""
        numbers = iter(range(1, self.groups + 1))
        return None if self.re2 is None else _GROUP.sub(lambda _: f"(?P<g{next(numbers)}>", self.re2)

    @property
    def may_be_empty(self) -> bool:
        """Whether an empty text matches, so that other texts may have empty matches between their characters."""
        return self.python.match("") is not None

    @property
    def re2_plain(self) -> str | None:
        return None if self.re2 is None else _GROUP.sub("(", self.re2)


_GROUP = re.compile("\ue000")  # stands for the "(" of a capturing group


def invalid(reason: str) -> SqlError:
    """The error of a malformed pattern, 2201B (invalid_regular_expression); the caller raises it."""
    return SqlError(f"invalid regular expression: {reason}", sqlstate="2201B")


@lru_cache(maxsize=512)
def compile_pattern(text: str, flags: str = "") -> Pattern:
    """The pattern of `text` with PostgreSQL's option letters. Raises 2201B and 22023."""
    return _Translator(text, flags).translate()


class _Translator:
    """Reads the expression once, writing both forms."""

    def __init__(self, text: str, flags: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.open_groups: set[int] = set()
        self.uncertain: set[int] = set()  # groups of one alternative of several, or with a quantifier around them
        self.re2_able = True
        self.ascii_only = False
        self.alternatives = self.looks_back = False
        self.anchored = False  # to the end, so that its length is settled
        self.greediness: list[bool] = []
        self.ignore_case = self.expanded = self.literal = False
        self.dot_stops = self.lines = False  # "." and [^…] stop at newlines; ^ and $ match at lines
        for flag in flags:
            self._set(flag)

    def _set(self, flag: str) -> None:
        match flag:
            case "i" | "c":
                self.ignore_case = flag == "i"
            case "n" | "m" | "s" | "p" | "w":
                self.dot_stops, self.lines = flag in "nmp", flag in "nmw"
            case "x" | "t":
                self.expanded = flag == "x"
            case "q":
                self.literal = True
            case "b" | "e":
                raise FeatureNotSupported(f'the regular expression option "{flag}" is not supported')
            case _:
                raise SqlError(f'invalid regular expression option: "{flag}"', sqlstate="22023")

    def translate(self) -> Pattern:
        self._directives()
        if self.literal:
            escaped = re.escape(self.text[self.at :])
            return self._finished(escaped, escaped)
        re2, python = self._alternatives()
        if self.at < len(self.text):
            raise invalid("parentheses () not balanced")
        return self._finished(re2, python)

    def _directives(self) -> None:
        if self.text.startswith("***="):
            self.literal, self.at = True, 4
        elif self.text.startswith("***:"):
            self.at = 4
        elif self.text.startswith("***"):
            raise invalid("quantifier operand invalid")
        options = re.compile(r"\(\?([a-z]+)\)").match(self.text, self.at)
        if options and not self.literal:
            for flag in options[1]:
                if flag not in "bceimnpqstwx":
                    raise invalid("invalid embedded option")
                self._set(flag)
            self.at = options.end()

    def _finished(self, re2: str, python: str) -> Pattern:
        if self.ignore_case:
            re2, python = f"(?i){re2}", f"(?i){python}"
        extent = Extent.FIRST
        if not self.anchored and (self.alternatives or len(set(self.greediness)) > 1):
            lazy = not self.alternatives and not self.greediness[0]
            extent = Extent.SHORTEST if lazy else Extent.LONGEST
        compiled = re.compile(python.replace("\ue000", "("))
        certain = frozenset(range(1, self.groups + 1)) - self.uncertain
        one = re2 if self.re2_able else None
        return Pattern(one, self.ascii_only, compiled, self.groups, certain, self.looks_back, extent)

    def _alternatives(self) -> tuple[str, str]:
        before = self.groups
        heads = [self._head()]
        branches = [self._branch()]
        while self._take("|"):
            heads.append(self._head())
            branches.append(self._branch())
        if len(branches) > 1:
            self.uncertain.update(range(before + 1, self.groups + 1))
            self.alternatives = self.alternatives or not self._exclude_each_other(heads)
        return "|".join(b[0] for b in branches), "|".join(b[1] for b in branches)

    def _exclude_each_other(self, heads: Sequence[str | None]) -> bool:
        """Whether at most one of the alternatives that have just been read can match at a place: the next character
        decides. So there is no choice between a longer match and that which is found first.

        An alternative without characters, as in `(&|^)`, leaves the decision to what follows the group.
        """
        if None in heads or len(set(heads)) < len(heads) or self.ignore_case:
            return False
        if "" not in heads:
            return True
        follows = self.text[self.at + 1 : self.at + 3] if self.text.startswith(")", self.at) else ""
        return follows[:1].isalnum() and follows[:1] not in heads and not follows[1:].startswith(tuple(_QUANTIFIERS))

    def _head(self) -> str | None:
        """The character that the next branch must begin with; empty if it takes none, None if it is not settled."""
        char, follows = self.text[self.at : self.at + 1], self.text[self.at + 1 : self.at + 2]
        if self.expanded or self.literal:
            return None
        if char == "^" and follows in ("|", ")"):
            return ""
        return char if char and char not in _SPECIAL and (not follows or follows not in _QUANTIFIERS) else None

    def _branch(self) -> tuple[str, str]:
        re2: list[str] = []
        python: list[str] = []
        while True:
            self._skip_comments()
            if self.at >= len(self.text) or self.text[self.at] in "|)":
                return "".join(re2), "".join(python)
            if self.text[self.at] in "*+?" or self._is_bound():
                raise invalid("quantifier operand invalid")
            inner, before = len(self.greediness), self.groups
            constraint, one, other = self._atom()
            self._skip_comments()
            quantifier = self._quantifier(inner)
            if quantifier and constraint:
                raise invalid("quantifier operand invalid")
            if quantifier:
                self.uncertain.update(range(before + 1, self.groups + 1))
            re2.append(one + quantifier)
            python.append(other + quantifier)
            if quantifier and self.at < len(self.text) and (self.text[self.at] in "*+?" or self._is_bound()):
                raise invalid("quantifier operand invalid")

    def _take(self, piece: str) -> bool:
        found = self.text.startswith(piece, self.at)
        self.at += len(piece) if found else 0
        return found

    def _skip_comments(self) -> None:
        while True:
            if self.text.startswith("(?#", self.at):
                end = self.text.find(")", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            elif self.expanded and self.at < len(self.text) and self.text[self.at] in " \t\n\r\f\v":
                self.at += 1
            elif self.expanded and self.text.startswith("#", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            else:
                return

    def _is_bound(self) -> bool:
        return self.text[self.at] == "{" and self.text[self.at + 1 : self.at + 2].isdigit()

    def _quantifier(self, inner: int) -> str:
        """The quantifier of the last atom, whose own quantifiers begin at `inner`: it counts before them."""
        if self.at >= len(self.text) or self.text[self.at] not in _QUANTIFIERS:
            return ""
        if self.text[self.at] != "{":
            quantifier = self.text[self.at]
            self.at += 1
            fixed = False
        elif not self._is_bound():
            return ""
        else:
            bound = re.compile(r"\{(\d+)(,(\d*))?\}").match(self.text, self.at)
            if bound is None:
                closed = "}" in self.text[self.at :]
                raise invalid("invalid repetition count(s)" if closed else "braces {} not balanced")
            low, high = int(bound[1]), int(bound[3]) if bound[3] else None
            if max(low, high or 0) > _MAX_REPETITIONS or (high is not None and low > high):
                raise invalid("invalid repetition count(s)")
            quantifier, self.at = bound[0], bound.end()
            fixed = bound[2] is None
        lazy = self._take("?")
        if not fixed:
            self.greediness.insert(inner, not lazy)
        return quantifier + ("?" if lazy and not fixed else "")

    def _atom(self) -> tuple[bool, str, str]:
        """(whether it is a constraint, RE2's form, Python's form)"""
        char = self.text[self.at]
        self.at += 1
        match char:
            case "(":
                return self._group()
            case "[":
                return self._bracket()
            case ".":
                dot = r"[^\n]" if self.dot_stops else "(?s:.)"
                return False, dot, dot
            case "^":
                self.looks_back = True
                return (True, "(?m:^)", "(?m:^)") if self.lines else (True, r"\A", r"\A")
            case "$":
                self.anchored = True
                return (True, "(?m:$)", "(?m:$)") if self.lines else (True, r"\z", r"\Z")
            case "\\":
                return self._escape()
        escaped = re.escape(char)
        return False, escaped, escaped

    def _group(self) -> tuple[bool, str, str]:
        for opening in ("?:", "?=", "?!", "?<=", "?<!"):
            if self._take(opening):
                re2, python = self._closed()
                if opening == "?:":
                    return False, f"(?:{re2})", f"(?:{python})"
                self.re2_able = False
                return True, "", f"({opening}{python})"
        if self._take("?"):
            raise invalid("quantifier operand invalid")
        self.groups += 1
        number = self.groups
        self.open_groups.add(number)
        re2, python = self._closed()
        self.open_groups.discard(number)
        return False, f"\ue000{re2})", f"\ue000{python})"

    def _closed(self) -> tuple[str, str]:
        inner = self._alternatives()
        if not self._take(")"):
            raise invalid("parentheses () not balanced")
        return inner

    def _bracket(self) -> tuple[bool, str, str]:
        for word, python in (("[:<:]]", r"\b(?=\w)"), ("[:>:]]", r"\b(?<=\w)")):
            if self._take(word):
                self.re2_able = False
                return True, "", python
        bracket = read_bracket(self.text, self.at, ignore_case=self.ignore_case)
        if isinstance(bracket, str):
            raise invalid(bracket)
        self.at = bracket.end
        stop = r"\n" if bracket.negated and self.dot_stops else ""
        opening = "[^" if bracket.negated else "["
        return False, f"{opening}{bracket.re2}{stop}]", f"{opening}{bracket.python}{stop}]"

    def _escape(self) -> tuple[bool, str, str]:
        if self.at >= len(self.text):
            raise invalid("invalid escape \\ sequence")
        char = self.text[self.at]
        self.at += 1
        lower = char.lower()
        if lower in _SHORTHAND:
            opening = "[" if char.islower() else "[^"
            name = _SHORTHAND[lower]
            return False, f"{opening}{RE2_CLASSES[name]}]", f"{opening}{python_class(name)}]"
        match char:
            case "A" | "Z":
                self.anchored = self.anchored or char == "Z"
                self.looks_back = True
                return True, r"\A" if char == "A" else r"\z", f"\\{char}"
            case "m" | "M":
                self.re2_able = False
                return True, "", r"\b(?=\w)" if char == "m" else r"\b(?<=\w)"
            case "y" | "Y":
                self.ascii_only = self.looks_back = True
                boundary = r"\b" if char == "y" else r"\B"
                return True, boundary, boundary
        if char.isdigit() and char != "0":
            referred = self._back_reference()
            if referred is not None:
                return referred
        code = self._character(char)
        return False, _escaped(code), re.escape(code)

    def _back_reference(self) -> tuple[bool, str, str] | None:
        found = re.compile(r"\d+").match(self.text, self.at - 1)
        assert found is not None
        digits = found[0]
        if len(digits) > 1 and int(digits) > self.groups:
            return None  # an octal number
        number = int(digits)
        if number > self.groups or number in self.open_groups:
            raise invalid("invalid backreference number")
        self.at = found.end()
        self.re2_able = False
        return False, "", f"(?:\\{number})"

    def _character(self, char: str) -> str:
        """The character that an escape stands for."""
        if char in _SIMPLE:
            return _SIMPLE[char]
        if char == "c" and self.at < len(self.text):
            self.at += 1
            return chr(ord(self.text[self.at - 1]) & 31)
        if char in _HEX or char.isdigit():
            start = self.at if char in _HEX else self.at - 1
            digits = re.compile(_HEX.get(char, "[0-7]{1,3}")).match(self.text, start)
            if digits is not None:
                self.at = digits.end()
                code = int(digits[0], 16 if char in _HEX else 8)
                if code < 0x110000:
                    return chr(code)
        if char.isascii() and char.isalnum():
            raise invalid("invalid escape \\ sequence")
        return char


def _escaped(char: str) -> str:
    """A character for RE2, which knows no escape of Python's for the unprintable ones."""
    return re.escape(char) if char.isprintable() else f"\\x{{{ord(char):x}}}"
