"""What reaches out of the database is for superusers, and for members of PostgreSQL's roles for it."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.connectors.file_roots import is_local
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.errors import InsufficientPrivilege
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ConnectionDesc, SecretDesc
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import language_of, parameter_of, privileges_of, securable, tablespace_of

_READ, _WRITE = "pg_read_server_files", "pg_write_server_files"
_READS = "read files of the server"
_SOURCES_OF_FILES = ("file", "posix_fs")
_SINKS_OF_FILES = ("fs",)
_PLACES_OF_LAKES = ("location", "warehouse.path")


def check_source(
    session: StatementContext, options: Mapping[str, str], message_format: MessageFormat | None, position: int
) -> None:
    """Raises InsufficientPrivilege if a source reads files of the server, its messages' schema among them."""
    if options.get("connector", "").lower() in _SOURCES_OF_FILES:
        _check_member(session, _READ, _READS, position)
    _check_schema(session, message_format, position)


def _check_schema(session: StatementContext, message_format: MessageFormat | None, position: int) -> None:
    schema = dict(message_format.options).get("schema.location") if message_format is not None else None
    if schema is not None and is_local(schema):
        _check_member(session, _READ, _READS, position)


def check_sink(
    session: StatementContext, options: Mapping[str, str], message_format: MessageFormat | None, position: int
) -> None:
    """Raises InsufficientPrivilege if a sink writes files of the server, or reads its messages' schema there."""
    _check_schema(session, message_format, position)
    lakes = [options[name] for name in _PLACES_OF_LAKES if options.get(name)]
    if options.get("connector", "").lower() in _SINKS_OF_FILES or any(map(is_local, lakes)):
        check_writes_files(session, position)


def check_writes_files(session: StatementContext, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session may write files of the server."""
    _check_member(session, _WRITE, "write files of the server", position)


def check_uses(session: StatementContext, found: SecretDesc | ConnectionDesc, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session has USAGE of the secret or connection.

    To name one is to use its value, which a connector would carry to any address.
    """
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        catalog = state.catalog
        newest = (
            catalog.secrets.get(found.secret_id, found)
            if isinstance(found, SecretDesc)
            else catalog.connections.get(found.connection_id, found)
        )
        if Privilege.USAGE not in privileges_of(catalog, role, securable(catalog, newest)):
            raise InsufficientPrivilege(f"permission denied for {found.noun} {found.name}", position=position)

    session.demands.ask(demand)


def check_language(session: StatementContext, language: str, position: int) -> None:
    """Raises InsufficientPrivilege unless the session has USAGE of a language: Python's functions are programs."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        if Privilege.USAGE not in privileges_of(state.catalog, role, language_of(state.catalog, language)):
            raise InsufficientPrivilege(f"permission denied for language {language}", position=position)

    session.demands.ask(demand)


def check_parameter(session: StatementContext, name: str, wanted: Privilege, position: int | None) -> None:
    """Raises InsufficientPrivilege unless the session may set a parameter that is for superusers."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        if wanted not in privileges_of(state.catalog, role, parameter_of(state.catalog, name)):
            raise InsufficientPrivilege(f'permission denied to set parameter "{name}"', position=position)

    session.demands.ask(demand)


def check_tablespace(session: StatementContext, name: str, position: int | None) -> None:
    """Raises InsufficientPrivilege unless the session may put databases into a tablespace."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        if Privilege.CREATE not in privileges_of(state.catalog, role, tablespace_of(state.catalog, name)):
            raise InsufficientPrivilege(f"permission denied for tablespace {name}", position=position)

    session.demands.ask(demand)


def _check_member(session: StatementContext, name: str, what: str, position: int | None) -> None:
    current = session.identity.current_id

    def demand(state: MetaState) -> None:
        catalog = state.catalog
        acting, role = catalog.roles.get(current), catalog.role_named(name)
        is_superuser = acting is not None and acting.superuser
        if not is_superuser and (role is None or not catalog.has_role(current, role.role_id)):
            message = f"must be superuser or have privileges of the {name} role to {what}"
            raise InsufficientPrivilege(message, position=position)

    session.demands.ask(demand)
