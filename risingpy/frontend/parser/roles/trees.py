"""Statements about users and groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from risingpy.frontend.parser.ast_create import FunctionArgument, OptionPlace
from risingpy.frontend.parser.ast_parts import ColumnName, ObjectName
from risingpy.meta.schema.roles import RoleOptions
from risingpy.plan.catalog import RelationClass
from risingpy.plan.catalog.acl import Privilege


@dataclass(frozen=True, slots=True)
class RoleName:
    """A role as a statement names it.

    `keyword` is CURRENT_USER, CURRENT_ROLE or SESSION_USER, PUBLIC for everybody, else None.
    """

    name: str
    position: int
    keyword: str | None = None


@dataclass(frozen=True, slots=True)
class GivenPassword:
    """PASSWORD 'text', or PASSWORD NULL."""

    text: str | None
    position: int


@dataclass(frozen=True, slots=True)
class RoleAttributes:
    """What follows WITH. `valid_until` is the text of a time; the lists are of IN ROLE, ROLE and ADMIN."""

    options: RoleOptions = field(default_factory=RoleOptions)
    password: GivenPassword | None = None
    valid_until: ColumnName | None = None
    member_of: tuple[RoleName, ...] = ()
    members: tuple[RoleName, ...] = ()
    admins: tuple[RoleName, ...] = ()
    option_places: tuple[OptionPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateRole:
    """CREATE ROLE, USER or GROUP: they differ in whether the role may log in unless the attributes say it."""

    name: RoleName
    attributes: RoleAttributes
    if_not_exists: bool = False

    @property
    def option_places(self) -> tuple[OptionPlace, ...]:
        return self.attributes.option_places


@dataclass(frozen=True, slots=True)
class AlterRole:
    """ALTER ROLE or USER: other attributes, or a new name."""

    name: RoleName
    attributes: RoleAttributes
    new_name: ColumnName | None = None

    @property
    def option_places(self) -> tuple[OptionPlace, ...]:
        return self.attributes.option_places


@dataclass(frozen=True, slots=True)
class DropRole:
    """DROP ROLE, USER or GROUP."""

    names: tuple[RoleName, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class GrantRole:
    """GRANT group TO member, and ALTER GROUP … ADD USER; `tag` is the answer's."""

    groups: tuple[RoleName, ...]
    members: tuple[RoleName, ...]
    admin: bool = False
    tag: str = "GRANT ROLE"


@dataclass(frozen=True, slots=True)
class RevokeRole:
    """REVOKE group FROM member, and ALTER GROUP … DROP USER. `admin_only`: only the ADMIN OPTION."""

    groups: tuple[RoleName, ...]
    members: tuple[RoleName, ...]
    admin_only: bool = False
    tag: str = "REVOKE ROLE"


@dataclass(frozen=True, slots=True)
class NamedPrivilege:
    """A privilege of GRANT, perhaps on some columns only; None is ALL PRIVILEGES."""

    privilege: Privilege | None
    columns: tuple[ColumnName, ...]
    position: int


@dataclass(frozen=True, slots=True)
class GrantedOn:
    """What follows ON: objects of a kind by name, or (TABLES, FUNCTIONS and so on) all of them in some schemas.

    `schemas` are also the names after SCHEMA, DATABASE, LANGUAGE, TABLESPACE and PARAMETER; `routines` have their
    arguments' types, None without.
    """

    kind: str
    names: tuple[ObjectName, ...] = ()
    routines: tuple[tuple[ObjectName, tuple[FunctionArgument, ...] | None], ...] = ()
    schemas: tuple[ColumnName, ...] = ()
    position: int = 1


@dataclass(frozen=True, slots=True)
class GrantPrivileges:
    """GRANT or REVOKE of privileges. `option`: WITH GRANT OPTION, or GRANT OPTION FOR."""

    is_grant: bool
    privileges: tuple[NamedPrivilege, ...]
    on: GrantedOn
    grantees: tuple[RoleName, ...]
    option: bool = False
    cascade: bool = False
    grantor: RoleName | None = None


@dataclass(frozen=True, slots=True)
class AlterDefaultPrivileges:
    """ALTER DEFAULT PRIVILEGES: what new objects of some roles (none: the session's), perhaps in some schemas, get."""

    roles: tuple[RoleName, ...]
    schemas: tuple[ColumnName, ...]
    given: GrantPrivileges


@dataclass(frozen=True, slots=True)
class AlterOwner:
    """ALTER kind name OWNER TO role; `kind` None is a schema."""

    kind: RelationClass | None
    name: ObjectName
    new_owner: RoleName
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterObjectOwner:
    """ALTER FUNCTION, AGGREGATE, TYPE, DOMAIN, SECRET or CONNECTION … OWNER TO; `arguments`: None without a list."""

    kind: str
    name: ObjectName
    arguments: tuple[FunctionArgument, ...] | None
    new_owner: RoleName


@dataclass(frozen=True, slots=True)
class ReassignOwned:
    """REASSIGN OWNED BY roles TO another."""

    owners: tuple[RoleName, ...]
    new_owner: RoleName


@dataclass(frozen=True, slots=True)
class DropOwned:
    """DROP OWNED BY roles."""

    owners: tuple[RoleName, ...]
    cascade: bool = False
