"""Scalar and table functions on columns: runs a user's code in a worker.

The code is compiled once per process and definition. An error is a `RoutineError`, whose text names the function, the
line in its body and the row that it was called with.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from risingpy.functions.python.conversion import python_values, sql_column
from risingpy.functions.python.definition import PythonFunction, RoutineKind, definition_of

_WRONG_VALUE = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ArithmeticError, TypeError, ValueError)
_LONGEST_ROW = 1000  # characters of a row, and of another error's text, that an error shows


class TookTooLong(BaseException):
    """Raised inside of the user's function, where `except Exception` does not catch it."""


class RoutineError(Exception):
    """An error in the user's code; `kind` is "definition", "limit" or "failure"."""

    def __init__(self, message: str, kind: str = "failure") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind


Column = Callable[[Sequence[pa.Array], int], pa.Array]


@lru_cache(maxsize=256)
def column_function(text: str) -> Column:
    """A definition's function on columns: (columns, number of rows) → column; a table function's is of arrays."""
    definition = definition_of(text)
    function = called(definition, namespace_of(definition), definition.name, len(definition.arguments))
    if definition.batch:
        return lambda columns, rows: _by_batches(definition, function, columns, rows)
    return lambda columns, rows: _by_rows(definition, function, columns, rows)


def namespace_of(definition: PythonFunction) -> dict[str, Any]:
    """The names that the body defines."""
    namespace: dict[str, Any] = {"__name__": definition.name}
    try:
        exec(compile(definition.body, _file_name(definition.name), "exec"), namespace)
    except Exception as error:
        line = getattr(error, "lineno", None) or _line_of(error, definition.name)
        where = "" if line is None else f", line {line}"
        message = f"function {definition.name}{where}: {_told(error)}"
        raise RoutineError(message, "definition") from error
    return namespace


def called(definition: PythonFunction, names: dict[str, Any], name: str, arguments: int) -> Callable[..., Any]:
    """The function of that name, which must take so many arguments."""
    function = names.get(name)
    if not callable(function):
        raise RoutineError(f'the body of {definition.name} does not define a function "{name}"', "definition")
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError as error:
        message = f"{name} of function {definition.name} cannot be called with {arguments} arguments: {error}"
        raise RoutineError(message, "definition") from error
    except ValueError:  # a function in C may have no signature
        pass
    return function  # type: ignore[no-any-return]


def _by_rows(
    definition: PythonFunction, function: Callable[..., Any], columns: Sequence[pa.Array], rows: int
) -> pa.Array:
    arguments = [python_values(c, type_) for c, type_ in zip(columns, definition.arguments, strict=True)]
    calls: Iterable[Any] = map(function, *arguments) if arguments else (function() for _ in range(rows))
    if definition.kind is RoutineKind.TABLE:
        calls = map(_listed, calls)
    values: list[Any] = []
    try:
        values.extend(calls)  # keeps what came before an error
    except BaseException as error:
        raise failure(definition, error, called_with(arguments, len(values))) from None
    if len(values) < rows:  # which `extend` takes for the end of all rows
        raise failure(definition, StopIteration(), called_with(arguments, len(values)))
    type_ = definition.result
    if definition.kind is RoutineKind.TABLE:
        return _as_lists(definition, values, arguments)
    return converted(definition, values, lambda part: sql_column(part, type_), arguments)


def _listed(values: Any) -> list[Any]:
    return [] if values is None else list(values)


def _as_lists(definition: PythonFunction, values: list[list[Any]], arguments: Sequence[list[Any]]) -> pa.Array:
    def lists(part: Sequence[list[Any]]) -> pa.Array:
        offsets = [0]
        for each in part:
            offsets.append(offsets[-1] + len(each))
        flat = sql_column([value for each in part for value in each], definition.result)
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)

    return converted(definition, values, lists, arguments)


def converted(
    definition: PythonFunction,
    values: Sequence[Any],
    convert: Callable[[Sequence[Any]], pa.Array],
    arguments: Sequence[list[Any]],
) -> pa.Array:
    """The column of the function's results; the error for a wrong value names its row."""
    try:
        return convert(values)
    except _WRONG_VALUE:
        for row, value in enumerate(values):
            try:
                convert([value])
            except _WRONG_VALUE as error:
                shown = f"{called_with(arguments, row)} gave a value that is no {definition.result}"
                raise RoutineError(f"function {definition.name}{shown}: {_cut(str(error))}") from None
        raise


def _by_batches(
    definition: PythonFunction, function: Callable[..., Any], columns: Sequence[pa.Array], rows: int
) -> pa.Array:
    try:
        value = function(*columns)
    except BaseException as error:
        raise failure(definition, error, f", called with {rows} rows") from None
    try:
        if isinstance(value, pa.ChunkedArray):
            value = value.combine_chunks()
        array = value if isinstance(value, pa.Array) else pa.array(value)
        array = array.cast(definition.result.arrow)
    except _WRONG_VALUE as error:
        message = f"function {definition.name} gave a value that is no array of {definition.result}: {_cut(str(error))}"
        raise RoutineError(message) from None
    if len(array) != rows:
        raise RoutineError(f"function {definition.name} gave {len(array)} rows for {rows}")
    return array


def failure(definition: PythonFunction, error: BaseException, row: str) -> RoutineError:
    """The error with the line of the body where it arose, and the row."""
    if isinstance(error, RoutineError):
        return error
    line = _line_of(error, definition.name)
    where = f"function {definition.name}{'' if line is None else f', line {line}'}{row}"
    error.__traceback__ = None  # frees what the function held
    if isinstance(error, TookTooLong):
        return RoutineError(f"{where}: took more than {error.args[0]:g} seconds", "limit")
    if isinstance(error, MemoryError):
        return RoutineError(f"{where}: out of memory", "limit")
    return RoutineError(f"{where}: {_told(error)}")


def _told(error: BaseException) -> str:
    """An error's class and text. The text may have any length, and making it may itself fail."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception as other:
        text = f"{type(error).__name__}, whose text fails with {type(other).__name__}"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_ROW else text[:_LONGEST_ROW] + "…"


def called_with(arguments: Sequence[Sequence[Any]], row: int) -> str:
    """The arguments of a row, as errors show them."""
    if not arguments:
        return ""
    given = [argument[row] for argument in arguments]
    shown = ", ".join(repr(_cut(value) if isinstance(value, str) else value) for value in given)
    return f", called with ({_cut(shown)})"


def _file_name(name: str) -> str:
    return f"<function {name}>"


def _line_of(error: BaseException, name: str) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _file_name(name)]
    return lines[-1] if lines else None
