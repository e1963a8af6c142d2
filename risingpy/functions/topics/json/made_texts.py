"""json and jsonb made of arrays of texts, and json without its nulls: in the form that PostgreSQL's jsonfuncs.c writes.

json_object('{b,1,a,2}')                 {"b" : "1", "a" : "2"}   pairs in their order, a key as often as it comes
jsonb_object('{{b,1},{a,2}}')            {"a": "2", "b": "1"}
json_strip_nulls('{ "b" : 1,"a":null}')  {"b":1}                  without blanks
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Function
from risingpy.functions.topics.json.changes import by_value
from risingpy.types.jsonb import Number, check_characters, dump, quote

Texts = tuple[str | None, ...]
Pairs = Iterable[tuple[str, str | None]]

# -- objects of arrays --------------------------------------------------------------------------------------------


def _jsonb(pairs: Pairs) -> str:
    return dump(dict(pairs))


def _json(pairs: Pairs) -> str:
    return "{" + ", ".join(f"{quote(key)} : {'null' if item is None else quote(item)}" for key, item in pairs) + "}"


def _object_of_texts(write: Callable[[Pairs], str]) -> Function:
    """Of one array, in which keys and values alternate or are the columns of a matrix, or of an array of each."""

    def one(first: tuple[Any, ...], second: tuple[Any, ...] | None = None) -> str:
        keys, values = _alternating(first) if second is None else _apart(first, second)
        known = [key for key in keys if key is not None]
        if len(known) < len(keys):
            raise SqlError("null value not allowed for object key", sqlstate="22004")
        return write(zip(known, values, strict=True))

    return by_value(one, pa.string())


def _alternating(array: tuple[Any, ...]) -> tuple[Texts, Texts]:
    match _dimensions(array):
        case 0:
            return (), ()
        case 1:
            if len(array) % 2:
                raise _bad_subscripts("array must have even number of elements")
            return array[::2], array[1::2]
        case 2:
            if any(row is None or len(row) != 2 for row in array):
                raise _bad_subscripts("array must have two columns")
            return tuple(row[0] for row in array), tuple(row[1] for row in array)
    raise _bad_subscripts("wrong number of array subscripts")


def _apart(keys: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Texts, Texts]:
    dimensions = _dimensions(keys)
    if dimensions > 1 or dimensions != _dimensions(values):
        raise _bad_subscripts("wrong number of array subscripts")
    if len(keys) != len(values):
        raise _bad_subscripts("mismatched array dimensions")
    return keys, values


def _dimensions(array: tuple[Any, ...]) -> int:
    """How many an array has. As in PostgreSQL, an empty one has none, and so has one of empty ones."""
    known = next((item for item in array if item is not None), None)
    if not isinstance(known, tuple):
        return 1 if array else 0
    below = _dimensions(known)
    return below + 1 if below else 0


def _bad_subscripts(message: str) -> SqlError:
    return SqlError(message, sqlstate="2202E")


# -- without nulls ------------------------------------------------------------------------------------------------


class _Members(list[tuple[str, Any]]):
    """An object's members in the order in which they are written."""


_read = json.JSONDecoder(object_pairs_hook=_Members, parse_int=Number, parse_float=Number).decode


def _strip_nulls(text: str) -> str:
    value = _read(text)
    if "\\u" in text:
        _check(value)
    return _compact(value)


def _check(value: Any) -> None:
    """Raises the errors of characters that no text can hold."""
    if isinstance(value, _Members):
        for name, item in value:
            check_characters(name)
            _check(item)
    elif isinstance(value, list):
        for item in value:
            _check(item)
    else:
        check_characters(value)


def _compact(value: Any) -> str:
    if isinstance(value, _Members):
        members = (f"{quote(name)}:{_compact(item)}" for name, item in value if item is not None)
        return "{" + ",".join(members) + "}"
    return "[" + ",".join(map(_compact, value)) + "]" if isinstance(value, list) else dump(value)


JSON_MADE: dict[str, Function] = {
    "json_object": _object_of_texts(_json),
    "jsonb_object": _object_of_texts(_jsonb),
    "json_strip_nulls": by_value(_strip_nulls, pa.string()),
}
