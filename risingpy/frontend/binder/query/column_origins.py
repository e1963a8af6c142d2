"""From which column of which relation each column of a result comes: drivers find its table and key so."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.frontend.binder.scope.context import ExpandedView
from risingpy.frontend.system_catalog.oids import relation_oid, system_relation_oid
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import Catalog
from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Case, Expr, InputRef, Literal, Subquery
from risingpy.plan.logical import Expand, LogicalPlan, Scan, SystemScan, Union
from risingpy.plan.passed_columns import PassedColumns

Origin = tuple[int, int]
"""The oid of a relation and the number of its column, as in pg_attribute."""

NONE: Origin = (0, 0)


def column_origins(plan: LogicalPlan, catalog: Catalog, views: Mapping[int, ExpandedView]) -> tuple[Origin, ...]:
    """An origin for each column of a plan; `NONE` for what is computed. A view's columns are its own, as in PostgreSQL.

    `views` are those that the query names, by the `id` of their plan.
    """
    found = _Origins(catalog, views)
    return tuple(found.of(plan, place) for place in range(len(plan.schema)))


class _Origins(PassedColumns[Origin]):
    """A UNION and a recursion compute their columns, as a subquery its value: no relation has them."""

    computed = NONE
    of_itself = NONE

    def __init__(self, catalog: Catalog, views: Mapping[int, ExpandedView]) -> None:
        super().__init__()
        self._catalog = catalog
        self._views = views
        self._numbers: dict[int, dict[str, int]] = {}  # of the columns of each relation, by name

    def of(self, plan: LogicalPlan, place: int) -> Origin:
        view = self._views.get(id(plan))
        return super().of(plan, place) if view is None else self._of_relation(view.relation_id, place)

    def scanned(self, scan: Scan, place: int) -> Origin:
        return self._of_relation(scan.relation_id, scan.columns[place])

    def system_scanned(self, scan: SystemScan, place: int) -> Origin:
        return system_relation_oid(scan.relation_schema, scan.name), scan.columns[place] + 1

    def subquery(self, expr: Subquery) -> Origin:
        return NONE

    def expression(self, expr: Expr, plan: LogicalPlan) -> Origin:
        match expr:
            # A key of GROUPING SETS, which is NULL in the copies of a row for the sets that have it not.
            case Case(((condition, InputRef(index)),), Literal(None)):
                copies = _copies(plan)
                if copies is not None and columns_read(condition) == {len(copies.schema) - 1}:
                    return self.of(copies.input, index)
        return super().expression(expr, plan)

    def _of_relation(self, relation_id: int, position: int) -> Origin:
        relation = self._catalog.relations.get(relation_id)
        if relation is None:
            return NONE
        if relation_id not in self._numbers:
            self._numbers[relation_id] = {column.name: number for number, column in visible_columns(relation)}
        number = self._numbers[relation_id].get(relation.columns[position].name)
        return NONE if number is None else (relation_oid(relation), number)


def _copies(plan: LogicalPlan) -> Expand | None:
    """The copies of rows, also where those for an empty set have one more row."""
    first = plan.inputs[0] if isinstance(plan, Union) else plan
    return first if isinstance(first, Expand) else None
