"""Reads jsonpath. From the loosest: || · && · ! · comparison · + - · * / % · unary + - · accessors.

Source: PostgreSQL 15's jsonpath_gram.y. A predicate is no operand unless it is in parentheses before an accessor.
"""

from __future__ import annotations

import re
from functools import lru_cache

from risingpy.errors import FeatureNotSupported, SyntaxError_
from risingpy.functions.topics.jsonpath.nodes import (
    PREDICATES,
    AnyElement,
    AnyKey,
    Arithmetic,
    Chain,
    Comparison,
    Constant,
    Current,
    Descendants,
    Exists,
    IsUnknown,
    JsonPath,
    Key,
    Last,
    LikeRegex,
    Logic,
    Method,
    Node,
    Not,
    PathFilter,
    Root,
    StartsWith,
    Step,
    Subscripts,
    Unary,
    Variable,
)
from risingpy.functions.topics.jsonpath.tokens import Token, invalid, tokenize
from risingpy.functions.topics.patterns.translation import compile_pattern
from risingpy.types.jsonb import Number, canonical

_METHODS = ("abs", "size", "type", "floor", "double", "ceiling", "keyvalue", "datetime")
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
_CONSTANTS = {"null": None, "true": True, "false": False}
_INTEGER = re.compile(r"0|[1-9]\d*", re.ASCII)


@lru_cache(maxsize=512)
def parse_jsonpath(text: str) -> JsonPath:
    """The path of a text. Raises 42601, and 2201B for a malformed regular expression."""
    return _Parser(text).path()


class _Parser:
    """`filters` and `subscripts` are how many of them are around: `@` and `last` need one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0
        self._filters = self._subscripts = 0

    def path(self) -> JsonPath:
        if self._token.kind == "end":
            raise SyntaxError_(f'invalid input syntax for type jsonpath: "{self._text}"', sqlstate="22P02")
        lax = not self._takes_word("strict")
        if lax:
            self._takes_word("lax")
        root = self._disjunction()
        if self._token.kind != "end":
            raise invalid(self._token)
        return JsonPath(lax, root)

    # -- tokens ---------------------------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _takes(self, *symbols: str) -> str | None:
        if self._token.kind == "symbol" and self._token.text in symbols:
            return self._next().text
        return None

    def _needs(self, symbol: str) -> None:
        if self._takes(symbol) is None:
            raise invalid(self._token)

    def _is_word(self, word: str, ahead: int = 0) -> bool:
        token = self._tokens[min(self._at + ahead, len(self._tokens) - 1)]
        return token.kind == "name" and token.text.lower() == word

    def _takes_word(self, word: str) -> bool:
        found = self._is_word(word)
        self._at += found
        return found

    def _needs_word(self, word: str) -> None:
        if not self._takes_word(word):
            raise invalid(self._token)

    # -- predicates -----------------------------------------------------------------------------------------------

    def _disjunction(self) -> Node:
        left = self._conjunction()
        while self._takes("||"):
            left = Logic("||", self._predicate(left), self._predicate(self._conjunction()))
        return left

    def _conjunction(self) -> Node:
        left = self._negation()
        while self._takes("&&"):
            left = Logic("&&", self._predicate(left), self._predicate(self._negation()))
        return left

    def _negation(self) -> Node:
        if self._takes("!"):
            token = self._token
            if not (token.kind == "symbol" and token.text == "(") and not self._is_word("exists"):
                raise invalid(token)
            return Not(self._predicate(self._delimited()))
        return self._comparison()

    def _delimited(self) -> Node:
        """`(predicate)` or `exists (operand)`."""
        if self._takes_word("exists"):
            self._needs("(")
            operand = self._operand(self._disjunction())
            self._needs(")")
            return Exists(operand)
        self._needs("(")
        inner = self._predicate(self._disjunction())
        self._needs(")")
        return inner

    def _comparison(self) -> Node:
        if self._is_word("exists"):
            return self._delimited()
        left = self._sum()
        symbol = self._takes(*_COMPARISONS)
        if symbol:
            return Comparison(symbol, self._operand(left), self._operand(self._sum()))
        if self._is_word("starts") and self._is_word("with", 1):
            self._at += 2
            return StartsWith(self._operand(left), self._prefix())
        if self._takes_word("like_regex"):
            return self._like_regex(self._operand(left))
        return left

    def _prefix(self) -> Node:
        token = self._next()
        if token.kind == "string":
            return Constant(token.text)
        if token.kind == "variable":
            return Variable(token.text)
        raise invalid(token)

    def _like_regex(self, operand: Node) -> Node:
        pattern = self._string()
        flags = self._string() if self._takes_word("flag") else ""
        kept = _regex_flags(flags)
        matcher = compile_pattern(pattern, kept).python
        return LikeRegex(operand, pattern, "".join(flag for flag in "ismxq" if flag in flags), matcher)

    def _string(self) -> str:
        token = self._next()
        if token.kind != "string":
            raise invalid(token)
        return token.text

    def _predicate(self, node: Node) -> Node:
        if not isinstance(node, PREDICATES):
            raise invalid(self._token)
        return node

    def _operand(self, node: Node) -> Node:
        if isinstance(node, PREDICATES):
            raise invalid(self._token)
        return node

    # -- operands -------------------------------------------------------------------------------------------------

    def _sum(self) -> Node:
        left = self._product()
        while symbol := self._takes("+", "-"):
            left = Arithmetic(symbol, self._operand(left), self._operand(self._product()))
        return left

    def _product(self) -> Node:
        left = self._signed()
        while symbol := self._takes("*", "/", "%"):
            left = Arithmetic(symbol, self._operand(left), self._operand(self._signed()))
        return left

    def _signed(self) -> Node:
        symbol = self._takes("+", "-")
        if symbol is None:
            return self._accessed()
        operand = self._operand(self._signed())
        if isinstance(operand, Constant) and isinstance(operand.value, Number):
            return Constant(operand.value if symbol == "+" else _negated(operand.value))
        return Unary(symbol, operand)

    def _accessed(self) -> Node:
        if self._takes("("):
            base = self._disjunction()
            self._needs(")")
            if isinstance(base, PREDICATES) and self._is_word("is") and self._is_word("unknown", 1):
                self._at += 2
                return IsUnknown(base)
        else:
            base = self._primary()
        steps: list[Step] = []
        while (step := self._step()) is not None:
            steps.append(step)
        if isinstance(base, Chain):  # in parentheses
            return Chain(base.base, (*base.steps, *steps))
        return Chain(base, tuple(steps)) if steps else base

    def _primary(self) -> Node:
        token = self._next()
        match token.kind:
            case "string":
                return Constant(token.text)
            case "number":
                text = token.text
                return Constant(Number(canonical(_json_number(text))))
            case "variable":
                return Variable(token.text)
            case "symbol" if token.text == "$":
                return Root()
            case "symbol" if token.text == "@":
                if not self._filters:
                    raise SyntaxError_("@ is not allowed in root expressions")
                return Current()
            case "name" if token.text in _CONSTANTS:
                return Constant(_CONSTANTS[token.text])
            case "name" if token.text.lower() == "last":
                if not self._subscripts:
                    raise SyntaxError_("LAST is allowed only in array subscripts")
                return Last()
        raise invalid(token)

    # -- accessors ------------------------------------------------------------------------------------------------

    def _step(self) -> Step | None:
        if self._takes("["):
            return self._array_step()
        if self._takes("?"):
            self._needs("(")
            self._filters += 1
            predicate = self._predicate(self._disjunction())
            self._filters -= 1
            self._needs(")")
            return PathFilter(predicate)
        if not self._takes("."):
            return None
        if self._takes("*"):
            return AnyKey()
        if self._takes("**"):
            return self._descendants()
        token = self._next()
        if token.kind not in ("name", "string"):
            raise invalid(token)
        return self._method(token) or Key(token.text)

    def _method(self, token: Token) -> Method | None:
        name = token.text.lower()
        if token.kind != "name" or not (self._token.kind == "symbol" and self._token.text == "("):
            return None
        if name not in _METHODS:
            raise invalid(self._token)
        self._needs("(")
        template = self._next().text if name == "datetime" and self._token.kind == "string" else None
        self._needs(")")
        return Method(name, template)

    def _array_step(self) -> Step:
        if self._takes("*"):
            self._needs("]")
            return AnyElement()
        self._subscripts += 1
        ranges: list[tuple[Node, Node | None]] = []
        while True:
            first = self._operand(self._sum())
            ranges.append((first, self._operand(self._sum()) if self._takes_word("to") else None))
            if not self._takes(","):
                break
        self._subscripts -= 1
        self._needs("]")
        return Subscripts(tuple(ranges))

    def _descendants(self) -> Descendants:
        if not self._takes("{"):
            return Descendants(0, None)
        first = self._level()
        last = self._level() if self._takes_word("to") else first
        self._needs("}")
        return Descendants(first, last)

    def _level(self) -> int | None:
        token = self._next()
        if token.kind == "name" and token.text.lower() == "last":
            return None
        if token.kind != "number" or not _INTEGER.fullmatch(token.text):
            raise invalid(token)
        return int(token.text)


def _json_number(text: str) -> str:
    """A number as JSON writes it: digits on both sides of the point."""
    mantissa, exponent, power = text.lower().partition("e")
    whole, point, fraction = mantissa.partition(".")
    return (whole or "0") + (f".{fraction}" if point and fraction else "") + exponent + power


def _negated(number: Number) -> Number:
    text = number.removeprefix("-") if number.startswith("-") else f"-{number}"
    return Number(canonical(text))


def _regex_flags(flags: str) -> str:
    """The option letters of PostgreSQL's regular expressions for XQuery's."""
    for flag in flags:
        if flag not in "ismxq":
            detail = f'Unrecognized flag character "{flag}" in LIKE_REGEX predicate.'
            raise SyntaxError_("invalid input syntax for type jsonpath", detail=detail)
    case = "i" if "i" in flags else ""
    if "q" in flags:
        return "q" + case
    if "x" in flags:
        raise FeatureNotSupported('XQuery "x" flag (expanded regular expressions) is not implemented')
    lines = {(False, False): "p", (False, True): "n", (True, False): "s", (True, True): "w"}
    return lines["s" in flags, "m" in flags] + case
