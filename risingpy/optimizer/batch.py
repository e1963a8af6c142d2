"""Writes a logical plan out as one DuckDB SELECT, whose columns are c0, c1, …

    Project($1; Filter($0 = 1; Scan t))
    =>  SELECT t.c1 AS c0 FROM (SELECT * FROM (<scan of t>) AS t WHERE (t.c0 = CAST('1' AS INTEGER))) AS t

Expressions are strict: the first that fails fails the query. A scan is whatever the caller names, with columns c0,
c1, … in the order of `Scan.columns`. A sort is written in the same SELECT as the limit and the projection above it,
so that nothing stands between an order and whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from risingpy.errors import FeatureNotSupported, InternalError, SqlError
from risingpy.executors.expression.duckdb_sql import compile_expression
from risingpy.executors.expression.nodes import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.executors.expression.signatures import NumericRule, numeric_of, numeric_result
from risingpy.optimizer.logical import (
    AggCall,
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Schema,
    Sort,
    SortKey,
    TopN,
    Union,
    Values,
)
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, SqlType, TypeKind

ScanName = Callable[[Scan], str]

_NO_COLUMNS = "0 AS c0"  # DuckDB has no SELECT of nothing; whoever reads it reads no column
_JOIN_WORDS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.CROSS: "CROSS JOIN",
    JoinKind.LEFT_SEMI: "SEMI JOIN",
    JoinKind.LEFT_ANTI: "ANTI JOIN",
}


def to_duckdb_sql(plan: LogicalPlan, scan_name: ScanName) -> str:
    """The SQL of `plan`; parameters must have values already. `scan_name` gives the name of a scan's rows in DuckDB."""
    return _Writer(scan_name).write(plan)


def _column(index: int) -> str:
    return f"t.c{index}"


def _expression(expr: Expr, column: Callable[[int], str] = _column) -> str:
    return compile_expression(expr, column, strict=True)


class _Writer:
    def __init__(self, scan_name: ScanName) -> None:
        self._scan_name = scan_name

    def write(self, plan: LogicalPlan) -> str:
        match plan:
            case Scan():
                return f"SELECT * FROM {self._scan_name(plan)}"
            case Values():
                return self._values(plan)
            case Filter():
                return f"SELECT * FROM {self._input(plan.input)} WHERE {_expression(plan.predicate)}"
            case Project():
                return self._project(plan)
            case Aggregate():
                return self._aggregate(plan)
            case Join():
                return self._join(plan)
            case Union():
                return " UNION ALL ".join(f"({self.write(input_plan)})" for input_plan in plan.inputs)
            case Sort() | Limit():
                return f"SELECT * FROM {self._ordered(plan)}"
            case TopN():
                return self._top_n(plan)
            case _:
                assert_never(plan)

    def _input(self, plan: LogicalPlan) -> str:
        return f"({self.write(plan)}) AS t"

    def _ordered(self, plan: LogicalPlan) -> str:
        """What follows FROM for a plan that may be sorted and limited at its top."""
        limit = ""
        if isinstance(plan, Limit):
            if plan.with_ties and plan.limit is not None and isinstance(plan.input, Sort):
                return f"({self._with_ties(plan, plan.input)}) AS t{_order_by(plan.input.keys)}"
            limit = _limit(plan)
            plan = plan.input
        order = ""
        if isinstance(plan, Sort):
            order = _order_by(plan.keys)
            plan = plan.input
        return f"{self._input(plan)}{order}{limit}"

    def _with_ties(self, plan: Limit, sort: Sort) -> str:
        """DuckDB has no WITH TIES: the rows behind the offset whose rank is in the limit. LIMIT 0 has no last row."""
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
        return f"SELECT * FROM {self._input(plan.input)} QUALIFY {function}() {window} <= {plan.limit}"

    def _values(self, plan: Values) -> str:
        if not plan.schema:
            return f"SELECT {_NO_COLUMNS} FROM range({len(plan.rows)})"
        rows = ", ".join(f"({', '.join(_expression(e) for e in row)})" for row in plan.rows)
        return f"SELECT * FROM (VALUES {rows}) AS t({', '.join(f'c{i}' for i in range(len(plan.schema)))})"

    def _project(self, plan: Project) -> str:
        columns = ", ".join(f"{_expression(e)} AS c{i}" for i, e in enumerate(plan.expressions))
        return f"SELECT {columns or _NO_COLUMNS} FROM {self._ordered(plan.input)}"

    def _aggregate(self, plan: Aggregate) -> str:
        keys = [_column(index) for index in plan.group_key]
        columns = [*keys, *(_aggregate_call(call, plan.input.schema) for call in plan.calls)]
        listed = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
        group_by = f" GROUP BY {', '.join(dict.fromkeys(keys))}" if keys else ""
        return f"SELECT {listed or _NO_COLUMNS} FROM {self._input(plan.input)}{group_by}"

    def _join(self, plan: Join) -> str:
        split = len(plan.left.schema)

        def column(index: int) -> str:
            return f"l.c{index}" if index < split else f"r.c{index - split}"

        columns = ", ".join(f"{column(i)} AS c{i}" for i in range(len(plan.schema)))
        condition = "" if plan.condition is None else f" ON {_expression(plan.condition, column)}"
        left, right = self.write(plan.left), self.write(plan.right)
        tables = f"({left}) AS l {_JOIN_WORDS[plan.kind]} ({right}) AS r{condition}"
        return f"SELECT {columns or _NO_COLUMNS} FROM {tables}"


def _order_by(keys: Sequence[SortKey]) -> str:
    return f" ORDER BY {', '.join(_sort_key(key) for key in keys)}" if keys else ""


def _sort_key(key: SortKey) -> str:
    direction = "DESC" if key.descending else "ASC"
    return f"{_column(key.index)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


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


def _aggregate_call(call: AggCall, schema: Schema) -> str:
    if call.function == "avg":
        return _average(call, schema[call.args[0]].type)
    if call.function == "count" and not call.args:
        return f"count(*){_filter(call)}"
    return _plain_call(call.function, _column(call.args[0]), call, call.type)


def _plain_call(function: str, argument: str, call: AggCall, result: SqlType) -> str:
    if function == "sum" and result.kind is TypeKind.INTERVAL:
        return _interval_sum(argument, call)
    distinct = "DISTINCT " if call.distinct else ""
    return f"CAST({function}({distinct}{argument}){_filter(call)} AS {result.duckdb})"


def _interval_sum(argument: str, call: AggCall) -> str:
    """DuckDB has no sum of intervals: months, days and microseconds are summed by themselves."""
    if call.distinct:
        raise FeatureNotSupported("sum(DISTINCT interval) is not supported")
    parts = (
        ("to_months", f"12 * date_part('year', {argument}) + date_part('month', {argument})", "INTEGER"),
        ("to_days", f"date_part('day', {argument})", "INTEGER"),
        (
            "to_microseconds",
            f"3600000000 * date_part('hour', {argument}) + 60000000 * date_part('minute', {argument})"
            f" + date_part('microseconds', {argument})",
            "BIGINT",
        ),
    )
    sums = [f"{make}(CAST(sum({part}){_filter(call)} AS {kind}))" for make, part, kind in parts]
    return f"({' + '.join(sums)})"


def _filter(call: AggCall) -> str:
    return "" if call.filter is None else f" FILTER (WHERE {_column(call.filter)})"


def _average(call: AggCall, argument: SqlType) -> str:
    """The quotient of sum and count, just as a view computes it; NULL over nothing."""
    column = _column(call.args[0])
    if argument.is_float:
        column = f"CAST({column} AS DOUBLE)"
    total_type = _total_type(argument)
    texts = [_plain_call("sum", column, call, total_type), _plain_call("count", column, call, BIGINT)]
    total, count = InputRef(0, total_type), InputRef(1, BIGINT)
    if total_type.kind is TypeKind.NUMERIC:
        divided: Expr = _quotient(total, Cast(count, numeric_of(BIGINT)))
    else:
        divided = Call("divide", (total, Cast(count, DOUBLE)), total_type)
    if divided.type != call.type:
        divided = Cast(divided, call.type)
    is_empty = Call("eq", (count, Literal(0, BIGINT)), BOOLEAN)
    case = Case(((is_empty, Literal(None, call.type)),), divided, call.type)
    return _expression(case, texts.__getitem__)


def _quotient(total: Expr, count: Expr) -> Expr:
    return Call("divide", (total, count), numeric_result(NumericRule.DIVIDE, (total.type, count.type)))


def _total_type(argument: SqlType) -> SqlType:
    match argument.kind:
        case TypeKind.REAL | TypeKind.DOUBLE:
            return DOUBLE
        case TypeKind.INTERVAL:
            return argument
        case TypeKind.SMALLINT | TypeKind.INTEGER | TypeKind.BIGINT | TypeKind.NUMERIC:
            return numeric_result(NumericRule.SUM, (argument,))
        case _:
            raise InternalError(f"avg of {argument}")
