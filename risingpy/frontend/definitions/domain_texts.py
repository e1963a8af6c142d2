"""CREATE DOMAIN, and what makes its constraints as they are."""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.frontend.system_catalog.objects.domains import constraint_definition
from risingpy.frontend.table_definition import quoted, type_text
from risingpy.plan.catalog import DomainDesc


def domain_definition(domain: DomainDesc) -> str:
    """The statement that makes a domain; a constraint that is NOT VALID has a statement of its own."""
    name = f"{quoted(domain.schema_name)}.{quoted(domain.name)}"
    if domain.parent is not None:
        below = f"{quoted(domain.parent.schema_name)}.{quoted(domain.parent.name)}"
    else:
        below = "text" if domain.as_text and not domain.base.items else type_text(domain.base)
    parts = [f"CREATE DOMAIN {name} AS {below}"]
    parts += [] if domain.default is None else [f"DEFAULT {domain.default}"]
    parts += ["NOT NULL"] if domain.not_null else []
    parts += [f"CONSTRAINT {quoted(c.name)} {constraint_definition(c)}" for c in domain.checks if c.validated]
    return " ".join(parts)


def later_constraints(domain: DomainDesc) -> Iterator[str]:
    """ALTER DOMAIN … ADD CONSTRAINT … NOT VALID, which may come when all rows are there."""
    name = f"{quoted(domain.schema_name)}.{quoted(domain.name)}"
    for check in domain.checks:
        if not check.validated:
            yield f"ALTER DOMAIN {name} ADD CONSTRAINT {quoted(check.name)} {constraint_definition(check)}"
