"""The record of a catalog of before there were several databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from risingpy.plan.catalog.databases import (
    DEFAULT_DATABASE,
    DEFAULT_DATABASE_ID,
    DEFAULT_SCHEMA,
    DatabaseDesc,
)
from risingpy.plan.catalog.functions import FunctionDesc
from risingpy.plan.catalog.relations import CreatedRelation, InternalTable
from risingpy.plan.catalog.roles import FIRST_ROLES, Role
from risingpy.plan.catalog.secrets import ConnectionDesc, SecretDesc
from risingpy.plan.catalog.snapshot import Catalog


@dataclass(frozen=True)
class EarlierCatalog:
    """A catalog of one database."""

    version: int = 0
    database: str = DEFAULT_DATABASE
    schemas: tuple[str, ...] = (DEFAULT_SCHEMA,)
    relations: Mapping[int, CreatedRelation] = field(default_factory=dict)
    internal_tables: Mapping[int, InternalTable] = field(default_factory=dict)
    functions: Mapping[int, FunctionDesc] = field(default_factory=dict)
    secrets: Mapping[int, SecretDesc] = field(default_factory=dict)
    connections: Mapping[int, ConnectionDesc] = field(default_factory=dict)
    roles: Mapping[int, Role] = field(default_factory=lambda: dict(FIRST_ROLES))
    schema_owners: Mapping[str, int] = field(default_factory=dict)


def catalog_of(earlier: EarlierCatalog) -> Catalog:
    """The catalog, whose only database is the default one."""
    database = DatabaseDesc(
        database_id=DEFAULT_DATABASE_ID,
        name=earlier.database,
        schemas=earlier.schemas,
        schema_owners=earlier.schema_owners,
    )
    same = {each.name for each in fields(EarlierCatalog)} - {"database", "schemas", "schema_owners"}
    values = {name: getattr(earlier, name) for name in same}
    return Catalog(databases={DEFAULT_DATABASE_ID: database}, **values)
