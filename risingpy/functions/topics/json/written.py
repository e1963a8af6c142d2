"""json: looks into texts as they were written. What it gives is a part of the text, blanks and all.

Python's own scanner of JSON, which is compiled, tells where a value ends. Of keys that come twice the last one is
found, as PostgreSQL finds it (jsonfuncs.c); lists have both. Values of jsonb are looked into by kernels (`lookup.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pyarrow as pa

from risingpy.errors import InvalidParameterValue
from risingpy.functions.topics.calling import Function, by_row
from risingpy.functions.topics.json.changes import hashable
from risingpy.types.jsonb import check_characters

_blanks = re.compile(r"[ \t\n\r]*").match
_read = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).raw_decode  # (value, where it ends)
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}

Place = tuple[int, int]  # where a value begins and ends in its text


def _after_blanks(text: str, at: int) -> int:
    found = _blanks(text, at)
    assert found is not None
    return found.end()


def _whole(text: str) -> Place:
    start = _after_blanks(text, 0)
    return start, len(text.rstrip(" \t\n\r"))


def _members(text: str, start: int) -> Iterator[tuple[str, Place]]:
    """The keys, unescaped, and values of the object that begins at `start`."""
    at = _after_blanks(text, start + 1)
    while text[at] == '"':
        key, at = _read(text, at)
        if "\\" in text[:at]:
            check_characters(key)
        value = _after_blanks(text, _after_blanks(text, at) + 1)
        _, end = _read(text, value)
        yield key, (value, end)
        at = _after_blanks(text, end)
        at = _after_blanks(text, at + 1) if text[at] == "," else at


def _elements(text: str, start: int) -> Iterator[Place]:
    """The elements of the array that begins at `start`."""
    at = _after_blanks(text, start + 1)
    while text[at] != "]":
        _, end = _read(text, at)
        yield at, end
        at = _after_blanks(text, end)
        at = _after_blanks(text, at + 1) if text[at] == "," else at


def _field(text: str, place: Place, key: str) -> Place | None:
    if text[place[0]] != "{":
        return None
    found = None
    for name, value in _members(text, place[0]):
        if name == key:
            found = value
    return found


def _element(text: str, place: Place, index: int) -> Place | None:
    if text[place[0]] != "[":
        return None
    elements = _elements(text, place[0])
    if index < 0:
        every = list(elements)
        return every[index] if -index <= len(every) else None
    return next((each for number, each in enumerate(elements) if number == index), None)


def _along(text: str, place: Place, path: tuple[str | None, ...]) -> Place | None:
    at: Place | None = place
    for step in path:
        if at is None or step is None:
            return None
        if text[at[0]] == "[":
            is_number = re.fullmatch(r"\s*[+-]?[0-9]{1,9}\s*", step) is not None
            at = _element(text, at, int(step)) if is_number else None
        else:
            at = _field(text, at, step)
    return at


def string_of(text: str) -> str:
    """A JSON string without its quotes and escapes."""
    value = str(_read(text, 0)[0])
    if "\\" in text:
        check_characters(value)
    return value


def _plain(text: str, place: Place) -> str | None:
    """A value as text: a string without its quotes, NULL for JSON's null."""
    start, end = place
    if text[start] == '"':
        return string_of(text[start:end])
    return None if text[start] == "n" else text[start:end]


def _part(text: str, place: Place) -> str:
    return text[place[0] : place[1]]


Shape = Callable[[str, Place], str | None]


def _looking(go: Callable[..., Place | None], shape: Shape) -> Function:
    def one(text: str, *where: object) -> str | None:
        place = go(text, _whole(text), *where)
        return None if place is None else shape(text, place)

    computed = by_row(one, pa.string())
    return Function(lambda *columns: computed(*map(hashable, columns)))


def _path(go: Callable[..., Place | None]) -> Callable[..., Place | None]:
    return lambda text, place, *steps: go(text, place, steps)


def _typeof(text: str) -> str:
    return _KINDS.get(text[_after_blanks(text, 0)], "number")


def _array_length(text: str) -> int:
    start, _ = _whole(text)
    if text[start] != "[":
        what = "a non-array" if text[start] == "{" else "a scalar"
        raise InvalidParameterValue(f"cannot get array length of {what}")
    return sum(1 for _ in _elements(text, start))


def _all_elements(shape: Shape, name: str) -> Function:
    def one(text: str) -> list[str | None]:
        start, _ = _whole(text)
        if text[start] != "[":
            what = "a non-array" if text[start] == "{" else "a scalar"
            raise InvalidParameterValue(f"cannot call {name} on {what}")
        return [shape(text, place) for place in _elements(text, start)]

    return Function(by_row(one, pa.list_(pa.string())))


def _all_members(of: Callable[[str, str, Place], str | None], refusal: Callable[[str], str]) -> Function:
    def one(text: str) -> list[str | None]:
        start, _ = _whole(text)
        if text[start] != "{":
            raise InvalidParameterValue(refusal("an array" if text[start] == "[" else "a scalar"))
        return [of(text, key, place) for key, place in _members(text, start)]

    return Function(by_row(one, pa.list_(pa.string())))


def _no_keys(what: str) -> str:
    return f"cannot call json_object_keys on {what}"


def _no_object(what: str) -> str:
    return "cannot deconstruct a scalar" if what == "a scalar" else f"cannot deconstruct {what} as an object"


def _key(text: str, key: str, place: Place) -> str:
    return key


def _value(shape: Shape) -> Callable[[str, str, Place], str | None]:
    return lambda text, key, place: shape(text, place)


JSON_WRITTEN: dict[str, Function] = {
    "json_object_field": _looking(_field, _part),
    "json_object_field_text": _looking(_field, _plain),
    "json_array_element": _looking(_element, _part),
    "json_array_element_text": _looking(_element, _plain),
    "json_at_path": _looking(_along, _part),
    "json_at_path_text": _looking(_along, _plain),
    "json_extract_path": _looking(_path(_along), _part),
    "json_extract_path_text": _looking(_path(_along), _plain),
    "json_typeof": Function(by_row(_typeof, pa.string())),
    "json_array_length": Function(by_row(_array_length, pa.int32())),
    "json_array_elements": _all_elements(_part, "json_array_elements"),
    "json_array_elements_text": _all_elements(_plain, "json_array_elements_text"),
    "json_object_keys": _all_members(_key, _no_keys),
    "json_each_keys": _all_members(_key, _no_object),
    "json_each_values": _all_members(_value(_part), _no_object),
    "json_each_text_keys": _all_members(_key, _no_object),
    "json_each_text_values": _all_members(_value(_plain), _no_object),
}
