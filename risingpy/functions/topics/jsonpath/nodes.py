"""The parts of a jsonpath, and their text as PostgreSQL prints it: `$.a ? (@ > 1)` is `$."a"?(@ > 1)`.

A `Chain` is an operand and the accessors after it. A predicate is true, false or unknown; as an operand it is the JSON
value true, false or null.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from risingpy.types.jsonb import Json, Number, dump, quote

LAST_LEVEL = None  # of `**{last}`: however deep


@dataclass(frozen=True, slots=True)
class Root:
    """`$`"""


@dataclass(frozen=True, slots=True)
class Current:
    """`@`: the item that a filter looks at."""


@dataclass(frozen=True, slots=True)
class Last:
    """`last`, in a subscript: the array's last position."""


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name`"""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """null, true, false, a number or a string."""

    value: Json


@dataclass(frozen=True, slots=True)
class Key:
    """`.name`"""

    name: str


@dataclass(frozen=True, slots=True)
class AnyKey:
    """`.*`"""


@dataclass(frozen=True, slots=True)
class AnyElement:
    """`[*]`"""


@dataclass(frozen=True, slots=True)
class Subscripts:
    """`[1, 3 to last]`: pairs of the first and, of a range, the last position."""

    ranges: tuple[tuple[Node, Node | None], ...]


@dataclass(frozen=True, slots=True)
class Descendants:
    """`.**{first to last}`; None is `last`."""

    first: int | None
    last: int | None


@dataclass(frozen=True, slots=True)
class PathFilter:
    """`? (predicate)`"""

    predicate: Node


@dataclass(frozen=True, slots=True)
class Method:
    """`.size()` and its kind; `.datetime(template)` has a template."""

    name: str
    template: str | None = None


Step = Key | AnyKey | AnyElement | Subscripts | Descendants | PathFilter | Method


@dataclass(frozen=True, slots=True)
class Chain:
    """An operand and at least one accessor."""

    base: Node
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`+ operand` or `- operand`"""

    symbol: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left + right` and the like."""

    symbol: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether any item of `left` and any of `right` compare so; unknown if an operand fails.

    A pair that cannot be compared makes it unknown, in lax mode only if no other pair makes it true.
    """

    symbol: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """`left && right` or `left || right`"""

    symbol: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Not:
    """True of false, false of true; unknown stays unknown."""

    predicate: Node


@dataclass(frozen=True, slots=True)
class IsUnknown:
    """Whether the predicate is unknown; itself always true or false."""

    predicate: Node


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether the path gives any item; unknown if the path fails."""

    operand: Node


@dataclass(frozen=True, slots=True)
class StartsWith:
    """Whether any item is a text that begins with the prefix; unknown if an item is no text."""

    operand: Node
    prefix: Node


@dataclass(frozen=True, slots=True)
class LikeRegex:
    """`matcher` is the compiled pattern."""

    operand: Node
    pattern: str
    flags: str
    matcher: re.Pattern[str]


Predicate = Comparison | Logic | Not | IsUnknown | Exists | StartsWith | LikeRegex
Node = Root | Current | Last | Variable | Constant | Chain | Unary | Arithmetic | Predicate
PREDICATES = (Comparison, Logic, Not, IsUnknown, Exists, StartsWith, LikeRegex)


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A whole path. In lax mode arrays are wrapped and unwrapped as needed and what is missing is nothing."""

    lax: bool
    root: Node

    def __str__(self) -> str:
        return ("" if self.lax else "strict ") + _text(self.root, brackets=True)


_PRIORITIES = {"||": 0, "&&": 1, **dict.fromkeys(("==", "!=", "<", ">", "<=", ">=", "starts with"), 2)}
_PRIORITIES |= {"+": 3, "-": 3, "*": 4, "/": 4, "%": 4}
_UNARY_PRIORITY, _OPERAND_PRIORITY = 5, 6


def _priority(node: Node) -> int:
    match node:
        case Arithmetic() | Comparison() | Logic():
            return _PRIORITIES[node.symbol]
        case StartsWith():
            return _PRIORITIES["starts with"]
        case Unary():
            return _UNARY_PRIORITY
    return _OPERAND_PRIORITY


def _text(node: Node, *, brackets: bool) -> str:
    match node:
        case Root():
            return "$"
        case Current():
            return "@"
        case Last():
            return "last"
        case Variable(name):
            return "$" + quote(name)
        case Constant(value):
            return dump(value)
        case Chain(base, steps):
            shown = _text(base, brackets=True)
            is_number = isinstance(base, Constant) and isinstance(base.value, Number)
            return (f"({shown})" if is_number else shown) + "".join(map(_step_text, steps))
        case Unary(symbol, operand):
            shown = symbol + _operand(operand, _UNARY_PRIORITY)
        case Arithmetic(symbol, left, right) | Comparison(symbol, left, right) | Logic(symbol, left, right):
            priority = _PRIORITIES[symbol]
            shown = f"{_operand(left, priority)} {symbol} {_operand(right, priority)}"
        case StartsWith(operand, prefix):
            priority = _PRIORITIES["starts with"]
            shown = f"{_operand(operand, priority)} starts with {_operand(prefix, priority)}"
        case LikeRegex(operand, pattern, flags, _):
            flag = f' flag "{flags}"' if flags else ""
            shown = f"{_operand(operand, _OPERAND_PRIORITY)} like_regex {quote(pattern)}{flag}"
        case Not(predicate):
            return f"!({_text(predicate, brackets=False)})"
        case IsUnknown(predicate):
            return f"({_text(predicate, brackets=False)}) is unknown"
        case Exists(operand):
            return f"exists ({_text(operand, brackets=False)})"
    return f"({shown})" if brackets else shown


def _operand(node: Node, priority: int) -> str:
    return _text(node, brackets=_priority(node) <= priority)


def _step_text(step: Step) -> str:
    match step:
        case Key(name):
            return "." + quote(name)
        case AnyKey():
            return ".*"
        case AnyElement():
            return "[*]"
        case Subscripts(ranges):
            return f"[{','.join(_range_text(first, last) for first, last in ranges)}]"
        case PathFilter(predicate):
            return f"?({_text(predicate, brackets=False)})"
        case Method(name, template):
            return f".{name}({'' if template is None else quote(template)})"
        case Descendants(first, last):
            return ".**" + _levels_text(first, last)


def _range_text(first: Node, last: Node | None) -> str:
    shown = _text(first, brackets=False)
    return shown if last is None else f"{shown} to {_text(last, brackets=False)}"


def _levels_text(first: int | None, last: int | None) -> str:
    if (first, last) == (0, LAST_LEVEL):
        return ""
    one, other = ("last" if level is None else str(level) for level in (first, last))
    return f"{{{one}}}" if first == last else f"{{{one} to {other}}}"
