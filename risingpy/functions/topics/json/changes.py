"""jsonb: makes values of others, value by value; equal arguments are computed once. `lookup.py` searches values."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Function, by_row
from risingpy.types import BIGINT, DOUBLE, INTEGER, REAL, SMALLINT, SqlType
from risingpy.types.far_moments import values_of
from risingpy.types.forms import parse_text
from risingpy.types.jsonb import Json, Number, canonical, dump, load, quote

_INTEGER = re.compile(r"-?\d{1,10}")
_BITS = {SMALLINT: 16, INTEGER: 32, BIGINT: 64}


def by_value(one: Callable[..., object], result: pa.DataType, *, takes_nulls: bool = False) -> Function:
    """A function of a row's values; arrays come as tuples, so that rows can be compared."""
    computed = by_row(one, result)

    def compute(*columns: pa.Array) -> pa.Array:
        return computed(*[hashable(column) for column in columns])

    return Function(compute, takes_nulls)


class _Tuples:
    """A column of arrays whose values are tuples, of tuples where they have more dimensions."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column
        self.type = pa.null()  # for `values_of`: what `to_pylist` gives are the values

    def to_pylist(self) -> list[object]:
        return [_tuple(value) for value in values_of(self._column)]


def _tuple(value: object) -> object:
    return tuple(map(_tuple, value)) if isinstance(value, list | tuple) else value


def hashable(column: pa.Array) -> pa.Array | _Tuples:
    """A column of a function by row: arrays become tuples, so that equal rows are found."""
    return _Tuples(column) if pa.types.is_list(column.type) else column


def _json(one: Callable[..., Json]) -> Function:
    """A function whose first argument is a jsonb value, and its result another."""
    return by_value(lambda text, *rest: dump(one(load(text), *rest)), pa.string())


# -- putting together ---------------------------------------------------------------------------------------------


def _concat(left: str, right: str) -> str:
    a, b = load(left), load(right)
    if isinstance(a, dict) and isinstance(b, dict):
        return dump({**a, **b})
    return dump([*(a if isinstance(a, list) else [a]), *(b if isinstance(b, list) else [b])])


def _object_of(keys: tuple[str | None, ...], values: tuple[str, ...]) -> str:
    """jsonb_build_object, given keys and jsonb values."""
    for k, key in enumerate(keys):
        if key is None:
            raise InvalidParameterValue(f"argument {2 * k + 1}: key must not be null")
    return dump({str(key): load(value) for key, value in zip(keys, values, strict=True)})


def _object_of_pairs(keys: tuple[str | None, ...], values: tuple[str, ...]) -> str:
    """jsonb_object_agg, given a group's keys and its jsonb values."""
    if None in keys:
        raise SqlError("field name must not be null", sqlstate="22023")
    return dump({str(key): load(value) for key, value in zip(keys, values, strict=True)})


# -- taking away --------------------------------------------------------------------------------------------------


def _delete_keys(value: Json, keys: str | tuple[str | None, ...]) -> Json:
    chosen = (keys,) if isinstance(keys, str) else keys
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in chosen}
    if isinstance(value, list):
        return [item for item in value if isinstance(item, Number) or item not in chosen or not isinstance(item, str)]
    raise InvalidParameterValue("cannot delete from scalar")


def _delete_element(value: Json, index: int) -> Json:
    if isinstance(value, dict):
        raise InvalidParameterValue("cannot delete from object using integer index")
    if not isinstance(value, list):
        raise InvalidParameterValue("cannot delete from scalar")
    at = index + len(value) if index < 0 else index
    return [item for k, item in enumerate(value) if k != at]


def _delete_path(value: Json, path: tuple[str | None, ...]) -> Json:
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot delete path in scalar")
    if not path or not value:  # an empty value is not even compared with the path
        return value
    return _changed(value, path, 0, lambda container, step: container.pop(step, None))


def _changed(value: Json, path: tuple[str | None, ...], level: int, change: Callable[..., object]) -> Json:
    """`value` with `change(container as dict of keys or positions, last step)` done to the container that a path names.

    If the path leads nowhere, the value stays unchanged.
    """
    step = path[level]
    if step is None:
        raise SqlError(f"path element at position {level + 1} is null", sqlstate="22004")
    if isinstance(value, dict):
        parts: dict[object, Json] = {name: item for name, item in value.items()}
        key: object = step
    elif isinstance(value, list):
        parts = dict(enumerate(value))
        key = _position(step, level, len(value))
    else:
        return value
    if level == len(path) - 1:
        change(parts, key)
    elif key in parts:
        parts[key] = _changed(parts[key], path, level + 1, change)
    if isinstance(value, dict):
        return {str(name): item for name, item in parts.items()}
    return [item for _, item in sorted(parts.items(), key=lambda pair: float(str(pair[0])))]


def _position(step: str, level: int, length: int) -> int:
    """An array's position; negative ones, from the end, that lie before the beginning stay negative."""
    if not _INTEGER.fullmatch(step.strip()):
        message = f'path element at position {level + 1} is not an integer: "{step}"'
        raise SqlError(message, sqlstate="22P02")
    index = int(step)
    return index + length if index < 0 else index


# -- setting ------------------------------------------------------------------------------------------------------


def _set(value: Json, path: tuple[str | None, ...], new: str, create: bool = True) -> Json:
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot set path in scalar")
    if not value and not create:
        return value

    def put(parts: dict[object, Json], key: object) -> None:
        if key in parts:
            parts[key] = load(new)
        elif create:
            parts[key if isinstance(key, str) else _outside(key, parts)] = load(new)

    return _changed(value, path, 0, put) if path else value


_TREATMENTS = ("raise_exception", "return_target", "delete_key", "use_json_null")


def _set_lax(
    text: str | None,
    path: tuple[str | None, ...] | None,
    new: str | None,
    create: bool | None = True,
    treatment: str | None = "use_json_null",
) -> str | None:
    """jsonb_set_lax: as jsonb_set, and `treatment` says what a NULL does."""
    if text is None or path is None or create is None:
        return None
    if treatment is None or (new is None and treatment not in _TREATMENTS):
        message = 'null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception"'
        raise InvalidParameterValue(message)
    if new is None and treatment == "raise_exception":
        raise SqlError("JSON value must not be null", sqlstate="22004")
    if new is None and treatment == "return_target":
        return text
    if new is None and treatment == "delete_key":
        return dump(_delete_path(load(text), path))
    return dump(_set(load(text), path, "null" if new is None else new, create))


def _outside(index: object, parts: dict[object, Json]) -> float:
    """Beyond an array's ends a new element comes first or last."""
    assert isinstance(index, int)
    return -1.0 if index < 0 else float(len(parts))


def _insert(value: Json, path: tuple[str | None, ...], new: str, after: bool = False) -> Json:
    if not isinstance(value, dict | list):
        raise InvalidParameterValue("cannot set path in scalar")

    def put(parts: dict[object, Json], key: object) -> None:
        if isinstance(key, str):
            if key in parts:
                hint = "Try using the function jsonb_set to replace key value."
                raise InvalidParameterValue("cannot replace existing key", hint=hint)
            parts[key] = load(new)
        elif key in parts:
            assert isinstance(key, int)
            parts[key + 0.5 if after else key - 0.5] = load(new)
        else:
            parts[_outside(key, parts)] = load(new)

    return _changed(value, path, 0, put) if path else value


# -- other forms --------------------------------------------------------------------------------------------------


def _strip_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _strip_nulls(item) for key, item in value.items() if item is not None}
    return [_strip_nulls(item) for item in value] if isinstance(value, list) else value


def _pretty(text: str) -> str:
    return _indented(load(text), 0)


def _indented(value: Json, level: int) -> str:
    inner, outer = "    " * (level + 1), "    " * level
    if isinstance(value, dict):
        from_text = load(dump(value))  # in the order of keys
        assert isinstance(from_text, dict)
        lines = [f"{inner}{quote(key)}: {_indented(item, level + 1)}" for key, item in from_text.items()]
        return "\n".join(["{", *([",\n".join(lines)] if lines else []), outer + "}"])
    if isinstance(value, list):
        lines = [inner + _indented(item, level + 1) for item in value]
        return "\n".join(["[", *([",\n".join(lines)] if lines else []), outer + "]"])
    return dump(value)


def _is_json(kinds: str) -> Function:
    """IS JSON of texts; `kinds` are the first characters of values of the kind, or scalar."""

    def one(text: str) -> bool:
        try:
            value = canonical(text)
        except SqlError:
            return False
        return value[0] in kinds if kinds != "scalar" else value[0] not in "{["

    return by_value(one, pa.bool_())


# -- casts to other types -----------------------------------------------------------------------------------------


def _kind(text: str) -> str:
    first = text[0]
    return {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}.get(
        first, "numeric"
    )


def _to_boolean(values: pa.Array) -> pa.Array:
    wrong = pc.invert(pc.is_in(values, value_set=pa.array(["true", "false"])))
    if pc.any(wrong).as_py():
        raise _cannot(values.filter(wrong)[0].as_py(), "boolean")
    return pc.equal(values, "true")


def _cannot(text: str, target: str) -> InvalidParameterValue:
    return InvalidParameterValue(f"cannot cast jsonb {_kind(text)} to type {target}")


def _to_number(target: SqlType) -> Function:
    def one(text: str) -> object:
        if _kind(text) != "numeric":
            raise _cannot(text, target.name)
        if target.is_float:
            return parse_text(target, text)
        number = int(Decimal(text).to_integral_value("ROUND_HALF_UP"))
        limit = 1 << (_BITS[target] - 1)
        if not -limit <= number < limit:
            raise NumericValueOutOfRange(f"{target} out of range")
        return number

    return by_value(one, target.arrow)


def _to_numeric(text: str) -> str:
    if _kind(text) != "numeric":
        raise _cannot(text, "numeric")
    return text


JSONB_CHANGES: dict[str, Function] = {
    "jsonb_concat": by_value(_concat, pa.string()),
    "jsonb_object_of": by_value(_object_of, pa.string()),
    "jsonb_delete_keys": _json(_delete_keys),
    "jsonb_delete_element": _json(_delete_element),
    "jsonb_delete_path": _json(_delete_path),
    "jsonb_set": _json(_set),
    "jsonb_set_lax": by_value(_set_lax, pa.string(), takes_nulls=True),
    "jsonb_object_of_pairs": by_value(_object_of_pairs, pa.string()),
    "jsonb_insert": _json(_insert),
    "jsonb_strip_nulls": _json(_strip_nulls),
    "jsonb_pretty": by_value(_pretty, pa.string()),
    "is_json_value": _is_json('{["-0123456789tfn'),
    "is_json_object": _is_json("{"),
    "is_json_array": _is_json("["),
    "is_json_scalar": _is_json("scalar"),
    "jsonb_to_boolean": Function(_to_boolean),
    "jsonb_to_smallint": _to_number(SMALLINT),
    "jsonb_to_integer": _to_number(INTEGER),
    "jsonb_to_bigint": _to_number(BIGINT),
    "jsonb_to_real": _to_number(REAL),
    "jsonb_to_double": _to_number(DOUBLE),
    "jsonb_to_numeric": by_value(_to_numeric, pa.string()),
}
