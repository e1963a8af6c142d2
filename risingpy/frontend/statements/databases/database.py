"""CREATE, ALTER and DROP DATABASE, and USE."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import assert_never

from risingpy.errors import FeatureNotSupported, InsufficientPrivilege, InvalidParameterValue, SqlError
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import (
    AlterDatabase,
    CreateDatabase,
    DatabaseStatement,
    DropDatabase,
    ParsedStatement,
    UseDatabase,
)
from risingpy.frontend.parser.databases.trees import DatabaseOption
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.databases.retold import retold
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.frontend.statements.rights.server_rights import check_tablespace
from risingpy.frontend.system_catalog.oids import DEFAULT_TABLESPACE
from risingpy.frontend.transaction import TransactionStatus
from risingpy.meta.schema import databases
from risingpy.meta.schema.databases import DatabaseOptions, SessionCount, existing_database
from risingpy.meta.sessions import Signal
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, CreatedRelation
from risingpy.types import SqlType

_LEAVING_SECONDS = 5.0  # as in PostgreSQL
_LOOK_SECONDS = 0.02
_BOOLEANS = {**dict.fromkeys(("true", "on", "1"), True), **dict.fromkeys(("false", "off", "0"), False)}
# By option: the values that mean what every database here is.
_ONLY_VALUES = {
    "TEMPLATE": ("template0", "template1"),
    "ENCODING": ("utf8", "utf-8", "unicode", "6"),
    "LOCALE": ("c", "c.utf8", "c.utf-8", "posix"),
    "LC_COLLATE": ("c", "c.utf8", "c.utf-8", "posix"),
    "LC_CTYPE": ("c", "c.utf8", "c.utf-8", "posix"),
    "LOCALE_PROVIDER": ("libc",),
    "STRATEGY": ("wal_log", "file_copy"),
    "TABLESPACE": (DEFAULT_TABLESPACE,),
    "IS_TEMPLATE": ("false", "off", "no", "0"),
}


def bind(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: DatabaseStatement,
    parameter_types: Sequence[SqlType],
) -> Command:
    """Names and rights are checked when the change is made, on the state that it changes. None is for a transaction."""
    match statement:
        case CreateDatabase():
            tag = "CREATE DATABASE"
        case AlterDatabase():
            tag = "ALTER DATABASE"
        case DropDatabase():
            tag = "DROP DATABASE"
        case UseDatabase():
            tag = "SET"
        case _:
            assert_never(statement)

    def run(parameters: Parameters) -> Result:
        if isinstance(statement, CreateDatabase | DropDatabase):
            session.scope.refuse_block(tag)
        elif isinstance(statement, UseDatabase) and session.transaction.status is not TransactionStatus.IDLE:
            raise SqlError("SET DATABASE cannot run inside a transaction block", sqlstate="25001")
        match statement:
            case CreateDatabase():
                _create(session, statement)
            case AlterDatabase():
                _alter(session, statement)
            case DropDatabase():
                _drop(session, statement)
            case UseDatabase():
                session.use_database(statement.name.name)
            case _:
                assert_never(statement)
        return Result(CommandTag(tag))

    return Command(run)


def _create(session: StatementContext, statement: CreateDatabase) -> None:
    name, options = statement.name.name, _options(session, statement.options)
    if statement.if_not_exists and session.database.reads.catalog.database_named(name) is not None:
        session.notice(f'database "{name}" already exists, skipping', sqlstate="42P04")
        return
    for option in statement.options:
        if option.name == "TABLESPACE" and option.value is not None:  # the usual one, too, if it is named
            check_tablespace(session, DEFAULT_TABLESPACE, option.position)

    def change(state: MetaState) -> MetaState:
        owner = None if statement.owner is None else role_of(session, state, statement.owner).name
        return databases.create_database(state, session.identity.actor, name, owner, options)

    session.database.ddl.change(change, session.cancelled)


def _alter(session: StatementContext, statement: AlterDatabase) -> None:
    name, actor, current = statement.name.name, session.identity.actor, session.database.database_id
    options = _options(session, statement.options)

    def change(state: MetaState) -> MetaState:
        if statement.new_name is not None:
            new_name, sessions = statement.new_name.name, _others(session)
            return databases.rename_database(state, actor, name, new_name, retold(), current=current, sessions=sessions)
        if statement.new_owner is not None:
            owner = role_of(session, state, statement.new_owner)
            return databases.with_database_owner(state, actor, name, owner.name)
        return databases.alter_database(state, actor, name, options, current)

    session.database.ddl.change(change, session.cancelled)


def _drop(session: StatementContext, statement: DropDatabase) -> None:
    """With FORCE, the sessions in the database end before."""
    name, actor, database = statement.name.name, session.identity.actor, session.database
    found = database.reads.catalog.database_named(name)
    if found is None and statement.if_exists:
        session.notice(f'database "{name}" does not exist, skipping')
        return
    found = existing_database(database.reads.catalog, name)
    own = found.database_id
    if own != database.database_id and database.reads.catalog.has_role(session.identity.current_id, found.owner):
        if statement.force:
            _end_sessions(session, name)
        # A client that has closed its connection just now may be here for a moment, so PostgreSQL waits as well.
        _wait_until_unused(session, name)

    def inside(catalog: Catalog) -> list[CreatedRelation]:
        return [each for each in catalog.relations.values() if each.database_id == own]

    def change(state: MetaState) -> tuple[MetaState, Sequence[str]]:
        sessions = _others(session)
        return databases.drop_database(state, actor, name, current=database.database_id, sessions=sessions), ()

    database.ddl.drop_all(inside, change, cancelled=session.cancelled, process_id=session.startup.process_id)


def _others(session: StatementContext) -> SessionCount:
    """Counts the sessions of a database but for this one."""
    activities, own = session.database.sessions.activities, session.startup.process_id
    return lambda name: sum(each.database == name and each.process_id != own for each in activities())


def _end_sessions(session: StatementContext, name: str) -> None:
    """Tells the sessions in a database to end."""
    database = session.database
    catalog = database.reads.catalog
    for each in database.sessions.activities():
        if each.database != name or each.process_id == session.startup.process_id:
            continue
        role = catalog.role_named(each.user)
        if role is not None and not catalog.has_role(session.identity.current_id, role.role_id):
            raise InsufficientPrivilege(
                "permission denied to terminate process",
                detail=f'Only roles with privileges of the role "{each.user}" may end its sessions.',
            )
        database.sessions.send(Signal.TERMINATE, each.process_id)


def _wait_until_unused(session: StatementContext, name: str) -> None:
    """Waits until no other session is in a database, for a while."""
    count, end = _others(session), time.monotonic() + _LEAVING_SECONDS
    while count(name) and time.monotonic() < end:
        session.cancelled.wait(_LOOK_SECONDS)
        session.check()


def _options(session: StatementContext, given: Sequence[DatabaseOption]) -> DatabaseOptions:
    """What options say. Raises FeatureNotSupported for what no database here can be."""
    allows: bool | None = None
    limit: int | None = None
    for option in given:
        match option.name:
            case "ALLOW_CONNECTIONS":
                allows = True if option.value is None else _boolean(option)
            case "CONNECTION LIMIT":
                limit = -1 if option.value is None else _limit(option)
            case _:
                _check_only(session.database.reads.catalog.database_named, option)
    return DatabaseOptions(allows, limit)


def _boolean(option: DatabaseOption) -> bool:
    value = _BOOLEANS.get((option.value or "").lower())
    if value is None:
        raise SqlError(f"{option.name.lower()} requires a Boolean value", sqlstate="42601", position=option.position)
    return value


def _limit(option: DatabaseOption) -> int:
    text = option.value or ""
    number = int(text) if text.removeprefix("-").isdigit() else -2
    if not -1 <= number < 2**31:
        raise InvalidParameterValue(f"invalid connection limit: {text}", position=option.position)
    return number


def _check_only(database_named: Callable[[str], object], option: DatabaseOption) -> None:
    value = option.value
    if value is None or value.lower() in _ONLY_VALUES.get(option.name, ()):
        return
    if option.name == "TEMPLATE" and database_named(value) is None:
        raise SqlError(f'template database "{value}" does not exist', sqlstate="3D000", position=option.position)
    if option.name == "TABLESPACE":
        raise SqlError(f'tablespace "{value}" does not exist', sqlstate="42704", position=option.position)
    only = _ONLY_VALUES.get(option.name)
    raise FeatureNotSupported(
        f"{option.name} {value} of a database is not supported",
        position=option.position,
        hint=None if only is None else f"It can be {' or '.join(only)}.",
    )
