"""Chooses an index of vectors for a query that asks for the rows nearest to a vector.

    Limit(10; Sort(d; Project(id, v <-> '[…]' AS d; Scan t)))   =>   the same, over the rows that the index finds

The query still computes the distances and orders the rows: the index only limits which rows it reads.
"""

from __future__ import annotations

from risingpy.batch.plan import NearestRows
from risingpy.plan.catalog import Catalog, JobStatus, StoredRelation
from risingpy.plan.expressions import Call, Expr, InputRef, Literal, Parameter
from risingpy.plan.logical import Limit, LogicalPlan, Project, Scan, Sort, TopN
from risingpy.types import BIGINT


def nearest_pattern(query: LogicalPlan) -> tuple[Scan, Call, Expr] | None:
    """(The scan, the distance by which its rows are ordered, how many of them are asked for); None for other queries.

    A filter between them would have to be applied before the nearest are chosen: such a query reads all rows.
    """
    match query:
        case Limit(Sort(Project(Scan() as scan, expressions), (key,)), limit, None, False) if limit is not None:
            count = limit
        case TopN(Project(Scan() as scan, expressions), (), (key,), number, False, 0):
            count = Literal(number, BIGINT)
        case _:
            return None
    distance = expressions[key.index]
    if key.descending or key.nulls_first or not isinstance(distance, Call) or len(distance.args) != 2:
        return None
    return scan, distance, count


def nearest_rows(
    scan: Scan, distance: Call, limit: Expr, relation: StoredRelation, catalog: Catalog
) -> NearestRows | None:
    """The rows that an index finds; None if there is none for this column and this distance."""
    column, given = distance.args if isinstance(distance.args[0], InputRef) else reversed(distance.args)
    if not (isinstance(column, InputRef) and isinstance(given, Literal | Parameter)):
        return None
    indexed = relation.columns[scan.columns[column.index]]
    # The graph finds stream keys, by which rows are read only where they are the relation's whole key.
    if sorted(part.index for part in relation.table.key) != sorted(relation.stream_key):
        return None
    for index in catalog.indexes_of(relation.relation_id):
        rule = index.index.nearest
        if rule is None or index.status is not JobStatus.CREATED or rule.distance != distance.function:
            continue
        (key,) = index.index.keys
        if isinstance(key.expression, InputRef) and key.expression.index == indexed.column_id:
            return NearestRows(relation, index, given, limit, scan.columns)
    return None
