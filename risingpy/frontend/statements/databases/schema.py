"""CREATE SCHEMA, ALTER SCHEMA … RENAME TO, and DROP SCHEMA."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import assert_never

from risingpy.errors import InsufficientPrivilege
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import (
    CreateSchema,
    DropSchema,
    ParsedStatement,
    RenameSchema,
    SchemaStatement,
)
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.databases.retold import retold
from risingpy.frontend.statements.databases.schema_elements import elements_of, make_elements
from risingpy.frontend.statements.rights.checks import check_creates_schemas, check_owns_schema
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.frontend.statements.transactions.one_transaction import one_transaction
from risingpy.frontend.statements.user_types.drop_type import drop_columns
from risingpy.meta.schema.objects.dropped_types import tables_with
from risingpy.meta.schema.schemas import add_schema, check_schema, drop_schema, rename_schema
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, CreatedRelation, UserType
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: SchemaStatement, parameter_types: Sequence[SqlType]
) -> Command:
    """Names, and rights, are checked when the change is made, on the state that it changes."""
    elements = elements_of(session, statement) if isinstance(statement, CreateSchema) else ()

    def run(parameters: Parameters) -> Result:
        match statement:
            case CreateSchema():
                with one_transaction(session) if elements else nullcontext():
                    make_elements(session, _create(session, statement), statement.owner, elements)
                return Result(CommandTag("CREATE SCHEMA"))
            case RenameSchema():
                _rename(session, statement)
                return Result(CommandTag("ALTER SCHEMA"))
            case DropSchema():
                _drop(session, statement)
                return Result(CommandTag("DROP SCHEMA"))
            case _:
                assert_never(statement)

    return Command(run)


def _create(session: StatementContext, statement: CreateSchema) -> str:
    """The name of the schema. IF NOT EXISTS of one that exists gives a notice (42P06)."""
    skipped, name = list[str](), ""
    check_creates_schemas(session)

    def change(state: MetaState) -> MetaState:
        nonlocal name
        skipped.clear()
        owner = None if statement.owner is None else role_of(session, state, statement.owner)
        if owner is not None and not state.catalog.has_role(session.identity.current_id, owner.role_id):
            raise InsufficientPrivilege(f'must be member of role "{owner.name}"')
        if statement.name is not None:
            name = statement.name.name
        else:
            assert owner is not None
            name = owner.name
        if statement.if_not_exists and name in state.catalog.schemas:
            skipped.append(name)
            return state
        return add_schema(state, name, None if owner is None else owner.role_id)

    session.ddl.change(change, session.cancelled)
    if skipped:
        session.notice(f'schema "{name}" already exists, skipping', sqlstate="42P06")
    return name


def _rename(session: StatementContext, statement: RenameSchema) -> None:
    name = statement.name.name
    check_schema(session.database.reads.seen_state, name)
    check_owns_schema(session, name)
    check_creates_schemas(session)

    def change(state: MetaState) -> MetaState:
        check_schema(state, name)
        return rename_schema(state, name, statement.new_name.name, retold())

    session.ddl.change(change, session.cancelled)


def _drop(session: StatementContext, statement: DropSchema) -> None:
    """All schemas or none. A notice tells what IF EXISTS skipped and what CASCADE took along."""
    cascade = statement.cascade
    for name in statement.names:
        check_owns_schema(session, name)

    def inside(catalog: Catalog) -> list[CreatedRelation]:
        return [each for each in catalog.own_relations if cascade and each.schema_name in statement.names]

    def change(state: MetaState) -> tuple[MetaState, Sequence[str]]:
        notices: list[str] = []
        for name in statement.names:
            state, said = drop_schema(state, name, if_exists=statement.if_exists, cascade=cascade)
            notices += said
        return state, notices

    used = _types_used_elsewhere(session, statement)
    with one_transaction(session) if used else nullcontext():
        for each in used:
            drop_columns(session, each)
        notices = session.ddl.drop_all(
            inside, change, cancelled=session.cancelled, process_id=session.startup.process_id
        )
    for notice in notices:
        session.notice(notice)


def _types_used_elsewhere(session: StatementContext, statement: DropSchema) -> list[UserType]:
    """The types in the schemas, if CASCADE takes them along, of which tables in other schemas have columns."""
    state, names = session.database.reads.seen_state, [each for each in statement.names if statement.cascade]
    inside = [each for each in state.catalog.own_types if each.schema_name in names]
    return [each for each in inside if any(table.schema_name not in names for table in tables_with(state, each))]
