"""A batch plan as EXPLAIN shows it: DuckDB's operators, and the keys and indexes by which they read tables."""

from __future__ import annotations

from risingpy.batch.plan import (
    BatchPlan,
    FirstOfKey,
    FullScan,
    IndexRange,
    Input,
    ListScan,
    Lookup,
    NearestRows,
    Overlay,
    PointGet,
    PrefixScan,
    RangeScan,
    SystemRows,
)
from risingpy.optimizer.explain import ExplainFormat, explain_batch
from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.plan.catalog import Index

_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def explain_plan(plan: BatchPlan, *, explain_format: ExplainFormat = ExplainFormat.TEXT) -> list[str]:
    """The lines of EXPLAIN of a query."""
    scans: list[dict[str, list[str]]] = [{"scan_ranges": _ranges(each), "lookups": []} for each in plan.inputs]
    for lookup in plan.lookups:
        scans[lookup.target]["lookups"].append(_lookup_text(lookup, plan.inputs[lookup.source]))
    return explain_batch(plan.query, scans, explain_format=explain_format)


def _lookup_text(lookup: Lookup, source: Input) -> str:
    """By which column rows are looked up if the values of another one are few."""
    key = lookup.by.columns[lookup.by.table.key[0].index].name
    assert not isinstance(source, SystemRows)
    relation = source.table if isinstance(source, Overlay) else source.relation
    way = f" by {lookup.by.name}" if isinstance(lookup.by, Index) else ""
    return f"{key} = {relation.name}.{relation.columns[source.columns[lookup.place]].name}{way}"


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
        case IndexRange():
            return [f"{each} by {rows.relation.name}" for each in _ranges(rows.scan)]
        case ListScan():
            column = rows.relation.columns[rows.relation.table.key[0].index]
            return [f"{column.name} IN ({len(rows.values)} values)"]
        case NearestRows():
            (key,) = rows.index.index.keys
            return [f"{key.text} near {expression_text(rows.vector, ())} by {rows.index.name}"]
        case FirstOfKey():
            column = rows.relation.columns[rows.relation.table.key[0].index]
            way = f" by {rows.relation.name}" if isinstance(rows.relation, Index) else ""
            count = " + ".join(expression_text(each, ()) for each in rows.counts)
            return [*_ranges(rows.scan), f"{'last' if rows.backward else 'first'} {count} by {column.name}{way}"]
        case FullScan() | Overlay() | SystemRows():
            return []
