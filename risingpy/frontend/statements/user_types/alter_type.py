"""ALTER TYPE: a value more, a value or the type under another name, the type in another schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.errors import SqlError
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import (
    AlterTypeAddValue,
    AlterTypePlace,
    AlterTypeRenameValue,
    ObjectName,
    ParsedStatement,
)
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_creates_in, check_names_schema, check_owns_all
from risingpy.frontend.statements.user_types.type_texts import with_label_texts, with_type_names
from risingpy.meta.epochs.graph_changes import GraphChange
from risingpy.meta.schema.objects.domains import required_domain
from risingpy.meta.schema.objects.user_types import (
    NewValue,
    TypeTarget,
    moved,
    required,
    required_enum,
    with_renamed_value,
    with_value,
)
from risingpy.meta.state import MetaState
from risingpy.types import SqlType


def bind_add_value(
    session: StatementContext, parsed: ParsedStatement, statement: AlterTypeAddValue, parameter_types: Sequence[SqlType]
) -> Command:
    """IF NOT EXISTS of a label that exists gives a notice (42710)."""
    neighbour = None if statement.neighbour is None else statement.neighbour.text
    value = NewValue(statement.label.text, statement.before, neighbour)

    def run(parameters: Parameters) -> Result:
        target = target_of(session, statement.name)
        skipped: list[bool] = []

        def change(state: MetaState) -> MetaState:
            labels = [label.text for label in required_enum(state, target).labels]
            skipped[:] = [statement.if_not_exists and value.text in labels]
            return state if skipped[0] else with_value(state, target, value)

        _change(session, statement.name, target, change)
        if skipped[0]:
            session.notice(f'enum label "{value.text}" already exists, skipping', sqlstate="42710")
        return Result(CommandTag("ALTER TYPE"))

    return Command(run)


def bind_rename_value(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: AlterTypeRenameValue,
    parameter_types: Sequence[SqlType],
) -> Command:
    """Rows, keys and views have the value as it was; texts that are stored with the old label follow."""

    def run(parameters: Parameters) -> Result:
        target, old, new = target_of(session, statement.name), statement.old.text, statement.new.text
        _change(
            session,
            statement.name,
            target,
            lambda state: with_renamed_value(state, target, old, new, with_label_texts(old, new)),
        )
        return Result(CommandTag("ALTER TYPE"))

    return Command(run)


def bind_move(
    session: StatementContext, parsed: ParsedStatement, statement: AlterTypePlace, parameter_types: Sequence[SqlType]
) -> Command:
    """RENAME TO and SET SCHEMA: the texts of views, defaults and constraints follow."""
    name = None if statement.new_name is None else statement.new_name.name
    schema = None if statement.new_schema is None else statement.new_schema.name

    def run(parameters: Parameters) -> Result:
        target = target_of(session, statement.name)
        if statement.kind == "DOMAIN":
            required_domain(session.database.reads.seen_state, target)
        if schema is not None:
            check_creates_in(session, schema, statement.name.position)
        _change(
            session,
            statement.name,
            target,
            lambda state: moved(state, target, with_type_names, name=name, schema=schema),
        )
        return Result(CommandTag(f"ALTER {statement.kind}"))

    return Command(run)


def target_of(session: StatementContext, name: ObjectName) -> TypeTarget:
    """The type that a statement names. Raises InsufficientPrivilege if the session may not name it."""
    check_names_schema(session, name.schema, name.position)
    return TypeTarget(name.schema, name.name, session.search_path(), str(name))


def _change(session: StatementContext, name: ObjectName, target: TypeTarget, change: GraphChange) -> None:
    """Makes a change that only the type's owner may ask for; errors stand at the type's name."""

    at_name(name, lambda: check_owns_all(session, lambda state: [required(state, target)]))
    at_name(name, lambda: session.ddl.change(change, session.cancelled))


def at_name(name: ObjectName, do: Callable[[], None]) -> None:
    """Does it; the error that there is no such type stands at the type's name."""
    try:
        do()
    except SqlError as error:
        if error.sqlstate == "42704":
            error.position = name.position
        raise
