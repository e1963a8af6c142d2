"""A batch plan as EXPLAIN shows it: DuckDB's operators, and the keys and indexes by which they read tables."""

from __future__ import annotations

from risingpy.batch.plan import (
    BatchPlan,
    FirstOfKey,
    FullScan,
    Input,
    ListScan,
    NearestRows,
    Overlay,
    PointGet,
    PrefixScan,
    RangeScan,
    SystemRows,
)
from risingpy.optimizer.explain import ExplainFormat, explain_batch
from risingpy.optimizer.explain.expression_text import expression_text

_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def explain_plan(plan: BatchPlan, *, explain_format: ExplainFormat = ExplainFormat.TEXT) -> list[str]:
    """The lines of EXPLAIN of a query."""
    return explain_batch(plan.query, [_ranges(each) for each in plan.inputs], explain_format=explain_format)


def _ranges(rows: Input) -> list[str]:
    """The conditions on the leading key columns by which rows are found."""
    match rows:
        case PointGet() | PrefixScan():
            columns = rows.relation.columns
            fixed = zip(rows.relation.table.key, rows.key, strict=False)
            return [f"{columns[part.index].name} = {expression_text(value, ())}" for part, value in fixed]
        case RangeScan():
            column = rows.relation.columns[rows.relation.table.key[0].index]
            return [
                f"{column.name} {_SYMBOLS[bound.comparison]} {expression_text(bound.value, ())}"
                for bound in rows.bounds
            ]
        case ListScan():
            column = rows.relation.columns[rows.relation.table.key[0].index]
            return [f"{column.name} IN ({len(rows.values)} values)"]
        case NearestRows():
            (key,) = rows.index.index.keys
            return [f"{key.text} near {expression_text(rows.vector, ())} by {rows.index.name}"]
        case FirstOfKey():
            column = rows.relation.columns[rows.relation.table.key[0].index]
            count = " + ".join(expression_text(each, ()) for each in rows.counts)
            return [*_ranges(rows.scan), f"{'last' if rows.backward else 'first'} {count} by {column.name}"]
        case FullScan() | Overlay() | SystemRows():
            return []
