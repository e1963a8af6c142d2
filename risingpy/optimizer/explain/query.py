"""EXPLAIN of queries: the logical plan, and the batch plan that answers a SELECT.

Stream plans are in `stream.py`, how a tree is printed in `tree.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.optimizer.explain.tree import (
    ExplainFormat,
    ExplainNode,
    FieldValue,
    call_text,
    column_names,
    distinct_names,
    render,
)
from risingpy.optimizer.explain.windows import sort_texts, window_call_text, window_fields
from risingpy.optimizer.once_per_operator import OncePerOperator
from risingpy.optimizer.rewrite import plan_inputs, subqueries_of
from risingpy.plan.expressions import Expr
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
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)

# For each scan, left to right, how it reads only a part of its table: fields of its node, with texts.
ScanFields: TypeAlias = Mapping[str, list[str]]


def explain_logical(plan: LogicalPlan, *, explain_format: ExplainFormat = ExplainFormat.TEXT) -> list[str]:
    """The lines of EXPLAIN (LOGICAL)."""
    return render(_node(plan, "Logical", iter(())), explain_format)


def explain_batch(
    plan: LogicalPlan,
    scans: Sequence[ScanFields] = (),
    *,
    explain_format: ExplainFormat = ExplainFormat.TEXT,
) -> list[str]:
    """The lines of EXPLAIN of a SELECT: DuckDB runs the plan, so this is the logical plan after the rules."""
    return render(_node(plan, "Batch", iter(scans)), explain_format)


@OncePerOperator
def _names(plan: LogicalPlan) -> list[str]:
    """A name for every output column, which shows its origin: a relation's column, or an expression."""
    match plan:
        case Scan() | SystemScan() | Values() | Recursion() | RecursiveScan() | MutualRecursion() | GivenRows():
            return column_names(plan.schema)
        case Filter() | Sort() | Limit() | TopN():
            return _names(plan.input)
        case OverWindow():
            columns = _names(plan.input)
            return distinct_names([*columns, *(window_call_text(call, columns) for call in plan.calls)])
        case Project():
            return distinct_names(_texts(plan.expressions, _names(plan.input)))
        case ProjectSet():
            columns = _names(plan.input)
            return distinct_names([*columns, "projected_row_id", *_texts(plan.lists, columns)])
        case Aggregate():
            columns = _names(plan.input)
            calls = [call_text(call, columns) for call in plan.calls]
            return distinct_names([*(columns[i] for i in plan.group_key), *calls])
        case Join() | Apply():
            return distinct_names([*_names(plan.left), *_names(plan.right)])[: len(plan.schema)]
        case Union():
            return _names(plan.inputs[0])
        case ChangeLog():
            return column_names(plan.schema)
        case Expand():
            return distinct_names([*_names(plan.input), plan.schema[-1].name])
        case _:
            assert_never(plan)


def _node(plan: LogicalPlan, prefix: str, scans: Iterator[ScanFields]) -> ExplainNode:
    """The plan as a tree; each scan, left to right, takes the next fields of `scans`."""
    name, fields = _described(plan)
    of_scan: ScanFields = next(scans, {}) if isinstance(plan, Scan | SystemScan) else {}
    fields = {**fields, **{name: texts for name, texts in of_scan.items() if texts}}
    children = (*plan_inputs(plan), *subqueries_of(plan))
    return ExplainNode(prefix + name, fields, children=tuple(_node(child, prefix, scans) for child in children))


def _described(plan: LogicalPlan) -> tuple[str, dict[str, FieldValue]]:
    """The operator's name and parameters."""
    match plan:
        case Scan():
            return "Scan", {"table": plan.name, "columns": column_names(plan.schema)}
        case SystemScan():
            return "SystemScan", {"table": f"{plan.relation_schema}.{plan.name}", "columns": column_names(plan.schema)}
        case Values():
            return "Values", {"rows": [f"[{', '.join(_texts(row, []))}]" for row in plan.rows]}
        case Filter():
            return "Filter", {"predicate": expression_text(plan.predicate, _names(plan.input))}
        case Project():
            return "Project", {"exprs": _texts(plan.expressions, _names(plan.input))}
        case ProjectSet():
            lists = _texts(plan.lists, _names(plan.input))
            return "ProjectSet", {"lists": lists, **({"outer": "true"} if plan.outer else {})}
        case Aggregate():
            columns = _names(plan.input)
            group_key = [columns[i] for i in plan.group_key]
            return "Agg", {"group_key": group_key, "aggs": [call_text(call, columns) for call in plan.calls]}
        case Join():
            return "Join", _join_fields(plan)
        case Recursion():
            return "Recursion", {"name": plan.name, "all": "false" if plan.distinct else "true"}
        case MutualRecursion():
            return "MutualRecursion", {"names": list(plan.names)}
        case RecursiveScan():
            return "RecursiveScan", {"name": plan.name}
        case GivenRows():
            return "GivenRows", {}
        case Apply():
            return "Apply", {**_join_fields(plan), "args": _texts(plan.args, _names(plan.left))}
        case Union():
            return "Union", {"all": "true"}
        case ChangeLog():
            return "ChangeLog", {}
        case Expand():
            return "Expand", {"copies": str(plan.copies)}
        case Sort():
            return "Sort", {"order": sort_texts(plan.keys, _names(plan))}
        case Limit():
            given = {"limit": plan.limit, "offset": plan.offset}
            fields: dict[str, FieldValue] = {k: expression_text(v, []) for k, v in given.items() if v is not None}
            return "Limit", {**fields, **({"with_ties": "true"} if plan.with_ties else {})}
        case TopN():
            return "TopN", _top_n_fields(plan)
        case OverWindow():
            return "OverWindow", window_fields(plan.partition_by, plan.order_by, plan.calls, _names(plan.input))
        case _:
            assert_never(plan)


def _top_n_fields(top_n: TopN) -> dict[str, FieldValue]:
    columns = _names(top_n)
    fields: dict[str, FieldValue] = {"order": sort_texts(top_n.keys, columns), "limit": str(top_n.limit)}
    if top_n.offset:
        fields["offset"] = str(top_n.offset)
    if top_n.with_ties:
        fields["with_ties"] = "true"
    return {"group_key": [columns[i] for i in top_n.group_key], **fields}


def _join_fields(join: Join | Apply) -> dict[str, FieldValue]:
    fields: dict[str, FieldValue] = {"type": join.kind.value}
    if join.condition is not None and join.kind is not JoinKind.CROSS:
        fields["on"] = expression_text(join.condition, distinct_names([*_names(join.left), *_names(join.right)]))
    return fields


def _texts(expressions: Sequence[Expr], columns: Sequence[str]) -> list[str]:
    return [expression_text(expression, columns) for expression in expressions]
