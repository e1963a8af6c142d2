"""Plans window functions.

    OverWindow(partition, order; input)  =>  OverWindow(Exchange(partition; input))

No exchange where a partition's rows are together already; without PARTITION BY everything goes to one shard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from risingpy.errors import InvalidTableDefinition
from risingpy.executors.expression.evaluate import evaluate_constants
from risingpy.executors.expression.nodes import Expr, InputRef, Literal, Parameter
from risingpy.executors.expression.window_calls import WindowCall
from risingpy.executors.expression.window_sql import check_window_call
from risingpy.optimizer import logical
from risingpy.optimizer.distribution import brings_together
from risingpy.optimizer.explain_tree import column_names
from risingpy.optimizer.explain_window import window_call_text
from risingpy.optimizer.logical import Field
from risingpy.optimizer.plan import StreamPlan
from risingpy.optimizer.plan_ordered import OverWindow
from risingpy.optimizer.projection import projected, references
from risingpy.optimizer.properties import derived, underived
from risingpy.optimizer.rewrite import map_window_call, moved_window, walk
from risingpy.optimizer.state_tables import ordered_rows
from risingpy.optimizer.stream_agg import exchange
from risingpy.optimizer.stream_window_close import check_looks_back, check_window_order, sorted_by_watermark
from risingpy.optimizer.watermarks import watermarks_first


def plan_over_window(
    query: logical.OverWindow,
    input: StreamPlan,
    job: str,
    allocate: Callable[[], int],
    *,
    emit_on_window_close: bool = False,
) -> StreamPlan:
    """The operator that keeps the results of `query`'s calls over `input`."""
    width = len(query.input.schema)
    partition_by = watermarks_first(input, tuple(dict.fromkeys(query.partition_by)))
    # A partition that has an end needs no order of its rows.
    in_order = emit_on_window_close and not (partition_by and input.properties.watermark_of(partition_by[0]))
    if in_order:
        names = column_names(input.properties.schema)
        time = check_window_order(input, query.order_by, names)
        check_looks_back(query.calls, [window_call_text(call, names) for call in query.calls])
        input = sorted_by_watermark(input, time, job, allocate)
    if not brings_together(input.properties.distribution, partition_by):
        input = exchange(input, partition_by)
    columns = {i: i for i in range(width)}
    calls = tuple(map_window_call(moved_window(call, columns), _constant) for call in query.calls)
    for call in calls:
        check_window_call(call)
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
    operator = derived(OverWindow(input, partition_by, query.order_by, calls, table, properties, in_order))
    # The query's columns first, then the hidden ones that the input's key needs.
    hidden = len(input.properties.schema) - width
    columns_of = references(operator)
    visible = [*columns_of[:width], *columns_of[width + hidden :]]
    return projected(operator, [*visible, *columns_of[width : width + hidden]])


def _results(input: StreamPlan, calls: tuple[WindowCall, ...]) -> list[Field]:
    names = column_names(input.properties.schema)
    return [Field(window_call_text(call, names), call.type) for call in calls]


def _constant(expr: Expr) -> Expr:
    """A column as it is; anything else is a constant, and has its value computed."""
    if isinstance(expr, InputRef | Literal):
        return expr
    if any(isinstance(part, Parameter) for part in walk(expr)):
        raise InvalidTableDefinition("a materialized view cannot have parameters")
    (values,), _ = evaluate_constants([expr])
    return Literal(values[0].as_py(), expr.type)
