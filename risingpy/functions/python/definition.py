"""The definition of a user's Python function. Each call has it as a constant, so that a plan needs no catalog."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from risingpy.functions.packed_types import packed, unpacked
from risingpy.types import SqlType


class RoutineKind(Enum):
    """What a routine gives back, and which Python functions its text must define for that."""

    SCALAR = "scalar"  # def name(…): a value of a row
    TABLE = "table"  # def name(…): an iterable of values or, for several columns, of tuples or dicts
    AGGREGATE = "aggregate"  # def create_state(), accumulate(state, …), finish(state), perhaps retract(state, …)


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """`result` is a scalar's or an aggregate's type, the type of a row of a table function.

    `retracts`: whether an aggregate's body has `retract`. With `batch` a scalar function takes and gives Arrow arrays.
    With `strict` a row with a NULL gives NULL, or no rows.
    """

    name: str
    body: str
    arguments: tuple[SqlType, ...]
    result: SqlType
    kind: RoutineKind = RoutineKind.SCALAR
    strict: bool = False
    batch: bool = False
    retracts: bool = False

    def to_text(self) -> str:
        """The definition as a constant of a plan."""
        types = [packed(type_) for type_ in (self.result, *self.arguments)]
        flags = [self.strict, self.batch, self.retracts]
        return json.dumps([self.name, self.kind.value, types, flags, self.body], separators=(",", ":"))


@lru_cache(maxsize=256)
def definition_of(text: str) -> PythonFunction:
    """The inverse of `to_text`."""
    name, kind, types, flags, body = json.loads(text)
    result, *arguments = (unpacked(type_) for type_ in types)
    return PythonFunction(name, body, tuple(arguments), result, RoutineKind(kind), *flags)
