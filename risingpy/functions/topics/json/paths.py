"""The jsonpath functions. A constant path is parsed once, and equal values are searched once.

With `silent`, a path that does not fit a value gives NULL, or the items found before. The operators are silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from risingpy.errors import InvalidParameterValue
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.functions.topics.jsonpath.error import PathError
from risingpy.functions.topics.jsonpath.nodes import JsonPath
from risingpy.functions.topics.jsonpath.parser import parse_jsonpath
from risingpy.functions.topics.jsonpath.run import Run
from risingpy.types.jsonb import Json, dump, load

Answer = Callable[[Run, bool], object]


def _variables(text: str) -> dict[str, Json]:
    variables = load(text)
    if not isinstance(variables, dict):
        detail = 'Jsonpath parameters should be encoded as key-value pairs of "vars" object.'
        raise InvalidParameterValue('"vars" argument is not an object', detail=detail)
    return variables


def _items(run: Run, *, silent: bool) -> Iterator[Json]:
    try:
        yield from run.items()
    except PathError:
        if not silent:
            raise


def _exists(run: Run, silent: bool) -> bool | None:
    try:
        return run.exists()
    except PathError:
        if not silent:
            raise
        return None


def _match(run: Run, silent: bool) -> bool | None:
    found = list(_items(run, silent=silent))
    match found:
        case [bool() | None as answer]:
            return answer
    if not silent:
        raise PathError("single boolean result is expected", sqlstate="22038")
    return None


def _query(run: Run, silent: bool) -> list[str]:
    return [dump(item) for item in _items(run, silent=silent)]


def _query_array(run: Run, silent: bool) -> str:
    return dump(list(_items(run, silent=silent)))


def _query_first(run: Run, silent: bool) -> str | None:
    found = list(_items(run, silent=silent))
    return dump(found[0]) if found else None


def _prepared(answer: Answer, result: pa.DataType, silent: bool | None) -> Callable[..., Compute]:
    """A function of the path and, if it is not silent anyway, of the variables and of whether to be silent."""

    def prepare(path: str, variables: str = "{}", quiet: bool = False) -> Compute:
        parsed: JsonPath = parse_jsonpath(path)
        known, is_silent = _variables(variables), quiet if silent is None else silent
        return by_row(lambda text: answer(Run(parsed, load(text), known), is_silent), result)

    return prepare


def _zoned(answer: Answer, result: pa.DataType) -> Callable[..., Compute]:
    """As `_prepared`, with the session's time zone after the other constants."""

    def prepare(path: str, *rest: object) -> Compute:
        *options, zone = rest
        known = _variables(str(options[0]) if options else "{}")
        parsed, is_silent = parse_jsonpath(path), options[1:] == [True]
        return by_row(lambda text: answer(Run(parsed, load(text), known, str(zone)), is_silent), result)

    return prepare


def _family(name: str, answer: Answer, result: pa.DataType) -> dict[str, Function]:
    """The forms with a path alone, with variables, and with `silent`."""
    prepare = _prepared(answer, result, None)
    zoned = _zoned(answer, result)
    return {
        **{f"{name}_{n}": Function(per_constant(prepare, range(1, n + 1))) for n in (1, 2, 3)},
        **{f"{name}_tz_{n}": Function(per_constant(zoned, range(1, n + 2))) for n in (1, 2, 3)},
    }


def _operator(answer: Answer) -> Function:
    return Function(per_constant(_prepared(answer, pa.bool_(), True), [1]))


def _canonical(texts: pa.Array) -> pa.Array:
    """Paths as PostgreSQL prints them."""
    return by_row(lambda text: str(parse_jsonpath(text)), pa.string())(texts)


JSONB_PATHS: dict[str, Function] = {
    **_family("jsonb_path_exists", _exists, pa.bool_()),
    **_family("jsonb_path_match", _match, pa.bool_()),
    **_family("jsonb_path_query", _query, pa.list_(pa.string())),
    **_family("jsonb_path_query_array", _query_array, pa.string()),
    **_family("jsonb_path_query_first", _query_first, pa.string()),
    "jsonb_path_exists_op": _operator(_exists),
    "jsonb_path_match_op": _operator(_match),
    "jsonpath": Function(_canonical),
}
