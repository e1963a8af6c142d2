"""Which names of types mean domains: `resolve_type` gives the type below."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.typing.type_names import (
    KnownTypes,
    element_name,
    internal_name,
    is_type_of_system,
    qualified_type_name,
)
from risingpy.plan.catalog import Catalog, DomainDesc, DomainType
from risingpy.plan.catalog.domains import with_parents


def domain_named(text: str, types: KnownTypes) -> DomainType | None:
    """The domain that a type's name means, or the name of an array of a domain; None for other types."""
    if not types.catalog.types:
        return None
    element = element_name(text)
    if is_type_of_system(element):
        return None
    found = types.created(qualified_type_name(element) or (internal_name(element),))
    return found.domain if isinstance(found, DomainDesc) else None


def refuse_domain(text: str, position: int | None, types: KnownTypes, what: str) -> None:
    """Raises FeatureNotSupported if the name of a type means a domain, whose rules nobody would look at in `what`."""
    found = domain_named(text, types)
    if found is not None:
        message = f"domain {found.name} as the type of {what} is not supported"
        raise FeatureNotSupported(message, position=position, hint=f"Use its type, {found.base}.")


def shows_text(domain: DomainType, catalog: Catalog) -> bool:
    """Whether the type below a domain was written `text`, and not `varchar`."""
    found = [*with_parents(domain.oid, catalog.types)]
    return bool(found) and found[-1].as_text
