"""Which columns of a query are of a domain: what is created of the query has columns of it, too, as in PostgreSQL.

A column keeps its domain where it is only passed on: by views, joins, filters, GROUP BY, a UNION all of whose sides
agree, COALESCE and CASE of one domain. A cast gives one. Operators and functions give values of the type below.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.plan.catalog import Catalog, DomainDesc, DomainType
from risingpy.plan.domain_casts import domain_of_cast
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.plan.logical import LogicalPlan, Scan, Schema
from risingpy.plan.passed_columns import PassedColumns


def domains_of(plan: LogicalPlan, fields: Schema, catalog: Catalog) -> tuple[DomainType | None, ...]:
    """For each of a plan's columns, which are `fields`, the domain that it is of; empty if there are no domains."""
    if not any(isinstance(each, DomainDesc) for each in catalog.types.values()):
        return ()
    found = _Domains(catalog)
    return tuple(found.of(plan, place) for place in range(len(fields)))


class _Domains(PassedColumns[DomainType | None]):
    computed = None
    of_itself = None
    window_functions = frozenset({"first_value", "last_value", "nth_value", "lag", "lead"})
    common_functions = frozenset({"coalesce", "greatest", "least"})

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._catalog = catalog

    def scanned(self, scan: Scan, place: int) -> DomainType | None:
        relation = self._catalog.relations.get(scan.relation_id)
        return None if relation is None else relation.columns[scan.columns[place]].domain

    def unioned(self, found: Sequence[DomainType | None]) -> DomainType | None:
        """The domain that all of them are; None if two differ."""
        return found[0] if found and all(each == found[0] for each in found) else None

    def common(self, operands: Sequence[Expr], plan: LogicalPlan) -> DomainType | None:
        """NULLs say nothing: they take the type of the others."""
        return self.unioned([self.expression(each, plan) for each in operands if each != Literal(None, each.type)])

    def other(self, expr: Expr, plan: LogicalPlan) -> DomainType | None:
        match expr:
            case Call("let", (_, body, _)):
                return self.expression(body, plan)
            case Call():
                oid = domain_of_cast(expr)
                found = None if oid is None else self._catalog.types.get(oid)
                return found.domain if isinstance(found, DomainDesc) else None
        return None
