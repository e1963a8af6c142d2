"""Plans window functions.

    OverWindow(partition, order; input)  =>  OverWindow(Exchange(partition; input))

With EMIT ON WINDOW CLOSE a row comes once, when its results are final (`window_close.py`).
If a partition's rows are already on one shard, there is no exchange. Without PARTITION BY all rows go to one shard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import InvalidTableDefinition
from risingpy.functions.evaluation.evaluate import evaluate_constants
from risingpy.functions.evaluation.window_sql import check_window_call
from risingpy.optimizer.explain.tree import column_names
from risingpy.optimizer.explain.windows import window_call_text
from risingpy.optimizer.rewrite import map_window_call
from risingpy.optimizer.stream.aggregation import exchange
from risingpy.optimizer.stream.distribution import brings_together
from risingpy.optimizer.stream.projection import projected, references
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.watermarks import watermarks_first
from risingpy.optimizer.stream.window_close import (
    awaited_calls,
    check_window_order,
    looks_by_distance,
    sorted_by_watermark,
)
from risingpy.plan import logical
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Expr, InputRef, Literal, Parameter
from risingpy.plan.joins import PassedRows
from risingpy.plan.logical import Field, SortKey
from risingpy.plan.operators import StreamFilter, StreamPlan
from risingpy.plan.ordered import StreamOverWindow
from risingpy.plan.state_tables import ordered_rows
from risingpy.plan.window_calls import SESSION_END, WindowCall
from risingpy.types import BOOLEAN
from risingpy.types.far_moments import value_of


def plan_over_window(
    query: logical.OverWindow,
    input: StreamPlan,
    job: str,
    allocate: Callable[[], int],
    *,
    emit_on_window_close: bool = False,
) -> StreamPlan:
    """The operator that computes `query`'s calls over `input`."""
    calls = tuple(map_window_call(call, _constant) for call in query.calls)
    for call in calls:
        check_window_call(call)
    query = replace(query, calls=calls)
    partition_by = watermarks_first(input, query.partition_by)
    # A partition that has an end needs no order of its rows. The ends of sessions are parts of such partitions: they
    # are computed from all rows, and change until the watermark of the ends has passed them.
    has_end = bool(partition_by) and input.properties.watermark_of(partition_by[0]) is not None
    finds_sessions = any(call.function == SESSION_END for call in calls)
    if emit_on_window_close and not (has_end or finds_sessions):
        return _final_results(query, input, job, allocate)
    return _in_order(query, _operator(query, calls, input, job, allocate), range(len(calls)))


def _final_results(query: logical.OverWindow, input: StreamPlan, job: str, allocate: Callable[[], int]) -> StreamPlan:
    """Gives each row once, when its results are final.

    An OverWindow below the sort computes the calls that look ahead by a distance of time: their results change until
    the watermark is so far ahead. Another one, above the sort, computes all other calls over rows that come in order.
    """
    names = column_names(input.properties.schema)
    time = check_window_order(input, query.order_by, names)
    type_ = input.properties.schema[time].type
    texts = [window_call_text(call, names) for call in query.calls]
    awaited = awaited_calls(query.calls, texts, time, type_)
    distant = [i for i, text in enumerate(texts) if looks_by_distance(query.calls[i], text)]
    others = [i for i in range(len(texts)) if i not in distant]
    if distant:
        known = Call("is_not_null", (InputRef(time, type_),), BOOLEAN)  # a row without a time is never final
        input = derived(StreamFilter(input, known, underived(input.properties.schema)))
        query = replace(query, order_by=(SortKey(time),))
        input = _operator(query, [query.calls[i] for i in distant], input, job, allocate)
    input = sorted_by_watermark(input, time, job, allocate)
    if others:
        calls = [*(query.calls[i] for i in others), *awaited]
        awaits = range(len(others), len(calls))
        input = _operator(query, calls, input, job, allocate, emit_on_window_close=True, awaits=tuple(awaits))
    return _in_order(query, input, [*distant, *others], len(awaited))


def _operator(
    query: logical.OverWindow,
    calls: Sequence[WindowCall],
    input: StreamPlan,
    job: str,
    allocate: Callable[[], int],
    *,
    emit_on_window_close: bool = False,
    awaits: tuple[int, ...] = (),
) -> StreamOverWindow:
    """The operator that adds the results of `calls` to the columns of `input`."""
    partition_by = watermarks_first(input, tuple(dict.fromkeys(query.partition_by)))
    if not brings_together(input.properties.distribution, partition_by):
        input = exchange(input, partition_by)
    schema = (*input.properties.schema, *_results(input, calls))
    table = ordered_rows(
        allocate(),
        job,
        "over_window",
        replace(input.properties, schema=schema),
        partition_by,
        query.order_by,
        input.properties.distribution.columns,
    )
    properties = underived(schema)
    operator = derived(
        StreamOverWindow(
            input, partition_by, query.order_by, tuple(calls), table, properties, emit_on_window_close, awaits
        )
    )
    return replace(operator, passed=_closed_sessions(operator))


def _closed_sessions(plan: StreamOverWindow) -> PassedRows | None:
    """The rows of sessions that no later row can belong to, if the sessions' ends have a watermark."""
    for number, call in enumerate(plan.calls):
        column = len(plan.input.properties.schema) + number
        watermark = plan.properties.watermark_of(column)
        if call.function == SESSION_END and watermark is not None:
            return PassedRows(InputRef(column, call.type), watermark.bounds)
    return None


def _in_order(query: logical.OverWindow, operator: StreamPlan, given: Sequence[int], dropped: int = 0) -> StreamPlan:
    """The query's columns first, then the hidden ones that the input's key needs.

    The columns of `operator` are the input's, then the results of the query's calls `given`, then `dropped` others.
    """
    columns, width = references(operator), len(query.input.schema)
    first = len(columns) - dropped - len(given)
    results = sorted(zip(given, columns[first:], strict=False))
    return projected(operator, [*columns[:width], *(column for _, column in results), *columns[width:first]])


def _results(input: StreamPlan, calls: Sequence[WindowCall]) -> list[Field]:
    names = column_names(input.properties.schema)
    return [Field(window_call_text(call, names), call.type) for call in calls]


def _constant(expr: Expr) -> Expr:
    """A column as it is; anything else is a constant, and has its value computed."""
    if isinstance(expr, InputRef | Literal):
        return expr
    if any(isinstance(part, Parameter) for part in walk(expr)):
        raise InvalidTableDefinition("a materialized view cannot have parameters")
    (values,), _ = evaluate_constants([expr])
    return Literal(value_of(values, 0), expr.type)
