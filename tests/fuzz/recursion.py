"""Random recursions that end: few values, or few steps."""

from __future__ import annotations

from tests.fuzz.expressions import Relation
from tests.fuzz.shapes import Shapes

_MOST_STEPS = 3


class Recursions(Shapes):
    """WITH RECURSIVE over the edges that two integer columns make."""

    def _reached(self, depth: int) -> Relation:
        """All pairs that edges connect. UNION ends it, for there are no more pairs than values of the edges."""
        inner = self._relation(min(depth, 1))
        numbers = [k for k, kind in enumerate(inner.types) if kind == "i"]
        if len(numbers) < 2:
            return inner
        i, j = self.random.sample(numbers, 2)
        name, q, r, e = (self._alias() for _ in range(4))
        where = f" WHERE {self.predicate(inner, q, 0)}" if self.random.random() < 0.5 else ""
        cut = f" WHERE {self.predicate(inner, e, 0)}" if self.random.random() < 0.3 else ""
        first = f"SELECT {q}.c{i} AS c0, {q}.c{j} AS c1 FROM ({inner.sql}) {q}{where}"
        step = f"SELECT {r}.c0, {e}.c{j} FROM {name} {r} JOIN ({inner.sql}) {e} ON {r}.c1 = {e}.c{i}{cut}"
        return self._recursive(name, f"{first} UNION {step}", "ii")

    def _counted(self, depth: int) -> Relation:
        """A row for each way of few steps. The steps may lead by an outer join, and duplicates count."""
        inner = self._base() if depth > 0 else self._relation(0)
        numbers = [k for k, kind in enumerate(inner.types) if kind == "i"]
        if len(numbers) < 2:
            return inner
        i, j = self.random.sample(numbers, 2)
        name, q, r, e = (self._alias() for _ in range(4))
        first = f"SELECT {q}.c{i} AS c0, 0 AS c1 FROM ({inner.sql}) {q} WHERE {self.predicate(inner, q, 0)}"
        value, join = self.random.choice(
            [(f"{e}.c{j}", "JOIN"), (f"coalesce({e}.c{j}, 1)", "LEFT JOIN"), (f"({e}.c{j} + {r}.c1) % 5", "JOIN")]
        )
        steps = self.random.randint(1, _MOST_STEPS - 1)
        step = (
            f"SELECT {value}, {r}.c1 + 1 FROM {name} {r} {join} ({inner.sql}) {e} ON {r}.c0 = {e}.c{i} "
            f"WHERE {r}.c1 < {steps}"
        )
        return self._recursive(name, f"{first} {self.pick('UNION ALL', 'UNION ALL', 'UNION')} {step}", "ii")

    def _series(self, depth: int) -> Relation:
        """Each row's numbers up to a bound, beside other columns of the row."""
        inner = self._relation(depth)
        q, r, name = (self._alias() for _ in range(3))
        kept = self._some_columns(inner, 1, 2)
        types = "i" + "".join(inner.types[k] for k in kept)
        number = self.value(inner, q, "i", 0)
        first = f"SELECT {self._listed([number, *(f'{q}.c{k}' for k in kept)])} FROM ({inner.sql}) {q}"
        others = "".join(f", {r}.c{k}" for k in range(1, len(types)))
        bound = self.random.randint(1, 4)
        step = f"SELECT {r}.c0 + 1{others} FROM {name} {r} WHERE {r}.c0 BETWEEN 0 AND {bound}"
        return self._recursive(name, f"{first} {self.pick('UNION', 'UNION ALL')} {step}", types)

    def _recursive(self, name: str, body: str, types: str) -> Relation:
        columns = ", ".join(f"c{k}" for k in range(len(types)))
        sql = f"WITH RECURSIVE {name} ({columns}) AS ({body}) SELECT * FROM {name}"
        return Relation(f"SELECT * FROM ({sql}) {self._alias()}", types)
