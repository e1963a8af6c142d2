"""Statements about users and groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from risingpy.frontend.parser.ast_create import OptionPlace
from risingpy.frontend.parser.ast_parts import ColumnName, ObjectName
from risingpy.meta.schema.roles import RoleOptions
from risingpy.plan.catalog import RelationClass


@dataclass(frozen=True, slots=True)
class RoleName:
    """A role as a statement names it. `keyword` is CURRENT_USER, CURRENT_ROLE or SESSION_USER, else None."""

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
class AlterOwner:
    """ALTER kind name OWNER TO role; `kind` None is a schema."""

    kind: RelationClass | None
    name: ObjectName
    new_owner: RoleName
    if_exists: bool = False


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
