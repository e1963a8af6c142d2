"""From which column of which relation each column of a result comes: drivers find its table and key so."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import relation_oid
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import Catalog, View
from risingpy.plan.expressions import Subquery
from risingpy.plan.logical import LogicalPlan, Scan
from risingpy.plan.passed_columns import PassedColumns

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
    found = _Origins(catalog)
    return [found.of(plan, place) for place, each in enumerate(plan.schema) if not each.hidden]


class _Origins(PassedColumns[Origin]):
    """A UNION and a recursion compute their columns, as a subquery its value: no relation has them."""

    computed = NONE
    of_itself = NONE

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._catalog = catalog
        self._numbers: dict[int, dict[str, int]] = {}  # of the columns of each relation, by name

    def scanned(self, scan: Scan, place: int) -> Origin:
        relation = self._catalog.relations.get(scan.relation_id)
        if relation is None:
            return NONE
        if scan.relation_id not in self._numbers:
            self._numbers[scan.relation_id] = {column.name: number for number, column in visible_columns(relation)}
        number = self._numbers[scan.relation_id].get(relation.columns[scan.columns[place]].name)
        return NONE if number is None else (relation_oid(relation), number)

    def subquery(self, expr: Subquery) -> Origin:
        return NONE
