"""Which jobs are known to take about a microsecond for a row, before they have read one.

A plain job reads one relation, and only filters, projects and aggregates what is short: numbers, truth values and
times. It compares texts, but makes none. A row of any other job may take a second: a join may find a million partners,
`repeat` may make a text of a megabyte.
"""

from __future__ import annotations

from itertools import chain

from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, operands
from risingpy.plan.graph import Job
from risingpy.plan.operators import (
    Exchange,
    Materialize,
    Share,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamUnion,
    TableScan,
)
from risingpy.plan.traversal import nodes_of_fragment
from risingpy.types import SqlType, TypeKind

_AGGREGATES = frozenset({"count", "sum", "sum0", "min", "max", "avg", "bool_and", "bool_or"})
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_not_null"})
_SHORT = frozenset({
    TypeKind.BOOLEAN, TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.REAL, TypeKind.DOUBLE,
    TypeKind.NUMERIC, TypeKind.DATE, TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL,
    TypeKind.TIMESTAMP_NS,
})  # fmt: skip


def is_plain(job: Job) -> bool:
    """Whether a row of the job's input takes no longer than one of a GROUP BY does."""
    return all(_is_plain_node(node) for fragment in job.fragments for node in nodes_of_fragment(fragment.root))


def _is_plain_node(node: StreamPlan) -> bool:
    match node:
        case TableScan() | Exchange() | Share() | Materialize() | StreamUnion():
            return True
        case StreamFilter():
            return _is_plain(node.predicate)
        case StreamProject():
            return all(map(_is_plain, node.expressions))
        case LocalAgg() | HashAgg() | SimpleAgg():
            return all(call.function in _AGGREGATES for call in node.calls)
    return False


def _is_plain(expr: Expr) -> bool:
    return all(map(_is_plain_part, walk(expr)))


def _is_plain_part(part: Expr) -> bool:
    match part:
        case InputRef() | Literal() | Case():
            return True
        case Cast():
            return _is_short(part.type) and _is_short(part.arg.type)
        case Call() if part.function in _COMPARISONS:
            return True
        case Call():
            return all(map(_is_short, chain((part.type,), (each.type for each in operands(part)))))
    return False


def _is_short(type_: SqlType) -> bool:
    return type_.kind in _SHORT
