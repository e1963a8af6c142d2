"""Random queries over the whole surface of SELECT, and random changes of the tables that they read.

Queries are built from relations, nested to a depth. Their answers are sets of rows that do not depend on anything but
the tables' rows: where rows are ordered and cut, they are ordered by all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.fuzz.expressions import Expressions, Relation

SCHEMA = (
    "CREATE TABLE a (id INT PRIMARY KEY, g INT, v INT, s VARCHAR, n NUMERIC(8, 2), d DATE)",
    "CREATE TABLE b (id INT PRIMARY KEY, g INT, v INT, s VARCHAR, b BOOLEAN)",
    "CREATE TABLE c (g INT, v INT, s VARCHAR, n NUMERIC(8, 2))",
)
_COLUMNS = {"a": "iiitnd", "b": "iiitb", "c": "iitn"}
_NAMES = {"a": ("id", "g", "v", "s", "n", "d"), "b": ("id", "g", "v", "s", "b"), "c": ("g", "v", "s", "n")}
_MOST_COLUMNS = 5
_SHARED_VIEWS = 3


class Generator(Expressions):
    """Everything random of one seed. `views` are queries that later queries read by name."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._next_id = {"a": 1, "b": 1}
        self._aliases = 0
        self.views: dict[str, Relation] = {}

    def add_views(self) -> None:
        """Queries of little depth, each under a name; a later one may read those before it."""
        for number in range(_SHARED_VIEWS):
            view = self._relation(self.random.choice((1, 1, 2)))
            self.views[f"shared_{number}"] = view

    # Changes

    def change(self) -> str:
        """An INSERT, UPDATE or DELETE."""
        table = self.pick("a", "b", "c")
        kind = self.random.random()
        if kind < 0.5 or self._next_id["a"] < 4:
            rows = (self._row(table) for _ in range(self.random.randint(1, 8)))
            return f"INSERT INTO {table} VALUES {', '.join(rows)}"
        if kind < 0.75:
            changes = ["v = v + 1", "g = v, v = g", f"g = {self.constant('i')}", "s = NULL", "s = s || 'x'"]
            own = {"a": ["n = n * 2", "d = d + 1"], "b": ["b = NOT b"], "c": ["n = NULL"]}
            return f"UPDATE {table} SET {self.pick(*changes, *own[table])} WHERE {self._base_predicate()}"
        return f"DELETE FROM {table} WHERE {self._base_predicate()}"

    def _row(self, table: str) -> str:
        kinds = _COLUMNS[table]
        values = [self._or_null(self.constant(kind)) for kind in kinds]
        if table != "c":
            values[0] = str(self._next_id[table])
            self._next_id[table] += 1
        return f"({', '.join(values)})"

    def _base_predicate(self) -> str:
        return self.pick(
            f"g = {self.constant('i')}", f"v > {self.constant('i')}", "s IS NULL", f"s = {self.constant('t')}", "g = v"
        )

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
            *(self._set_returning, self._using, self._neighbours, self._unequal_join),
        ]
        return self.random.choice(shapes)(depth - 1)

    def _base(self) -> Relation:
        if self.views and self.random.random() < 0.3:
            name = self.random.choice(list(self.views))
            return Relation(f"SELECT * FROM {name}", self.views[name].types)
        table = self.pick("a", "b", "c")
        columns = ", ".join(f"{name} AS c{i}" for i, name in enumerate(_NAMES[table]))
        return Relation(f"SELECT {columns} FROM {table}", _COLUMNS[table])

    def _filter(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        return Relation(f"SELECT * FROM ({inner.sql}) {q} WHERE {self.predicate(inner, q, 2)}", inner.types)

    def _project(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        types = "".join(self.pick(*"iitndb") for _ in range(self.random.randint(1, 4)))
        listed = self._listed(self.value(inner, q, t, 2) for t in types)
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", types)

    def _join(self, depth: int) -> Relation:
        left, right = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        kind = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        pairs = [(i, j) for i, x in enumerate(left.types) for j, y in enumerate(right.types) if x == y]
        if not pairs:
            return left
        i, j = self.random.choice(pairs)
        condition = f"{q}.c{i} = {r}.c{j}"
        if kind != "FULL JOIN":  # PostgreSQL joins those on equalities alone
            if self.random.random() < 0.3:
                condition += f" AND {self.predicate(left, q, 1)}"
            if self.random.random() < 0.2:
                k, m = self.random.choice(pairs)
                condition += f" AND {q}.c{k} {self.pick('<', '<>', '>=')} {r}.c{m}"
        columns = [(f"{q}.c{k}", t) for k, t in enumerate(left.types)]
        columns += [(f"{r}.c{k}", t) for k, t in enumerate(right.types)]
        kept = sorted(self.random.sample(range(len(columns)), min(_MOST_COLUMNS, len(columns))))
        listed = self._listed(columns[k][0] for k in kept)
        types = "".join(columns[k][1] for k in kept)
        return Relation(f"SELECT {listed} FROM ({left.sql}) {q} {kind} ({right.sql}) {r} ON {condition}", types)

    def _unequal_join(self, depth: int) -> Relation:
        """All rows with all: by a comparison, by a subquery that reads both sides, or just so."""
        left, right, third = self._relation(min(depth, 1)), self._base(), self._base()
        if self.random.random() < 0.5:
            left, right = right, left
        q, r, x = self._alias(), self._alias(), self._alias()
        pairs = [(i, j) for i, a in enumerate(left.types) for j, b in enumerate(right.types) if a == b != "b"]
        kind = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN")
        on = ""
        if kind != "CROSS JOIN":
            if pairs and self.random.random() < 0.7:
                i, j = self.random.choice(pairs)
                on = f" ON {q}.c{i} {self.pick('<', '>=', '<>')} {r}.c{j}"
            else:
                both = f"{self.correlation(left, q, third, x)} AND {self.correlation(right, r, third, x)}"
                on = f" ON {self.pick('EXISTS', 'NOT EXISTS')} (SELECT 1 FROM ({third.sql}) {x} WHERE {both})"
        columns = [(f"{q}.c{k}", t) for k, t in enumerate(left.types)]
        columns += [(f"{r}.c{k}", t) for k, t in enumerate(right.types)]
        kept = sorted(self.random.sample(range(len(columns)), min(4, len(columns))))
        listed = self._listed(columns[k][0] for k in kept)
        types = "".join(columns[k][1] for k in kept)
        return Relation(f"SELECT {listed} FROM ({left.sql}) {q} {kind} ({right.sql}) {r}{on}", types)

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
        inner = self._relation(depth)
        q = self._alias()
        keys = self._some_columns(inner, 2, 2)
        if len(keys) < 2:
            return inner
        x, y = (f"{q}.c{k}" for k in keys)
        sets = self.pick(f"ROLLUP ({x}, {y})", f"CUBE ({x}, {y})", f"GROUPING SETS (({x}), ({y}), ())")
        call, kind = self.call(inner, q)
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
        word = self.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
        types = left.types[:3]
        first = f"SELECT {self._listed(f'{q}.c{i}' for i in range(len(types)))} FROM ({left.sql}) {q}"
        second = f"SELECT {self._listed(self.value(right, r, t, 0) for t in types)} FROM ({right.sql}) {r}"
        return Relation(f"{first} {word} {second}", types)

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
        cut = f" ORDER BY {order} LIMIT {self.random.randint(1, 2)}" if self.random.random() < 0.5 else ""
        query = f"SELECT * FROM ({inner.sql}) {r} WHERE {self.correlation(outer, q, inner, r)}{cut}"
        columns = [(f"{q}.c{k}", t) for k, t in enumerate(outer.types)]
        columns += [(f"{x}.c{k}", t) for k, t in enumerate(inner.types)]
        kept = sorted(self.random.sample(range(len(columns)), min(4, len(columns))))
        join = self.pick(f"CROSS JOIN LATERAL ({query}) {x}", f"LEFT JOIN LATERAL ({query}) {x} ON true")
        listed = self._listed(columns[k][0] for k in kept)
        return Relation(f"SELECT {listed} FROM ({outer.sql}) {q} {join}", "".join(columns[k][1] for k in kept))

    def _common(self, depth: int) -> Relation:
        inner = self._relation(depth)
        name, q, r = self._alias(), self._alias(), self._alias()
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed(f"{q}.c{k}" for k in kept)
        sql = f"SELECT {listed} FROM {name} {q} WHERE {q}.c0 >= (SELECT min(c0) FROM {name} {r})"
        if inner.types[0] == "b":
            sql = f"SELECT {listed} FROM {name} {q} JOIN {name} {r} ON {q}.c0 = {r}.c0"
        wrapped = f"WITH {name} AS ({inner.sql}) {sql}"
        return Relation(f"SELECT * FROM ({wrapped}) {self._alias()}", "".join(inner.types[k] for k in kept))

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
        sql = f"SELECT {listed} FROM ({inner.sql}) {q}"
        if call in ("row_number()", "rank()") and self.random.random() < 0.5:
            limit = self.random.randint(1, 3)
            return Relation(f"SELECT * FROM ({sql}) {self._alias()} WHERE c{len(types) - 1} <= {limit}", types)
        return Relation(sql, types)

    def _top(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q = self._alias()
        way = self.pick("", " DESC", " NULLS FIRST")
        order = ", ".join(f"{q}.{c}{way}" for c in inner.columns)
        offset = f" OFFSET {self.random.randint(1, 2)}" if self.random.random() < 0.3 else ""
        limit = f" LIMIT {self.random.randint(1, 5)}"
        if not offset and self.random.random() < 0.3:  # rows that tie come all
            order = f"{q}.{self.pick(*inner.columns)}{way}"
            limit = f" FETCH FIRST {self.random.randint(1, 3)} ROWS WITH TIES"
        sql = f"SELECT {q}.* FROM ({inner.sql}) {q} ORDER BY {order}{limit}{offset}"
        return Relation(f"SELECT * FROM ({sql}) {self._alias()}", inner.types)

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

    def _set_returning(self, depth: int) -> Relation:
        inner = self._relation(depth)
        q, x = self._alias(), self._alias()
        kept = self._some_columns(inner, 1, 3)
        types = "".join(inner.types[k] for k in kept) + "i"
        number = self.value(inner, q, "i", 1)
        function = self.pick(f"generate_series(1, least({number}, 3)::int)", f"unnest(ARRAY[{number}, 1, NULL])")
        columns = [f"{q}.c{k}" for k in kept]
        if self.random.random() < 0.4:
            return Relation(f"SELECT {self._listed([*columns, function])} FROM ({inner.sql}) {q}", types)
        join = self.pick(
            f"CROSS JOIN LATERAL {function} AS {x}(e)",
            f"LEFT JOIN LATERAL {function} AS {x}(e) ON true",
            f"LEFT JOIN LATERAL {function} AS {x}(e) ON {x}.e > 1",
        )
        return Relation(f"SELECT {self._listed([*columns, f'{x}.e'])} FROM ({inner.sql}) {q} {join}", types)

    def _using(self, depth: int) -> Relation:
        left, right = self._relation(depth), self._relation(self.random.randint(0, depth))
        if left.types[0] != right.types[0]:
            return left
        q, r = self._alias(), self._alias()
        kind = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        first = f"SELECT {self._listed(f'{q}.c{k}' for k in range(len(left.types)))} FROM ({left.sql}) {q}"
        second = f"SELECT {r}.c0, count(*) AS k, count({r}.c{len(right.types) - 1}) AS l FROM ({right.sql}) {r}"
        joined = f"({first}) {self._alias()} {kind} ({second} GROUP BY {r}.c0) {self._alias()} USING (c0)"
        return Relation(f"SELECT {self._listed(['c0', 'k', 'l'])} FROM {joined}", left.types[0] + "ii")

    # Small things

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
