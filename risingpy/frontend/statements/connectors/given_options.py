"""The options of a statement with what SECRET and CONNECTION name: in clear to be checked, sealed to be stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from risingpy.connectors.formats.decoder import MessageFormat, with_more_options
from risingpy.connectors.secrets.hidden_options import (
    NOTHING_HIDDEN,
    ConnectionOption,
    HiddenOptions,
    SecretOption,
    StoredOptions,
)
from risingpy.connectors.secrets.opened_options import NOTHING_OPENED, OpenedOptions, opened, sealed
from risingpy.errors import InvalidParameterValue, SqlError, UndefinedObject
from risingpy.frontend.parser.ast import CreateSink, CreateSource, CreateTable, ObjectName
from risingpy.frontend.parser.ast_create import OptionReference
from risingpy.frontend.shown_text import option_text
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_names_schema
from risingpy.frontend.statements.rights.server_rights import check_uses
from risingpy.frontend.table_definition import quoted
from risingpy.meta.schema.options import OptionChanges
from risingpy.plan.catalog import ConnectionDesc, SecretDesc

ConnectorStatement = TypeVar("ConnectorStatement", CreateSource, CreateTable, CreateSink)
_NO_FORMAT = MessageFormat("", "")
# The connector that a connection of each type is for; that of a registry stands after ENCODE.
CONNECTION_TYPES = {"kafka": "kafka", "iceberg": "iceberg", "schema_registry": ""}


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """What the references of a statement stand for. `names` are (option, whether it is of the format)."""

    session: StatementContext
    hidden: HiddenOptions = NOTHING_HIDDEN
    names: frozenset[tuple[str, bool]] = frozenset()
    values: OpenedOptions = NOTHING_OPENED

    def stored(
        self, options: tuple[tuple[str, str], ...], message_format: MessageFormat | None = None
    ) -> StoredOptions:
        """The options, with their values in clear, as they are stored. Raises SecretKeyUnavailable."""
        kept = tuple(option for option in options if (option[0], False) not in self.names)
        if message_format is not None:
            of_format = tuple(option for option in message_format.options if (option[0], True) not in self.names)
            message_format = replace(message_format, options=of_format)
        return sealed(self.session.database.vault, StoredOptions(kept, message_format, self.hidden))

    @contextmanager
    def masked_errors(self, position: int) -> Iterator[None]:
        """An SqlError of the block has no values of secrets in its texts. It stands at `position` unless it says."""
        with self.values.masked_errors():
            try:
                yield
            except SqlError as error:
                error.position = error.position or position
                raise


def opened_statement(
    session: StatementContext, statement: ConnectorStatement
) -> tuple[ConnectorStatement, GivenOptions]:
    """(The statement with all options in clear, what its references stand for).

    Raises UndefinedObject for a secret or connection that does not exist, InvalidParameterValue for a connection that
    is not for the connector, or that has an option which the statement has, too.
    """
    if not statement.references:
        return statement, GivenOptions(session)
    given: GivenOptions = given_options(session, statement.references, dict(statement.options).get("connector", ""))
    _refuse_repeated(statement, given)
    options = (*statement.options, *given.values.options.items())
    of_format = given.values.message_format
    message_format = with_more_options(statement.message_format, () if of_format is None else of_format.options)
    return replace(statement, options=options, message_format=message_format, references=()), given


def refuse_references(statement: CreateTable) -> None:
    """Raises InvalidParameterValue for a secret or connection in the options of what has no source."""
    if statement.references:
        first = statement.references[0]
        raise InvalidParameterValue(
            f"the option {first.option} cannot be a reference here",
            hint="VALIDATE SECRET name AS … gives a webhook its secret.",
            position=first.object.position,
        )


def given_options(session: StatementContext, references: Sequence[OptionReference], connector: str) -> GivenOptions:
    """What references stand for. Raises UndefinedObject, InvalidParameterValue, SecretKeyUnavailable."""
    secrets: list[SecretOption] = []
    connections: list[ConnectionOption] = []
    names: set[tuple[str, bool]] = set()
    for reference in references:
        if reference.is_connection:
            connection = named_connection(session, reference.object)
            _check_fits(connection, reference, connector)
            connections.append(ConnectionOption(connection.connection_id, reference.of_format))
            names |= {(name, reference.of_format) for name in option_names(connection)}
        else:
            secret = named_secret(session, reference.object)
            secrets.append(SecretOption(reference.option, secret.secret_id, reference.of_format, reference.as_file))
            names.add((reference.option, reference.of_format))
    hidden = HiddenOptions((), tuple(secrets), tuple(connections))
    catalog, vault = session.database.reads.catalog, session.database.vault
    values = opened(vault, catalog.resolved(StoredOptions((), _NO_FORMAT, hidden)))
    return GivenOptions(session, hidden, frozenset(names), values)


def named_secret(session: StatementContext, name: ObjectName) -> SecretDesc:
    """The secret of this name. Raises UndefinedObject, InsufficientPrivilege."""
    check_names_schema(session, name.schema, name.position)
    found = session.database.reads.catalog.find_secret(name.name, name.schema, session.search_path())
    if found is None:
        raise UndefinedObject(f'secret "{name}" does not exist', position=name.position)
    check_uses(session, found, name.position)
    return found


def named_connection(session: StatementContext, name: ObjectName) -> ConnectionDesc:
    """The connection of this name. Raises UndefinedObject, InsufficientPrivilege."""
    check_names_schema(session, name.schema, name.position)
    found = session.database.reads.catalog.find_connection(name.name, name.schema, session.search_path())
    if found is None:
        raise UndefinedObject(f'connection "{name}" does not exist', position=name.position)
    check_uses(session, found, name.position)
    return found


def option_names(connection: ConnectionDesc) -> Collection[str]:
    """The names of the options that it gives."""
    hidden = connection.hidden
    concealed = [*(each.name for each in hidden.sealed), *(each.name for each in hidden.secrets)]
    return [*(name for name, _ in connection.options), *concealed]


def changed_options(
    session: StatementContext, options: Sequence[tuple[str, str]], references: Sequence[OptionReference]
) -> OptionChanges:
    """The new values of ALTER … SET and CONNECTOR WITH. Raises as `given_options`."""
    for reference in references:
        if reference.is_connection:
            raise InvalidParameterValue(
                "another connection cannot be set",
                hint="ALTER CONNECTION … CONNECTOR WITH (…) changes the options of the connection.",
                position=reference.object.position,
            )
    given = given_options(session, references, "")
    stored = given.stored(tuple(options))
    texts = [(name, option_text(name, value)) for name, value in options]
    texts += ((each.option, _reference_text(each)) for each in references)
    hidden = replace(stored.hidden, secrets=given.hidden.secrets)
    return OptionChanges(stored.options, hidden, tuple(texts))


def _reference_text(reference: OptionReference) -> str:
    name = reference.object
    shown = ".".join(quoted(part) for part in (name.schema, name.name) if part is not None)
    return f"SECRET {shown} AS FILE" if reference.as_file else f"SECRET {shown}"


def _check_fits(connection: ConnectionDesc, reference: OptionReference, connector: str) -> None:
    wanted = CONNECTION_TYPES[connection.type]
    if reference.of_format != (not wanted) or (wanted and connector.lower() != wanted):
        place = "FORMAT … ENCODE" if reference.of_format else f'connector "{connector}"'
        hint = f"It is for connector = '{wanted}'." if wanted else "It goes after ENCODE: ENCODE AVRO (connection = …)."
        message = f'connection "{connection.name}" of type {connection.type} does not fit {place}'
        raise InvalidParameterValue(message, hint=hint, position=reference.object.position)


def _refuse_repeated(statement: CreateSource | CreateTable | CreateSink, given: GivenOptions) -> None:
    message_format = statement.message_format
    written = {(name, False) for name, _ in statement.options}
    if message_format is not None:
        written |= {(name, True) for name, _ in message_format.options}
    repeated = sorted(written & given.names)
    if repeated:
        name = repeated[0][0]
        message = f'option "{name}" is given twice: by the statement, and by a secret or connection that it names'
        raise InvalidParameterValue(message, position=statement.references[0].object.position)
