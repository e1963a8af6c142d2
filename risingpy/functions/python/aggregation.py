"""Users' aggregates: over whole groups, or with a stored state that changes.

A stored state is the pickled tuple (state, failed rows, whether a retraction failed). While a group has a row that
cannot be accumulated, its result is NULL; when that row is retracted, the group has a result again. Only workers
unpickle.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from risingpy.functions.python.conversion import python_values, sql_column
from risingpy.functions.python.definition import PythonFunction, definition_of
from risingpy.functions.python.routine import RoutineError, called, called_with, converted, failure, namespace_of
from risingpy.types import SqlType

_PICKLE_PROTOCOL = 5  # states are on disk: every Python that reads them must know this protocol


@dataclass(slots=True)
class _State:
    """`failed` counts rows that could not be accumulated, by their pickled arguments."""

    value: Any
    failed: dict[bytes, int] = field(default_factory=dict)
    broken: bool = False  # a row could not be retracted: the value is lost


class Aggregation:
    """The functions of one definition."""

    def __init__(self, definition: PythonFunction) -> None:
        self._definition = definition
        names = _members(definition)
        width = len(definition.arguments)
        self._create = called(definition, names, "create_state", 0)
        self._accumulate = called(definition, names, "accumulate", width + 1)
        self._finish = called(definition, names, "finish", 1)
        self._retract = called(definition, names, "retract", width + 1) if "retract" in names else None

    @property
    def retracts(self) -> bool:
        return self._retract is not None

    def fold(self, sizes: pa.Array, columns: Sequence[pa.Array], *, tolerant: bool) -> tuple[pa.Array, int]:
        """The result of each group of consecutive rows, and how many failed, which are NULL if `tolerant`."""
        arguments = self._values(columns)
        results: list[Any] = []
        errors, row = 0, 0
        for size in sizes.to_pylist():
            end = row + size
            try:
                state = self._create()
                while row < end:
                    state = self._accumulate(state, *[values[row] for values in arguments])
                    row += 1
                results.append(self._finish(state))
            except Exception as error:
                shown = called_with(arguments, row) if row < end else ""
                if not tolerant or isinstance(error, MemoryError):
                    raise failure(self._definition, error, shown) from None
                results.append(None)
                errors += 1
            row = end
        column, wrong = self._column(results, tolerant=tolerant)
        return column, errors + wrong

    def change(
        self, states: pa.Array, codes: pa.Array, signs: pa.Array, columns: Sequence[pa.Array]
    ) -> tuple[pa.Array, list[pa.Array], int]:
        """Each group's state after the rows, its results before and after, and how many of the latter failed.

        `states[g]` is NULL for a new group; `codes` are the rows' groups. Rows that go come before those that come.
        """
        arguments = self._values(columns)
        group_of, comes = codes.to_numpy(), signs.to_numpy() > 0
        order = np.lexsort((comes, group_of))
        ends = np.searchsorted(group_of[order], np.arange(len(states)), side="right").tolist()
        rows = order.tolist()
        kept: list[bytes] = []
        before: list[Any] = []
        after: list[Any] = []
        begin, errors = 0, 0
        for pickled, end in zip(states.to_pylist(), ends, strict=True):
            state = _State(self._create()) if pickled is None else _State(*pickle.loads(pickled))
            before.append(self._result(state)[0])
            for row in rows[begin:end]:
                self._apply(state, tuple(values[row] for values in arguments), comes=bool(comes[row]))
            result, failed = self._result(state)
            after.append(result)
            errors += failed
            kept.append(pickle.dumps((state.value, state.failed, state.broken), _PICKLE_PROTOCOL))
            begin = end
        old, _ = self._column(before, tolerant=True)
        new, wrong = self._column(after, tolerant=True)
        return pa.array(kept, pa.binary()), [old, new], errors + wrong

    def _apply(self, state: _State, row: tuple[Any, ...], *, comes: bool) -> None:
        if state.failed and not comes and _forgotten(state.failed, row):
            return
        step = self._accumulate if comes else self._retract
        if step is None:
            raise RoutineError(f"aggregate {self._definition.name} has no retract, and a row of its input went")
        try:
            state.value = step(state.value, *row)
        except MemoryError:
            raise
        except Exception:
            if comes:
                key = pickle.dumps(row, _PICKLE_PROTOCOL)
                state.failed[key] = state.failed.get(key, 0) + 1
            else:
                state.broken = True

    def _result(self, state: _State) -> tuple[Any, bool]:
        """The result, and whether it is missing because of a failure."""
        if state.failed or state.broken:
            return None, True
        try:
            return self._finish(state.value), False
        except MemoryError:
            raise
        except Exception:
            return None, True

    def _values(self, columns: Sequence[pa.Array]) -> list[list[Any]]:
        return [python_values(c, type_) for c, type_ in zip(columns, self._definition.arguments, strict=True)]

    def _column(self, values: list[Any], *, tolerant: bool) -> tuple[pa.Array, int]:
        type_ = self._definition.result
        if not tolerant:
            return converted(self._definition, values, lambda part: sql_column(part, type_), ()), 0
        try:
            return sql_column(values, type_), 0
        except Exception:
            fits = [_fits(value, type_) for value in values]
            right = [value if fit else None for value, fit in zip(values, fits, strict=True)]
            return sql_column(right, type_), fits.count(False)


@lru_cache(maxsize=256)
def aggregation(text: str) -> Aggregation:
    """The aggregation of a definition."""
    return Aggregation(definition_of(text))


def _members(definition: PythonFunction) -> dict[str, Any]:
    """The functions of the body, or the methods of an object of the class that has the aggregate's name."""
    names = namespace_of(definition)
    own = names.get(definition.name)
    if not isinstance(own, type):
        return names
    made = own()
    return {name: getattr(made, name) for name in dir(made)}


def _forgotten(failed: dict[bytes, int], row: tuple[Any, ...]) -> bool:
    """Whether the row is one of those that failed; if so, removes one such row."""
    key = pickle.dumps(row, _PICKLE_PROTOCOL)
    if key not in failed:
        return False
    failed[key] -= 1
    if not failed[key]:
        del failed[key]
    return True


def _fits(value: Any, type_: SqlType) -> bool:
    try:
        sql_column([value], type_)
    except Exception:
        return False
    return True
