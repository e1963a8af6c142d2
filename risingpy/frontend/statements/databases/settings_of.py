"""ALTER ROLE and ALTER DATABASE … SET and RESET."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported, UndefinedObject
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parameters.definitions import BY_NAME, parameter_key
from risingpy.frontend.parser.ast import AlterSettings, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.session_identity import ROLE, SESSION_AUTHORIZATION
from risingpy.frontend.settings import ALL
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.frontend.statements.rights.server_rights import check_parameter
from risingpy.meta.schema.first_settings import SettingChange, alter_settings
from risingpy.meta.state import MetaState
from risingpy.plan.catalog.acl import Privilege
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterSettings, parameter_types: Sequence[SqlType]
) -> Command:
    """Values are checked as SET checks them; who may change them is checked on the state that changes."""

    def run(parameters: Parameters) -> Result:
        change = _change(session, statement)
        database = None if statement.database is None else statement.database.name

        def changed(state: MetaState) -> MetaState:
            role = None if statement.role is None else role_of(session, state, statement.role).name
            return alter_settings(state, session.identity.actor, role, database, change)

        session.database.ddl.change(changed, session.cancelled)
        return Result(CommandTag("ALTER DATABASE" if statement.role is None else "ALTER ROLE"))

    return Command(run)


def _change(session: StatementContext, statement: AlterSettings) -> SettingChange:
    name = parameter_key(statement.name)
    if statement.values is None and not statement.from_current:
        if name != ALL:
            _check_known(name)
        return SettingChange(None if name == ALL else name, None)
    definition = BY_NAME.get(name)
    if name in (ROLE, SESSION_AUTHORIZATION):
        raise FeatureNotSupported(f"a session cannot begin with another {name}", position=statement.position)
    if definition is None:
        _check_known(name)
    elif definition.for_superusers:
        check_parameter(session, name, Privilege.SET, statement.position)
    values = (session.settings.get(name),) if statement.from_current else statement.values
    assert values is not None
    if definition is None or statement.from_current:
        return SettingChange(name, ", ".join(values))
    return SettingChange(name, definition.check(name, values))


def _check_known(name: str) -> None:
    if name not in BY_NAME and "." not in name:
        raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
