"""Runs a jsonpath over a value, and gives the items to which it leads lazily, one after the other.

In lax mode an array is unwrapped if an accessor needs something else, another item is wrapped if it needs an array, and
a missing item is no error. A predicate whose operands fail is unknown. Source: PostgreSQL 15's jsonpath_exec.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from risingpy.errors import UndefinedObject
from risingpy.functions.topics.jsonpath.error import PathError
from risingpy.functions.topics.jsonpath.moments import Moment, moment
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
from risingpy.functions.topics.jsonpath.places import places
from risingpy.functions.topics.jsonpath.templates import moment_by_template
from risingpy.functions.topics.jsonpath.values import (
    calculate,
    compare,
    double,
    negate,
    numeric_method,
    position,
    type_name,
)
from risingpy.types.jsonb import Json, Number

_NO_ARRAY, _NO_MEMBER, _NO_NUMBER, _NO_OBJECT = "22039", "2203A", "2203B", "2203C"
_KEYVALUE = Method("keyvalue")
_BASES = 10_000_000_000  # how far apart ids of objects from different values are


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part of the path runs: `@`, the length of the array that is subscripted, whether to miss silently.

    `base` is the value that objects' ids count from, and its number.
    """

    current: Json
    size: int
    forgiving: bool
    base: tuple[int, Json]


class Run:
    """One path, one value, and the variables. `zone` is the session's time zone, if dates may be compared in it."""

    def __init__(self, path: JsonPath, value: Json, variables: dict[str, Json], zone: str | None = None) -> None:
        self._zone = zone
        self._lax = path.lax
        self._path = path.root
        self._value = value
        self._variables = variables
        self._bases = 1 + bool(variables)
        self._offsets: dict[int, dict[int, int]] = {}
        self._made: list[Json] = []  # kept, so that no other object gets their identity

    def items(self) -> Iterator[Json]:
        """The items to which the path leads. Raises PathError if it does not fit the value, and 42704."""
        return self._items(self._path, self._value, self._outermost)

    def exists(self) -> bool:
        """Whether there is an item. In strict mode all must be free of errors."""
        return self._any(self._path, self._value, self._outermost)

    @property
    def _outermost(self) -> _Place:
        return _Place(self._value, -1, self._lax, (0, self._value))

    def _any(self, node: Node, item: Json, place: _Place) -> bool:
        if self._lax and isinstance(node, Unary):  # an item that is no number is no error: its number is not needed
            return any(isinstance(each, Number) for each in self._unwrapped(node.operand, item, place))
        items = self._items(node, item, place)
        found = next(items, items) is not items
        if found and not self._lax:
            for _ in items:
                pass
        return found

    # -- operands -------------------------------------------------------------------------------------------------

    def _items(self, node: Node, item: Json, place: _Place) -> Iterator[Json]:
        match node:
            case Chain(base, steps):
                for each in self._items(base, item, place):
                    yield from self._follow(steps, each, self._based(base, place), self._lax)
            case Root():
                yield self._value
            case Current():
                yield place.current
            case Last():
                yield Number(str(place.size - 1))
            case Constant(value):
                yield value
            case Variable(name):
                if name not in self._variables:
                    raise UndefinedObject(f'could not find jsonpath variable "{name}"')
                yield self._variables[name]
            case Unary():
                yield from self._signed(node, item, place)
            case Arithmetic():
                yield self._calculated(node, item, place)
            case _:
                yield self._holds(node, item, place)

    def _based(self, node: Node, place: _Place) -> _Place:
        """The place after an operand: `$` and variables begin a new count of objects' ids."""
        match node:
            case Root():
                return replace(place, base=(0, self._value))
            case Variable():
                return replace(place, base=(1, self._variables))
        return place

    def _unwrapped(self, node: Node, item: Json, place: _Place) -> Iterator[Json]:
        """The items of an operand, arrays among them as their elements in lax mode."""
        for each in self._items(node, item, place):
            if self._lax and isinstance(each, list):
                yield from each
            else:
                yield each

    def _signed(self, node: Unary, item: Json, place: _Place) -> Iterator[Json]:
        for each in list(self._unwrapped(node.operand, item, place)):
            if not isinstance(each, Number):
                message = f"operand of unary jsonpath operator {node.symbol} is not a numeric value"
                raise PathError(message, sqlstate=_NO_NUMBER)
            yield negate(each) if node.symbol == "-" else each

    def _calculated(self, node: Arithmetic, item: Json, place: _Place) -> Json:
        left = list(self._unwrapped(node.left, item, place))
        right = list(self._unwrapped(node.right, item, place))
        return calculate(node.symbol, _single(left, "left", node.symbol), _single(right, "right", node.symbol))

    # -- accessors ------------------------------------------------------------------------------------------------

    def _follow(self, steps: tuple[Step, ...], item: Json, place: _Place, unwrap: bool) -> Iterator[Json]:
        """The items to which the accessors lead; `unwrap`: the first accessor may take an array as its elements."""
        if not steps:
            yield item
            return
        step, rest = steps[0], steps[1:]
        if unwrap and isinstance(item, list) and _looks_into(step):
            for each in item:
                yield from self._follow(steps, each, place, False)
            return
        match step:
            case Descendants():
                yield from self._descend(step, rest, item, place)
                return
            case Subscripts():
                place = replace(place, size=len(item) if isinstance(item, list) else 1)
        for each in self._step(step, item, place):
            if step == _KEYVALUE:
                place = replace(place, base=(self._bases, each))
                self._bases += 1
            yield from self._follow(rest, each, place, self._lax)

    def _step(self, step: Step, item: Json, place: _Place) -> Iterator[Json]:
        match step:
            case Key(name):
                yield from _member(name, item, place)
            case AnyKey():
                if isinstance(item, dict):
                    yield from item.values()
                elif not place.forgiving:
                    message = "jsonpath wildcard member accessor can only be applied to an object"
                    raise PathError(message, sqlstate=_NO_OBJECT)
            case AnyElement():
                if isinstance(item, list):
                    yield from item
                elif self._lax:
                    yield item
                elif not place.forgiving:
                    message = "jsonpath wildcard array accessor can only be applied to an array"
                    raise PathError(message, sqlstate=_NO_ARRAY)
            case Subscripts():
                yield from self._elements(step, item, place)
            case PathFilter(predicate):
                if self._holds(predicate, item, replace(place, current=item)):
                    yield item
            case Method("datetime", str(template)):
                yield moment_by_template(item, template)
            case Method(name):
                yield from self._method(name, item, place)
            case Descendants():
                raise AssertionError("descendants follow the rest of the path themselves")
            case _:
                assert_never(step)

    def _elements(self, step: Subscripts, item: Json, place: _Place) -> Iterator[Json]:
        if not isinstance(item, list) and not self._lax:
            if not place.forgiving:
                message = "jsonpath array accessor can only be applied to an array"
                raise PathError(message, sqlstate=_NO_ARRAY)
            return
        array = item if isinstance(item, list) else [item]
        for first, last in step.ranges:
            begin = position(list(self._items(first, item, place)))
            end = begin if last is None else position(list(self._items(last, item, place)))
            if not place.forgiving and (begin < 0 or begin > end or end >= len(array)):
                raise PathError("jsonpath array subscript is out of bounds", sqlstate="22033")
            yield from array[max(begin, 0) : end + 1 if end >= 0 else 0]

    def _descend(self, step: Descendants, rest: tuple[Step, ...], item: Json, place: _Place) -> Iterator[Json]:
        inner = replace(place, forgiving=True)
        if step.first == 0:
            yield from self._follow(rest, item, inner, self._lax)
        for each in _below(item, step.first, step.last, 1):
            yield from self._follow(rest, each, inner, self._lax)

    def _method(self, name: str, item: Json, place: _Place) -> Iterator[Json]:
        match name:
            case "type":
                yield type_name(item)
            case "size":
                if isinstance(item, list) or self._lax:
                    yield Number(str(len(item) if isinstance(item, list) else 1))
                elif not place.forgiving:
                    message = "jsonpath item method .size() can only be applied to an array"
                    raise PathError(message, sqlstate=_NO_ARRAY)
            case "double":
                yield double(item)
            case "datetime":
                yield moment(item)
            case "keyvalue":
                yield from self._members(item, place)
            case _:
                yield numeric_method(name, item)

    def _members(self, item: Json, place: _Place) -> Iterator[Json]:
        if not isinstance(item, dict):
            message = "jsonpath item method .keyvalue() can only be applied to an object"
            raise PathError(message, sqlstate=_NO_OBJECT)
        number, base = place.base
        if id(base) not in self._offsets:
            self._offsets[id(base)] = places(base)
        place_in_base = self._offsets[id(base)].get(id(item), 0)
        shown = Number(str(_BASES * number + place_in_base))
        for key, value in item.items():
            made: Json = {"id": shown, "key": key, "value": value}
            self._made.append(made)
            yield made

    # -- predicates -----------------------------------------------------------------------------------------------

    def _holds(self, node: Node, item: Json, place: _Place) -> bool | None:
        """Whether a predicate is true; None is unknown."""
        assert isinstance(node, PREDICATES)
        match node:
            case Logic():
                return self._connected(node, item, place)
            case Not(predicate):
                inner = self._holds(predicate, item, place)
                return None if inner is None else not inner
            case IsUnknown(predicate):
                return self._holds(predicate, item, place) is None
            case Exists(operand):
                try:
                    return self._any(operand, item, place)
                except PathError:
                    return None
            case Comparison() | StartsWith() | LikeRegex():
                return self._tested(node, item, place)
            case _:
                assert_never(node)

    def _connected(self, node: Logic, item: Json, place: _Place) -> bool | None:
        decisive = node.symbol == "||"
        left = self._holds(node.left, item, place)
        if left is decisive:
            return left
        right = self._holds(node.right, item, place)
        return left if right is (not decisive) else right

    def _tested(self, node: Comparison | StartsWith | LikeRegex, item: Json, place: _Place) -> bool | None:
        """Whether the test holds of any pair of items. In strict mode every pair must be free of errors."""
        try:
            if isinstance(node, Comparison):
                left = list(self._unwrapped(node.left, item, place))
                right = list(self._unwrapped(node.right, item, place))
            else:
                left = list(self._unwrapped(node.operand, item, place))
                right = list(self._items(node.prefix, item, place)) if isinstance(node, StartsWith) else [None]
        except PathError:
            return None
        answers = (_test(node, a, b, self._zone) for a in left for b in right)
        if not self._lax:
            every = list(answers)
            return None if None in every else True in every
        unknown = False
        for answer in answers:
            if answer:
                return True
            unknown |= answer is None
        return None if unknown else False


def _test(node: Comparison | StartsWith | LikeRegex, left: Json, right: Json, zone: str | None) -> bool | None:
    match node:
        case Comparison(symbol, _, _):
            return compare(symbol, left, right, zone)
        case StartsWith():
            return left.startswith(right) if _is_text(left) and _is_text(right) else None  # type: ignore[union-attr, arg-type]
        case LikeRegex():
            return node.matcher.search(left) is not None if _is_text(left) else None  # type: ignore[arg-type]


def _is_text(item: Json) -> bool:
    return isinstance(item, str) and not isinstance(item, Number | Moment)


def _single(items: list[Json], side: str, symbol: str) -> Number:
    if len(items) != 1 or not isinstance(items[0], Number):
        message = f"{side} operand of jsonpath operator {symbol} is not a single numeric value"
        raise PathError(message, sqlstate="22038")
    return items[0]


def _looks_into(step: Step) -> bool:
    """Whether an accessor wants something else than an array."""
    match step:
        case Key() | AnyKey() | PathFilter():
            return True
        case Method(name):
            return name not in ("type", "size")
    return False


def _member(name: str, item: Json, place: _Place) -> Iterator[Json]:
    if isinstance(item, dict) and name in item:
        yield item[name]
    elif not place.forgiving:
        if isinstance(item, dict):
            raise PathError(f'JSON object does not contain key "{name}"', sqlstate=_NO_MEMBER)
        raise PathError("jsonpath member accessor can only be applied to an object", sqlstate=_NO_MEMBER)


def _below(item: Json, first: int | None, last: int | None, level: int) -> Iterator[Json]:
    """The parts of an item at the levels from `first` to `last`; if `first` is None, those without parts."""
    if (last is not None and level > last) or not isinstance(item, dict | list):
        return
    for each in item.values() if isinstance(item, dict) else item:
        is_leaf = not isinstance(each, dict | list)
        if is_leaf and last is None if first is None else level >= first:
            yield each
        if last is None or level < last:
            yield from _below(each, first, last, level + 1)
