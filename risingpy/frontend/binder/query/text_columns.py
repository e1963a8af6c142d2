"""Which columns of a query PostgreSQL would call text, and which character varying: one type here, two for clients.

A column of a table is what its declaration says, a literal and what a function gives is text. COALESCE and CASE give
the type of their operands, and text if one of these is text.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Cast, Expr, Literal
from risingpy.plan.logical import AggCall, LogicalPlan, Scan, Schema, SystemScan, Values
from risingpy.plan.passed_columns import PassedColumns
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import as_text

_OF_ARGUMENT = frozenset(
    {"first_value", "last_value", "nth_value", "lag", "lead", "mode", "percentile_disc", "array_agg"}
)


def with_texts(plan: LogicalPlan, fields: Schema, catalog: Catalog) -> tuple[SqlType, ...]:
    """The types of a plan's columns as clients hear of them; `fields` are these columns."""
    found = _Texts(catalog)
    return tuple(
        as_text(field.type) if _may_be(field.type) and found.of(plan, place) else field.type
        for place, field in enumerate(fields)
    )


def _may_be(sql_type: SqlType) -> bool:
    leaf = sql_type.leaf
    return leaf.kind is TypeKind.VARCHAR and not leaf.system and leaf.length is None


class _Texts(PassedColumns[bool]):
    """Whether columns are text."""

    computed = True
    of_itself = True  # what a recursion reads of itself says nothing of the type
    window_functions = _OF_ARGUMENT
    common_functions = frozenset({"coalesce", "greatest", "least", "nullif", "array", "array_cat", "array_append"})

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._catalog = catalog

    def scanned(self, scan: Scan, place: int) -> bool:
        relation = self._catalog.relations.get(scan.relation_id)
        return relation is None or relation.columns[scan.columns[place]].as_text

    def system_scanned(self, scan: SystemScan, place: int) -> bool:
        return False  # what is text there is of that very type

    def written(self, values: Values, place: int) -> bool:
        return all(self.expression(row[place], values) for row in values.rows)

    def aggregated(self, call: AggCall, plan: LogicalPlan) -> bool:
        return call.function not in _OF_ARGUMENT or self.of(plan, call.args[-1])

    def unioned(self, found: Sequence[bool]) -> bool:
        return not found or any(found)

    def common(self, operands: Sequence[Expr], plan: LogicalPlan) -> bool:
        """Literals say nothing: they take the type of the others."""
        return self.unioned([self.expression(each, plan) for each in operands if not isinstance(each, Literal)])

    def other(self, expr: Expr, plan: LogicalPlan) -> bool:
        match expr:
            case Cast(arg, sql_type) if sql_type == arg.type:
                return self.expression(arg, plan)
        return True
