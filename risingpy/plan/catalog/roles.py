"""Users and groups, which are both roles, as PostgreSQL has them.

A user is a role that may log in. A role is a member of others, and has what they have if it inherits. The bootstrap
superuser exists in every database, and owns what no other role does. The names of predefined roles begin with `pg_`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

BOOTSTRAP_ROLE_ID = 10
BOOTSTRAP_NAME = "root"
UNLIMITED = -1
READ_ALL_STATS_ROLE_ID = 3375
READ_ALL_SETTINGS_ROLE_ID = 3374
READ_ALL_DATA_ROLE_ID = 6181
WRITE_ALL_DATA_ROLE_ID = 6182
SIGNAL_BACKEND_ROLE_ID = 4200
CHECKPOINT_ROLE_ID = 4544


@dataclass(frozen=True, slots=True)
class Membership:
    """That a role belongs to the role `role_id`. With `admin` it may let others into it."""

    role_id: int
    grantor: int = BOOTSTRAP_ROLE_ID
    admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """CREATE ROLE, USER or GROUP. The names of the fields are those of PostgreSQL's attributes.

    `valid_until`: microseconds since 1970 (UTC) after which the password is not accepted (None: for ever). `secret` is
    what checks a password (`SCRAM-SHA-256$…`), and never the password. `member_of`: the roles that it is a member of.
    Its sessions begin with `settings`, and in a database with those of `settings_in`, by the database's id.
    """

    role_id: int
    name: str
    superuser: bool = False
    inherit: bool = True
    create_role: bool = False
    create_database: bool = False
    login: bool = False
    replication: bool = False
    bypass_rls: bool = False
    connection_limit: int = UNLIMITED
    valid_until: int | None = None
    secret: str | None = None
    member_of: tuple[Membership, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    settings_in: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @property
    def is_predefined(self) -> bool:
        """Whether every database has it, so that no statement changes it and no store keeps it."""
        return self.name.startswith("pg_")


BOOTSTRAP_ROLE = Role(
    role_id=BOOTSTRAP_ROLE_ID,
    name=BOOTSTRAP_NAME,
    superuser=True,
    create_role=True,
    create_database=True,
    login=True,
    replication=True,
    bypass_rls=True,
)
_PREDEFINED = {
    "pg_monitor": 3373,
    "pg_read_all_settings": READ_ALL_SETTINGS_ROLE_ID,
    "pg_read_all_stats": READ_ALL_STATS_ROLE_ID,
    "pg_stat_scan_tables": 3377,
    "pg_read_server_files": 4569,
    "pg_write_server_files": 4570,
    "pg_execute_server_program": 4571,
    "pg_signal_backend": SIGNAL_BACKEND_ROLE_ID,
    "pg_checkpoint": CHECKPOINT_ROLE_ID,
    "pg_database_owner": 6171,
    "pg_read_all_data": READ_ALL_DATA_ROLE_ID,
    "pg_write_all_data": WRITE_ALL_DATA_ROLE_ID,
}
_OF_PG_MONITOR = ("pg_read_all_settings", "pg_read_all_stats", "pg_stat_scan_tables")


def _predefined(name: str, role_id: int) -> Role:
    above = _OF_PG_MONITOR if name == "pg_monitor" else ()
    return Role(role_id=role_id, name=name, member_of=tuple(Membership(_PREDEFINED[each]) for each in above))


PREDEFINED_ROLES: Mapping[int, Role] = MappingProxyType(
    {role_id: _predefined(name, role_id) for name, role_id in _PREDEFINED.items()}
)
FIRST_ROLES: Mapping[int, Role] = MappingProxyType({BOOTSTRAP_ROLE_ID: BOOTSTRAP_ROLE, **PREDEFINED_ROLES})
"""The roles of a new database, with PostgreSQL's ids."""


def roles_of(roles: Mapping[int, Role], role_id: int, *, inherited_only: bool = False) -> frozenset[int]:
    """The role itself and all that it is a member of, directly or through others.

    With `inherited_only` those whose rights it has without SET ROLE: it goes no further than a role that does not
    inherit.
    """
    found: set[int] = set()
    left = [role_id]
    while left:
        role = roles.get(left.pop())
        if role is None or role.role_id in found:
            continue
        found.add(role.role_id)
        if role.inherit or not inherited_only:
            left += [membership.role_id for membership in role.member_of]
    return frozenset(found)
