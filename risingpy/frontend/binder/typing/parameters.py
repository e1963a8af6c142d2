"""The types of a prepared statement's parameters, found out while it is bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from risingpy.errors import SqlError
from risingpy.types import UNKNOWN, SqlType, TypeKind, array_of


class PartTypes(tuple[SqlType, ...]):
    """The types that are known so far, for a part of a statement, which need not tell those of all parameters."""


class Parameters:
    """Begins with the types that the client declared (UNKNOWN: to be found out)."""

    def __init__(self, declared: Sequence[SqlType]) -> None:
        self._is_part = isinstance(declared, PartTypes)
        self._types: dict[int, SqlType] = {i: t for i, t in enumerate(declared, 1) if t.kind is not TypeKind.UNKNOWN}
        self._highest = len(declared)
        self._positions: dict[int, int] = {}
        self._places: Counter[int] = Counter()

    def type_of(self, index: int, position: int) -> SqlType:
        """The type of `$index` as far as it is known. The first to ask tells where it stands."""
        self._highest = max(self._highest, index)
        self._positions.setdefault(index, position)
        self._places[index] += 1
        return self._types.get(index, UNKNOWN)

    def determine(self, index: int, sql_type: SqlType, position: int) -> SqlType:
        """Context needs `$index` to be of this type; the first context decides.

        Raises 42P08 if another context needed another type.
        """
        if sql_type.kind is TypeKind.UNKNOWN:
            return sql_type
        known = self._types.setdefault(index, sql_type)
        if known.kind is not sql_type.kind:
            raise SqlError(
                f"inconsistent types deduced for parameter ${index}",
                sqlstate="42P08",
                detail=f"{known} versus {sql_type}",
                position=position,
            )
        return known

    def as_deep_as(self, index: int, wanted: SqlType) -> SqlType:
        """The type of `$index`, an array that is declared, with as many dimensions as another array type.

        Its OID did not tell how many. As it is, if `$index` stands in several places.
        """
        type_ = self._types[index]
        if self._places[index] > 1:
            return type_
        as_deep = type_.leaf
        for _ in range(wanted.depth):
            as_deep = array_of(as_deep)
        self._types[index] = as_deep
        return as_deep

    def types(self) -> tuple[SqlType, ...]:
        """All parameters' types. Raises 42P18 for one that nothing tells anything about.

        Of a part of a statement, those that only others name stay UNKNOWN.
        """
        for index in range(1, self._highest + 1):
            if index not in self._types and (index in self._positions or not self._is_part):
                raise SqlError(
                    f"could not determine data type of parameter ${index}",
                    sqlstate="42P18",
                    position=self._positions.get(index),
                )
        return tuple(self._types.get(index, UNKNOWN) for index in range(1, self._highest + 1))
