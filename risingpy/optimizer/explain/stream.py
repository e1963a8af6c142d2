"""EXPLAIN of stream plans, in the style of RisingWave: the tree, and with VERBOSE each operator's derived properties.

VERBOSE adds per operator: stream key, distribution, append-only, the stage and fragment that runs it, and its state
tables, each as `id kind: key columns in order → value columns`. DISTSQL prints the plan fragment by fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.optimizer.explain.state_tables import state_table_lines
from risingpy.optimizer.explain.tree import (
    ExplainFormat,
    ExplainNode,
    FieldValue,
    call_text,
    column_names,
    render,
)
from risingpy.optimizer.explain.windows import sort_texts, window_call_text, window_fields
from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.graph import Fragment, Job
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.logical import JoinKind
from risingpy.plan.operators import (
    Changelog,
    Dml,
    EowcSort,
    Exchange,
    IntoTable,
    Materialize,
    Now,
    Share,
    SinkInput,
    Source,
    StreamChangeLog,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TableInputs,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.properties import Distribution, DistributionKind
from risingpy.plan.recursion.operators import (
    RecursivePlan,
    StreamLet,
    StreamLevels,
    StreamLevelScan,
    StreamMoments,
    StreamRecursion,
    StreamRecursiveScan,
)
from risingpy.plan.traversal import Border, children
from risingpy.plan.watermark_use import cleaning_watermark


def explain_stream(
    root: StreamPlan,
    verbose: bool = False,
    *,
    job: Job | None = None,
    explain_format: ExplainFormat = ExplainFormat.TEXT,
) -> list[str]:
    """The lines of EXPLAIN CREATE MATERIALIZED VIEW or CREATE TABLE. VERBOSE shows stages and fragments of `job`."""
    fragments = {id(fragment.root): fragment for fragment in job.fragments} if job is not None else {}
    return render(_Explainer(verbose, fragments).tree(root, None), explain_format)


def fragment_node(fragment: Fragment, *, verbose: bool) -> ExplainNode:
    """A fragment's operators; an Exchange or a Share, with the fragment that it reads, has nothing below it."""
    return _Explainer(verbose, {}, fragment).tree(fragment.root, None)


def operator_node(plan: StreamPlan) -> ExplainNode:
    """One operator's name and parameters, without its inputs."""
    return ExplainNode(*_described(plan))


class _Explainer:
    """Turns operators into tree nodes. `only`: the one fragment whose operators are shown."""

    def __init__(self, verbose: bool, fragments: dict[int, Fragment], only: Fragment | None = None) -> None:
        self._verbose = verbose
        self._fragments = fragments
        self._only = only
        self._inputs = iter(only.inputs if only is not None else ())
        self._shared: set[int] = set()  # the numbers of shared parts that have been shown

    def tree(self, plan: StreamPlan, fragment: Fragment | None) -> ExplainNode:
        fragment = self._fragments.get(id(plan), fragment)
        name, fields = _described(plan)
        if self._only is not None and isinstance(plan, Border):
            return ExplainNode(name, {**fields, "from_fragment": str(next(self._inputs).fragment_id)})
        details = _details(plan, fragment) if self._verbose else ()
        if isinstance(plan, Share):
            if plan.number in self._shared:
                return ExplainNode(name, fields)
            self._shared.add(plan.number)
        return ExplainNode(name, fields, details, tuple(self.tree(child, fragment) for child in children(plan)))


def _described(plan: StreamPlan) -> tuple[str, dict[str, FieldValue]]:
    """The operator's name and parameters."""
    if isinstance(plan, RecursivePlan):
        return _described_recursion(plan)
    match plan:
        case TableScan() | Dml() | Source() | StreamValues() | Now() | SinkInput():
            return _described_leaf(plan)
        case WatermarkFilter():
            return _described_watermark_filter(plan)
        case EowcSort():
            return "StreamEowcSort", {"sort_column": _input_names(plan)[plan.column]}
        case StreamTtl():
            return "StreamTtl", {"ends_after": f"{plan.retained.seconds} s"}
        case StreamFilter():
            return "StreamFilter", {"predicate": expression_text(plan.predicate, _input_names(plan))}
        case StreamProject():
            names = _input_names(plan)
            return "StreamProject", {"exprs": [expression_text(each, names) for each in plan.expressions]}
        case StreamProjectSet():
            lists = [expression_text(e, _input_names(plan)) for e in plan.lists]
            return "StreamProjectSet", {"lists": lists, **({"outer": "true"} if plan.outer else {})}
        case LocalAgg() | HashAgg() | SimpleAgg():
            return _described_agg(plan)
        case LocalTopN():
            return _described_local_top_n(plan)
        case StreamTopN():
            return _described_top_n(plan)
        case Dedup():
            return "StreamDedup [append_only]", {"key": [_input_names(plan)[i] for i in plan.key]}
        case StreamOverWindow():
            return _described_over_window(plan)
        case TemporalJoin():
            return _described_temporal_join(plan)
        case DynamicFilter():
            return _described_dynamic_filter(plan)
        case HashJoin() | AsOfJoin():
            return _described_join(plan)
        case StreamUnion() | StreamChangeLog() | TableInputs() | StreamExpand() | Share():
            return _described_plainly(plan)
        case Exchange():
            return "StreamExchange", {"dist": distribution_text(plan.properties.distribution, _input_names(plan))}
        case Materialize():
            return "StreamMaterialize", _materialize_fields(plan)
        case Changelog():
            return "StreamChangelogTable", {"columns": _input_names(plan)}
        case IntoTable():
            return "StreamIntoTable", {"columns": column_names(plan.properties.schema)}
        case _:
            assert_never(plan)


def _described_leaf(
    plan: TableScan | Dml | Source | StreamValues | Now | SinkInput,
) -> tuple[str, dict[str, FieldValue]]:
    columns = column_names(plan.properties.schema)
    match plan:
        case TableScan():
            return "StreamTableScan", {"table": plan.upstream.name, "columns": columns}
        case Dml():
            return "StreamDml", {"columns": columns}
        case Source():
            return "StreamSource", {"source": str(plan.source_id), "columns": columns}
        case StreamValues():
            return "StreamValues", {"rows": [f"[{', '.join(expression_text(e, []) for e in r)}]" for r in plan.rows]}
        case Now():
            return "StreamNow", {"output": columns}
        case SinkInput():
            return "StreamSinkInput", {"sink": str(plan.sink_id), "columns": columns}


def _described_plainly(
    plan: StreamUnion | StreamChangeLog | TableInputs | StreamExpand | Share,
) -> tuple[str, dict[str, FieldValue]]:
    match plan:
        case StreamUnion():
            return "StreamUnion", {"all": "true"}
        case StreamChangeLog():
            return "StreamChangeLog", {}
        case TableInputs():
            return "StreamTableInputs", {}
        case StreamExpand():
            return "StreamExpand", {"copies": str(plan.copies)}
        case Share():
            return "StreamShare", {"id": str(plan.number)}


def _described_recursion(
    plan: RecursivePlan,
) -> tuple[str, dict[str, FieldValue]]:
    match plan:
        case StreamRecursion() | StreamLevels():
            union: dict[str, FieldValue] = {"all": "true"} if plan.rows.members is None else {}
            return type(plan).__name__, {"id": str(plan.number), **union, "limit": str(plan.limit)}
        case StreamLet():
            return "StreamLet", {"id": str(plan.number)}
        case StreamMoments():
            names = _input_names(plan)
            group = [names[2 + i] for i in plan.identity[: plan.grouped]]
            return "StreamMoments", {"group_key": group, "of": plan.gives.value}
        case StreamRecursiveScan() | StreamLevelScan():
            return type(plan).__name__, {"id": str(plan.number), "columns": column_names(plan.properties.schema)}


def _described_over_window(plan: StreamOverWindow) -> tuple[str, dict[str, FieldValue]]:
    names = _input_names(plan)
    fields = window_fields(plan.partition_by, plan.order_by, plan.calls, names)
    if plan.awaits:
        fields["awaits"] = [window_call_text(plan.calls[i], names) for i in plan.awaits]
    return "StreamEowcOverWindow" if plan.emit_on_window_close else "StreamOverWindow", fields


def _described_watermark_filter(plan: WatermarkFilter) -> tuple[str, dict[str, FieldValue]]:
    columns = _input_names(plan)
    expression = expression_text(plan.expression, columns)
    return "StreamWatermarkFilter", {"watermark": columns[plan.column], "expr": expression}


def _described_join(plan: HashJoin | AsOfJoin) -> tuple[str, dict[str, FieldValue]]:
    left, right = plan.left.properties.schema, plan.right.properties.schema
    names = column_names((*left, *right))
    parts = [
        f"{names[a]} {'IS NOT DISTINCT FROM' if null_safe else '='} {names[len(left) + b]}"
        for a, b, null_safe in zip(plan.left_side.key, plan.right_side.key, plan.null_safe, strict=True)
    ]
    if isinstance(plan, AsOfJoin):
        kind = JoinKind.ASOF_LEFT if plan.is_outer else JoinKind.ASOF
        parts.append(f"{names[plan.left_column]} {plan.comparison} {names[len(left) + plan.right_column]}")
        return "StreamAsOfJoin", {"type": kind.value, "predicate": " AND ".join(parts)}
    if plan.condition is not None:
        parts.append(expression_text(plan.condition, names))
    fields: dict[str, FieldValue] = {"type": plan.kind.value}
    if parts:
        fields["predicate"] = " AND ".join(parts)
    name = "StreamHashJoin" if plan.left_side.key else "StreamNestedLoopJoin"
    return f"{name} [append_only]" if plan.properties.append_only else name, fields


def _described_dynamic_filter(plan: DynamicFilter) -> tuple[str, dict[str, FieldValue]]:
    (bound,) = plan.right.properties.schema
    names = column_names((*plan.left.properties.schema, bound))
    fields: dict[str, FieldValue] = {"predicate": f"{names[plan.column]} {plan.comparison} {names[-1]}"}
    if plan.only_forward:
        fields["cleaned"] = "true"
    name = "StreamDynamicFilter"
    return f"{name} [append_only]" if plan.properties.append_only else name, fields


def _described_temporal_join(plan: TemporalJoin) -> tuple[str, dict[str, FieldValue]]:
    names = column_names(plan.properties.schema)
    width = len(plan.input.properties.schema)
    keys = plan.matched or [(a, key.index) for a, key in zip(plan.left_key, plan.upstream.key, strict=False)]
    parts = [f"{names[a]} = {names[width + plan.columns.index(b)]}" for a, b in keys]
    if plan.condition is not None:
        parts.append(expression_text(plan.condition, names))
    kind = JoinKind.TEMPORAL_LEFT if plan.is_outer else JoinKind.TEMPORAL
    fields: dict[str, FieldValue] = {"type": kind.value, "table": plan.upstream.name, "predicate": " AND ".join(parts)}
    if plan.matched is not None:
        fields["scans_table"] = "true"
    return "StreamTemporalJoin [append_only]" if plan.properties.append_only else "StreamTemporalJoin", fields


def _described_agg(plan: LocalAgg | HashAgg | SimpleAgg) -> tuple[str, dict[str, FieldValue]]:
    if isinstance(plan, LocalAgg) or not plan.from_partials:
        columns = _input_names(plan)
        aggs = [call_text(call, columns) for call in plan.calls]
    else:  # the second phase merges the first phase's calls, and has their names
        first = 0 if isinstance(plan, SimpleAgg) else len(plan.group_key)
        aggs = [f"merge({field.name})" for field in plan.properties.schema[first:]]
    fields: dict[str, FieldValue] = {"aggs": aggs}
    if not isinstance(plan, SimpleAgg):
        names = column_names(plan.input.properties.schema)
        fields = {"group_key": [names[i] for i in plan.group_key], **fields}
    marks = ["append_only"] if plan.input.properties.append_only else []
    if isinstance(plan, HashAgg) and plan.emit_on_window_close:
        marks.append("eowc")
    return _AGG_NAMES[type(plan)] + (f" [{', '.join(marks)}]" if marks else ""), fields


_AGG_NAMES: dict[type[StreamPlan], str] = {
    LocalAgg: "StreamLocalAgg",
    HashAgg: "StreamHashAgg",
    SimpleAgg: "StreamSimpleAgg",
}


def _described_local_top_n(plan: LocalTopN) -> tuple[str, dict[str, FieldValue]]:
    order = sort_texts(plan.order, _input_names(plan))
    ties: dict[str, FieldValue] = {"with_ties": "true"} if plan.with_ties else {}
    return "StreamLocalTopN [append_only]", {"order": order, "limit": str(plan.reach), **ties}


def _described_top_n(plan: StreamTopN) -> tuple[str, dict[str, FieldValue]]:
    columns = _input_names(plan)
    bounds = {"limit": plan.limit, "offset": plan.offset or None}
    fields: dict[str, FieldValue] = {"order": sort_texts(plan.order, columns)}
    fields |= {name: str(value) for name, value in bounds.items() if value is not None}
    if plan.with_ties:
        fields["with_ties"] = "true"
    name = "StreamGroupTopN" if plan.group_key else "StreamTopN"
    if plan.group_key:
        fields = {"group_key": [columns[i] for i in plan.group_key], **fields}
    return f"{name} [append_only]" if plan.input.properties.append_only else name, fields


def _materialize_fields(plan: Materialize) -> dict[str, FieldValue]:
    schema = plan.properties.schema
    names = column_names(schema)
    return {
        "columns": [f"{n}(hidden)" if f.hidden else n for n, f in zip(names, schema, strict=True)],
        "stream_key": [names[i] for i in plan.properties.stream_key],
        "pk_columns": [names[key.index] for key in plan.table.key],
        "pk_conflict": plan.conflict.value,
        **({"version_column": ", ".join(names[each] for each in plan.versions)} if plan.versions else {}),
        **({} if plan.first_by is None else {"first_by": sort_texts(plan.first_by, names)}),
        **({} if plan.expiry is None else {"ends_by": names[plan.expiry.column]}),
        **({} if plan.retained is None else {"ends_after": f"{plan.retained.seconds} s"}),
        **({} if plan.times is None else {"row_timestamp": "true"}),
    }


def _input_names(
    plan: WatermarkFilter
    | EowcSort
    | StreamFilter
    | StreamProject
    | StreamProjectSet
    | LocalAgg
    | HashAgg
    | SimpleAgg
    | LocalTopN
    | StreamTopN
    | Dedup
    | StreamOverWindow
    | StreamMoments
    | Exchange
    | Changelog,
) -> list[str]:
    return column_names(plan.input.properties.schema)


def _details(plan: StreamPlan, fragment: Fragment | None) -> tuple[str, ...]:
    """What VERBOSE adds."""
    properties = plan.properties
    names = column_names(properties.schema)
    parts = [f"distribution: {distribution_text(properties.distribution, names)}"]
    if not isinstance(plan, LocalAgg) and not (isinstance(plan, Exchange) and isinstance(plan.input, LocalAgg)):
        parts.insert(0, f"stream key: [{', '.join(names[i] for i in properties.stream_key)}]")
    if properties.append_only:
        parts.append("append-only")
    if properties.watermarks:
        parts.append(f"watermarks: [{', '.join(names[each.column] for each in properties.watermarks)}]")
    cleaned = cleaning_watermark(plan)
    if cleaned is not None:
        parts.append(f"state cleaned by {column_names(cleaned.schema)[cleaned.watermark.column]}")
    if fragment is not None and not isinstance(plan, Border):
        parts.append(f"stage {fragment.stage}, fragment {fragment.fragment_id}")
    return (", ".join(parts), *state_table_lines(plan))


def distribution_text(distribution: Distribution, columns: Sequence[str]) -> str:
    """`Single`, `HashShard(a, b)`, `SomeShard`."""
    if distribution.kind is not DistributionKind.HASH:
        return str(distribution.kind.value)
    return f"{distribution.kind.value}({', '.join(columns[i] for i in distribution.columns)})"
