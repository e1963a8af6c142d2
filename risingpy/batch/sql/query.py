"""Writes a logical plan as one DuckDB SELECT, whose columns are c0, c1, …

    Project($1; Filter($0 = 1; Scan t))
    =>  SELECT t.c1 AS c0 FROM (SELECT * FROM (<scan of t>) AS t WHERE (t.c0 = CAST('1' AS INTEGER))) AS t

Expressions are strict: the first error fails the query. The caller names each scan's rows, which have the columns c0,
c1, … in the order of `Scan.columns`. A sort is written in the same SELECT as the limit and the projection above it:
DuckDB need not keep the order of a subquery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa

from risingpy.batch.constants import constant_rows
from risingpy.batch.sql.aggregates import aggregates_sql
from risingpy.batch.sql.as_of_ties import ties_decided
from risingpy.batch.sql.guarded_conjuncts import guarded_conjuncts
from risingpy.batch.sql.series import has_series, series_sql
from risingpy.batch.sql.session_ends import with_session_ends
from risingpy.errors import FeatureNotSupported, InternalError, SqlError
from risingpy.functions.evaluation.duckdb_sql import Selected, compile_expression
from risingpy.functions.evaluation.window_sql import window_sql
from risingpy.optimizer.rewrite import is_volatile, plan_inputs
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import (
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    GivenRows,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    MutualRecursion,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    RecursiveScan,
    Scan,
    Schema,
    Sort,
    SortKey,
    SystemScan,
    TopN,
    Union,
    Values,
)
from risingpy.plan.window_calls import SESSION_END
from risingpy.sql_quoting import double_quoted

ScanName = Callable[[Scan | SystemScan], str]

ROUNDS = "rounds_"
"""What the rows of a MutualRecursion are called in DuckDB, with its number from 0: those inside it come first."""
GIVEN_ROWS = "given_rows"
"""What the rows of GivenRows are called in DuckDB, unless they have a name of their own."""
VALUES_ROWS = "values_rows_"
_LONG_VALUES = 256  # rows of VALUES, from which on they are a table and no text

_NO_COLUMNS = "0 AS c0"  # DuckDB has no SELECT without columns; nothing reads this one
_NO_ROW = "(SELECT 0) AS t"  # the FROM of a row of constants
_NEAREST = frozenset({JoinKind.ASOF, JoinKind.ASOF_LEFT})
_JOIN_WORDS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.CROSS: "CROSS JOIN",
    JoinKind.LEFT_SEMI: "SEMI JOIN",
    JoinKind.LEFT_ANTI: "ANTI JOIN",
    JoinKind.ASOF: "ASOF JOIN",
    JoinKind.ASOF_LEFT: "ASOF LEFT JOIN",
    JoinKind.TEMPORAL: "JOIN",
    JoinKind.TEMPORAL_LEFT: "LEFT JOIN",
}


@dataclass(frozen=True, slots=True)
class ItemSql:
    """The SQL of an item of a MutualRecursion, and its columns."""

    text: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class MutualRecursionSql:
    """A MutualRecursion whose rows are computed before the query that reads them; items are read by their `names`."""

    names: tuple[str, ...]
    items: tuple[ItemSql, ...]
    schema: Schema
    limit: int | None
    returns_at_limit: bool


@dataclass(frozen=True, slots=True)
class QuerySql:
    """SQL, and the rows of long VALUES, which DuckDB reads by name: to parse constants takes it longest of all.

    The rows of `recursions`, one after the other, are called ROUNDS and their number.
    """

    text: str
    values: Mapping[str, pa.Table]
    recursions: tuple[MutualRecursionSql, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The SQL of everything that is computed."""
        return (self.text, *(item.text for recursion in self.recursions for item in recursion.items))


def to_duckdb_sql(plan: LogicalPlan, scan_name: ScanName) -> QuerySql:
    """The SQL of `plan`; parameters must have values already. `scan_name` gives the name of a scan's rows in DuckDB."""
    writer = _QueryWriter(scan_name)
    text = writer.write(plan)
    return QuerySql(text, writer.long_values, tuple(writer.recursions))


def _column(index: int) -> str:
    return f"t.c{index}"


def _expression(expr: Expr, column: Callable[[int], str] = _column) -> str:
    return compile_expression(expr, column)


class _QueryWriter:
    def __init__(self, scan_name: ScanName) -> None:
        self._scan_name = scan_name
        self.long_values: dict[str, pa.Table] = {}
        self.recursions: list[MutualRecursionSql] = []
        self._beside: list[str] | None = None  # the WITH items beside the recursion that is written

    def write(self, plan: LogicalPlan) -> str:
        match plan:
            case Scan() | SystemScan():
                return f"SELECT * FROM {self._scan_name(plan)}"
            case Values():
                return self._values(plan)
            case Filter():
                return self._filter(plan)
            case Project():
                return self._project(plan)
            case ProjectSet():
                return self._project_set(plan)
            case Aggregate():
                return self._aggregate(plan)
            case Join():
                return self._join(plan)
            case Union():
                return " UNION ALL ".join(f"({self.write(input_plan)})" for input_plan in plan.inputs)
            case ChangeLog():
                raise FeatureNotSupported(
                    "only a materialized view can read a changelog",
                    hint="CREATE MATERIALIZED VIEW log AS WITH … AS changelog FROM … SELECT …, and query the view.",
                )
            case Expand():
                copies = f"(SELECT CAST(range AS BIGINT) AS c{len(plan.schema) - 1} FROM range({plan.copies})) AS n"
                listed = "*" if plan.input.schema else "n.*"
                return f"SELECT {listed} FROM {self._input(plan.input)} CROSS JOIN {copies}"
            case Sort() | Limit():
                return f"SELECT * FROM {self._ordered(plan)}"
            case TopN():
                return self._top_n(plan)
            case OverWindow():
                return self._over_window(plan)
            case Recursion():
                return self._recursion(plan)
            case MutualRecursion():
                return self._mutual_recursion(plan)
            case GivenRows():
                return f"SELECT {_column_names(len(plan.schema))} FROM {plan.name}"
            case RecursiveScan():
                return f"SELECT {_column_names(len(plan.schema))} FROM {double_quoted(recursive_name(plan.name))}"
            case Apply():
                raise InternalError("a subquery was not unnested")
            case _:
                assert_never(plan)

    def _input(self, plan: LogicalPlan, selected: Selected | None = None) -> str:
        source = f"({self.write(plan)}) AS t"
        return source if selected is None else selected.source(source)

    def _filter(self, plan: Filter) -> str:
        selected = Selected(_column, ordered=isinstance(plan.input, Sort | Limit | TopN))
        condition = selected.condition(guarded_conjuncts(plan.predicate))
        own = "*" if selected.is_plain else _listed(map(_column, range(len(plan.schema))))
        return f"SELECT {own} FROM {selected.source(self._input(plan.input))} WHERE {condition}"

    def _ordered(self, plan: LogicalPlan, selected: Selected | None = None) -> str:
        """What follows FROM for a plan that may be sorted and limited at its top."""
        limit = ""
        if isinstance(plan, Limit):
            if plan.with_ties and plan.limit is not None and isinstance(plan.input, Sort):
                source = f"({self._with_ties(plan, plan.input)}) AS t"
                return f"{source if selected is None else selected.source(source)}{_order_by(plan.input.keys)}"
            limit = _limit(plan)
            plan = plan.input
        order = ""
        if isinstance(plan, Sort):
            order = _order_by(plan.keys)
            plan = plan.input
        return f"{self._input(plan, selected)}{order}{limit}"

    def _with_ties(self, plan: Limit, sort: Sort) -> str:
        """DuckDB has no WITH TIES: the rows after the offset whose rank is in the limit. LIMIT 0 has no last row."""
        _limit(plan)  # refuses negative numbers
        limit = "0" if plan.limit is None else _expression(plan.limit)
        offset = "0" if plan.offset is None else _expression(plan.offset)
        window = f"OVER ({_order_by(sort.keys).strip()})"
        kept = f"rank() {window} <= {limit} + {offset} AND row_number() {window} > {offset} AND {limit} > 0"
        return f"SELECT * FROM {self._input(sort.input)} QUALIFY {kept}"

    def _top_n(self, plan: TopN) -> str:
        groups = ", ".join(_column(index) for index in plan.group_key)
        partition = f"PARTITION BY {groups}" if groups else ""
        function = "rank" if plan.with_ties else "row_number"
        window = f"OVER ({partition}{_order_by(plan.keys)})"
        skipped = f" AND row_number() {window} > {plan.offset}" if plan.offset else ""
        kept = f"{function}() {window} <= {plan.limit + plan.offset}{skipped}"
        return f"SELECT * FROM {self._input(plan.input)} QUALIFY {kept}"

    def _over_window(self, plan: OverWindow) -> str:
        partition = [_column(index) for index in plan.partition_by]
        if any(call.function == SESSION_END for call in plan.calls):
            return with_session_ends(plan, self._input(plan.input), partition, _column)
        schema = plan.input.schema
        order = [(_column(key.index), _direction(key), schema[key.index].type) for key in plan.order_by]
        calls = [window_sql(call, _column, partition, order) for call in plan.calls]
        width = len(schema)
        listed = [*(["t.*"] if schema else []), *(f"{text} AS c{width + i}" for i, text in enumerate(calls))]
        return f"SELECT {', '.join(listed)} FROM {self._input(plan.input)}"

    def _recursion(self, plan: Recursion) -> str:
        name, columns = double_quoted(recursive_name(plan.name)), _column_names(len(plan.schema))
        around, self._beside = self._beside, []
        start, step = self.write(plan.start), self.write(plan.step)
        beside, self._beside = "".join(f"{item}, " for item in self._beside), around
        if plan.keys:
            return _keyed_recursion(plan, start, step, name, columns, beside)
        parts = f"({start}) {'UNION' if plan.distinct else 'UNION ALL'} ({step})"
        return f"SELECT * FROM (WITH RECURSIVE {beside}{name}({columns}) AS ({parts}) SELECT * FROM {name}) AS t"

    def _mutual_recursion(self, plan: MutualRecursion) -> str:
        items = tuple(ItemSql(self.write(item), item.schema) for item in plan.items)
        names = tuple(map(recursive_name, plan.names))
        self.recursions.append(MutualRecursionSql(names, items, plan.schema, plan.limit, plan.returns_at_limit))
        return f"SELECT {_column_names(len(plan.schema))} FROM {ROUNDS}{len(self.recursions) - 1}"

    def _values(self, plan: Values) -> str:
        if not plan.schema:
            return f"SELECT {_NO_COLUMNS} FROM range({len(plan.rows)})"
        constants = constant_rows(plan) if len(plan.rows) >= _LONG_VALUES else None
        if constants is not None:
            name = f"{VALUES_ROWS}{len(self.long_values)}"
            self.long_values[name] = constants
            return f"SELECT {_column_names(len(plan.schema))} FROM {name}"
        selections = [Selected(_column) for _ in plan.rows]
        texts = [[own.sql(e) for e in row] for own, row in zip(selections, plan.rows, strict=True)]
        if not all(own.is_plain for own in selections):
            selects = zip(selections, texts, strict=True)
            return " UNION ALL ".join(f"(SELECT {_listed(row)} FROM {own.source(_NO_ROW)})" for own, row in selects)
        rows = ", ".join(f"({', '.join(row)})" for row in texts)
        return f"SELECT * FROM (VALUES {rows}) AS t({', '.join(f'c{i}' for i in range(len(plan.schema)))})"

    def _project(self, plan: Project) -> str:
        # What LIMIT cuts off is not computed, since it may fail, and volatile values follow the order of the rows.
        computes = not all(isinstance(expr, InputRef) for expr in plan.expressions)
        within = (computes and isinstance(plan.input, Limit)) or any(map(is_volatile, plan.expressions))
        selected = Selected(_column, ordered=within or isinstance(plan.input, TopN | ProjectSet))
        columns = _listed(map(selected.sql, plan.expressions))
        source = self._input if within else self._ordered
        return f"SELECT {columns} FROM {source(plan.input, selected)}"

    def _project_set(self, plan: ProjectSet) -> str:
        """DuckDB, too, unnests lists in step; the numbers are one more list, as long as the longest."""
        if has_series(plan):
            return series_sql(plan, self._input(plan.input), _expression)
        width = len(plan.input.schema)
        inner = [*(f"{_column(i)} AS c{i}" for i in range(width))]
        selected = Selected(_column)
        inner += [f"{selected.sql(e)} AS l{k}" for k, e in enumerate(plan.lists)]
        longest = f"greatest({', '.join(f'coalesce(len(t.l{k}), 0)' for k in range(len(plan.lists)))})"
        numbers = f"range(1, {longest} + 1)"
        if plan.outer:
            numbers = f"CASE WHEN {longest} > 0 THEN {numbers} ELSE [CAST(NULL AS BIGINT)] END"
        columns = [f"{_column(i)} AS c{i}" for i in range(width)]
        columns += [f"unnest({numbers}) AS c{width}"]
        columns += [f"unnest(t.l{k}) AS c{width + 1 + k}" for k in range(len(plan.lists))]
        source = selected.source(self._input(plan.input))
        return f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(inner)} FROM {source}) AS t"

    def _aggregate(self, plan: Aggregate) -> str:
        keys = [_column(index) for index in plan.group_key]
        columns = [*keys, *aggregates_sql(plan.calls, plan.input.schema)]
        group_by = f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else ""
        return f"SELECT {_listed(columns)} FROM {self._input(plan.input)}{group_by}"

    def _join(self, plan: Join) -> str:
        split = len(plan.left.schema)

        def column(index: int) -> str:
            return f"l.c{index}" if index < split else f"r.c{index - split}"

        condition = "" if plan.kind is JoinKind.CROSS else " ON TRUE"
        if plan.condition is not None:
            condition = f" ON {_expression(plan.condition, column)}"
        left, right = self.write(plan.left), self._right_side(plan)
        tables = f"({left}) AS l {_JOIN_WORDS[plan.kind]} ({right}) AS r{condition}"
        query = f"SELECT {_listed(map(column, range(len(plan.schema))))} FROM {tables}"
        if self._beside is None or plan.kind not in _NEAREST or _reads_recursion(plan):
            return query
        name = double_quoted(f"nearest {len(self._beside)}")  # DuckDB has no such joins of many rows in a recursion
        self._beside.append(f"{name} AS MATERIALIZED ({query})")
        return f"SELECT * FROM {name}"

    def _right_side(self, plan: Join) -> str:
        """The right side; of an ASOF join without the rows that are as near as another one and not the first."""
        nearest = ties_decided(plan)
        if nearest is None:
            return self.write(plan.right)
        where = "" if nearest.condition is None else f" WHERE {_expression(nearest.condition)}"
        alike = ", ".join(_expression(expr) for expr in nearest.alike)
        window = f"PARTITION BY {alike}{_order_by(nearest.order)}"
        return f"SELECT * FROM {self._input(plan.right)}{where} QUALIFY row_number() OVER ({window}) = 1"


def _keyed_recursion(plan: Recursion, start: str, step: str, name: str, columns: str, beside: str) -> str:
    """A recursion by key, with the keys as further columns. It drops rows that DuckDB's `recurring` already has.

    USING KEY alone would keep a key's last row and count every row as new, so that the recursion would not end.
    """
    keys = [f"k{i}" for i in range(len(plan.keys))]
    listed = ", ".join(keys)
    made = ", ".join(f"{_expression(key)} AS {name}" for key, name in zip(plan.keys, keys, strict=True))
    start, step = (
        f"SELECT DISTINCT ON ({listed}) * FROM (SELECT t.*, {made} FROM ({part}) AS t) AS t" for part in (start, step)
    )
    same = " AND ".join(f"seen.{key} IS NOT DISTINCT FROM t.{key}" for key in keys)
    new = f"SELECT t.* FROM ({step}) AS t ANTI JOIN recurring.{name} AS seen ON {same}"
    head = f"WITH RECURSIVE {beside}{name}({columns}, {listed}) USING KEY ({listed})"
    return f"SELECT * FROM ({head} AS (({start}) UNION ({new})) SELECT {columns} FROM {name}) AS t"


def _reads_recursion(plan: LogicalPlan) -> bool:
    return isinstance(plan, RecursiveScan) or any(map(_reads_recursion, plan_inputs(plan)))


def _listed(columns: Iterable[str]) -> str:
    """The columns, called c0, c1, …"""
    return ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns)) or _NO_COLUMNS


def _order_by(keys: Sequence[SortKey]) -> str:
    return f" ORDER BY {', '.join(_sort_key(key) for key in keys)}" if keys else ""


def _sort_key(key: SortKey) -> str:
    return f"{_column(key.index)} {_direction(key)}"


def _direction(key: SortKey) -> str:
    return f"{'DESC' if key.descending else 'ASC'} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _column_names(width: int) -> str:
    return ", ".join(f"c{i}" for i in range(width))


def recursive_name(name: str) -> str:
    """What the rows of a RecursiveScan are called in DuckDB."""
    return f"recursive {name}"


def _limit(plan: Limit) -> str:
    parts = []
    for word, expr, sqlstate in (("LIMIT", plan.limit, "2201W"), ("OFFSET", plan.offset, "2201X")):
        match expr:
            case None | Literal(None):
                continue
            case Literal(int(value)) if value < 0:
                raise SqlError(f"{word} must not be negative", sqlstate=sqlstate)
        parts.append(f" {word} {_expression(expr)}")
    return "".join(parts)
