"""jsonb: `jsonb_put`, which `SET j['a']['b'] = …` does. Other than `jsonb_set` it makes all that the path lacks.

    {}       ['a']['b']  1   =>  {"a": {"b": 1}}
    {}       ['a'][2]    1   =>  {"a": [null, null, 1]}
    [1]      [3]         2   =>  [1, null, null, 2]
    {"a": 1} ['a']['b']  1   =>  22023: a scalar is never replaced by an array or object

Source: PostgreSQL 15's manual, 8.14.5.
"""

from __future__ import annotations

import re

import pyarrow as pa

from risingpy.errors import InvalidParameterValue, SqlError
from risingpy.functions.topics.calling import Function
from risingpy.functions.topics.json.changes import by_value
from risingpy.statement_limits import current_limits
from risingpy.types.jsonb import Json, dump, load

_INTEGER = re.compile(r"\s*[-+]?\d{1,10}")
_NULL_BYTES = 16  # what a null takes in a list and in its text


def _put(text: str, path: tuple[str | None, ...] | None, new: str | None) -> str:
    """The value with `new` at the path; NULL becomes JSON's null."""
    if path is None or None in path:
        raise SqlError("jsonb subscript in assignment must not be null", sqlstate="22004")
    steps = [str(step) for step in path]
    return dump(_with(load(text), steps, 0, None if new is None else load(new)))


def _with(value: Json, steps: list[str], level: int, new: Json) -> Json:
    if level == len(steps):
        return new
    step = steps[level]
    if isinstance(value, dict):
        inner = _with(value[step], steps, level + 1, new) if step in value else _made(steps, level + 1, new)
        return {**value, step: inner}
    if isinstance(value, list):
        place = _place(step, level, len(value))
        if place < len(value):
            return [*value[:place], _with(value[place], steps, level + 1, new), *value[place + 1 :]]
        return [*value, *_nulls(place - len(value)), _made(steps, level + 1, new)]
    detail = "The path assumes key is a composite object, but it is a scalar value."
    raise InvalidParameterValue("cannot replace existing key", detail=detail)


def _place(step: str, level: int, length: int) -> int:
    """A position in an array; a negative one counts from the end. Raises SqlError."""
    if not _INTEGER.fullmatch(step) or not -(2**31) <= int(step) < 2**31:
        message = f'path element at position {level + 1} is not an integer: "{step}"'
        raise SqlError(message, sqlstate="22P02")
    place = int(step)
    if place < -length:
        raise InvalidParameterValue(f"path element at position {level + 1} is out of range: {place}")
    return place + length if place < 0 else place


def _made(steps: list[str], level: int, new: Json) -> Json:
    """What a path leads to where nothing is: arrays for steps that are integers, else objects."""
    value = new
    for step in reversed(steps[level:]):
        if _INTEGER.fullmatch(step) and -(2**31) <= int(step) < 2**31:
            value = [*_nulls(int(step)), value]
        else:
            value = {step: value}
    return value


def _nulls(count: int) -> list[Json]:
    current_limits().check(max(count, 0) * _NULL_BYTES, "a jsonb array")
    return [None] * max(count, 0)


JSONB_ASSIGNMENT: dict[str, Function] = {"jsonb_put": by_value(_put, pa.string(), takes_nulls=True)}
