"""Which columns of a query are of a domain: what is created of the query has columns of it, too, as in PostgreSQL.

A column keeps its domain where it is only passed on: by views, joins, filters, GROUP BY, a UNION all of whose sides
agree, COALESCE and CASE of one domain. A cast gives one. Operators and functions give values of the type below.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.plan.catalog import Catalog, DomainDesc, DomainType
from risingpy.plan.domain_casts import domain_of_cast
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal, Subquery
from risingpy.plan.logical import (
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    Scan,
    Schema,
    Sort,
    TopN,
    Union,
)

_OF_ARGUMENT = frozenset({"first_value", "last_value", "nth_value", "lag", "lead"})
_OF_COMMON_TYPE = frozenset({"coalesce", "greatest", "least"})


def domains_of(plan: LogicalPlan, fields: Schema, catalog: Catalog) -> tuple[DomainType | None, ...]:
    """For each of a plan's columns, which are `fields`, the domain that it is of; empty if there are no domains."""
    if not any(isinstance(each, DomainDesc) for each in catalog.types.values()):
        return ()
    found = _Domains(catalog)
    return tuple(found.of(plan, place) for place in range(len(fields)))


class _Domains:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[int, int], DomainType | None] = {}

    def of(self, plan: LogicalPlan, place: int) -> DomainType | None:
        """The domain of a plan's column. A plan that is read several times is looked at once."""
        key = id(plan), place
        if key not in self._known:
            self._known[key] = None  # of what a recursion reads of itself
            self._known[key] = self._found(plan, place)
        return self._known[key]

    def _found(self, plan: LogicalPlan, place: int) -> DomainType | None:
        match plan:
            case Scan():
                relation = self._catalog.relations.get(plan.relation_id)
                return None if relation is None else relation.columns[plan.columns[place]].domain
            case Project():
                return self._expr(plan.expressions[place], plan.input)
            case Aggregate():
                return self.of(plan.input, plan.group_key[place]) if place < len(plan.group_key) else None
            case OverWindow():
                width = len(plan.input.schema)
                if place < width:
                    return self.of(plan.input, place)
                call = plan.calls[place - width]
                return self._expr(call.args[0], plan.input) if call.function in _OF_ARGUMENT else None
            case Join() | Apply():
                width = len(plan.left.schema)
                return self.of(plan.left, place) if place < width else self.of(plan.right, place - width)
            case Union():
                return _same([self.of(each, place) for each in plan.inputs])
            case Recursion():
                return self.of(plan.start, place)
            case Filter() | Sort() | Limit() | TopN():
                return self.of(plan.input, place)
            case ProjectSet() | Expand() | ChangeLog():
                return self.of(plan.input, place) if place < len(plan.input.schema) else None
        return None

    def _expr(self, expr: Expr, plan: LogicalPlan) -> DomainType | None:
        match expr:
            case InputRef(index):
                return self.of(plan, index)
            case Case():
                return self._common([*(result for _, result in expr.branches), expr.default], plan)
            case Call(function, args) if function in _OF_COMMON_TYPE:
                return self._common(args, plan)
            case Call("let", (_, body, _)):
                return self._expr(body, plan)
            case Call():
                oid = domain_of_cast(expr)
                found = None if oid is None else self._catalog.types.get(oid)
                return found.domain if isinstance(found, DomainDesc) else None
            case Subquery():
                return self.of(expr.plan, 0)  # type: ignore[arg-type]  # the expressions' module knows no plans
        return None

    def _common(self, exprs: Sequence[Expr], plan: LogicalPlan) -> DomainType | None:
        """NULLs say nothing: they take the type of the others."""
        return _same([self._expr(each, plan) for each in exprs if each != Literal(None, each.type)])


def _same(found: Sequence[DomainType | None]) -> DomainType | None:
    """The domain that all of them are; None if two differ."""
    return found[0] if found and all(each == found[0] for each in found) else None
