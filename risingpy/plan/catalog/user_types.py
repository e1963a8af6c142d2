"""The types that users created."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from risingpy.plan.catalog.acl import Acl
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.plan.catalog.domains import DomainDesc, HasArrays
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID
from risingpy.types import SqlType, enum_of, struct_of
from risingpy.types.enums.composite_type import CompositeType
from risingpy.types.enums.enum_type import EnumLabel, EnumType


@dataclass(frozen=True, slots=True)
class EnumDesc(HasArrays):
    """CREATE TYPE … AS ENUM. `labels` are in order, `array_id` is the OID of its arrays, `owner` a role's id."""

    noun: ClassVar[str] = "type"

    type_id: int
    array_id: int
    schema_name: str
    name: str
    labels: tuple[EnumLabel, ...]
    owner: int = BOOTSTRAP_ROLE_ID
    database_id: int = DEFAULT_DATABASE_ID
    acl: Acl | None = None

    @property
    def enum(self) -> EnumType:
        """What plans know of it."""
        return EnumType(self.type_id, self.array_id, self.schema_name, self.name, self.labels)

    @property
    def sql_type(self) -> SqlType:
        """The type of its values."""
        return enum_of(self.enum)


@dataclass(frozen=True, slots=True)
class CompositeDesc(HasArrays):
    """CREATE TYPE … AS (…). `names` and `items` are those of its attributes, `relation_id` is its oid in pg_class.

    `texts`: for each attribute, whether its type was written `text`, as in `ColumnDesc.as_text`.
    """

    noun: ClassVar[str] = "type"

    type_id: int
    array_id: int
    relation_id: int
    schema_name: str
    name: str
    names: tuple[str, ...]
    items: tuple[SqlType, ...]
    texts: tuple[bool, ...]
    owner: int = BOOTSTRAP_ROLE_ID
    database_id: int = DEFAULT_DATABASE_ID
    acl: Acl | None = None

    @property
    def composite(self) -> CompositeType:
        """What plans know of it."""
        return CompositeType(self.type_id, self.array_id, self.schema_name, self.name)

    @property
    def sql_type(self) -> SqlType:
        """The type of its values."""
        return replace(struct_of(self.names, self.items), composite=self.composite)


UserType: TypeAlias = EnumDesc | DomainDesc | CompositeDesc
"""A type that a user has created."""
