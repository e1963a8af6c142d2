"""Plans, jobs and catalog entries as bytes: how they are kept in the meta store, and sent to tasks (`graph_codec.py`).

The form is JSON, `{"version": 1, "value": …}`:

    frozen dataclass   {"$": "plan.Filter", "predicate": …}     fields that equal their default are left out
    enum               {"$": "sql_type.TypeKind", "=": "bigint"}
    tuple              [ … ]                                     every sequence in a plan is a tuple
    frozenset          {"$": "set", "=": [ … ]}                  of numbers, in order
    mapping            {"$": "map", "=": [[key, value], …]}
    Decimal, bytes, date, time, datetime, MonthDayNano, NaN and infinities    {"$": "decimal", "=": "1.50"} and so on

Safe to read from disk: only the classes of `_MODULES`, and those given to `register`, are ever made. A field that
was added with a default later is filled in when older bytes are decoded.
"""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from types import ModuleType
from typing import Any, cast

import pyarrow as pa

from risingpy.executors.expression import nodes, window_calls
from risingpy.optimizer import (
    catalog,
    graph,
    logical,
    plan,
    plan_aggregates,
    plan_joins,
    plan_ordered,
    plan_properties,
)
from risingpy.storage import table_schema
from risingpy.types import sql_type

CODEC_VERSION = 1

_MODULES: tuple[ModuleType, ...] = (
    *(sql_type, nodes, window_calls, table_schema),
    *(logical, plan, plan_aggregates, plan_joins, plan_ordered, plan_properties, graph, catalog),
)
# Stored plans call every operator `plan.…`, in whichever of these files it is now.
_OPERATOR_MODULES = (plan_aggregates, plan_joins, plan_ordered)

_classes: dict[str, type[Any]] = {}
_names: dict[type[Any], str] = {}


def register(cls: type[Any], *, module: str | None = None) -> None:
    """Makes a frozen dataclass or an enum known to the codec, as `module.Class`; by default its own module's name."""
    name = f"{module or cls.__module__.rpartition('.')[2]}.{cls.__name__}"
    if _classes.setdefault(name, cls) is not cls:
        raise ValueError(f"two classes are called {name}")
    _names[cls] = name


def encode(value: object) -> bytes:
    """The bytes of a dataclass of the registered modules, or of a tuple or mapping of them.

    Equal values give equal bytes. Raises TypeError for anything that is not data.
    """
    document = {"version": CODEC_VERSION, "value": _pack(value)}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def decode(data: bytes | memoryview) -> Any:
    """What `encode` was given. Raises ValueError for bytes of another version or of unknown classes."""
    document = json.loads(bytes(data))
    if not isinstance(document, dict) or document.get("version") != CODEC_VERSION:
        raise ValueError("the plan was written by another version of RisingPy")
    return _unpack(document["value"])


def _pack(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _tagged("float", repr(value))
        case Enum():
            return _tagged(_name_of(type(value)), value.value)
        case pa.MonthDayNano():  # a tuple too, hence before tuples
            return _tagged("interval", [value.months, value.days, value.nanoseconds])
        case tuple() | list():
            return [_pack(item) for item in value]
        case frozenset():  # of numbers
            return _tagged("set", sorted(value))
        case Mapping():
            return _tagged("map", [[_pack(key), _pack(item)] for key, item in value.items()])
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
        case _:
            return _pack_fields(value)


def _tagged(tag: str, value: object) -> dict[str, object]:
    return {"$": tag, "=": value}


def _pack_fields(value: object) -> dict[str, object]:
    packed: dict[str, object] = {"$": _name_of(type(value))}
    for field in dataclasses.fields(cast(Any, value)):
        item = getattr(value, field.name)
        if field.default is dataclasses.MISSING or item != field.default:
            packed[field.name] = _pack(item)
    return packed


def _name_of(cls: type[Any]) -> str:
    try:
        return _names[cls]
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
    "interval": _interval,
    "set": frozenset,
    "map": lambda items: {_unpack(key): _unpack(item) for key, item in items},
}


def _unpack(value: object) -> Any:
    if isinstance(value, list):
        return tuple(_unpack(item) for item in value)
    if not isinstance(value, dict):
        return value
    tag = value["$"]
    if tag in _SCALARS:
        return _SCALARS[tag](value["="])
    if tag not in _classes:
        raise ValueError(f"unknown class in a plan: {tag}")
    cls = _classes[tag]
    if issubclass(cls, Enum):
        return cls(value["="])
    return cls(**{name: _unpack(item) for name, item in value.items() if name != "$"})


for _module in _MODULES:
    for _, _class in inspect.getmembers(_module, inspect.isclass):
        if _class.__module__ == _module.__name__ and (dataclasses.is_dataclass(_class) or issubclass(_class, Enum)):
            register(_class, module="plan" if _module in _OPERATOR_MODULES else None)
