"""Which domain the value of an expression is of, as pg_typeof says: that of a column, or of a cast."""

from __future__ import annotations

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import DomainDesc, DomainType
from risingpy.plan.domain_casts import domain_of_cast
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.types import SqlType


def domain_of_value(binder: ExpressionBinder, expr: Expr) -> DomainType | None:
    """The domain; None if the value is of none, or comes from a subquery in FROM, which does not tell."""
    match expr:
        case InputRef():
            columns = (column for table in binder.scope.tables for column in table.columns if column.expr == expr)
            named = next((column for column in columns if column.use is not None), None)
            if named is None or named.use is None:
                return None
            return next((c.domain for c in named.use.relation.columns if c.column_id == named.column_id), None)
        case Call():
            oid = domain_of_cast(expr)
            found = None if oid is None else binder.context.catalog.types.get(oid)
            return found.domain if isinstance(found, DomainDesc) else None
    return None


def shown_domain(binder: ExpressionBinder, domain: DomainType, type_: SqlType) -> str:
    """The name as format_type prints it: with its schema if the search path does not find it; of an array with []."""
    found = binder.context.catalog.find_type(domain.name, None, binder.context.search_path)
    name = quoted(domain.name)
    if not isinstance(found, DomainDesc) or found.domain.oid != domain.oid:
        name = f"{quoted(domain.schema_name)}.{name}"
    return name + "[]" * (domain.dimensions(type_) > 0)
