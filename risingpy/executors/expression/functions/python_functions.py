"""Functions that users wrote in Python: `CREATE FUNCTION … LANGUAGE python`.

A call carries its definition as its first argument, a constant, which is compiled once per process. The body defines a
function of the same name. It gets a row's values, None for NULL, and gives a value; with `batch` it gets Arrow
arrays and gives an array of as many rows. It runs in the process that evaluates the query, with all of Python's rights.
"""

from __future__ import annotations

import ctypes
import json
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import ExternalRoutineError, InvalidFunctionDefinition
from risingpy.executors.expression.functions.calling import Compute, Function, call, per_constant
from risingpy.types import SqlType, TypeKind

TIME_LIMIT_SECONDS = 30.0  # for one chunk of rows


class _TookTooLong(BaseException):
    """Raised inside of the user's function, where `except Exception` does not catch it."""


def compile_function(name: str, body: str) -> Callable[..., Any]:
    """The function that the body defines. Raises InvalidFunctionDefinition."""
    namespace: dict[str, Any] = {}
    try:
        exec(compile(body, _file_name(name), "exec"), namespace)
    except Exception as error:
        line = getattr(error, "lineno", None) or _line_of(error, name)
        where = "" if line is None else f", line {line}"
        raise InvalidFunctionDefinition(f"function {name}{where}: {type(error).__name__}: {error}") from error
    function = namespace.get(name)
    if not callable(function):
        hint = f"The body must contain: def {name}(…):"
        raise InvalidFunctionDefinition(f'the body does not define a function "{name}"', hint=hint)
    return function  # type: ignore[no-any-return]


def _file_name(name: str) -> str:
    return f"<function {name}>"


def _line_of(error: BaseException, name: str) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _file_name(name)]
    return lines[-1] if lines else None


@contextmanager
def _limited(name: str) -> Iterator[None]:
    """Interrupts the block after TIME_LIMIT_SECONDS."""
    thread = threading.get_ident()

    def interrupt() -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_TookTooLong))

    timer = threading.Timer(TIME_LIMIT_SECONDS, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except _TookTooLong:
        raise ExternalRoutineError(f"function {name} took more than {TIME_LIMIT_SECONDS:g} seconds") from None
    finally:
        timer.cancel()


def _failure(name: str, error: Exception, row: str) -> ExternalRoutineError:
    line = _line_of(error, name)
    where = "" if line is None else f", line {line}"
    return ExternalRoutineError(f"function {name}{where}{row}: {type(error).__name__}: {error}")


def _by_rows(name: str, function: Callable[..., Any], result: pa.DataType) -> Compute:
    def computed(*columns: pa.Array) -> pa.Array:
        values = []
        with _limited(name):
            for row in zip(*[column.to_pylist() for column in columns], strict=True):
                try:
                    values.append(function(*row))
                except Exception as error:
                    shown = ", ".join(map(repr, row))
                    raise _failure(name, error, f", called with ({shown})") from error
        return _converted(name, values, result)

    return computed


def _by_batches(name: str, function: Callable[..., Any], result: pa.DataType) -> Compute:
    def computed(*columns: pa.Array) -> pa.Array:
        with _limited(name):
            try:
                values = function(*columns)
            except Exception as error:
                raise _failure(name, error, f", called with {len(columns[0])} rows") from error
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        array = _converted(name, values, result)
        if len(array) != len(columns[0]):
            raise ExternalRoutineError(f"function {name} gave {len(array)} rows for {len(columns[0])}")
        return array

    return computed


def _converted(name: str, values: Any, result: pa.DataType) -> pa.Array:
    try:
        if isinstance(values, pa.Array):
            return values.cast(result)
        return pa.array(values, result)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError) as error:
        raise ExternalRoutineError(f"function {name} gave a value that is no {result}: {error}") from error


def _prepared(definition: str) -> Compute:
    said = json.loads(definition)
    name, result = said["name"], said["result"]
    sql_type = SqlType(TypeKind(result[0]), result[1], result[2])
    run = (_by_batches if said["batch"] else _by_rows)(name, compile_function(name, said["body"]), sql_type.arrow)
    function = Function(run, takes_nulls=not said["strict"])

    def computed(*columns: pa.Array) -> pa.Array:
        value = call(function, columns, sql_type.arrow)
        # A numeric goes through SQL as text.
        return pc.cast(value, pa.string()) if sql_type.kind is TypeKind.NUMERIC else value

    return computed


def _without_arguments(definitions: pa.Array) -> pa.Array:
    said = json.loads(definitions[0].as_py())
    function = compile_function(said["name"], said["body"])
    with _limited(said["name"]):
        try:
            values = [function() for _ in range(len(definitions))]
        except Exception as error:
            raise _failure(said["name"], error, "") from error
    sql_type = SqlType(TypeKind(said["result"][0]), said["result"][1], said["result"][2])
    return _converted(said["name"], values, sql_type.arrow)


_with_arguments = per_constant(_prepared, [0])


def _python_function(definitions: pa.Array, *columns: pa.Array) -> pa.Array:
    return _with_arguments(definitions, *columns) if columns else _without_arguments(definitions)


PYTHON_FUNCTIONS: dict[str, Function] = dict.fromkeys(
    ("python_function", "volatile_python_function"), Function(_python_function, takes_nulls=True)
)
