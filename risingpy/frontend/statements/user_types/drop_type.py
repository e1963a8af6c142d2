"""DROP TYPE and DROP DOMAIN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from risingpy.errors import DependentObjectsStillExist, FeatureNotSupported, SqlError, UndefinedObject, WrongObjectType
from risingpy.frontend.binder.typing.type_names import (
    BUILT_IN_TYPES,
    internal_name,
    qualified_type_name,
    resolve_type,
)
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import DropType, ParsedStatement, TypeName
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_drops, check_names_schema
from risingpy.frontend.statements.transactions.one_transaction import one_transaction
from risingpy.meta.schema.objects.dropped_types import columns_of, defaults_of, drop_types, types_needing
from risingpy.meta.schema.objects.user_types import TypeTarget
from risingpy.plan.catalog import DomainDesc, Table, UserType
from risingpy.sql_quoting import double_quoted
from risingpy.types import SqlType

_SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema"})


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: DropType, parameter_types: Sequence[SqlType]
) -> Command:
    """All names or none, with CASCADE all that needs them, too, in one transaction.

    IF EXISTS skips the names of types that are not there, with a notice each. So a script of pg_dump --clean or of a
    migration, which drops what may be there, goes on.
    """

    def run(parameters: Parameters) -> Result:
        found: list[tuple[TypeTarget, UserType]] = []
        for name in statement.names:
            each = _found(session, name)
            if each is None:
                error = _missing(session, name, statement.kind)
                if not statement.if_exists:
                    raise error
                session.notice(f"{error.message}, skipping")
            elif statement.kind == "DOMAIN" and not isinstance(each[1], DomainDesc):
                raise WrongObjectType(f'"{each[0].name}" is not a domain', position=name.position)
            else:
                found.append(each)
        if found:
            with one_transaction(session) if statement.cascade else nullcontext():
                _drop(session, found, cascade=statement.cascade)
        return Result(CommandTag(f"DROP {statement.kind}"))

    return Command(run)


def _drop(session: StatementContext, found: Sequence[tuple[TypeTarget, UserType]], *, cascade: bool) -> None:
    ids = [each.type_id for _, each in found]
    check_drops(session, lambda state: [state.catalog.types[key] for key in ids if key in state.catalog.types])
    if cascade:
        for _, each in found:
            drop_columns(session, each)
    targets = [target for target, _ in found]
    notices = session.ddl.drop_all(
        lambda catalog: (),
        lambda state: drop_types(state, targets, cascade=cascade),
        cancelled=session.cancelled,
        process_id=session.startup.process_id,
    )
    for notice in notices:
        session.notice(notice)


def drop_columns(session: StatementContext, found: UserType) -> None:
    """Drops the columns of a type, and of the domains over it, in the transaction that is open."""
    state = session.database.reads.seen_state
    for each in (*types_needing(state, found), found):
        for text in list(_without_columns(session, each)):
            for inner in session.split(text):
                session.bind(inner, ()).run(())


def _without_columns(session: StatementContext, found: UserType) -> Iterator[str]:
    """The statements that drop a type's columns, and defaults of others that name it."""
    for relation, column in list(columns_of(session.database.reads.seen_state, found)):
        if isinstance(relation, Table):
            session.notice(f"drop cascades to column {column} of table {relation.name}")
            table = f"{double_quoted(relation.schema_name)}.{double_quoted(relation.name)}"
            yield f"ALTER TABLE {table} DROP COLUMN {double_quoted(column)} CASCADE"
    for relation, column in list(defaults_of(session.database.reads.seen_state, found)):
        session.notice(f"drop cascades to default value for column {column} of table {relation.name}")
        table = f"{double_quoted(relation.schema_name)}.{double_quoted(relation.name)}"
        yield f"ALTER TABLE {table} ALTER COLUMN {double_quoted(column)} DROP DEFAULT"


def _found(session: StatementContext, name: TypeName) -> tuple[TypeTarget, UserType] | None:
    """The type that a user has created and that has this name."""
    parts = qualified_type_name(name.text) or (internal_name(name.text),)
    schema = parts[-2] if len(parts) > 1 else None
    found = session.database.reads.catalog.find_type(parts[-1], schema, session.search_path())
    if found is None:
        return None
    check_names_schema(session, schema, name.position)
    return TypeTarget(found.schema_name, found.name, (), name.text), found


def _missing(session: StatementContext, name: TypeName, kind: str) -> SqlError:
    """The error that there is no such type, which IF EXISTS makes a notice. Raises that a type of the system stays."""
    schema = next(iter(qualified_type_name(name.text)[-2:-1]), None)
    if schema is not None and schema not in session.database.reads.catalog.schemas and schema not in _SYSTEM_SCHEMAS:
        return SqlError(f'schema "{schema}" does not exist', sqlstate="3F000", position=name.position)
    try:
        shown = str(resolve_type(name.text, name.position, BUILT_IN_TYPES, of_column=False))
    except UndefinedObject as error:
        return error
    except FeatureNotSupported:  # one of PostgreSQL's that has no values here
        shown = internal_name(name.text)
    if kind == "DOMAIN":
        raise WrongObjectType(f'"{internal_name(name.text)}" is not a domain', position=name.position)
    message = f"cannot drop type {shown} because it is required by the database system"
    raise DependentObjectsStillExist(message, position=name.position)
