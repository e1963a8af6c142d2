"""Classes of columns that must be equal, directly or by way of others: a = b and b = c make one class of a, b, c."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from risingpy.plan.expressions import Call, Expr, InputRef


@dataclass(slots=True)
class EqualColumns:
    """Classes of equal columns, grown one equality at a time."""

    _class_of: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, conditions: Iterable[Expr]) -> EqualColumns:
        equal = cls()
        for condition in conditions:
            if is_column_equality(condition):
                equal.add(condition)
        return equal

    def add(self, equality: Expr) -> None:
        """Merges the classes of a and b, given the equality `a = b`."""
        match equality:
            case Call("eq", (InputRef(a), InputRef(b))):
                merged = tuple(sorted({*self.members(a), *self.members(b)}))
                for column in merged:
                    self._class_of[column] = merged

    def members(self, column: int) -> tuple[int, ...]:
        """The columns that equal `column`, itself among them, in ascending order."""
        return self._class_of.get(column, (column,))

    def classes(self) -> list[tuple[int, ...]]:
        """The classes with several columns, in the order of their first columns."""
        return sorted(set(self._class_of.values()))


def is_column_equality(condition: Expr) -> bool:
    """Whether the condition is an equality of two columns of one type."""
    match condition:
        case Call("eq", (InputRef() as a, InputRef() as b)):
            return a.type == b.type and a.index != b.index
        case _:
            return False
