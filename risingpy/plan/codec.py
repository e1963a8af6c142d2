"""Plans, jobs and catalog entries as bytes: how they are kept in the meta store, and sent to tasks (`graph_codec.py`).

The form is JSON, `{"version": 4, "parts": [ … ], "value": …}`. Every dataclass, and every tuple that has one in it, is
a part; wherever it stands, `{"#": k}` stands for part k, whose own parts come before it. So what a plan says many times
is written once: each operator repeats the columns of those below it, and each fragment has all that is below its
exchanges. Earlier versions are still read: 1, in which everything stood where it is used, 2, in which one class was
every kind of relation, and 3, in which each constant of a long list was a part.

    frozen dataclass   {"$": "plan.Filter", "predicate": …}     fields that equal their default are left out
    enum               {"$": "sql_type.TypeKind", "=": "bigint"}
    tuple              [ … ]                                     every sequence in a plan is a tuple
    frozenset          {"$": "set", "=": [ … ]}                  of numbers, in order
    mapping            {"$": "map", "=": [[key, value], …]}
    many Literals of a type {"$": "constants", "type": …, "=": [ … ]}   a tuple of them, as long as VALUES and IN may be
    many rows of Literals   {"$": "rows", "=": [ … ]}            a tuple of them for each column
    Decimal, bytes, date, FarDate, time, datetime, MonthDayNano, NaN and infinities    {"$": "decimal", "=": "1.50"} …

Safe to read from disk: only the classes of `stored_classes.py` are ever made. A field that was added with a default
later is filled in when older bytes are decoded. A class that only earlier versions wrote becomes its successor.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from risingpy.formats import PLANS
from risingpy.plan.expressions import Literal
from risingpy.plan.stored_classes import STORED_CLASSES, UPGRADES
from risingpy.types.clocks.nano_moments import NanoMoment
from risingpy.types.far_moments import FarDate, FarMoment

_HEAD = re.compile(rb'\{"version": ?(\d+)')
_MANY_CONSTANTS = 32

_TAGS: Mapping[type[Any], str] = MappingProxyType({cls: tag for tag, cls in STORED_CLASSES.items()})

_PLAIN = frozenset({type(None), bool, int, str})


def encode(value: object) -> bytes:
    """The bytes of a stored class's value, or of a tuple or mapping of such.

    Equal values give equal bytes. Raises TypeError for anything that is not data.
    """
    writer = _Writer()
    packed = _text(writer.pack(value))
    return f'{{"version":{PLANS.written},"parts":[{",".join(writer.parts)}],"value":{packed}}}'.encode()


def decode(data: bytes | memoryview) -> Any:
    """What `encode` was given. Raises ValueError for bytes of another version, or classes or fields unknown here."""
    document = json.loads(bytes(data))
    version = document.get("version") if isinstance(document, dict) else None
    if version not in PLANS.read:
        raise ValueError("the plan was written by another version of RisingPy")
    parts: list[Any] = []
    for part in document.get("parts", ()):
        parts.append(_unpack(part, parts))
    return _unpack(document["value"], parts)


def version_of(data: bytes) -> int | None:
    """The version in which the bytes of a value are; None if they are no value's."""
    found = _HEAD.match(data)
    return None if found is None else int(found[1])


_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class _Writer:
    """Writes values as JSON, and parts, once each, to `parts`."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._classes: dict[type[Any], tuple[tuple[str, object], ...]] = {}
        self._known: dict[int, int] = {}  # by id(): the value that is written keeps all its parts alive

    def pack(self, value: object) -> object:
        cls = type(value)
        if cls in _PLAIN:
            return value
        if cls is tuple or cls is list or (cls in _TAGS and not issubclass(cls, Enum)):
            number = self._known.get(id(value))
            if number is None:
                packed = self._sequence(value) if cls is tuple or cls is list else self._fields(value)
                if isinstance(packed, list) and not any(isinstance(item, dict) for item in packed):
                    return packed  # of numbers and texts: as short as what would stand for it
                number = self._known[id(value)] = self._part(_text(packed))
            return {"#": number}
        return self._pack_other(value)

    def _part(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.parts))
        if number == len(self.parts):
            self.parts.append(text)
        return number

    def _sequence(self, value: Any) -> list[object] | dict[str, object]:
        if len(value) >= _MANY_CONSTANTS:
            if type(value[0]) is Literal and (constants := self._constants(value)) is not None:
                return constants
            if type(value[0]) is tuple and (rows := self._constant_rows(value)) is not None:
                return rows
        return [self.pack(item) for item in value]

    def _constants(self, items: Sequence[Any]) -> dict[str, object] | None:
        """Many literals of one type in one value; None if there is something else among them."""
        sql_type = items[0].type
        if not all(type(item) is Literal and item.type == sql_type for item in items):
            return None
        return {"$": "constants", "type": self.pack(sql_type), "=": [self.pack(item.value) for item in items]}

    def _constant_rows(self, rows: Sequence[Any]) -> dict[str, object] | None:
        """Many rows of literals, column by column; None if there is something else among them."""
        width = len(rows[0])
        if not width or not all(type(row) is tuple and len(row) == width for row in rows):
            return None
        columns = [self._constants(column) for column in zip(*rows, strict=True) if type(column[0]) is Literal]
        return _tagged("rows", columns) if len(columns) == width and None not in columns else None

    def _fields(self, value: object) -> dict[str, object]:
        packed: dict[str, object] = {"$": _TAGS[type(value)]}
        for name, default in self._fields_of(type(value)):
            item = getattr(value, name)
            if default is dataclasses.MISSING or item != default:
                packed[name] = self.pack(item)
        return packed

    def _fields_of(self, cls: type[Any]) -> tuple[tuple[str, object], ...]:
        """The fields that a dataclass is made of, with their defaults."""
        known = self._classes.get(cls)
        if known is None:
            fields = [field for field in dataclasses.fields(cls) if field.init]
            known = self._classes[cls] = tuple((field.name, field.default) for field in fields)
        return known

    def _pack_other(self, value: object) -> object:
        match value:
            case float():
                return value if math.isfinite(value) else _tagged("float", repr(value))
            case Enum():
                return _tagged(_tag_of(type(value)), value.value)
            case pa.MonthDayNano():  # a tuple too, hence before tuples
                return _tagged("interval", [value.months, value.days, value.nanoseconds])
            case tuple() | list():
                return self._sequence(value)
            case frozenset():  # of numbers
                return _tagged("set", sorted(value))
            case Mapping():
                return _tagged("map", [[self.pack(key), self.pack(item)] for key, item in value.items()])
            case Decimal():
                return _tagged("decimal", str(value))
            case bytes():
                return _tagged("bytes", value.hex())
            case datetime.datetime():  # a date too, hence before dates
                return _tagged("datetime", value.isoformat())
            case datetime.date():
                return _tagged("date", value.isoformat())
            case datetime.time():
                return _tagged("time", value.isoformat())
            case FarDate() | FarMoment():  # integers too, hence before them
                return _tagged("far_date" if isinstance(value, FarDate) else "far_moment", int(value))
            case NanoMoment():  # likewise
                return _tagged("nano_moment", int(value))
            case bool() | int() | str():
                return value
            case _:
                raise TypeError(f"{type(value).__qualname__} cannot be part of a plan")


def _tagged(tag: str, value: object) -> dict[str, object]:
    return {"$": tag, "=": value}


def _tag_of(cls: type[Any]) -> str:
    try:
        return _TAGS[cls]
    except KeyError:
        raise TypeError(f"{cls.__qualname__} cannot be part of a plan") from None


def _interval(parts: list[int]) -> pa.MonthDayNano:
    return pa.MonthDayNano(parts)


_SCALARS: dict[str, Callable[[Any], object]] = {
    "float": float,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "far_date": FarDate,
    "far_moment": FarMoment,
    "nano_moment": NanoMoment,
    "interval": _interval,
    "set": frozenset,
}


def _unpack(value: object, parts: Sequence[Any]) -> Any:
    if isinstance(value, list):
        return tuple([_unpack(item, parts) for item in value])
    if not isinstance(value, dict):
        return value
    if "#" in value:
        return parts[value["#"]]
    tag = value["$"]
    if tag == "constants":
        sql_type = _unpack(value["type"], parts)
        return tuple([Literal(_unpack(item, parts), sql_type) for item in value["="]])
    if tag == "rows":
        return tuple(zip(*[_unpack(column, parts) for column in value["="]], strict=True))
    if tag == "map":
        return {_unpack(key, parts): _unpack(item, parts) for key, item in value["="]}
    if tag in _SCALARS:
        return _SCALARS[tag](value["="])
    cls: Any = STORED_CLASSES.get(tag)
    if cls is None:
        raise ValueError(f"unknown class in a plan: {tag}")
    if issubclass(cls, Enum):
        return cls(value["="])
    fields = {name: _unpack(item, parts) for name, item in value.items() if name != "$"}
    try:
        made = cls(**fields)
    except TypeError as error:  # a later version has given the class more fields
        raise ValueError(f"unknown fields of {tag} in a plan: {error}") from error
    upgrade = UPGRADES.get(cls)
    return made if upgrade is None else upgrade(made)
