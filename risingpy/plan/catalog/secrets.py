"""CREATE SECRET and CREATE CONNECTION, and what relations get of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from risingpy.connectors.formats.decoder import MessageFormat, with_more_options
from risingpy.connectors.secrets.hidden_options import NOTHING_HIDDEN, HiddenOptions, SealedOption, StoredOptions
from risingpy.errors import SerializationFailure
from risingpy.plan.catalog.acl import Acl
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.plan.catalog.relations import CreatedRelation, ExternalSource, Sink, Table
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID


@dataclass(frozen=True, slots=True)
class SecretDesc:
    """CREATE SECRET. `box` is its value, sealed. `owner` is the id of a role."""

    noun: ClassVar[str] = "secret"

    secret_id: int
    schema_name: str
    name: str
    box: bytes
    owner: int = BOOTSTRAP_ROLE_ID
    database_id: int = DEFAULT_DATABASE_ID
    acl: Acl | None = None


@dataclass(frozen=True, slots=True)
class ConnectionDesc:
    """CREATE CONNECTION. `type` is kafka, iceberg or schema_registry; `options` are the others that are in clear."""

    noun: ClassVar[str] = "connection"

    connection_id: int
    schema_name: str
    name: str
    type: str
    options: tuple[tuple[str, str], ...]
    hidden: HiddenOptions = NOTHING_HIDDEN
    owner: int = BOOTSTRAP_ROLE_ID
    database_id: int = DEFAULT_DATABASE_ID
    acl: Acl | None = None


ConnectedRelation = TypeVar("ConnectedRelation", ExternalSource, Sink, StoredOptions)


def resolved(
    relation: ConnectedRelation, secrets: Mapping[int, SecretDesc], connections: Mapping[int, ConnectionDesc]
) -> ConnectedRelation:
    """The relation, or what is to be stored of one, with its connections' options and its secrets' sealed values.

    Raises SerializationFailure if one is not there.
    """
    if relation.hidden.is_resolved:
        return relation
    try:
        return _resolved(relation, secrets, connections)
    except KeyError:
        raise SerializationFailure(
            "a secret or connection was dropped meanwhile", hint="Run the statement again."
        ) from None


def _resolved(
    relation: ConnectedRelation, secrets: Mapping[int, SecretDesc], connections: Mapping[int, ConnectionDesc]
) -> ConnectedRelation:
    options: tuple[tuple[str, str], ...] = relation.options
    message_format: MessageFormat | None = relation.message_format
    sealed = _of_secrets(relation.hidden, secrets)
    for used in relation.hidden.connections:
        connection: ConnectionDesc = connections[used.connection_id]
        more = _of_secrets(connection.hidden, secrets)
        sealed += (replace(each, of_format=used.of_format) for each in more)
        if not used.of_format:
            options = (*options, *connection.options)
        else:
            message_format = with_more_options(message_format, connection.options)
    return replace(relation, options=options, message_format=message_format, hidden=HiddenOptions(tuple(sealed)))


def hidden_options_of(relation: CreatedRelation) -> HiddenOptions:
    """Those of a source or sink, or of the source that feeds a table."""
    match relation:
        case ExternalSource() | Sink():
            return relation.hidden
        case Table(source=ExternalSource() as source):
            return source.hidden
    return HiddenOptions()


def secrets_used(relation: CreatedRelation | ConnectionDesc) -> frozenset[int]:
    """The ids of the secrets that the relation or connection names itself."""
    if isinstance(relation, ConnectionDesc):
        return _secret_ids(relation.hidden)
    validating = None if not isinstance(relation, Table) or relation.webhook is None else relation.webhook.secret_id
    found = _secret_ids(hidden_options_of(relation))
    return found if validating is None else found | {validating}


def connections_used(relation: CreatedRelation) -> frozenset[int]:
    """The ids of the connections that the relation names."""
    return frozenset(each.connection_id for each in hidden_options_of(relation).connections)


def _secret_ids(hidden: HiddenOptions) -> frozenset[int]:
    return frozenset(each.secret_id for each in hidden.secrets)


def _of_secrets(hidden: HiddenOptions, secrets: Mapping[int, SecretDesc]) -> list[SealedOption]:
    """The sealed options, also those that are secrets'."""
    named: Iterable[SealedOption] = (
        SealedOption(each.name, secrets[each.secret_id].box, each.of_format, each.as_file) for each in hidden.secrets
    )
    return [*hidden.sealed, *named]
