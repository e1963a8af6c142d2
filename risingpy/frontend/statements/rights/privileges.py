"""GRANT and REVOKE of privileges, and ALTER DEFAULT PRIVILEGES."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from risingpy.errors import FeatureNotSupported, InsufficientPrivilege, SqlError, UndefinedColumn, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterDefaultPrivileges, GrantPrivileges, ParsedStatement
from risingpy.frontend.parser.roles.trees import NamedPrivilege, RoleName
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.objects import KINDS, Finder
from risingpy.frontend.statements.rights.parameters import grantable_parameters
from risingpy.frontend.statements.rights.roles import role_of
from risingpy.meta.schema.privileges import NOT_GRANTED, NOT_REVOKED, Given, given_on, with_default
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, InternalTable
from risingpy.plan.catalog.acl import ALL_OF, INVALID_GRANT, OF_COLUMNS, PUBLIC, ObjectKind, Privilege
from risingpy.plan.catalog.rights import Securable, column_of
from risingpy.types import SqlType

_DEFAULT_KINDS = {
    "TABLES": ObjectKind.RELATION,
    "FUNCTIONS": ObjectKind.FUNCTION,
    "ROUTINES": ObjectKind.FUNCTION,
    "SCHEMAS": ObjectKind.SCHEMA,
    "SECRETS": ObjectKind.SECRET,
    "CONNECTIONS": ObjectKind.CONNECTION,
    "TYPES": ObjectKind.TYPE,
    "SEQUENCES": ObjectKind.SEQUENCE,
}


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: GrantPrivileges, parameter_types: Sequence[SqlType]
) -> Command:
    """All objects and roles, or none. A warning tells of each object where not everything could be done."""
    _check_privileges(statement.privileges, KINDS[statement.on.kind])

    def run(parameters: Parameters) -> Result:
        _refuse_internal(session, statement)
        warnings: list[str] = []
        # A transaction makes its changes again at its commit, when the session may have another path, or another role.
        finder = partial(Finder, search_path=session.search_path(), role_id=session.identity.current_id)

        def change(state: MetaState) -> MetaState:
            warnings.clear()
            catalog = _given(session, state, statement, finder(state.catalog), warnings)
            return state if catalog is state.catalog else replace(state, catalog=catalog)

        session.database.ddl.change(change, session.cancelled)
        for warning in warnings:
            sqlstate = NOT_GRANTED if statement.is_grant else NOT_REVOKED
            session.notice(warning, severity="WARNING", sqlstate=sqlstate)
        return Result(CommandTag("GRANT" if statement.is_grant else "REVOKE"))

    return Command(run)


def _refuse_internal(session: StatementContext, statement: GrantPrivileges) -> None:
    """Raises WrongObjectType for a state table, which changes of the catalog do not know."""
    for name in statement.on.names:
        found = session.database.reads.catalog.find(name.name, name.schema, session.search_path())
        if isinstance(found, InternalTable):
            hint = "Only the owner of what it is a part of reads it."
            raise WrongObjectType(f'"{name.name}" is an internal table', hint=hint, position=name.position)


def _given(
    session: StatementContext, state: MetaState, statement: GrantPrivileges, finder: Finder, warnings: list[str]
) -> Catalog:
    catalog, actor = state.catalog, finder.role_id
    if statement.grantor is not None and role_of(session, state, statement.grantor).role_id != actor:
        raise FeatureNotSupported("grantor must be current user", position=statement.grantor.position)
    grantees = _grantees(session, state, statement.grantees)
    objects = list(finder.securables(statement.on))
    if statement.on.kind == "PARAMETER":
        objects = grantable_parameters(objects) if statement.is_grant else [each for each in objects if each.stored]
    for found in objects:
        for on, privileges, is_all in _wanted(catalog, found, statement.privileges):
            option, cascade = statement.option, statement.cascade
            given = Given(statement.is_grant, privileges, grantees, is_all, option, cascade)
            catalog, warning = given_on(catalog, actor, _newest(catalog, on), given)
            if warning is not None:
                warnings.append(warning)
    return catalog


def _newest(catalog: Catalog, on: Securable) -> Securable:
    """The object with what the same statement has changed already: a column, or an object that it names twice."""
    match on.kind:
        case ObjectKind.COLUMN:
            return column_of(catalog.relations[int(on.key)], on.column_id)
        case ObjectKind.RELATION | ObjectKind.SEQUENCE:
            return replace(on, stored=catalog.relations[int(on.key)].acl)
        case ObjectKind.SCHEMA:
            return replace(on, stored=catalog.own_database.schema_acls.get(str(on.key)))
        case ObjectKind.LANGUAGE:
            return replace(on, stored=catalog.own_database.language_acls.get(str(on.key)))
        case ObjectKind.PARAMETER:
            return replace(on, stored=catalog.server_acls.parameters.get(str(on.key)))
        case ObjectKind.TABLESPACE:
            return replace(on, stored=catalog.server_acls.tablespaces.get(str(on.key)))
        case ObjectKind.TYPE:
            return replace(on, stored=catalog.own_database.type_acls.get(str(on.key)))
    return on


def _wanted(
    catalog: Catalog, found: Securable, named: Sequence[NamedPrivilege]
) -> Iterator[tuple[Securable, Privilege, bool]]:
    """What is given on the object itself, and on each of its columns that the statement names."""
    whole, is_all = Privilege(0), False
    columns: dict[int, Privilege] = {}
    for each in named:
        if not each.columns:
            whole |= ALL_OF[found.kind] if each.privilege is None else each.privilege
            is_all = is_all or each.privilege is None
            continue
        relation = catalog.relations[int(found.key)]
        ids = {column.name: column.column_id for column in relation.columns if not column.hidden}
        for name in each.columns:
            if name.name not in ids:
                message = f'column "{name.name}" of relation "{relation.name}" does not exist'
                raise UndefinedColumn(message, position=name.position)
            column_id, privilege = ids[name.name], OF_COLUMNS if each.privilege is None else each.privilege
            columns[column_id] = columns.get(column_id, Privilege(0)) | privilege
    if whole:
        yield found, whole, is_all
    for column_id, privilege in columns.items():
        is_all = privilege == OF_COLUMNS
        yield column_of(catalog.relations[int(found.key)], column_id), privilege, is_all


def _check_privileges(named: Sequence[NamedPrivilege], kind: ObjectKind) -> None:
    """Raises SqlError (0LP01) for a privilege that a kind of object does not have."""
    for each in named:
        if each.columns and kind is not ObjectKind.RELATION:
            raise SqlError(
                "column privileges are only valid for relations", position=each.position, sqlstate=INVALID_GRANT
            )
        of = ObjectKind.COLUMN if each.columns else kind
        if each.privilege is not None and each.privilege not in ALL_OF[of]:
            noun = of.name.lower()
            if of is ObjectKind.RELATION and each.privilege is Privilege.USAGE:  # a sequence has it
                noun = "table"
            message = f"invalid privilege type {each.privilege.shown} for {noun}"
            raise SqlError(message, position=each.position, sqlstate=INVALID_GRANT)


def _grantees(session: StatementContext, state: MetaState, names: Sequence[RoleName]) -> tuple[int, ...]:
    return tuple(PUBLIC if each.keyword == "PUBLIC" else role_of(session, state, each).role_id for each in names)


def bind_default(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: AlterDefaultPrivileges,
    parameter_types: Sequence[SqlType],
) -> Command:
    """For the session's own role, and for roles that it is a member of."""
    kind = _DEFAULT_KINDS[statement.given.on.kind]
    _check_privileges(statement.given.privileges, kind)
    if any(each.columns for each in statement.given.privileges):
        raise SqlError(
            "default privileges cannot be set for columns", position=statement.given.on.position, sqlstate=INVALID_GRANT
        )
    if kind is ObjectKind.SCHEMA and statement.schemas:
        raise SqlError("cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS", sqlstate=INVALID_GRANT)

    def run(parameters: Parameters) -> Result:
        def change(state: MetaState) -> MetaState:
            return replace(state, catalog=_with_defaults(session, state, statement, kind))

        session.database.ddl.change(change, session.cancelled)
        return Result(CommandTag("ALTER DEFAULT PRIVILEGES"))

    return Command(run)


def _with_defaults(
    session: StatementContext, state: MetaState, statement: AlterDefaultPrivileges, kind: ObjectKind
) -> Catalog:
    catalog, actor, said = state.catalog, session.identity.current_id, statement.given
    roles = [role_of(session, state, each) for each in statement.roles] or [catalog.roles[actor]]
    for role in roles:
        if not catalog.has_role(actor, role.role_id):
            raise InsufficientPrivilege(f'must be member of role "{role.name}"')
    for schema in statement.schemas:
        if schema.name not in catalog.schemas:
            message = f'schema "{schema.name}" does not exist'
            raise SqlError(message, sqlstate="3F000", position=schema.position)
    privileges = Privilege(0)
    for each in said.privileges:
        privileges |= ALL_OF[kind] if each.privilege is None else each.privilege
    grantees = _grantees(session, state, said.grantees)
    given = Given(said.is_grant, privileges, grantees, False, said.option, said.cascade)
    schemas: list[str | None] = [each.name for each in statement.schemas]
    for role in roles:
        for name in schemas or [None]:
            catalog = with_default(catalog, role.role_id, kind, name, given)
    return catalog
