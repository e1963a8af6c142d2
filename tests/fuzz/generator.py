"""Random queries over the whole surface of SELECT, and random changes of the tables that they read.

Queries are built from relations, nested to a depth. Their answers are sets of rows that do not depend on anything but
the tables' rows: where rows are ordered and cut, they are ordered by all columns.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.dialects import pair
from tests.fuzz.expressions import LABELS, Relation
from tests.fuzz.further_types import FURTHER
from tests.fuzz.grouping import Grouping
from tests.fuzz.recursion import Recursions
from tests.fuzz.streaming import Streaming
from tests.fuzz.subqueries import Subqueries
from tests.fuzz.windows import Windows

# A temporal join reads a table that never changes, so any join gives its rows.
_AS_OF = pair(" FOR SYSTEM_TIME AS OF PROCTIME()", "")
_ENDS = pair(" WITH (ttl = '1000 days')", "")  # no row ends, and all pass by what would end them
SCHEMA = (
    f"CREATE TYPE mood AS ENUM ({', '.join(map(repr, LABELS))})",
    "CREATE TABLE a (id INT PRIMARY KEY, g INT, v INT, s VARCHAR, n NUMERIC(8, 2), d DATE)",
    "CREATE TABLE b (id INT PRIMARY KEY, g INT, v INT, s VARCHAR, b BOOLEAN, m mood)",
    f"CREATE TABLE c (g INT, v INT, s VARCHAR, n NUMERIC(8, 2)){_ENDS}",
    "CREATE TABLE fixed (id INT PRIMARY KEY, g INT, s VARCHAR, m mood)",
    "INSERT INTO fixed VALUES (-1, 2, 'a', 'low'), (0, NULL, 'b', NULL), (1, 1, NULL, 'high'), (2, 5, 'abc', 'mid')",
)
_COLUMNS = {"a": "iiitnd", "b": "iiitbe", "c": "iitn"}
_NAMES = {"a": ("id", "g", "v", "s", "n", "d"), "b": ("id", "g", "v", "s", "b", "m"), "c": ("g", "v", "s", "n")}
_MOST_COLUMNS = 5
_SHARED_VIEWS = 3


class Generator(Windows, Grouping, Subqueries, Recursions, Streaming):
    """Everything random of one seed. `views` are queries that later queries read by name."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._next_id = {"a": 1, "b": 1}
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
            rows = (self.row(table) for _ in range(self.random.randint(1, 8)))
            return f"INSERT INTO {table} VALUES {', '.join(rows)}"
        if kind < 0.75:
            changes = ["v = v + 1", "g = v, v = g", f"g = {self.constant('i')}", "s = NULL", "s = s || 'x'"]
            own = {"a": ["n = n * 2", "d = d + 1"], "b": ["b = NOT b", f"m = {self.constant('e')}"], "c": ["n = NULL"]}
            return f"UPDATE {table} SET {self.pick(*changes, *own[table])} WHERE {self._base_predicate()}"
        return f"DELETE FROM {table} WHERE {self._base_predicate()}"

    def row(self, table: str) -> str:
        """A new row of a table, as VALUES has it."""
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
        """A query of some depth. Values that clients show in ways of their own come as texts."""
        inner = self._relation(self.random.choice((1, 2, 2, 3)))
        if not set(inner.types) & set(FURTHER):
            return inner
        q = self._alias()
        shown = [f"{q}.c{i}" + "::varchar" * (kind in FURTHER) for i, kind in enumerate(inner.types)]
        types = "".join("t" if kind in FURTHER else kind for kind in inner.types)
        return Relation(f"SELECT {self._listed(shown)} FROM ({inner.sql}) {q}", types)

    def _relation(self, depth: int) -> Relation:
        if depth <= 0:
            return self._base()
        shapes: list[Callable[[int], Relation]] = [
            *(self._filter, self._project, self._join, self._join, self._group, self._group),
            *(self._distinct, self._set_operation, self._exists, self._in, self._scalar, self._window),
            *(self._top, self._distinct_on, self._grouping_sets, self._lateral, self._common),
            *(self._set_returning, self._using, self._neighbours, self._unequal_join, self._grouping_sets),
            *(self._frames, self._frames, self._distribution, self._nth, self._temporal_join),
            *(self._nested, self._in_select_list, self._rows_in, self._first_of, self._having),
            *(self._reached, self._counted, self._series, self._expanded),
            *(self._asof, self._session, self._gaps, self._hops, self._vectors),
            *(self._further, self._further, self._further),
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
        types = "".join(self.pick(*"iitndbe", *FURTHER) for _ in range(self.random.randint(1, 4)))
        listed = self._listed(self.value(inner, q, t, 2) for t in types)
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", types)

    def _further(self, depth: int) -> Relation:
        """Some columns, and values of types that no table has."""
        inner = self._relation(depth)
        q = self._alias()
        kept, more = self._some_columns(inner, 1, 2), self.pick(*FURTHER) + self.pick("", *FURTHER)
        listed = self._listed([*(f"{q}.c{k}" for k in kept), *(self.value(inner, q, kind, 2) for kind in more)])
        return Relation(f"SELECT {listed} FROM ({inner.sql}) {q}", "".join(inner.types[k] for k in kept) + more)

    def _join(self, depth: int) -> Relation:
        left, right = self._relation(depth), self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        kind = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        pairs = self._pairs(left, right)
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

    def _temporal_join(self, depth: int) -> Relation:
        """With the row that a table has when the left row comes."""
        left = self._relation(depth)
        numbers = [k for k, kind in enumerate(left.types) if kind == "i"]
        if not numbers:
            return left
        q, r = self._alias(), self._alias()
        k = self.random.choice(numbers)
        kept = self._some_columns(left, 1, 3)
        listed = self._listed([*(f"{q}.c{i}" for i in kept), f"{r}.g", f"{r}.s", f"{r}.m"])
        types = "".join(left.types[i] for i in kept) + "ite"
        join = f"{self.pick('JOIN', 'LEFT JOIN')} fixed{_AS_OF} AS {r} ON CAST({q}.c{k} AS INT) = {r}.id"
        return Relation(f"SELECT {listed} FROM ({left.sql}) {q} {join}", types)

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

    def _set_operation(self, depth: int) -> Relation:
        left = self._relation(depth)
        right = self._relation(self.random.randint(0, depth))
        q, r = self._alias(), self._alias()
        word = self.pick("UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
        types = left.types[:3]
        first = f"SELECT {self._listed(f'{q}.c{i}' for i in range(len(types)))} FROM ({left.sql}) {q}"
        second = f"SELECT {self._listed(self.value(right, r, t, 0) for t in types)} FROM ({right.sql}) {r}"
        return Relation(f"{first} {word} {second}", types)

    def _common(self, depth: int) -> Relation:
        inner = self._relation(depth)
        name, q, r = self._alias(), self._alias(), self._alias()
        kept = self._some_columns(inner, 1, 3)
        listed = self._listed(f"{q}.c{k}" for k in kept)
        sql = f"SELECT {listed} FROM {name} {q} WHERE {q}.c0 >= (SELECT min(c0) FROM {name} {r})"
        if inner.types[0] in "bjrx":  # they have no least value
            sql = f"SELECT {listed} FROM {name} {q} JOIN {name} {r} ON {q}.c0 = {r}.c0"
        wrapped = f"WITH {name} AS ({inner.sql}) {sql}"
        return Relation(f"SELECT * FROM ({wrapped}) {self._alias()}", "".join(inner.types[k] for k in kept))

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

    def _expanded(self, depth: int) -> Relation:
        """Rows in their order, expanded and cut off within a row's elements; perhaps the first row of each value."""
        inner = self._relation(depth)
        q = self._alias()
        kept = self._some_columns(inner, 1, 3)
        number = self.value(inner, q, "i", 1)
        function = self.pick(
            f"unnest(ARRAY[{number}, 1, NULL])",
            f"10 * generate_series(1, least({number}, 3)::int)",
            "generate_series(1, generate_series(1, 2))",
        )
        way = self.pick("", " DESC")
        first = self.random.choice(kept)
        order = ", ".join(f"{q}.c{k}{way}" for k in dict.fromkeys((first, *range(len(inner.types)))))
        distinct = f"DISTINCT ON ({q}.c{first}) " if self.random.random() < 0.3 else ""
        listed = self._listed([*(f"{q}.c{k}" for k in kept), function])
        limit = f" LIMIT {self.random.randint(1, 7)}" if self.random.random() < 0.8 else ""
        sql = f"SELECT {distinct}{listed} FROM ({inner.sql}) {q} ORDER BY {order}{limit}"
        # PostgreSQL 15 takes DISTINCT ON for unique although its rows are expanded after it, and joins one of them.
        unknown = pair("", " OFFSET 0") if distinct else ""
        types = "".join(inner.types[k] for k in kept) + "i"
        return Relation(f"SELECT * FROM ({sql}) {self._alias()}{unknown}", types)

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
