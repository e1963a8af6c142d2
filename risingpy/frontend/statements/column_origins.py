"""From which column of which relation each column of a result comes: drivers find its table and key so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from risingpy.frontend.system_catalog.oids import relation_oid
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import Catalog, View
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import (
    Apply,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    Scan,
    Sort,
    TopN,
)

Origin = tuple[int, int]
"""The oid of a relation and the number of its column, as in pg_attribute."""

NONE: Origin = (0, 0)


def column_origins(plan: LogicalPlan, catalog: Catalog, named: Iterable[int]) -> list[Origin]:
    """An origin for each column of a plan that is shown; `NONE` for what is computed.

    `named` are the relations that the query names. If it names a plain view, PostgreSQL tells the view's columns; the
    plan does not have these any more, so no column has an origin then.
    """
    if any(isinstance(catalog.relations.get(relation_id), View) for relation_id in named):
        return [NONE for each in plan.schema if not each.hidden]
    found = zip(_origins(plan, catalog), plan.schema, strict=True)
    return [origin for origin, each in found if not each.hidden]


def _origins(plan: LogicalPlan, catalog: Catalog) -> list[Origin]:
    width = len(plan.schema)
    match plan:
        case Scan():
            return _of_scan(plan, catalog)
        case Project():
            below = _origins(plan.input, catalog)
            return [below[each.index] if isinstance(each, InputRef) else NONE for each in plan.expressions]
        case Filter() | Sort() | Limit() | TopN():
            return _origins(plan.input, catalog)
        case OverWindow():
            return _padded(_origins(plan.input, catalog), width)
        case Join() | Apply():  # a semi join shows the left side's columns alone
            return _padded([*_origins(plan.left, catalog), *_origins(plan.right, catalog)], width)
        case _:
            return [NONE] * width


def _padded(origins: Sequence[Origin], width: int) -> list[Origin]:
    return [*origins, *[NONE] * width][:width]


def _of_scan(scan: Scan, catalog: Catalog) -> list[Origin]:
    relation = catalog.relations.get(scan.relation_id)
    if relation is None:
        return [NONE] * len(scan.columns)
    oid, numbers = relation_oid(relation), {column.name: number for number, column in visible_columns(relation)}
    names = (relation.columns[position].name for position in scan.columns)
    return [(oid, numbers[name]) if name in numbers else NONE for name in names]
