"""Who may cancel the statement of another session, or end the session. The rules and words are PostgreSQL 15's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from risingpy.errors import InsufficientPrivilege
from risingpy.frontend.session_identity import SessionIdentity
from risingpy.meta.sessions import Signal
from risingpy.plan.catalog import Catalog
from risingpy.plan.catalog.roles import SIGNAL_BACKEND_ROLE_ID

_WORDS: Mapping[Signal, tuple[str, str]] = MappingProxyType(
    {
        Signal.CANCEL: ("cancel superuser query", "query is being canceled"),
        Signal.TERMINATE: ("terminate superuser process", "process is being terminated"),
    }
)


def check_signals(identity: SessionIdentity, catalog: Catalog, signal: Signal, user: str | None) -> None:
    """Raises InsufficientPrivilege unless a session may send a signal to one that `user` opened; None: there is none.

    A user that is gone, or has another name by now, counts as a superuser.
    """
    if user is None or identity.is_superuser:
        return
    role = catalog.role_named(user)
    of_superusers, of_others = _WORDS[signal]
    if role is None or role.superuser:
        raise InsufficientPrivilege(f"must be a superuser to {of_superusers}")
    if not {role.role_id, SIGNAL_BACKEND_ROLE_ID} & catalog.inherited(identity.current_id):
        raise InsufficientPrivilege(f"must be a member of the role whose {of_others} or member of pg_signal_backend")
