"""Random groups: GROUP BY, grouping sets, DISTINCT."""

from __future__ import annotations

from tests.fuzz.expressions import Relation
from tests.fuzz.shapes import Shapes


class Grouping(Shapes):
    """Queries with a row for each group."""

    def _group(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        keys = self._some_columns(inner, 0, 2)
        calls = [self.call(inner, q) for _ in range(self.random.randint(1, 3))]
        listed = self._listed([*(f"{q}.c{k}" for k in keys), *(sql for sql, _ in calls)])
        where = f" WHERE {self.predicate(inner, q, 1)}" if self.random.random() < 0.4 else ""
        by = f" GROUP BY {', '.join(f'{q}.c{k}' for k in keys)}" if keys else ""
        having = self.pick("", "", " HAVING count(*) > 1") if keys else ""
        types = "".join(inner.types[k] for k in keys) + "".join(t for _, t in calls)
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}{where}{by}{having}", types)

    def _grouping_sets(self, depth: int) -> Relation:
        """Sets of every form; calls read the columns as they were, also those that a set leaves out."""
        inner = self._relation(depth)
        q = self._alias()
        keys = self._some_columns(inner, 2, 3)
        if len(keys) < 2:
            return inner
        names = [f"{q}.c{k}" for k in keys]
        x, y, z = (*names, names[0])[:3]
        sets = self.pick(
            *(f"ROLLUP ({', '.join(names)})", f"CUBE ({', '.join(names)})", f"{x}, ROLLUP ({y}, {z})"),
            *(
                f"GROUPING SETS (({x}), ({y}), ())",
                f"GROUPING SETS (({x}, {y}), ({z}), ({z}))",
                f"{y}, CUBE ({x}, {z})",
            ),
            *(f"GROUPING SETS (ROLLUP ({x}), CUBE ({y}, {z}))", f"ROLLUP (({x}, {y}), {z})"),
        )
        calls = [self.call(inner, q) for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.5:
            calls.append((f"grouping({x}, {y})", "i"))
        listed = self._listed([x, y, *(sql for sql, _ in calls)])
        types = "".join(inner.types[k] for k in keys[:2]) + "".join(kind for _, kind in calls)
        where = f" WHERE {self.predicate(inner, q, 1)}" if self.random.random() < 0.3 else ""
        having = self.pick("", "", "", " HAVING count(*) > 1", f" HAVING grouping({y}) = 0", f" HAVING {x} IS NOT NULL")
        # A set without columns has a row also if there are no others; a third key is in no column, and is not shown.
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}{where} GROUP BY {sets}{having}", types)

    def _distinct(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed(f"{q}.c{k}" for k in kept)
        types = "".join(inner.types[k] for k in kept)
        return Relation(f"SELECT DISTINCT {listed} FROM ({inner.sql}) {q}", types)

    def _distinct_on(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        keys = [f"{q}.c{k}" for k in self._some_columns(inner, 1, 2)]
        order = ", ".join([*keys, *(f"{q}.{c}" for c in inner.columns)])
        sql = f"SELECT DISTINCT ON ({', '.join(keys)}) {q}.* FROM ({inner.sql}) {q} ORDER BY {order}"
        return Relation(f"SELECT * FROM ({sql}) {self._alias()}", inner.types)
