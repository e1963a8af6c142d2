"""ALTER … OWNER TO, of relations and schemas."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InsufficientPrivilege, SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.parser.roles.trees import AlterOwner
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.meta.schema.owners import with_relation_owner, with_schema_owner
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Index, InternalTable, Role, Table
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterOwner, parameter_types: Sequence[SqlType]
) -> Command:
    """Who gives an object away must own it, and be a member of the role that gets it."""

    def run(parameters: Parameters) -> Result:
        if statement.kind is None:
            _alter_schema(session, statement)
            return Result(CommandTag("ALTER SCHEMA"))
        _alter_relation(session, statement)
        return Result(CommandTag(f"ALTER {statement.kind.noun.upper()}"))

    return Command(run)


def _alter_schema(session: StatementContext, statement: AlterOwner) -> None:
    name = statement.name.name

    def change(state: MetaState) -> MetaState:
        if name not in state.catalog.schemas:
            raise SqlError(f'schema "{name}" does not exist', sqlstate="3F000", position=statement.name.position)
        new = _new_owner(session, state, statement, state.catalog.schema_owner(name), f"schema {name}")
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

    def change(state: MetaState) -> MetaState:
        now = state.catalog.relations.get(relation.relation_id, relation)
        new = _new_owner(session, state, statement, now.owner, f"{relation.noun} {relation.name}")
        return with_relation_owner(state, relation.relation_id, new.role_id)

    session.ddl.change(change, session.cancelled)


def _new_owner(session: StatementContext, state: MetaState, statement: AlterOwner, owner: int, shown: str) -> Role:
    new, current = role_of(session, state, statement.new_owner), session.identity.current_id
    if not state.catalog.has_role(current, owner):
        raise InsufficientPrivilege(f"must be owner of {shown}")
    if not state.catalog.has_role(current, new.role_id):
        raise InsufficientPrivilege(f'must be member of role "{new.name}"')
    return new
