"""Domains: a type below, and what its values must satisfy besides.

Rows, plans and executors know only the type below: a domain has no values of its own. A column says of which domain it
is, the catalog has the rules, and statements look at them when they write rows or cast to the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from risingpy.plan.catalog.acl import Acl
from risingpy.plan.catalog.constraints import CheckConstraint
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID
from risingpy.types import SqlType


class HasArrays:
    """A type of users: its arrays are a type, too."""

    __slots__ = ()

    name: str

    @property
    def array_name(self) -> str:
        """pg_type.typname of its arrays."""
        return f"_{self.name}"


@dataclass(frozen=True, slots=True)
class DomainType:
    """A domain as a column knows it: its name, and `base`, the type of its values, which is no domain.

    Two are the same domain if their `oid` is the same. Whoever renames one renames it in every column at once.
    """

    oid: int
    array_oid: int
    schema_name: str
    name: str
    base: SqlType

    def dimensions(self, type_: SqlType) -> int:
        """How many dimensions an array of values of the domain has whose type is `type_`; 0 for a value itself."""
        return type_.depth - self.base.depth

    def oid_for(self, type_: SqlType) -> int:
        """pg_type.oid of a column of the type `type_`, which is of the domain or an array of it."""
        return self.array_oid if self.dimensions(type_) else self.oid


@dataclass(frozen=True, slots=True)
class DomainDesc(HasArrays):
    """CREATE DOMAIN. `base` is the type of its values, `parent` the domain that it is over (None: over the type).

    `default` is the SQL text of its DEFAULT. The expressions of `checks` read one value, as `InputRef(0)`: VALUE.
    `as_text`: the type was written `text`. `array_id` is the OID of its arrays, `owner` a role's id.
    """

    noun: ClassVar[str] = "type"

    type_id: int
    array_id: int
    schema_name: str
    name: str
    base: SqlType
    parent: DomainType | None = None
    as_text: bool = False
    not_null: bool = False
    default: str | None = None
    checks: tuple[CheckConstraint, ...] = ()
    owner: int = BOOTSTRAP_ROLE_ID
    database_id: int = DEFAULT_DATABASE_ID
    acl: Acl | None = None

    @property
    def domain(self) -> DomainType:
        """What columns know of it."""
        return DomainType(self.type_id, self.array_id, self.schema_name, self.name, self.base)

    @property
    def sql_type(self) -> SqlType:
        """The type of its values."""
        return self.base


@dataclass(frozen=True, slots=True)
class DomainRules:
    """What a value of a domain must satisfy, by its own rules and by those of the domains below it.

    `checks` stand in the order in which PostgreSQL looks at them: those of the lowest domain first, by name.
    """

    domain: DomainType
    not_null: bool
    checks: tuple[CheckConstraint, ...]

    @property
    def are_none(self) -> bool:
        return not self.not_null and not self.checks


def domain_rules(domain: DomainType, types: Mapping[int, object]) -> DomainRules:
    """The rules that the catalog's `types` have for a domain now."""
    not_null, checks = False, tuple[CheckConstraint, ...]()
    for each in with_parents(domain.oid, types):
        not_null = not_null or each.not_null
        checks = (*sorted(each.checks, key=lambda check: check.name), *checks)
    return DomainRules(domain, not_null, checks)


def domain_default(domain: DomainType, types: Mapping[int, object]) -> str | None:
    """The text of the default that a column of the domain has which has none of its own."""
    return next((each.default for each in with_parents(domain.oid, types) if each.default is not None), None)


def with_parents(oid: int | None, types: Mapping[int, object]) -> Iterator[DomainDesc]:
    """A domain, and those below it."""
    while oid is not None:
        found = types.get(oid)
        if not isinstance(found, DomainDesc):
            return
        yield found
        oid = None if found.parent is None else found.parent.oid


def domains_over(oid: int, types: Mapping[int, object]) -> frozenset[int]:
    """The ids of a domain and of all domains over it: what its rules hold for."""
    domains = [each for each in types.values() if isinstance(each, DomainDesc)]
    return frozenset(
        each.type_id for each in domains if any(below.type_id == oid for below in with_parents(each.type_id, types))
    )
