"""Random queries over the whole surface of SELECT, and random changes of the tables that they read.

Queries are built from relations of integer and text columns, nested to a depth. Their answers are sets of rows that do
not depend on anything but the tables' rows: where rows are ordered and cut, they are ordered by all columns. Numbers
stay small, so that nothing overflows, and divisors are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

SCHEMA = (
    "CREATE TABLE a (id INT PRIMARY KEY, g INT, v INT, s VARCHAR)",
    "CREATE TABLE b (id INT PRIMARY KEY, g INT, v INT, s VARCHAR)",
    "CREATE TABLE c (g INT, v INT, s VARCHAR)",
)
_COLUMNS = {"a": "iiit", "b": "iiit", "c": "iit"}
_NAMES = {"a": ("id", "g", "v", "s"), "b": ("id", "g", "v", "s"), "c": ("g", "v", "s")}
_MOST_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Relation:
    """A SELECT with columns c0, c1, …; `types` has a letter for each: `i` integer, `t` text."""

    sql: str
    types: str

    @property
    def columns(self) -> list[str]:
        return [f"c{i}" for i in range(len(self.types))]


class Generator:
    """Everything random of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._next_id = {"a": 1, "b": 1}
        self._aliases = 0

    # Changes

    def change(self) -> str:
        """An INSERT, UPDATE or DELETE."""
        table = self._pick("a", "b", "c")
        kind = self.random.random()
        if kind < 0.5 or self._next_id["a"] < 4:
            rows = (self._row(table) for _ in range(self.random.randint(1, 8)))
            return f"INSERT INTO {table} VALUES {', '.join(rows)}"
        if kind < 0.75:
            change = self._pick("v = v + 1", "g = v, v = g", f"g = {self._small()}", "s = NULL", "s = s || 'x'")
            return f"UPDATE {table} SET {change} WHERE {self._base_predicate()}"
        return f"DELETE FROM {table} WHERE {self._base_predicate()}"

    def _row(self, table: str) -> str:
        values = [self._or_null(self._small()), self._or_null(self._small()), self._or_null(self._word())]
        if table != "c":
            values.insert(0, str(self._next_id[table]))
            self._next_id[table] += 1
        return f"({', '.join(values)})"

    def _base_predicate(self) -> str:
        return self._pick(f"g = {self._small()}", f"v > {self._small()}", "s IS NULL", f"s = {self._word()}", "g = v")

    # Queries

    def query(self) -> Relation:
        """A query of some depth."""
        return self._relation(self.random.choice((1, 2, 2, 3)))

    def _relation(self, depth: int) -> Relation:
        if depth <= 0:
            return self._base()
        shapes: list[Callable[[int], Relation]] = [
            *(self._filter, self._project, self._join, self._join, self._group, self._group),
            *(self._distinct, self._set_operation, self._exists, self._in, self._scalar, self._window),
            *(self._top, self._distinct_on, self._grouping_sets, self._lateral, self._common),
        ]
        return self.random.choice(shapes)(depth - 1)

    def _base(self) -> Relation:
        table = self._pick("a", "b", "c")
        columns = ", ".join(f"{name} AS c{i}" for i, name in enumerate(_NAMES[table]))
        return Relation(f"SELECT {columns} FROM {table}", _COLUMNS[table])

    def _filter(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        return Relation(f"SELECT * FROM ({inner.sql}) {q} WHERE {self._predicate(inner, q, 2)}", inner.types)

    def _project(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        types = "".join(self._pick("i", "i", "t") for _ in range(self.random.randint(1, 4)))
        listed = self._listed(self._value(inner, q, t, 2) for t in types)
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", types)

    def _join(self, depth: int) -> Relation:
        left, right = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        kind = self._pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        pairs = [(i, j) for i, x in enumerate(left.types) for j, y in enumerate(right.types) if x == y]
        if not pairs:
            return left
        i, j = self.random.choice(pairs)
        condition = f"{q}.c{i} = {r}.c{j}"
        if kind != "FULL JOIN":  # PostgreSQL joins those on equalities alone
            if self.random.random() < 0.3:
                condition += f" AND {self._predicate(left, q, 1)}"
            if self.random.random() < 0.2:
                k, m = self.random.choice(pairs)
                condition += f" AND {q}.c{k} {self._pick('<', '<>', '>=')} {r}.c{m}"
        columns = [(f"{q}.c{k}", t) for k, t in enumerate(left.types)]
        columns += [(f"{r}.c{k}", t) for k, t in enumerate(right.types)]
        kept = sorted(self.random.sample(range(len(columns)), min(_MOST_COLUMNS, len(columns))))
        listed = self._listed(columns[k][0] for k in kept)
        types = "".join(columns[k][1] for k in kept)
        return Relation(f"SELECT {listed} FROM ({left.sql}) {q} {kind} ({right.sql}) {r} ON {condition}", types)

    def _group(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        keys = self._some_columns(inner, 0, 2)
        calls = [self._call(inner, q) for _ in range(self.random.randint(1, 3))]
        listed = self._listed([*(f"{q}.c{k}" for k in keys), *(sql for sql, _ in calls)])
        where = f" WHERE {self._predicate(inner, q, 1)}" if self.random.random() < 0.4 else ""
        by = f" GROUP BY {', '.join(f'{q}.c{k}' for k in keys)}" if keys else ""
        having = self._pick("", "", " HAVING count(*) > 1") if keys else ""
        types = "".join(inner.types[k] for k in keys) + "".join(t for _, t in calls)
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}{where}{by}{having}", types)

    def _grouping_sets(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        keys = self._some_columns(inner, 2, 2)
        if len(keys) < 2:
            return inner
        x, y = (f"{q}.c{k}" for k in keys)
        sets = self._pick(f"ROLLUP ({x}, {y})", f"CUBE ({x}, {y})", f"GROUPING SETS (({x}), ({y}), ())")
        call, kind = self._call(inner, q)
        listed = self._listed([x, y, call])
        types = "".join(inner.types[k] for k in keys) + kind
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q} GROUP BY {sets}", types)

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

    def _set_operation(self, depth: int) -> Relation:
        left = self._relation(depth)
        right = self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        word = self._pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
        types = left.types[:3]
        first = f"SELECT {self._listed(f'{q}.c{i}' for i in range(len(types)))} FROM ({left.sql}) {q}"
        second = f"SELECT {self._listed(self._value(right, r, t, 0) for t in types)} FROM ({right.sql}) {r}"
        return Relation(f"{first} {word} {second}", types)

    def _exists(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        word = self._pick("EXISTS", "NOT EXISTS")
        condition = self._correlation(outer, q, inner, r)
        sql = f"SELECT * FROM ({outer.sql}) {q} WHERE {word} (SELECT 1 FROM ({inner.sql}) {r} WHERE {condition})"
        return Relation(sql, outer.types)

    def _in(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        kind = self._pick(*outer.types)
        left, right = self._value(outer, q, kind, 0), self._value(inner, r, kind, 0)
        where = f" WHERE {self._correlation(outer, q, inner, r)}" if self.random.random() < 0.4 else ""
        word = self._pick("IN", "NOT IN", "= ANY", "<> ALL", "> ALL" if kind == "i" else "= ANY")
        query = f"SELECT {right} FROM ({inner.sql}) {r}{where}"
        return Relation(f"SELECT * FROM ({outer.sql}) {q} WHERE {left} {word} ({query})", outer.types)

    def _scalar(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        call, kind = self._call(inner, r)
        where = f" WHERE {self._correlation(outer, q, inner, r)}" if self.random.random() < 0.8 else ""
        kept = self._some_columns(outer, 1, 3)
        subquery = f"(SELECT {call} FROM ({inner.sql}) {r}{where})"
        listed = self._listed([*(f"{q}.c{k}" for k in kept), subquery])
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q}", "".join(outer.types[k] for k in kept) + kind)

    def _lateral(self, depth: int) -> Relation:
        outer, inner = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r, x = self._alias(), self._alias(), self._alias()
        order = ", ".join(f"{r}.{c}" for c in inner.columns)
        cut = f" ORDER BY {order} LIMIT {self.random.randint(1, 2)}" if self.random.random() < 0.5 else ""
        query = f"SELECT * FROM ({inner.sql}) {r} WHERE {self._correlation(outer, q, inner, r)}{cut}"
        columns = [(f"{q}.c{k}", t) for k, t in enumerate(outer.types)]
        columns += [(f"{x}.c{k}", t) for k, t in enumerate(inner.types)]
        kept = sorted(self.random.sample(range(len(columns)), min(4, len(columns))))
        join = self._pick(f"CROSS JOIN LATERAL ({query}) {x}", f"LEFT JOIN LATERAL ({query}) {x} ON true")
        listed = self._listed(columns[k][0] for k in kept)
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q} {join}", "".join(columns[k][1] for k in kept))

    def _common(self, depth: int) -> Relation:
        inner = self._relation(depth)
        name, q, r = self._alias(), self._alias(), self._alias()
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed(f"{q}.c{k}" for k in kept)
        sql = f"SELECT {listed} FROM {name} {q} WHERE {q}.c0 >= (SELECT min(c0) FROM {name} {r})"
        if inner.types[0] != "i":
            sql = f"SELECT {listed} FROM {name} {q} JOIN {name} {r} ON {q}.c0 = {r}.c0"
        wrapped = f"WITH {name} AS ({inner.sql}) {sql}"
        return Relation(f"SELECT * FROM ({wrapped}) {self._alias()}", "".join(inner.types[k] for k in kept))

    def _window(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        parts = [f"{q}.c{k}" for k in self._some_columns(inner, 0, 1)]
        way = self._pick("", " DESC", " NULLS FIRST")
        order = ", ".join(f"{q}.{c}{way}" for c in inner.columns)
        partition = f"PARTITION BY {', '.join(parts)} " if parts else ""
        number = self._value(inner, q, "i", 0)
        frame = self._pick("", "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING")
        call = self._pick(
            *("row_number()", "rank()", "dense_rank()", f"sum({number})", f"lag({number})", "count(*)", "ntile(3)"),
            *(f"lead({number}, 2, -1)", f"first_value({number})", f"max({number})", f"min({number})"),
        )
        if not call.startswith(("sum", "count", "first", "max", "min")):
            frame = ""
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), f"{call} OVER ({partition}ORDER BY {order}{frame})"])
        types = "".join(inner.types[k] for k in kept) + "i"
        sql = f"SELECT {listed} FROM ({inner.sql}) {q}"
        if call in ("row_number()", "rank()") and self.random.random() < 0.5:
            limit = self.random.randint(1, 3)
            return Relation(f"SELECT * FROM ({sql}) {self._alias()} WHERE c{len(types) - 1} <= {limit}", types)
        return Relation(sql, types)

    def _top(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        way = self._pick("", " DESC", " NULLS FIRST")
        order = ", ".join(f"{q}.{c}{way}" for c in inner.columns)
        offset = f" OFFSET {self.random.randint(1, 2)}" if self.random.random() < 0.3 else ""
        limit = f" LIMIT {self.random.randint(1, 5)}"
        sql = f"SELECT {q}.* FROM ({inner.sql}) {q} ORDER BY {order}{limit}{offset}"
        return Relation(f"SELECT * FROM ({sql}) {self._alias()}", inner.types)

    # Expressions

    def _correlation(self, outer: Relation, q: str, inner: Relation, r: str) -> str:
        pairs = [(i, j) for i, x in enumerate(outer.types) for j, y in enumerate(inner.types) if x == y]
        if not pairs:
            return self._predicate(inner, r, 1)
        i, j = self.random.choice(pairs)
        condition = f"{r}.c{j} {self._pick('=', '=', '=', '<', 'IS NOT DISTINCT FROM')} {q}.c{i}"
        return condition + (f" AND {self._predicate(inner, r, 1)}" if self.random.random() < 0.4 else "")

    def _call(self, inner: Relation, q: str) -> tuple[str, str]:
        number, text = self._value(inner, q, "i", 1), self._value(inner, q, "t", 0)
        filtered = f" FILTER (WHERE {self._predicate(inner, q, 0)})" if self.random.random() < 0.2 else ""
        distinct = self._pick("", "", "DISTINCT ")
        sql, kind = self.random.choice(
            [
                ("count(*)", "i"),
                (f"count({distinct}{number})", "i"),
                (f"sum({distinct}{number})", "i"),
                (f"min({number})", "i"),
                (f"max({number})", "i"),
                (f"max({text})", "t"),
                (f"min({text})", "t"),
                (f"string_agg({text}, ',' ORDER BY {text})", "t"),
            ]
        )
        return sql + filtered, kind

    def _value(self, inner: Relation, q: str, kind: str, depth: int) -> str:
        mine = [f"{q}.c{i}" for i, t in enumerate(inner.types) if t == kind]
        if depth <= 0 or not mine:
            constant = self._small() if kind == "i" else self._word()
            return self._pick(*mine) if mine else constant
        one = self._value(inner, q, kind, depth - 1)
        if kind == "t":
            return self._pick(one, f"coalesce({one}, 'none')", f"upper({one})", f"({one} || 'y')")
        other = self._pick(self._small(), self._pick(*mine))
        test = self._predicate(inner, q, 0)
        return self._pick(
            *(one, f"({one} + {other})", f"coalesce({one}, {other})", f"({one} % 5)", f"abs({one})"),
            f"CASE WHEN {test} THEN {one} ELSE {other} END",
        )

    def _predicate(self, inner: Relation, q: str, depth: int) -> str:
        column = self.random.randrange(len(inner.types))
        name, kind = f"{q}.c{column}", inner.types[column]
        constant = self._small() if kind == "i" else self._word()
        simple = self._pick(
            *(f"{name} = {constant}", f"{name} > {constant}", f"{name} IS NOT NULL", f"{name} IS NULL"),
            *(f"{name} <> {constant}", f"{name} IS DISTINCT FROM {constant}"),
        )
        if depth <= 0:
            return simple
        other = self._predicate(inner, q, depth - 1)
        return self._pick(simple, f"({simple} AND {other})", f"({simple} OR {other})", f"NOT ({simple})")

    # Small things

    def _some_columns(self, inner: Relation, least: int, most: int) -> list[int]:
        count = self.random.randint(min(least, len(inner.types)), min(most, len(inner.types)))
        return sorted(self.random.sample(range(len(inner.types)), count))

    def _listed(self, expressions: Iterable[str]) -> str:
        return ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(expressions))

    def _alias(self) -> str:
        self._aliases += 1
        return f"q{self._aliases}"

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _small(self) -> str:
        return str(self.random.randint(-2, 6))

    def _word(self) -> str:
        return self._pick("'a'", "'b'", "'B'", "''", "'abc'")

    def _or_null(self, value: str) -> str:
        return "NULL" if self.random.random() < 0.15 else value
