"""Random suites: histories of two tables, and queries that can stream, with room for PostgreSQL's answers.

Every statement succeeds: numbers stay small, divisors are constants, doubles are quarters (their sums are exact
in any order).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SETUP = """statement ok
CREATE TABLE t (
  id INT PRIMARY KEY, g INT, v INT, h VARCHAR, n NUMERIC(8, 2), d DOUBLE PRECISION, b BOOLEAN, at TIMESTAMP
)

statement ok
CREATE TABLE u (g INT, v BIGINT, h VARCHAR)

"""
QUERIES_PER_POINT = 4
POINTS = 6
CHANGES_PER_POINT = 3


def random_suite(seed: int) -> str:
    """A `.slt` file, its expected rows still to be filled in."""
    return _Suite(Random(seed)).text()


class _Suite:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._next_id = 1

    def text(self) -> str:
        blocks = [SETUP]
        for _ in range(POINTS):
            blocks += [f"statement ok\n{self._change()}\n\n" for _ in range(CHANGES_PER_POINT)]
            blocks += [self._query_block() for _ in range(QUERIES_PER_POINT)]
        return "".join(blocks)

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _small(self) -> str:
        return str(self._random.randint(-3, 9))

    def _or_null(self, value: str) -> str:
        return "NULL" if self._random.random() < 0.15 else value

    # Changes

    def _change(self) -> str:
        kind = self._random.random()
        if self._next_id == 1 or kind < 0.4:
            return f"INSERT INTO t VALUES {', '.join(self._row() for _ in range(self._random.randint(1, 12)))}"
        if kind < 0.5:
            return f"INSERT INTO u SELECT {self._pick('g, v, h', 'v, id, upper(h)')} FROM t WHERE {self._predicate(1)}"
        if kind < 0.75:
            return f"UPDATE t SET {self._assignment()} WHERE {self._predicate(1)}"
        if kind < 0.85:
            return "UPDATE u SET v = g, h = upper(h) || '.' WHERE g IS NOT NULL"
        return self._pick(f"DELETE FROM t WHERE {self._predicate(1)}", f"DELETE FROM u WHERE g = {self._small()}")

    def _row(self) -> str:
        number, self._next_id = self._next_id, self._next_id + 1
        values = [
            self._or_null(self._small()),
            self._or_null(str(self._random.randint(-50, 50))),
            self._or_null(self._pick("'a'", "'b'", "'B'", "''", "'abc'", "'é'")),
            self._or_null(f"{self._random.randint(-999, 999)}.{self._random.randint(0, 99):02}"),
            self._or_null(str(self._random.randint(-40, 40) / 4)),
            self._or_null(self._pick("true", "false")),
            self._or_null(f"'2024-0{self._random.randint(1, 3)}-1{self._random.randint(0, 9)} 07:30:00'"),
        ]
        return f"({number}, {', '.join(values)})"

    def _assignment(self) -> str:
        return self._pick(
            f"v = {self._integer(1)}",
            f"g = {self._or_null(self._small())}, v = v + 1",
            "g = v, v = g",
            f"h = {self._text(1)}",
            f"n = n + {self._small()}, b = NOT b",
            "d = -d, at = at + INTERVAL '1 day'",
        )

    # Expressions, by type

    def _integer(self, depth: int) -> str:
        if depth <= 0:
            return self._pick("g", "v", "id", self._small())
        inner: list[Callable[[], str]] = [
            lambda: f"({self._integer(depth - 1)} {self._pick('+', '-')} {self._integer(depth - 1)})",
            lambda: f"({self._integer(depth - 1)} * {self._pick('2', '-3')})",
            lambda: f"({self._integer(depth - 1)} {self._pick('%', '/')} {self._pick('3', '-7')})",
            lambda: f"coalesce({self._integer(depth - 1)}, {self._small()})",
            lambda: f"length({self._text(depth - 1)})",
            lambda: f"abs({self._integer(depth - 1)})",
            lambda: f"CASE WHEN {self._predicate(depth - 1)} THEN {self._integer(depth - 1)} ELSE {self._small()} END",
            lambda: f"nullif({self._integer(depth - 1)}, {self._small()})",
            lambda: f"greatest({self._integer(depth - 1)}, {self._small()})",
        ]
        return self._random.choice(inner)()

    def _text(self, depth: int) -> str:
        if depth <= 0:
            return self._pick("h", "h", "'x'")
        inner: list[Callable[[], str]] = [
            lambda: f"{self._pick('upper', 'lower')}({self._text(depth - 1)})",
            lambda: f"({self._text(depth - 1)} || {self._pick('h', repr('-'))})",
            lambda: f"coalesce({self._text(depth - 1)}, 'none')",
            lambda: f"substring({self._text(depth - 1)}, 1, 2)",
            lambda: f"CASE WHEN {self._predicate(depth - 1)} THEN {self._text(depth - 1)} END",
        ]
        return self._random.choice(inner)()

    def _predicate(self, depth: int) -> str:
        if depth <= 0:
            return self._pick("b", "v > 0", "g = 1", "h = 'a'", "n < 100", "d >= 0", "v IS NULL", "at < '2024-02-15'")
        inner: list[Callable[[], str]] = [
            lambda: f"({self._predicate(depth - 1)} {self._pick('AND', 'OR')} {self._predicate(depth - 1)})",
            lambda: f"NOT {self._predicate(depth - 1)}",
            lambda: f"{self._integer(depth - 1)} {self._pick('<', '>=', '<>', '=')} {self._integer(depth - 1)}",
            lambda: f"{self._integer(depth - 1)} IN (1, 2, {self._or_null('3')})",
            lambda: f"{self._integer(depth - 1)} BETWEEN {self._small()} AND 5",
            lambda: f"{self._text(depth - 1)} {self._pick('LIKE', 'NOT LIKE', 'ILIKE')} {self._pattern()}",
            lambda: f"{self._integer(depth - 1)} IS DISTINCT FROM {self._integer(depth - 1)}",
        ]
        return self._random.choice(inner)()

    def _pattern(self) -> str:
        return self._pick("'%b%'", "'a_'", "'%'")

    # Queries

    def _query_block(self) -> str:
        shapes = [self._rows, self._groups, self._groups, self._totals, self._nested, self._union]
        shapes += [self._windows, self._windows, self._first_rows, self._first_of_groups]
        types, sql = self._random.choice(shapes)()
        return f"query {types} rowsort\n{sql}\n----\n\n"

    def _columns(self, count: int) -> tuple[str, list[str]]:
        kinds = [self._pick(*"IITRB") for _ in range(count)]
        return "".join(kinds), [self._column(kind) for kind in kinds]

    def _column(self, kind: str) -> str:
        match kind:
            case "I":
                return self._integer(2)
            case "T":
                return self._text(2)
            case "R":
                return self._pick("n", "n + v", "n * 2", "d", "d + 0.25", "coalesce(n, 0)")
        return self._predicate(2)

    def _rows(self) -> tuple[str, str]:
        types, columns = self._columns(self._random.randint(1, 4))
        distinct = self._pick("", "", "DISTINCT ")
        return types, f"SELECT {distinct}{', '.join(columns)} FROM t WHERE {self._predicate(2)}"

    def _calls(self) -> tuple[str, list[str]]:
        calls = [self._call() for _ in range(self._random.randint(1, 4))]
        return "".join(kind for kind, _ in calls), [sql for _, sql in calls]

    def _call(self) -> tuple[str, str]:
        filtered = f" FILTER (WHERE {self._predicate(1)})" if self._random.random() < 0.2 else ""
        kind, sql = self._random.choice(
            [
                ("I", "count(*)"),
                ("I", f"count({self._text(1)})"),
                ("I", f"sum({self._integer(1)})"),
                ("R", f"avg({self._integer(1)})"),
                ("R", self._pick("sum(n)", "avg(n)", "min(n)", "max(n)", "sum(d)", "avg(d)", "max(d)")),
                ("I", f"{self._pick('min', 'max')}({self._integer(1)})"),
                ("T", f"{self._pick('min', 'max')}({self._text(1)})"),
                ("T", "max(at)"),
                ("B", f"{self._pick('bool_and', 'bool_or')}({self._predicate(1)})"),
            ]
        )
        return kind, sql + filtered

    def _groups(self) -> tuple[str, str]:
        types, keys = self._columns(self._random.randint(1, 2))
        call_types, calls = self._calls()
        where = f" WHERE {self._predicate(1)}" if self._random.random() < 0.5 else ""
        having = self._pick("", "", " HAVING count(*) > 1", " HAVING max(v) > 0 OR count(v) = 0")
        places = ", ".join(str(i + 1) for i in range(len(keys)))
        return types + call_types, f"SELECT {', '.join(keys + calls)} FROM t{where} GROUP BY {places}{having}"

    def _totals(self) -> tuple[str, str]:
        types, calls = self._calls()
        where = f" WHERE {self._predicate(1)}" if self._random.random() < 0.5 else ""
        return types, f"SELECT {', '.join(calls)} FROM t{where}"

    def _nested(self) -> tuple[str, str]:
        call = self._pick("sum(v)", "count(*)", "max(v)", "min(id)")
        inner = f"SELECT {self._integer(1)} AS k, {call} AS w FROM t WHERE {self._predicate(1)} GROUP BY 1"
        return self._random.choice(
            [
                ("II", f"SELECT w, count(*) FROM ({inner}) AS q GROUP BY w"),
                ("III", f"SELECT count(*), sum(w), max(k) FROM ({inner}) AS q"),
                ("I", f"SELECT DISTINCT k % 3 FROM ({inner}) AS q WHERE w IS NOT NULL"),
            ]
        )

    def _union(self) -> tuple[str, str]:
        both = f"SELECT g, v, h FROM t WHERE {self._predicate(1)} UNION ALL SELECT g, v, h FROM u"
        return self._random.choice(
            [
                ("IIT", both),
                ("II", f"SELECT g, sum(v) FROM ({both}) AS q GROUP BY g"),
                ("TI", f"SELECT h, max(v) FROM ({both}) AS q GROUP BY h"),
                ("IIT", both.replace("UNION ALL", "UNION")),
            ]
        )

    # Rows in order: every order is total, or the query does not see how it breaks ties

    def _order(self) -> str:
        key = self._pick("v", "g", "n", "d", "h", "at", "b", self._integer(1), self._text(1))
        return f"{key}{self._pick('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST')}"

    def _windows(self) -> tuple[str, str]:
        calls = [self._window_call() for _ in range(self._random.randint(1, 3))]
        source = self._pick("t", f"t WHERE {self._predicate(1)}")
        listed = ", ".join(sql for _, sql in calls)
        return "I" + "".join(kind for kind, _ in calls), f"SELECT id, {listed} FROM {source}"

    def _window_call(self) -> tuple[str, str]:
        partition = self._pick("", "PARTITION BY g ", "PARTITION BY b ", f"PARTITION BY {self._integer(1)} ")
        order = f"ORDER BY {self._order()}"
        if self._random.random() < 0.3:
            kind, name = self._random.choice(
                [("I", "rank"), ("I", "dense_rank"), ("R", "percent_rank"), ("R", "cume_dist")]
            )
            return kind, f"{name}() OVER ({partition}{order})"
        if self._random.random() < 0.4:
            return self._by_row(f"{partition}{order}, id")
        kind, call = self._call()
        if self._random.random() < 0.3:  # frames that see peers as one
            frames = ["", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "GROUPS 1 PRECEDING"]
            frames += ["GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP"]
            frames += ["RANGE UNBOUNDED PRECEDING EXCLUDE TIES"]
            return kind, f"{call} OVER ({partition}{order} {self._pick(*frames)})"
        if self._random.random() < 0.3:
            column, offsets = self._random.choice(
                [("v", ["2", "10"]), ("n", ["0.5", "100"]), ("d", ["1.25"]), ("at", ["'1 day'", "'1 month'"])]
            )
            low, high = self._pick(*offsets), self._pick(*offsets)
            way = self._pick("", " DESC")
            frame = f"RANGE BETWEEN {low} PRECEDING AND {self._pick('CURRENT ROW', f'{high} FOLLOWING')}"
            return kind, f"{call} OVER ({partition}ORDER BY {column}{way} {frame})"
        return kind, f"{call} OVER ({partition}{order}, id {self._frame_of_rows()})"

    def _by_row(self, window: str) -> tuple[str, str]:
        steps = self._pick("", ", 2", ", 0")
        return self._random.choice(
            [
                ("I", f"row_number() OVER ({window})"),
                ("I", f"ntile({self._pick('2', '3')}) OVER ({window})"),
                ("I", f"{self._pick('lag', 'lead')}({self._integer(1)}{steps}) OVER ({window})"),
                ("T", f"{self._pick('lag', 'lead')}({self._text(1)}, 1, 'none') OVER ({window})"),
                ("T", f"{self._pick('first_value', 'last_value')}(h) OVER ({window} {self._frame_of_rows()})"),
                ("R", f"nth_value(n, 2) OVER ({window} {self._frame_of_rows()})"),
            ]
        )

    def _frame_of_rows(self) -> str:
        return self._pick(
            "",
            "ROWS 1 PRECEDING",
            "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
            "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
            "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
        )

    def _first_rows(self) -> tuple[str, str]:
        types, columns = self._columns(self._random.randint(1, 2))
        query = f"SELECT id, {', '.join(columns)} FROM t WHERE {self._predicate(1)} ORDER BY {self._order()}"
        rows = self._pick("1", "2", "5")
        ends = [f", id LIMIT {rows}", f", id LIMIT {rows} OFFSET 1", ", id OFFSET 3"]
        ends += [f" FETCH FIRST {rows} ROWS WITH TIES"]
        return "I" + types, query + self._pick(*ends)

    def _first_of_groups(self) -> tuple[str, str]:
        key, order = self._integer(1), self._order()
        by_row = f"row_number() OVER (PARTITION BY {key} ORDER BY {order}, id)"
        number = self._pick(by_row, f"rank() OVER (PARTITION BY {key} ORDER BY {order})")
        bound = self._pick("= 1", "<= 2", "< 4", "= 2", "BETWEEN 2 AND 3")
        numbered = f"SELECT id, v, {number} AS r FROM t"
        return self._random.choice(
            [
                ("II", f"SELECT DISTINCT ON ({key}) id, v FROM t ORDER BY {key}, {order}, id"),
                ("II", f"SELECT id, v FROM ({numbered}) AS q WHERE r {bound}"),
                ("II", f"SELECT id, r FROM ({numbered}) AS q WHERE r {bound} AND v > 0"),
            ]
        )
