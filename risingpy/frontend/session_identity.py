"""Who a session acts for: the user that connected, the session's user, and the role that it has taken on.

SET SESSION AUTHORIZATION and SET ROLE change the last two, as settings do: ROLLBACK brings the earlier ones back.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.errors import InsufficientPrivilege, SqlError
from risingpy.meta.schema.roles import Actor
from risingpy.plan.catalog import Catalog, Role
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import parameter_of, privileges_of

ROLE, SESSION_AUTHORIZATION = "role", "session_authorization"
NO_ROLE = "none"


class SessionIdentity:
    """The roles of one session, which it knows by their ids: a role may get another name meanwhile.

    `value` gives the session's settings.
    """

    def __init__(self, user: str, catalog: Callable[[], Catalog]) -> None:
        """Raises the error (28000) that ends the connection of a user that does not exist."""
        role = catalog().role_named(user)
        if role is None:
            raise SqlError(f'role "{user}" does not exist', sqlstate="28000")
        self._catalog = catalog
        self._authenticated = role.role_id
        self._ids = {user: role.role_id}
        self.value: Callable[[str], str] = lambda name: user if name == SESSION_AUTHORIZATION else NO_ROLE

    @property
    def session_user_id(self) -> int:
        return self._ids[self.value(SESSION_AUTHORIZATION)]

    @property
    def current_id(self) -> int:
        """The role whose rights decide what the session may do."""
        role = self.value(ROLE)
        return self.session_user_id if role == NO_ROLE else self._ids[role]

    @property
    def session_user(self) -> str:
        return self._name(self.session_user_id)

    @property
    def current_user(self) -> str:
        return self._name(self.current_id)

    @property
    def actor(self) -> Actor:
        return Actor(self.session_user_id, self.current_id)

    @property
    def current_role(self) -> Role | None:
        """None after somebody has dropped it; then the session may do nothing."""
        return self._catalog().roles.get(self.current_id)

    @property
    def is_superuser(self) -> bool:
        role = self.current_role
        return role is not None and role.superuser

    def may_set(self, parameter: str) -> bool:
        """Whether it may SET what is for superusers, and for whom they have granted it (GRANT SET ON PARAMETER)."""
        catalog = self._catalog()
        return Privilege.SET in privileges_of(catalog, self.current_id, parameter_of(catalog, parameter))

    def check(self, setting: str, value: str) -> None:
        """Raises the error of SET ROLE or SET SESSION AUTHORIZATION, if the session may not have the value."""
        if setting == ROLE and value == NO_ROLE:
            return
        role = self._catalog().role_named(value)
        if role is None:
            raise SqlError(f'role "{value}" does not exist', sqlstate="22023")
        if setting == ROLE and not self._catalog().has_role(self.session_user_id, role.role_id):
            raise InsufficientPrivilege(f'permission denied to set role "{value}"')
        if setting == SESSION_AUTHORIZATION and role.role_id != self._authenticated:
            authenticated = self._catalog().roles.get(self._authenticated)
            if authenticated is None or not authenticated.superuser:
                raise InsufficientPrivilege("permission denied to set session authorization")
        self._ids[value] = role.role_id

    def _name(self, role_id: int) -> str:
        role = self._catalog().roles.get(role_id)
        return f"unknown (OID={role_id})" if role is None else role.name
