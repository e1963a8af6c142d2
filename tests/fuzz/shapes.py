"""What the makers of random queries share: relations to build on, and names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from tests.fuzz.expressions import Expressions, Relation


class Shapes(Expressions, ABC):
    """Makes relations of relations. A shape's `depth` is how deep those that it reads may be."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._aliases = 0

    @abstractmethod
    def _relation(self, depth: int) -> Relation:
        """A query of at most this depth."""

    @abstractmethod
    def _base(self) -> Relation:
        """A table or a view."""

    def _pairs(self, one: Relation, other: Relation) -> list[tuple[int, int]]:
        """Columns of the two that have the same type."""
        return [(i, j) for i, x in enumerate(one.types) for j, y in enumerate(other.types) if x == y]

    def _some_columns(self, inner: Relation, least: int, most: int) -> list[int]:
        count = self.random.randint(min(least, len(inner.types)), min(most, len(inner.types)))
        return sorted(self.random.sample(range(len(inner.types)), count))

    def _listed(self, expressions: Iterable[str]) -> str:
        return ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(expressions))

    def _alias(self) -> str:
        self._aliases += 1
        return f"q{self._aliases}"

    def _or_null(self, value: str) -> str:
        return "NULL" if self.random.random() < 0.15 else value
