"""Statements about databases and schemas."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.ast_session import InnerStatement
from risingpy.frontend.parser.roles.trees import RoleName


@dataclass(frozen=True, slots=True)
class DatabaseOption:
    """An option of a database: `name` in upper case; `value` None is DEFAULT."""

    name: str
    value: str | None
    position: int


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """CREATE DATABASE; `owner` None is who creates it."""

    name: ColumnName
    options: tuple[DatabaseOption, ...] = ()
    owner: RoleName | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    """ALTER DATABASE: one of a new name, a new owner, and options."""

    name: ColumnName
    new_name: ColumnName | None = None
    new_owner: RoleName | None = None
    options: tuple[DatabaseOption, ...] = ()


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """DROP DATABASE; `force` ends the sessions in it."""

    name: ColumnName
    if_exists: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class UseDatabase:
    """USE name, and SET DATABASE TO name."""

    name: ColumnName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """CREATE SCHEMA; `owner` is that of AUTHORIZATION. `name` None: the schema is called as its owner.

    `elements` are statements that make what stands in it.
    """

    name: ColumnName | None
    if_not_exists: bool = False
    owner: RoleName | None = None
    elements: tuple[InnerStatement, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameSchema:
    """ALTER SCHEMA … RENAME TO."""

    name: ColumnName
    new_name: ColumnName


@dataclass(frozen=True, slots=True)
class DropSchema:
    """DROP SCHEMA. With `cascade` the schemas' objects go too; RESTRICT is the default."""

    names: tuple[str, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class AlterSettings:
    """ALTER ROLE … [IN DATABASE …] and ALTER DATABASE … SET or RESET; `role` None is every role, of the database.

    `values` None without `from_current` is RESET, of all settings if the name is "all".
    """

    role: RoleName | None
    database: ColumnName | None
    name: str
    values: tuple[str, ...] | None
    position: int
    from_current: bool = False


DatabaseStatement = CreateDatabase | AlterDatabase | DropDatabase | UseDatabase
SchemaStatement = CreateSchema | RenameSchema | DropSchema
