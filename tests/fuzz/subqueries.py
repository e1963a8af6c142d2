"""Random queries with subqueries, most of which read the row of the query around them."""

from __future__ import annotations

from tests.fuzz.expressions import Relation
from tests.fuzz.shapes import Shapes


class Subqueries(Shapes):
    """EXISTS, IN, scalar subqueries and LATERAL."""

    def _exists(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        word = self.pick("EXISTS", "NOT EXISTS")
        condition = self.correlation(outer, q, inner, r)
        sql = f"SELECT * FROM ({outer.sql}) {q} WHERE {word} (SELECT 1 FROM ({inner.sql}) {r} WHERE {condition})"
        return Relation(sql, outer.types)

    def _in(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        kind = self.pick(*outer.types)
        left, right = self.value(outer, q, kind, 0), self.value(inner, r, kind, 0)
        where = f" WHERE {self.correlation(outer, q, inner, r)}" if self.random.random() < 0.4 else ""
        word = self.pick("IN", "NOT IN", "= ANY", "<> ALL", "> ALL" if kind != "b" else "= ANY")
        query = f"SELECT {right} FROM ({inner.sql}) {r}{where}"
        return Relation(f"SELECT * FROM ({outer.sql}) {q} WHERE {left} {word} ({query})", outer.types)

    def _scalar(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        call, kind = self.call(inner, r)
        where = f" WHERE {self.correlation(outer, q, inner, r)}" if self.random.random() < 0.8 else ""
        kept = self._some_columns(outer, 1, 3)
        subquery = f"(SELECT {call} FROM ({inner.sql}) {r}{where})"
        if self.random.random() < 0.15:
            subquery, kind = f"cardinality(ARRAY(SELECT {r}.c0 FROM ({inner.sql}) {r}{where}))", "i"
        listed = self._listed([*(f"{q}.c{k}" for k in kept), subquery])
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q}", "".join(outer.types[k] for k in kept) + kind)

    def _lateral(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r, x = self._alias(), self._alias(), self._alias()
        order = ", ".join(f"{r}.{c}" for c in inner.columns)
        numbers = [k for k, kind in enumerate(outer.types) if kind == "i"]
        rows = str(self.random.randint(1, 2))
        if numbers and self.random.random() < 0.3:  # as many as the row around says, or all
            rows = f"abs(CAST({q}.c{self.random.choice(numbers)} AS INT) % 3) OFFSET {self.random.randint(0, 1)}"
        cut = f" ORDER BY {order} LIMIT {rows}" if self.random.random() < 0.5 else ""
        query = f"SELECT * FROM ({inner.sql}) {r} WHERE {self.correlation(outer, q, inner, r)}{cut}"
        columns = [(f"{q}.c{k}", t) for k, t in enumerate(outer.types)]
        columns += [(f"{x}.c{k}", t) for k, t in enumerate(inner.types)]
        kept = sorted(self.random.sample(range(len(columns)), min(4, len(columns))))
        join = self.pick(f"CROSS JOIN LATERAL ({query}) {x}", f"LEFT JOIN LATERAL ({query}) {x} ON true")
        listed = self._listed(columns[k][0] for k in kept)
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q} {join}", "".join(columns[k][1] for k in kept))

    def _nested(self, depth: int) -> Relation:
        """A subquery in a subquery, which reads the rows of both queries around it."""
        outer, middle, inner = self._relation(depth), self._relation(self.random.randint(0, depth)), self._base()
        q, r, x = self._alias(), self._alias(), self._alias()
        both = f"{self.correlation(outer, q, inner, x)} AND {self.correlation(middle, r, inner, x)}"
        call, kind = self.call(inner, x)
        deepest = self.pick(
            f"{self.pick('EXISTS', 'NOT EXISTS')} (SELECT 1 FROM ({inner.sql}) {x} WHERE {both})",
            f"(SELECT {call} FROM ({inner.sql}) {x} WHERE {both}) {self.pick('=', '<', '>=')} {self.constant(kind)}",
        )
        condition = f"{self.correlation(outer, q, middle, r)} AND {deepest}"
        word = self.pick("EXISTS", "NOT EXISTS")
        sql = f"SELECT * FROM ({outer.sql}) {q} WHERE {word} (SELECT 1 FROM ({middle.sql}) {r} WHERE {condition})"
        return Relation(sql, outer.types)

    def _in_select_list(self, depth: int) -> Relation:
        """Subqueries whose truth is a value, NULL too, and that CASE and OR read."""
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r, s = self._alias(), self._alias(), self._alias()
        kind = self.pick(*outer.types)
        left, right = self.value(outer, q, kind, 0), self.value(inner, r, kind, 0)
        found = f"{left} {self.pick('IN', 'NOT IN', '= ANY', '<> ALL')} (SELECT {right} FROM ({inner.sql}) {r})"
        exists = f"EXISTS (SELECT 1 FROM ({inner.sql}) {s} WHERE {self.correlation(outer, q, inner, s)})"
        call, of = self.call(inner, s)
        where = self.correlation(outer, q, inner, s)
        chosen = f"CASE WHEN {exists} THEN (SELECT {call} FROM ({inner.sql}) {s} WHERE {where}) END"
        value, letter = self.random.choice(
            [(found, "b"), (exists, "b"), (f"({found} OR {self.predicate(outer, q, 0)})", "b"), (chosen, of)]
        )
        kept = self._some_columns(outer, 1, 3)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), value])
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q}", "".join(outer.types[k] for k in kept) + letter)

    def _rows_in(self, depth: int) -> Relation:
        """Rows among the rows of a subquery."""
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        pairs = self._pairs(outer, inner)
        if len(pairs) < 2:
            return outer
        (i, j), (k, m) = self.random.sample(pairs, 2)
        where = f" WHERE {self.correlation(outer, q, inner, r)}" if self.random.random() < 0.3 else ""
        query = f"SELECT {r}.c{j}, {r}.c{m} FROM ({inner.sql}) {r}{where}"
        condition = f"({q}.c{i}, {q}.c{k}) {self.pick('IN', 'NOT IN')} ({query})"
        return Relation(f"SELECT * FROM ({outer.sql}) {q} WHERE {condition}", outer.types)

    def _first_of(self, depth: int) -> Relation:
        """A scalar subquery that takes the first row of several."""
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        k = self.random.randrange(len(inner.types))
        order = ", ".join(f"{r}.{c}{self.pick('', ' DESC')}" for c in inner.columns)
        offset = self.pick("", "", " OFFSET 1")
        where = self.correlation(outer, q, inner, r)
        query = f"(SELECT {r}.c{k} FROM ({inner.sql}) {r} WHERE {where} ORDER BY {order} LIMIT 1{offset})"
        kept = self._some_columns(outer, 1, 3)
        listed = self._listed([*(f"{q}.c{i}" for i in kept), query])
        types = "".join(outer.types[i] for i in kept) + inner.types[k]
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q}", types)

    def _having(self, depth: int) -> Relation:
        """Groups that a subquery chooses, which reads the group's key and its aggregate."""
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        pairs = self._pairs(outer, inner)
        if not pairs:
            return outer
        i, j = self.random.choice(pairs)
        call, kind = self.call(outer, q)
        counted = f"(SELECT count(*) FROM ({inner.sql}) {r} WHERE {r}.c{j} = {q}.c{i})"
        having = self.pick(
            f"count(*) {self.pick('>', '<=')} {counted}",
            f"EXISTS (SELECT 1 FROM ({inner.sql}) {r} WHERE {r}.c{j} = {q}.c{i} HAVING count(*) > 1)",
        )
        listed = self._listed([f"{q}.c{i}", call])
        sql = f"SELECT {listed} FROM ({outer.sql}) {q} GROUP BY {q}.c{i} HAVING {having}"
        return Relation(sql, outer.types[i] + kind)
