"""CREATE and ALTER SECRET; DROP SECRET and DROP CONNECTION."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterSecret, CreateSecret, DropHidden, ObjectName, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.connectors.given_options import named_secret
from risingpy.frontend.statements.placing import new_schema
from risingpy.frontend.statements.rights.checks import check_drops, check_names_schema, check_owns
from risingpy.meta.schema.secrets import HiddenTarget, add_secret, find, with_secret_value
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import SecretDesc
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSecret, parameter_types: Sequence[SqlType]
) -> Command:
    """The value is sealed when it runs. IF NOT EXISTS gives a notice (42710)."""
    _check_backend(statement)

    def run(parameters: Parameters) -> Result:
        schema, name = new_schema(session, statement.name), statement.name.name
        secret = SecretDesc(0, schema, name, session.database.vault.seal(statement.value))
        made: list[bool] = []

        def add(state: MetaState) -> MetaState:
            after, created = add_secret(state, secret, if_not_exists=statement.if_not_exists)
            made.append(created)
            return after

        session.ddl.change(add, session.cancelled)
        if not made[-1]:
            session.notice(f'secret "{name}" already exists, skipping', sqlstate="42710")
        return Result(CommandTag("CREATE SECRET"))

    return Command(run)


def bind_alter(
    session: StatementContext, parsed: ParsedStatement, statement: AlterSecret, parameter_types: Sequence[SqlType]
) -> Command:
    """Running sources, sinks and webhooks take the new value."""
    _check_backend(statement)

    def run(parameters: Parameters) -> Result:
        secret = named_secret(session, statement.name)
        check_owns(session, secret)
        box = session.database.vault.seal(statement.value)
        target = HiddenTarget(SecretDesc, secret.schema_name, secret.name, ())
        session.ddl.change(lambda state: with_secret_value(state, target, box), session.cancelled)
        return Result(CommandTag("ALTER SECRET"))

    return Command(run)


def bind_drop(
    session: StatementContext, parsed: ParsedStatement, statement: DropHidden, parameter_types: Sequence[SqlType]
) -> Command:
    """All names or none. A notice tells what IF EXISTS skipped and what CASCADE took along."""

    def run(parameters: Parameters) -> Result:
        targets = [_target(session, statement, name) for name in statement.names]
        for name in statement.names:
            check_names_schema(session, name.schema, name.position)
        check_drops(session, lambda state: [found for each in targets if (found := find(state, each)) is not None])
        notices = session.ddl.drop_hidden(
            targets, if_exists=statement.if_exists, cascade=statement.cascade, cancelled=session.cancelled
        )
        for notice in notices:
            session.notice(notice)
        return Result(CommandTag(f"DROP {statement.kind.noun.upper()}"))

    return Command(run)


def _target(session: StatementContext, statement: DropHidden, name: ObjectName) -> HiddenTarget:
    return HiddenTarget(statement.kind, name.schema, name.name, session.search_path())


def _check_backend(statement: CreateSecret | AlterSecret) -> None:
    """Raises FeatureNotSupported for Vault, InvalidParameterValue for what nobody has, or an empty value."""
    backend, position = statement.backend.lower(), statement.position
    if backend == "hashicorp_vault":
        raise FeatureNotSupported("secret backend hashicorp_vault is not supported", position=position)
    if backend != "meta":
        message = f'secret backend "{statement.backend}" is not supported'
        raise InvalidParameterValue(message, hint="WITH (backend = 'meta')", position=position)
    if not statement.value:
        raise InvalidParameterValue("a secret cannot be empty", position=position)
