"""ALTER … OWNER TO, of relations, schemas, functions, types, secrets and connections."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InsufficientPrivilege, SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.parser.roles.trees import AlterObjectOwner, AlterOwner
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.rights.objects import Finder
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.meta.schema.owners import with_object_owner, with_relation_owner, with_schema_owner
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    ConnectionDesc,
    FunctionDesc,
    Index,
    InternalTable,
    NumberSequence,
    Role,
    SecretDesc,
    Table,
    UserType,
)
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import Securable, database_of, owns, privileges_of, schema_of
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterOwner, parameter_types: Sequence[SqlType]
) -> Command:
    """Who gives an object away must own it, and be a member of the role that gets it, which may create such objects."""

    def run(parameters: Parameters) -> Result:
        if statement.kind is None:
            _alter_schema(session, statement)
            return Result(CommandTag("ALTER SCHEMA"))
        _alter_relation(session, statement)
        return Result(CommandTag(f"ALTER {statement.kind.noun.upper()}"))

    return Command(run)


def bind_object(
    session: StatementContext, parsed: ParsedStatement, statement: AlterObjectOwner, parameter_types: Sequence[SqlType]
) -> Command:
    """As `bind`, for functions, types, secrets and connections."""

    def run(parameters: Parameters) -> Result:
        path, actor = session.search_path(), session.identity.current_id  # of now: a commit makes the change again

        def change(state: MetaState) -> MetaState:
            finder = Finder(state.catalog, path, actor)
            found: FunctionDesc | UserType | SecretDesc | ConnectionDesc
            match statement.kind:
                case "SECRET":
                    found = finder.secret(statement.name)
                case "TYPE":
                    found = finder.created_type(statement.name)
                case "DOMAIN":
                    found = finder.domain(statement.name)
                case "CONNECTION":
                    found = finder.connection(statement.name)
                case _:
                    found = finder.function(statement.name, statement.arguments)
            noun = "type" if statement.kind == "DOMAIN" else statement.kind.lower()
            shown = f"{noun} {found.name}"
            place = schema_of(state.catalog, found.schema_name)
            new = _new_owner(session, state, statement, found.owner, shown, place)
            return with_object_owner(state, found, new.role_id)

        session.ddl.change(change, session.cancelled)
        return Result(CommandTag(f"ALTER {statement.kind}"))

    return Command(run)


def _alter_schema(session: StatementContext, statement: AlterOwner) -> None:
    name = statement.name.name

    def change(state: MetaState) -> MetaState:
        if name not in state.catalog.schemas:
            raise SqlError(f'schema "{name}" does not exist', sqlstate="3F000", position=statement.name.position)
        owner, place = state.catalog.schema_owner(name), database_of(state.catalog.own_database)
        new = _new_owner(session, state, statement, owner, f"schema {name}", place, by_actor=True)
        return with_schema_owner(state, name, new.role_id)

    session.ddl.change(change, session.cancelled)


def _alter_relation(session: StatementContext, statement: AlterOwner) -> None:
    assert statement.kind is not None
    relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
    if relation is None:
        return
    # As in PostgreSQL, ALTER TABLE serves every kind of relation.
    if statement.kind is not Table and not isinstance(relation, statement.kind):
        message = f'"{relation.name}" is not a {statement.kind.noun}'
        raise WrongObjectType(message, position=statement.name.position)
    if isinstance(relation, Index | InternalTable):
        hint = "It belongs to the owner of its relation."
        raise WrongObjectType(f'cannot change owner of {relation.noun} "{relation.name}"', hint=hint)

    if isinstance(relation, NumberSequence) and relation.owned_by is not None:
        table = session.database.reads.catalog.relations[relation.owned_by.table_id]
        detail = f'Sequence "{relation.name}" is linked to table "{table.name}".'
        raise SqlError(f'cannot change owner of sequence "{relation.name}"', sqlstate="0A000", detail=detail)

    def change(state: MetaState) -> MetaState:
        now = state.catalog.relations.get(relation.relation_id, relation)
        shown, place = f"{relation.noun} {relation.name}", schema_of(state.catalog, now.schema_name)
        new = _new_owner(session, state, statement, now.owner, shown, place)
        return with_relation_owner(state, relation.relation_id, new.role_id)

    session.ddl.change(change, session.cancelled)


def _new_owner(
    session: StatementContext,
    state: MetaState,
    statement: AlterOwner | AlterObjectOwner,
    owner: int,
    shown: str,
    place: Securable,
    *,
    by_actor: bool = False,
) -> Role:
    """The role that gets an object of `place`, in which it (or `by_actor` who gives it) must be allowed to create."""
    catalog, current = state.catalog, session.identity.current_id
    new = role_of(session, state, statement.new_owner)
    if new.role_id == owner and owns(catalog, current, owner):
        return new
    if not owns(catalog, current, owner):
        raise InsufficientPrivilege(f"must be owner of {shown}")
    if not catalog.has_role(current, new.role_id):
        raise InsufficientPrivilege(f'must be member of role "{new.name}"')
    acting = catalog.roles.get(current)
    creator = current if by_actor else new.role_id
    is_superuser = acting is not None and acting.superuser
    if not is_superuser and Privilege.CREATE not in privileges_of(catalog, creator, place):
        raise InsufficientPrivilege(f"permission denied for {place.noun} {place.name}")
    return new
