"""Random window functions: by all columns, or by one whose ties make no difference."""

from __future__ import annotations

import re

from tests.fuzz.dialects import pair
from tests.fuzz.expressions import Relation
from tests.fuzz.shapes import Shapes

_BOUNDS = ("UNBOUNDED PRECEDING", "{} PRECEDING", "CURRENT ROW", "{} FOLLOWING", "UNBOUNDED FOLLOWING")
_EXCLUDED = ("", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP", " EXCLUDE NO OTHERS")
# PostgreSQL 15 ends a window's partition at the first count above a bound of the query around it, as if no later count
# could be less, which is wrong where the frame has EXCLUDE. With OFFSET it does not look at the query around it.
_BY_ITSELF = pair("", " OFFSET 0")
# A frame that the row itself is not in: with EXCLUDE TIES, PostgreSQL 15's first_value and its kind find the row there.
_BESIDE = re.compile(r"AND \d+ PRECEDING|BETWEEN \d+ FOLLOWING")


class Windows(Shapes):
    """Window functions with every kind of frame."""

    def _window(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        parts = [f"{q}.c{k}" for k in self._some_columns(inner, 0, 1)]
        way = self.pick("", " DESC", " NULLS FIRST")
        order = ", ".join(f"{q}.{c}{way}" for c in inner.columns)
        partition = f"PARTITION BY {', '.join(parts)} " if parts else ""
        number = self.value(inner, q, "i", 0)
        frame = self.pick("", "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING")
        if frame and self.random.random() < 0.3:
            frame += self.pick(" EXCLUDE CURRENT ROW", " EXCLUDE TIES")
        call = self.pick(
            *("row_number()", "rank()", "dense_rank()", f"sum({number})", f"lag({number})", "count(*)", "ntile(3)"),
            *(f"lead({number}, 2, -1)", f"first_value({number})", f"max({number})", f"min({number})"),
        )
        if not call.startswith(("sum", "count", "first", "max", "min")):
            frame = ""
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), f"{call} OVER ({partition}ORDER BY {order}{frame})"])
        types = "".join(inner.types[k] for k in kept) + "i"
        sql = f"SELECT {listed} FROM ({inner.sql}) {q}{_BY_ITSELF if 'EXCLUDE' in frame else ''}"
        if call in ("row_number()", "rank()") and self.random.random() < 0.5:
            limit = self.random.randint(1, 3)
            return Relation(f"SELECT * FROM ({sql}) {self._alias()} WHERE c{len(types) - 1} <= {limit}", types)
        return Relation(sql, types)

    def _neighbours(self, depth: int) -> Relation:
        """Windows by one column, whose ties make no difference."""
        inner = self._relation(depth)
        q = self._alias()
        order, number = f"{q}.c{self.random.randrange(len(inner.types))}", self.value(inner, q, "i", 0)
        frame = self.pick("", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE UNBOUNDED PRECEDING")
        call = self.pick("rank()", "dense_rank()", f"sum({number})", "count(*)", f"min({number})")
        window = f"(ORDER BY {order}{self.pick('', ' DESC')}{frame if '()' not in call else ''})"
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), f"{call} OVER w"])
        sql = f"SELECT {listed} FROM ({inner.sql}) {q} WINDOW w AS {window}"
        return Relation(sql, "".join(inner.types[k] for k in kept) + "i")

    def _frames(self, depth: int) -> Relation:
        """An aggregate over any frame. Rows that tie are in the frame together, or all columns order them."""
        inner = self._relation(depth)
        q = self._alias()
        ordered = [k for k, kind in enumerate(inner.types) if kind in "ind"]
        mode = self.pick("ROWS", "GROUPS", *(["RANGE", "RANGE"] if ordered else []))
        if mode == "ROWS":
            way = self.pick("", " DESC")
            order = ", ".join(f"{q}.{c}{way}" for c in inner.columns)
            frame = self._frame(mode, "i")
        else:
            k = self.random.choice(ordered) if ordered else self.random.randrange(len(inner.types))
            order = f"{q}.c{k}{self.pick('', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST')}"
            frame = self._frame(mode, inner.types[k])
        parts = [f"{q}.c{k}" for k in self._some_columns(inner, 0, 1)]
        partition = f"PARTITION BY {', '.join(parts)} " if parts else ""
        call, kind = self._framed_call(inner, q)
        kept = self._some_columns(inner, 1, 3)
        value = f"{call} OVER ({partition}ORDER BY {order}{frame})"
        listed = self._listed([*(f"{q}.c{k}" for k in kept), value])
        sql = f"SELECT {listed} FROM ({inner.sql}) {q}{_BY_ITSELF}"
        return Relation(sql, "".join(inner.types[k] for k in kept) + kind)

    def _frame(self, mode: str, kind: str) -> str:
        """A frame; `kind` is the type of the column that RANGE counts in."""
        start = self.random.randint(0, 3)
        end = self.random.randint(max(start, 1), 4)
        near, far = sorted((self.random.randint(0, 2), self.random.randint(0, 2)))
        # Both before the row: the start is the farther one. Both after it: the end is.
        first, last = (far, near) if start == end == 1 else (near, far)
        offsets = [self._offset(mode, kind, each) for each in (first, last)]
        bounds = f"{_BOUNDS[start].format(offsets[0])} AND {_BOUNDS[end].format(offsets[1])}"
        return f" {mode} BETWEEN {bounds}{self.random.choice(_EXCLUDED)}"

    def _offset(self, mode: str, kind: str, number: int) -> str:
        if mode != "RANGE":
            return str(number)
        return {"i": str(number), "n": f"{number}.25", "d": f"INTERVAL '{number} days'"}[kind]

    def _framed_call(self, inner: Relation, q: str) -> tuple[str, str]:
        number, exact = self.value(inner, q, "i", 0), self.value(inner, q, "n", 0)
        compared = self.pick(*"intd")
        value = self.value(inner, q, compared, 0)
        filtered = f" FILTER (WHERE {self.predicate(inner, q, 0)})" if self.random.random() < 0.2 else ""
        call, kind = self.random.choice(
            [
                (f"sum({number})", "i"),
                (f"sum({exact})", "n"),
                ("count(*)", "i"),
                (f"count({value})", "i"),
                (f"min({value})", compared),
                (f"max({value})", compared),
                (f"bool_or({self.predicate(inner, q, 0)})", "b"),
            ]
        )
        return call + filtered, kind

    def _distribution(self, depth: int) -> Relation:
        """Where a row lies in its partition."""
        inner = self._relation(depth)
        q = self._alias()
        parts = [f"{q}.c{k}" for k in self._some_columns(inner, 0, 1)]
        partition = f"PARTITION BY {', '.join(parts)} " if parts else ""
        order = f"{q}.c{self.random.randrange(len(inner.types))}{self.pick('', ' DESC', ' NULLS FIRST')}"
        place = f"{self.pick('percent_rank()', 'cume_dist()')} OVER ({partition}ORDER BY {order})"
        call = f"round(CAST({place} AS numeric), 4)"
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), call])
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", "".join(inner.types[k] for k in kept) + "n")

    def _nth(self, depth: int) -> Relation:
        """A value of a certain row of the frame."""
        inner = self._relation(depth)
        q = self._alias()
        k = self.random.randrange(len(inner.types))
        order = ", ".join(f"{q}.{c}{self.pick('', ' DESC')}" for c in inner.columns)
        call = self.pick(f"nth_value({q}.c{k}, 2)", f"last_value({q}.c{k})", f"first_value({q}.c{k})")
        parts = [f"{q}.c{k}" for k in self._some_columns(inner, 0, 1)]
        partition = f"PARTITION BY {', '.join(parts)} " if parts else ""
        frame = self._frame("ROWS", "i")
        if _BESIDE.search(frame):
            frame = frame.replace(" EXCLUDE TIES", "")
        value = f"{call} OVER ({partition}ORDER BY {order}{frame})"
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed([*(f"{q}.c{i}" for i in kept), value])
        types = "".join(inner.types[i] for i in kept) + inner.types[k]
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", types)
