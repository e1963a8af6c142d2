"""Random queries with what PostgreSQL lacks: ASOF joins, sessions, windows and gaps in time, vectors.

PostgreSQL is asked the same in its own words, so each shape also says what the operator means.
"""

from __future__ import annotations

from tests.fuzz.dialects import pair
from tests.fuzz.expressions import Relation
from tests.fuzz.shapes import Shapes

_ROWS_OF_TIME = "BETWEEN DATE '2010-01-01' AND DATE '2040-01-01'"  # a gap of many thousand years is no query for this


class Streaming(Shapes):
    """Each shape reads a relation of any shape, and may be read by any."""

    def _asof(self, depth: int) -> Relation:
        """With the nearest right row. Rows that are equally near differ in no column that is shown."""
        left, right = self._relation(depth), self._relation(self.random.randint(0, depth))
        ordered = [(i, j) for i, j in self._pairs(left, right) if left.types[i] in "ind"]
        equal = self._pairs(left, right)
        if not ordered:
            return left
        (i, j), (k, m) = self.random.choice(ordered), self.random.choice(equal)
        q, r = self._alias(), self._alias()
        sign, way = self.random.choice([(">=", " DESC"), (">", " DESC"), ("<=", ""), ("<", "")])
        matches = f"{q}.c{k} = {r}.c{m} AND {q}.c{i} {sign} {r}.c{j}"
        step = self.random.randint(0, 4) if self.random.random() < 0.4 else None
        far = "" if step is None else self._tolerance(f"{q}.c{i}", f"{r}.c{j}", sign, step)
        word = self.pick("", "LEFT ")
        nearest = f"SELECT * FROM ({right.sql}) {r} WHERE {matches}{far} ORDER BY {r}.c{j}{way} LIMIT 1"
        join = pair(
            f"ASOF {word}JOIN ({right.sql}) {r} ON {matches}{far}",
            f"{word}JOIN LATERAL ({nearest}) {r} ON true",
        )
        kept = self._some_columns(left, 1, 3)
        listed = self._listed([*(f"{q}.c{x}" for x in kept), f"{r}.c{m}", f"{r}.c{j}"])
        types = "".join(left.types[x] for x in kept) + right.types[m] + right.types[j]
        return Relation(f"SELECT {listed} FROM ({left.sql}) {q} {join}", types)

    def _tolerance(self, left: str, right: str, sign: str, step: int) -> str:
        return f" AND {left} <= {right} + {step}" if sign.startswith(">") else f" AND {left} >= {right} - {step}"

    def _session(self, depth: int) -> Relation:
        """An aggregate of each session of rows that follow each other closely."""
        inner = self._relation(depth)
        ordered = [k for k, kind in enumerate(inner.types) if kind in "id"]
        if not ordered:
            return inner
        q, s = self._alias(), self._alias()
        at = self.random.choice(ordered)
        parts = [k for k in self._some_columns(inner, 0, 1) if k != at]
        gap = self.random.randint(1, 3) if inner.types[at] == "i" else self.random.randint(1, 30)
        written = str(gap) if inner.types[at] == "i" else f"INTERVAL '{gap} days'"
        when = f"CAST({q}.c{at} AS BIGINT)" if inner.types[at] == "i" else f"{q}.c{at}"  # a sum is a numeric
        number = self.value(inner, q, "i", 0)
        call = self.pick(f"sum({number})", "count(*)", f"min({number})", f"max({number})")
        kept = self._some_columns(inner, 1, 3)
        types = "".join(inner.types[k] for k in kept) + "i"
        # There: a row begins a session unless it comes less than the gap after the one before. NULLs are one, the last.
        own = ", ".join(f"{q}.c{k}" for k in parts)
        before = f"lag({q}.c{at}) OVER ({f'PARTITION BY {own} ' if parts else ''}ORDER BY {q}.c{at})"
        begins = f"CASE WHEN {q}.c{at} < {before} + {gap} OR {q}.c{at} IS NULL THEN 0 ELSE 1 END"
        marked = f"SELECT {q}.*, {begins} AS b FROM ({inner.sql}) {q}"
        numbered = (
            f"SELECT {q}.*, {q}.c{at} IS NULL AS n, sum({q}.b) OVER ({f'PARTITION BY {own} ' if parts else ''}"
            f"ORDER BY {q}.c{at} RANGE UNBOUNDED PRECEDING) AS s FROM ({marked}) {q}"
        )
        theirs = f"({', '.join(['PARTITION BY ' + f'{q}.n', f'{q}.s', *([own] if parts else [])])})"
        ours = f"({f'PARTITION BY {own} ' if parts else ''}ORDER BY {when} SESSION WITH GAP {written})"
        listed = self._listed([*(f"{q}.c{k}" for k in kept), f"{call} OVER {pair(ours, theirs)}"])
        source = pair(inner.sql, numbered)
        return Relation(f"SELECT * FROM (SELECT {listed} FROM ({source}) {q}) {s}", types)

    def _gaps(self, depth: int) -> Relation:
        """A series of each partition, with a row for every step between two of its rows."""
        inner = self._relation(depth)
        dates = [k for k, kind in enumerate(inner.types) if kind == "d"]
        if not dates:
            return inner
        q, name, g = self._alias(), self._alias(), self._alias()
        at, part = self.random.choice(dates), self.random.randrange(len(inner.types))
        number, exact = self.value(inner, q, "i", 0), self.value(inner, q, "n", 0)
        rows = (
            f"SELECT {q}.c{part} AS p, {q}.c{at}::timestamp AS at, max({number})::bigint AS i, "
            f"min({exact})::numeric(20, 2) AS n, count(*) AS k FROM ({inner.sql}) {q} "
            f"WHERE {q}.c{at} {_ROWS_OF_TIME} GROUP BY {q}.c{part}, {q}.c{at}"
        )
        days = self.random.randint(9, 400)
        filled = f"GAP_FILL({name}, at, INTERVAL '{days} days', LOCF(i), INTERPOLATE(n), PARTITION_BY(p))"
        ours = f"WITH {name} AS ({rows}) SELECT p, at, i, n, k FROM {filled} AS {g}"
        before = (
            f"SELECT *, lag(at) OVER w AS a, lag(i) OVER w AS j, lag(n) OVER w AS m FROM {name} "
            "WINDOW w AS (PARTITION BY p ORDER BY at)"
        )
        counted = f"SELECT *, ceil((at::date - a::date) / {days}.0)::int AS steps FROM ({before}) x"
        theirs = (
            f"WITH {name} AS ({rows}) SELECT p, at, i, n, k FROM {name} UNION ALL "
            f"SELECT p, a + x * INTERVAL '{days} days', j, (m + (n - m) * x / steps)::numeric(20, 2), NULL "
            f"FROM ({counted}) y, generate_series(1, steps - 1) x"
        )
        sql = f"SELECT p AS c0, at::date AS c1, i AS c2, n AS c3, k AS c4 FROM ({pair(ours, theirs)}) {self._alias()}"
        return Relation(sql, inner.types[part] + "dini")

    def _hops(self, depth: int) -> Relation:
        """Each row in the windows of time that it is in."""
        inner = self._relation(depth)
        dates = [k for k, kind in enumerate(inner.types) if kind == "d"]
        if not dates:
            return inner
        q, name = self._alias(), self._alias()
        at = self.random.choice(dates)
        slide, windows = self.random.randint(1, 20), self.random.randint(1, 3)
        kept = [k for k in self._some_columns(inner, 1, 3) if k != at]
        listed = self._listed([f"{q}.c{at}", *(f"{q}.c{k}" for k in kept)])
        rows = f"SELECT {listed} FROM ({inner.sql}) {q} WHERE {q}.c{at} {_ROWS_OF_TIME}"
        ours = f"HOP({name}, c0, INTERVAL '{slide} days', INTERVAL '{slide * windows} days')"
        begin = f"date_bin('{slide} days', c0::timestamp, '1970-01-01') - x * INTERVAL '{slide} days'"
        theirs = f"(SELECT *, {begin} AS window_start FROM {name}, generate_series(0, {windows - 1}) x)"
        columns = ", ".join([*(f"c{k}" for k in range(1 + len(kept))), f"window_start::date AS c{1 + len(kept)}"])
        wrapped = f"WITH {name} AS ({rows}) SELECT {columns} FROM {pair(ours, theirs)} AS {self._alias()}"
        types = "d" + "".join(inner.types[k] for k in kept) + "d"
        return Relation(f"SELECT * FROM ({wrapped}) {self._alias()}", types)

    def _vectors(self, depth: int) -> Relation:
        """Distances of vectors of small whole numbers, which are whole numbers or their roots."""
        inner = self._relation(depth)
        q = self._alias()
        x, y = (f"coalesce({self.value(inner, q, 'i', 0)} % 1000, 0)" for _ in range(2))
        a, b = self.random.randint(-3, 3), self.random.randint(-3, 3)
        vector = f"ARRAY[{x}, {y}]::vector(2)"
        squares = f"(({x} - {a}) * ({x} - {a}) + ({y} - {b}) * ({y} - {b}))"
        ours, theirs = self.random.choice(
            [
                (f"round(({vector} <-> '[{a},{b}]') ^ 2)::int", f"{squares}::int"),
                (f"({vector} <+> '[{a},{b}]')::int", f"(abs({x} - {a}) + abs({y} - {b}))::int"),
                (f"({vector} <#> '[{a},{b}]')::int", f"(- ({x} * {a} + {y} * {b}))::int"),
                (f"({vector} + '[{a},{b}]' < '[0,0]')::int", f"(({x} + {a}, {y} + {b}) < (0, 0))::int"),
            ]
        )
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), pair(ours, theirs)])
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", "".join(inner.types[k] for k in kept) + "i")
