"""The first rows by a key: `ORDER BY id LIMIT 10` reads ten rows of each vnode, not the table.

The rows of each vnode are in the order of the key. So the first rows of all are among the first of every vnode, and
DuckDB orders these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from risingpy.batch.key_ranges import ORDERED, knows_bounds, range_keys, range_scan
from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import FirstOfKey, FullScan, RangeScan
from risingpy.plan.catalog import ExternalSource, ScannedRelation, StoredRelation
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import AggCall, Aggregate, Filter, Limit, LogicalPlan, Project, Scan, Sort, SortKey
from risingpy.storage.engine.storage_table import NOT_NULL, StorageTable
from risingpy.types import BIGINT

MOST_OF_A_VNODE = 1000  # more rows are found as soon by reading all


def first_of_key(query: LogicalPlan, relation_of: Callable[[Scan], ScannedRelation]) -> FirstOfKey | None:
    """What a query reads of a scan that it orders by the first column of the key, and limits; None for any other.

    The least or greatest value of that column is its first or last one.
    """
    wanted = _wanted(query)
    found = None if wanted is None else _scan_below(wanted.rows, wanted.key.index)
    if wanted is None or found is None:
        return None
    scan, predicate, place = found
    relation = relation_of(scan)
    if isinstance(relation, ExternalSource) or not _begins_key(relation, scan, place):
        return None
    if wanted.has_further_keys and len(relation.table.key) > 1:  # a key of one column leaves nothing to further ones
        return None
    rows = FullScan(relation, scan.columns) if predicate is None else _just_range(relation, scan, predicate)
    return None if rows is None else FirstOfKey(rows, wanted.counts, wanted.key.descending)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The first rows of `rows` by a key, as many as `counts` are together."""

    rows: LogicalPlan
    key: SortKey
    has_further_keys: bool
    counts: tuple[Expr, ...]


def _wanted(query: LogicalPlan) -> _Wanted | None:
    match query:
        case Limit(Sort(rows, (key, *further)), limit, offset, False) if limit is not None:
            return _Wanted(rows, key, bool(further), (limit,) if offset is None else (limit, offset))
        case Aggregate(rows, (), (AggCall("min" | "max" as function, (column,), _, _, None),)):
            return _Wanted(rows, SortKey(column, function == "max"), False, (Literal(1, BIGINT),))
    return None


def _just_range(relation: StoredRelation, scan: Scan, predicate: Expr) -> RangeScan | None:
    """The rows between bounds, if the predicate says no more."""
    found = range_scan(relation, scan, predicate)
    return found if found is not None and len(found.bounds) == len(conjuncts(predicate)) else None


def _scan_below(query: LogicalPlan, place: int) -> tuple[Scan, Expr | None, int] | None:
    """The scan below projections and a condition, the condition, and where the scan has the column at `place`."""
    while isinstance(query, Project):
        match query.expressions[place]:
            case InputRef(index) | Call("jsonb_key", (InputRef(index),)):
                query, place = query.input, index
            case _:
                return None
    predicate = None
    if isinstance(query, Filter):
        predicate = query.predicate
        query = query.input
    return (query, predicate, place) if isinstance(query, Scan) else None


def _begins_key(relation: StoredRelation, scan: Scan, place: int) -> bool:
    """Whether the rows are in the order of the column, as SQL has it, within each vnode."""
    first = relation.table.key[0] if relation.table.key else None
    if first is None or first.descending or scan.columns[place] != first.index or first.index not in scan.not_null:
        return False
    return relation.columns[first.index].type.kind in ORDERED


def read_first_of_key(rows: FirstOfKey, table: StorageTable, parameters: Parameters) -> Iterator[pa.RecordBatch] | None:
    """The rows; None if only the evaluator knows how many are wanted or from where on, or if they are many."""
    counts = [constant(each, parameters) for each in rows.counts]
    numbers = [each.value for each in counts if each is not None and isinstance(each.value, int)]
    if len(numbers) < len(rows.counts) or min(numbers) < 0 or sum(numbers) > MOST_OF_A_VNODE:
        return None
    if isinstance(rows.scan, FullScan):
        return table.first_of_vnodes(rows.columns, NOT_NULL, sum(numbers), backward=rows.backward)
    if not knows_bounds(rows.scan, parameters):
        return None
    within = range_keys(rows.scan, table, parameters)
    return table.first_of_vnodes(rows.columns, within, sum(numbers), backward=rows.backward)
