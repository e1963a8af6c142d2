"""The first rows by a key: `ORDER BY id LIMIT 10` reads ten rows of each vnode, not the table.

The rows of each vnode are in the order of the key. So the first rows of all are among the first of every vnode, and
DuckDB orders these. An index has another key of the same rows, with all the columns that it needs to be read alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from risingpy.batch.index_choice import indexes_with
from risingpy.batch.key_ranges import ORDERED, knows_bounds, range_keys, range_scan
from risingpy.batch.parameters import Parameters, constant
from risingpy.batch.plan import FirstOfKey, FullScan, RangeScan
from risingpy.plan.catalog import Catalog, ExternalSource, ScannedRelation, StoredRelation
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import AggCall, Aggregate, Filter, Limit, LogicalPlan, Project, Scan, Sort, SortKey
from risingpy.storage.engine.storage_table import NOT_NULL, WITH_NULL, StorageTable
from risingpy.types import BIGINT

MOST_OF_A_VNODE = 1000  # more rows are found as soon by reading all


def first_of_key(
    query: LogicalPlan, relation_of: Callable[[Scan], ScannedRelation], catalog: Catalog
) -> FirstOfKey | None:
    """What a query reads of a scan that it orders by the first columns of a key, and limits; None for any other.

    The least or greatest value of a key's first column is in its first or last row.
    """
    wanted = _wanted(query)
    found = None if wanted is None else _scan_below(wanted.rows, [key.index for key in wanted.keys])
    if wanted is None or found is None:
        return None
    scan, predicate, places = found
    relation = relation_of(scan)
    if isinstance(relation, ExternalSource):
        return None
    for read, columns in ((relation, scan.columns), *indexes_with(relation, scan.columns, catalog)):
        ordered = _order(read, scan, [columns[place] for place in places], places, wanted)
        if ordered is None:
            continue
        over = replace(scan, relation_id=read.relation_id, columns=columns)
        rows = FullScan(read, columns) if predicate is None else _just_range(read, over, predicate)
        if rows is not None:
            backward, has_nulls = ordered
            return FirstOfKey(rows, wanted.counts, backward, has_nulls)
    return None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The first rows of `rows` by keys, as many as `counts` are together; `of_values`: rows with NULL do not count."""

    rows: LogicalPlan
    keys: tuple[SortKey, ...]
    counts: tuple[Expr, ...]
    of_values: bool = False


def _wanted(query: LogicalPlan) -> _Wanted | None:
    match query:
        case Limit(Sort(rows, keys), limit, offset, False) if limit is not None and keys:
            return _Wanted(rows, keys, (limit,) if offset is None else (limit, offset))
        case Aggregate(rows, (), (AggCall("min" | "max" as function, (column,), _, _, None),)):
            return _Wanted(rows, (SortKey(column, function == "max"),), (Literal(1, BIGINT),), of_values=True)
    return None


def _just_range(relation: StoredRelation, scan: Scan, predicate: Expr) -> RangeScan | None:
    """The rows between bounds, if the predicate says no more."""
    found = range_scan(relation, scan, predicate)
    return found if found is not None and len(found.bounds) == len(conjuncts(predicate)) else None


def _scan_below(query: LogicalPlan, places: Sequence[int]) -> tuple[Scan, Expr | None, list[int]] | None:
    """The scan below projections and a condition, the condition, and where the scan has the columns at `places`."""
    places = list(places)
    while isinstance(query, Project):
        for number, place in enumerate(places):
            match query.expressions[place]:
                case InputRef(index) | Call("jsonb_key", (InputRef(index),)):
                    places[number] = index
                case _:
                    return None
        query = query.input
    predicate = None
    if isinstance(query, Filter):
        predicate = query.predicate
        query = query.input
    return (query, predicate, places) if isinstance(query, Scan) else None


def _order(
    read: StoredRelation, scan: Scan, columns: Sequence[int], places: Sequence[int], wanted: _Wanted
) -> tuple[bool, bool] | None:
    """(Whether the rows wanted are the last ones of each vnode, whether those with NULL in the first column count).

    None if the rows are in another order. `columns` are those of the wanted keys in what is `read`, `places` those in
    the scan. Keys beyond all columns of the relation's decide nothing.
    """
    backward: bool | None = None
    for part, column, place, key in zip(read.table.key, columns, places, wanted.keys, strict=False):
        if column != part.index or read.columns[column].type.kind not in ORDERED:
            return None
        reverse = key.descending != part.descending
        has_nulls = not wanted.of_values and scan.columns[place] not in scan.not_null
        if has_nulls and (key.nulls_first != part.nulls_first) is not reverse:
            return None
        if backward is (not reverse):
            return None
        backward = reverse
    if backward is None:
        return None
    return backward, not wanted.of_values and scan.columns[places[0]] not in scan.not_null


def read_first_of_key(rows: FirstOfKey, table: StorageTable, parameters: Parameters) -> Iterator[pa.RecordBatch] | None:
    """The rows; None if only the evaluator knows how many are wanted or from where on, or if they are many."""
    counts = [constant(each, parameters) for each in rows.counts]
    numbers = [each.value for each in counts if each is not None and isinstance(each.value, int)]
    if len(numbers) < len(rows.counts) or min(numbers) < 0 or sum(numbers) > MOST_OF_A_VNODE:
        return None
    if isinstance(rows.scan, FullScan):
        within = WITH_NULL if rows.has_nulls else NOT_NULL
        return table.first_of_vnodes(rows.columns, within, sum(numbers), backward=rows.backward)
    if not knows_bounds(rows.scan, parameters):
        return None
    within = range_keys(rows.scan, table, parameters)
    return table.first_of_vnodes(rows.columns, within, sum(numbers), backward=rows.backward)
