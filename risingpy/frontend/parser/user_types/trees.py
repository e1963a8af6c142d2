"""CREATE, ALTER and DROP of types and domains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from risingpy.frontend.parser.ast_alter import ConstraintAction
from risingpy.frontend.parser.ast_constraints import CheckDefinition
from risingpy.frontend.parser.ast_parts import ColumnName, Expression, ObjectName, TypeName


@dataclass(frozen=True, slots=True)
class LabelText:
    """A label of an enum, and where it stands."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class CreateType:
    """CREATE TYPE name AS ENUM ('label', …), perhaps without a label."""

    name: ObjectName
    labels: tuple[LabelText, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A field of a row's type."""

    name: ColumnName
    type: TypeName
    collation: ObjectName | None = None


@dataclass(frozen=True, slots=True)
class CreateCompositeType:
    """CREATE TYPE name AS (attribute type, …)."""

    name: ObjectName
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class AddAttribute:
    """ADD ATTRIBUTE name type."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class DropAttribute:
    """DROP ATTRIBUTE [IF EXISTS] name."""

    name: ColumnName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class SetAttributeType:
    """ALTER ATTRIBUTE name [SET DATA] TYPE type."""

    attribute: Attribute


@dataclass(frozen=True, slots=True)
class RenameAttribute:
    """RENAME ATTRIBUTE name TO new_name."""

    name: ColumnName
    new_name: ColumnName


AttributeAction = AddAttribute | DropAttribute | SetAttributeType | RenameAttribute


@dataclass(frozen=True, slots=True)
class AlterAttributes:
    """ALTER TYPE name with actions on attributes."""

    name: ObjectName
    actions: tuple[AttributeAction, ...]


@dataclass(frozen=True, slots=True)
class AlterTypeAddValue:
    """ALTER TYPE name ADD VALUE; `neighbour` is the label that BEFORE or AFTER names (None: the last)."""

    name: ObjectName
    label: LabelText
    if_not_exists: bool = False
    before: bool = False
    neighbour: LabelText | None = None


@dataclass(frozen=True, slots=True)
class AlterTypeRenameValue:
    """ALTER TYPE name RENAME VALUE 'old' TO 'new'."""

    name: ObjectName
    old: LabelText
    new: LabelText


@dataclass(frozen=True, slots=True)
class AlterTypePlace:
    """ALTER TYPE name RENAME TO `new_name`, or SET SCHEMA `new_schema`; `kind` is the word."""

    name: ObjectName
    new_name: ColumnName | None = None
    new_schema: ColumnName | None = None
    kind: Literal["TYPE", "DOMAIN"] = "TYPE"


@dataclass(frozen=True, slots=True)
class CreateDomain:
    """CREATE DOMAIN name AS type. The checks read VALUE; `default` may be missing."""

    name: ObjectName
    type: TypeName
    default: Expression | None
    not_null: bool
    checks: tuple[CheckDefinition, ...]
    collation: ObjectName | None = None


@dataclass(frozen=True, slots=True)
class SetDomainDefault:
    """SET DEFAULT value; None for DROP DEFAULT."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class SetDomainNotNull:
    """SET NOT NULL, DROP NOT NULL."""

    not_null: bool


DomainAction = SetDomainDefault | SetDomainNotNull | ConstraintAction


@dataclass(frozen=True, slots=True)
class AlterDomain:
    """ALTER DOMAIN name with one action; a constraint that it adds is a CHECK."""

    name: ObjectName
    action: DomainAction


@dataclass(frozen=True, slots=True)
class DropType:
    """DROP TYPE or DROP DOMAIN; `kind` is the word."""

    kind: str
    names: tuple[TypeName, ...]
    if_exists: bool
    cascade: bool = False


TypeStatement = (
    CreateType
    | CreateCompositeType
    | AlterAttributes
    | AlterTypeAddValue
    | AlterTypeRenameValue
    | AlterTypePlace
    | DropType
    | CreateDomain
    | AlterDomain
)
"""The statements about types that users create."""
