"""COMMENT ON."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InsufficientPrivilege, SqlError, UndefinedColumn, UndefinedObject, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ColumnName, CommentOn, ObjectName, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_names_schema
from risingpy.frontend.statements.rights.objects import Finder
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.frontend.system_catalog.constraints.listed import constraints_of
from risingpy.frontend.system_catalog.oids import index_oid, relation_oid
from risingpy.meta.schema.objects.comments import CommentedObject, with_comment
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    OWN_TEMPORARY_SCHEMA,
    CommentedKind,
    CreatedRelation,
    DomainDesc,
    ExternalSource,
    Index,
    MaterializedView,
    NumberSequence,
    RelationClass,
    Sink,
    Subscription,
    Table,
    UserType,
    View,
)
from risingpy.plan.catalog.rights import owns
from risingpy.types import SqlType

_KINDS: dict[str, RelationClass] = {
    "TABLE": Table,
    "MATERIALIZED VIEW": MaterializedView,
    "VIEW": View,
    "INDEX": Index,
    "SEQUENCE": NumberSequence,
    "SOURCE": ExternalSource,
    "SINK": Sink,
    "SUBSCRIPTION": Subscription,
}


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CommentOn, parameter_types: Sequence[SqlType]
) -> Command:
    """Finds the object, and asks for its rights, in the state that it changes."""

    def run(parameters: Parameters) -> Result:
        check_names_schema(session, statement.name.schema, statement.name.position)

        def change(state: MetaState) -> MetaState:
            return with_comment(state, _object(session, state, statement), statement.text)

        databases = session.database.reads.catalog
        if statement.kind == "DATABASE" and databases.database_named(statement.name.name) is None:
            # So that a dump can be restored into a database of another name, as in PostgreSQL.
            message = f'database "{statement.name.name}" does not exist'
            session.notice(message, severity="WARNING", sqlstate="3D000")
        else:
            session.ddl.change(change, session.cancelled)
        return Result(CommandTag("COMMENT"))

    return Command(run)


def _object(session: StatementContext, state: MetaState, statement: CommentOn) -> CommentedObject:
    match statement.kind:
        case "COLUMN":
            return _column(session, state, statement)
        case "CONSTRAINT":
            return _constraint(session, state, statement)
        case "FUNCTION" | "AGGREGATE" | "PROCEDURE" | "ROUTINE":
            finder = Finder(state.catalog, session.search_path(), session.identity.current_id)
            function = finder.function(statement.name, statement.arguments)
            _check_owner(session, state, function.owner, f"function {function.name}")
            return CommentedObject(CommentedKind.FUNCTION, function.function_id)
        case "TYPE" | "DOMAIN" | "CONSTRAINT ON DOMAIN":
            finder = Finder(state.catalog, session.search_path(), session.identity.current_id)
            is_domain = statement.kind != "TYPE"
            created = finder.domain(statement.name) if is_domain else finder.created_type(statement.name)
            _check_owner(session, state, created.owner, f"type {created.name}")
            if statement.part is not None:
                return _constraint_of_domain(created, statement.part)
            return CommentedObject(CommentedKind.TYPE, created.type_id)
        case "SCHEMA" | "DATABASE" | "ROLE":
            return _global_object(session, state, statement)
        case _:
            return _relation(session, state, statement)


def _global_object(session: StatementContext, state: MetaState, statement: CommentOn) -> CommentedObject:
    catalog, name, position = state.catalog, statement.name.name, statement.name.position
    if statement.kind == "SCHEMA":
        if name not in catalog.schemas:
            raise SqlError(f'schema "{name}" does not exist', sqlstate="3F000", position=position)
        _check_owner(session, state, catalog.schema_owner(name), f"schema {name}")
        return CommentedObject(CommentedKind.SCHEMA, 0, name=name)
    if statement.kind == "DATABASE":
        database = catalog.database_named(name)
        if database is None:
            raise SqlError(f'database "{name}" does not exist', sqlstate="3D000", position=position)
        _check_owner(session, state, database.owner, f"database {name}")
        return CommentedObject(CommentedKind.DATABASE, database.database_id)
    assert statement.role is not None
    role = role_of(session, state, statement.role)
    acting = catalog.roles.get(session.identity.current_id)
    if acting is None or not (acting.superuser or (acting.create_role and not role.superuser)):
        what = "superuser" if role.superuser else "have CREATEROLE privilege"
        raise InsufficientPrivilege(f"must be {what}" if role.superuser else f"must {what}")
    return CommentedObject(CommentedKind.ROLE, role.role_id)


def _found(session: StatementContext, state: MetaState, name: ObjectName) -> CreatedRelation:
    if name.schema not in (None, OWN_TEMPORARY_SCHEMA, *state.catalog.schemas):
        raise SqlError(f'schema "{name.schema}" does not exist', sqlstate="3F000", position=name.position)
    found = state.catalog.find(name.name, name.schema, session.search_path())
    relation = None if found is None else state.catalog.relations.get(found.relation_id)
    if relation is None:
        raise SqlError(f'relation "{name}" does not exist', sqlstate="42P01", position=name.position)
    _check_owner(session, state, relation.owner, f"{relation.noun} {relation.name}")
    return relation


def _relation(session: StatementContext, state: MetaState, statement: CommentOn) -> CommentedObject:
    name = statement.name
    if statement.kind == "INDEX":
        for table in state.catalog.own_relations:  # the key of a table is no relation here
            is_in = table.schema_name == name.schema if name.schema else table.schema_name in session.search_path()
            if isinstance(table, Table) and table.primary_key and is_in and table.key_constraint == name.name:
                _check_owner(session, state, table.owner, f"index {name.name}")
                return CommentedObject(CommentedKind.RELATION, index_oid(table))
    relation = _found(session, state, name)
    if not isinstance(relation, _KINDS[statement.kind]):
        article = "an" if statement.kind == "INDEX" else "a"
        message = f'"{relation.name}" is not {article} {statement.kind.lower()}'
        raise WrongObjectType(message, position=name.position)
    return CommentedObject(CommentedKind.RELATION, relation_oid(relation))


def _column(session: StatementContext, state: MetaState, statement: CommentOn) -> CommentedObject:
    relation, named = _found(session, state, statement.name), statement.part
    assert named is not None
    if isinstance(relation, Index | NumberSequence | Sink | Subscription):
        plural = "indexes" if isinstance(relation, Index) else f"{relation.noun}s"
        raise WrongObjectType(
            f'cannot set comment on relation "{relation.name}"',
            detail=f"This operation is not supported for {plural}.",
            position=statement.name.position,
        )
    column = next((each for each in relation.columns if each.name == named.name and not each.hidden), None)
    if column is None:
        message = f'column "{named.name}" of relation "{relation.name}" does not exist'
        raise UndefinedColumn(message, position=named.position)
    return CommentedObject(CommentedKind.RELATION, relation_oid(relation), column.column_id)


def _constraint(session: StatementContext, state: MetaState, statement: CommentOn) -> CommentedObject:
    relation, named = _found(session, state, statement.name), statement.part
    assert named is not None
    listed = constraints_of(state.catalog, relation) if isinstance(relation, Table) else ()
    found = next((each for each in listed if each.name == named.name), None)
    if found is None:
        message = f'constraint "{named.name}" for table "{relation.name}" does not exist'
        raise UndefinedObject(message, position=named.position)
    return CommentedObject(CommentedKind.CONSTRAINT, found.oid)


def _constraint_of_domain(domain: UserType, named: ColumnName) -> CommentedObject:
    checks = domain.checks if isinstance(domain, DomainDesc) else ()
    found = next((each for each in checks if each.name == named.name), None)
    if found is None:
        message = f'constraint "{named.name}" for domain {domain.name} does not exist'
        raise UndefinedObject(message, position=named.position)
    return CommentedObject(CommentedKind.CONSTRAINT, found.constraint_id)


def _check_owner(session: StatementContext, state: MetaState, owner: int, shown: str) -> None:
    if not owns(state.catalog, session.identity.current_id, owner):
        raise InsufficientPrivilege(f"must be owner of {shown}")
