"""CREATE, ALTER and DROP of secrets and connections: from one `MetaState` to the next, as in `relations.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from risingpy.connectors.secrets.hidden_options import HiddenOptions
from risingpy.errors import DependentObjectsStillExist, SerializationFailure, SqlError, UndefinedObject
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.options import OptionChanges, with_changes
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import ConnectionDesc, CreatedRelation, SecretDesc
from risingpy.plan.catalog.secrets import connections_used, secrets_used

Hidden = SecretDesc | ConnectionDesc
"""What this module makes: neither is a relation, and each kind has names of its own."""


@dataclass(frozen=True, slots=True)
class HiddenTarget:
    """A secret or connection that a statement names."""

    kind: type[SecretDesc] | type[ConnectionDesc]
    schema_name: str | None
    name: str
    search_path: tuple[str, ...]


def find(state: MetaState, target: HiddenTarget) -> Hidden | None:
    """What the target names; None if there is none."""
    place = target.name, target.schema_name, target.search_path
    return state.catalog.find_secret(*place) if target.kind is SecretDesc else state.catalog.find_connection(*place)


def required(state: MetaState, target: HiddenTarget) -> Hidden:
    """As `find`. Raises UndefinedObject."""
    found = find(state, target)
    if found is None:
        raise UndefinedObject(f'{target.kind.noun} "{target.name}" does not exist')
    return found


def add_secret(state: MetaState, secret: SecretDesc, *, if_not_exists: bool) -> tuple[MetaState, bool]:
    """(`state` with the secret, whether it was made); the id in `secret` is not used. Raises 42710."""
    target = HiddenTarget(SecretDesc, secret.schema_name, secret.name, ())
    if _exists(state, target, if_not_exists=if_not_exists):
        return state, False
    allocate = IdAllocator(state.next_id)
    secret = replace(secret, secret_id=allocate())
    secrets = {**state.catalog.secrets, secret.secret_id: secret}
    return _with_catalog(replace(state, next_id=allocate.next_id), secrets=secrets), True


def add_connection(state: MetaState, connection: ConnectionDesc, *, if_not_exists: bool) -> tuple[MetaState, bool]:
    """As `add_secret`."""
    target = HiddenTarget(ConnectionDesc, connection.schema_name, connection.name, ())
    if _exists(state, target, if_not_exists=if_not_exists):
        return state, False
    check_hidden(state, connection.hidden)
    allocate = IdAllocator(state.next_id)
    connection = replace(connection, connection_id=allocate())
    connections = {**state.catalog.connections, connection.connection_id: connection}
    return _with_catalog(replace(state, next_id=allocate.next_id), connections=connections), True


def with_secret_value(state: MetaState, target: HiddenTarget, box: bytes) -> MetaState:
    """`state` with another value of a secret: what uses it takes the value at once."""
    secret = required(state, target)
    assert isinstance(secret, SecretDesc)
    secrets = {**state.catalog.secrets, secret.secret_id: replace(secret, box=box)}
    return _with_catalog(replace(state, graph_version=state.graph_version + 1), secrets=secrets)


def with_connection_options(state: MetaState, connection_id: int, changes: OptionChanges) -> MetaState:
    """`state` with other values of a connection's options: what uses it takes them at once."""
    connection = state.catalog.connections.get(connection_id)
    if connection is None:
        raise SerializationFailure("the connection was dropped meanwhile", hint="Run the statement again.")
    check_hidden(state, changes.hidden)
    options, hidden = with_changes(connection.options, connection.hidden, changes)
    changed = replace(connection, options=options, hidden=hidden)
    connections = {**state.catalog.connections, connection_id: changed}
    return _with_catalog(replace(state, graph_version=state.graph_version + 1), connections=connections)


def check_hidden(state: MetaState, hidden: HiddenOptions) -> None:
    """Raises SerializationFailure if a secret or connection is gone since the options were bound."""
    if any(each.secret_id not in state.catalog.secrets for each in hidden.secrets):
        raise SerializationFailure("a secret was dropped meanwhile", hint="Run the statement again.")
    if any(each.connection_id not in state.catalog.connections for each in hidden.connections):
        raise SerializationFailure("a connection was dropped meanwhile", hint="Run the statement again.")


def drop_hidden(
    state: MetaState, targets: Sequence[HiddenTarget], *, if_exists: bool, cascade: bool
) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the secrets or connections, notices). Raises 2BP01 if others use one, unless `cascade`."""
    notices: list[str] = []
    for target in targets:
        found = find(state, target)
        if found is None:
            if not if_exists:
                required(state, target)
            notices.append(f'{target.kind.noun} "{target.name}" does not exist, skipping')
            continue
        users = users_of(state, found)
        if users and not cascade:
            raise DependentObjectsStillExist(
                f"cannot drop {found.noun} {found.name} because other objects depend on it",
                detail="\n".join(f"{user.noun} {user.name} depends on {found.noun} {found.name}" for user in users),
                hint="Use DROP ... CASCADE to drop the dependent objects too.",
            )
        state, said = _without(state, found)
        notices += said
    return state, tuple(notices)


def users_of(state: MetaState, found: Hidden) -> list[CreatedRelation | ConnectionDesc]:
    """The connections and relations that name a secret or connection themselves."""
    relations = state.catalog.relations.values()
    if isinstance(found, ConnectionDesc):
        return [each for each in relations if found.connection_id in connections_used(each)]
    everything: Iterable[CreatedRelation | ConnectionDesc] = (*state.catalog.connections.values(), *relations)
    return [each for each in everything if found.secret_id in secrets_used(each)]


def _without(state: MetaState, found: Hidden) -> tuple[MetaState, list[str]]:
    """(`state` without it, and without what uses it; notices)."""
    notices: list[str] = []
    for user in users_of(state, found):
        if isinstance(user, ConnectionDesc):
            notices.append(f"drop cascades to {user.noun} {user.name}")
            state, said = _without(state, user)
            notices += said
        elif user.relation_id in state.catalog.relations:
            for relation in with_all_readers(state, [user]):
                notices.append(f"drop cascades to {relation.noun} {relation.name}")
                state = without_relation(state, relation)
    catalog = state.catalog
    if isinstance(found, ConnectionDesc):
        connections = {k: v for k, v in catalog.connections.items() if k != found.connection_id}
        return _with_catalog(state, connections=connections), notices
    secrets = {k: v for k, v in catalog.secrets.items() if k != found.secret_id}
    return _with_catalog(state, secrets=secrets), notices


def without_schema(state: MetaState, name: str) -> MetaState:
    """`state` without a schema's secrets and connections, and without what uses them elsewhere."""
    for found in hidden_of_schema(state, name):
        state, _ = _without(state, found)
    return state


def hidden_of_schema(state: MetaState, name: str) -> list[Hidden]:
    """The connections and secrets of a schema."""
    everything: Iterable[Hidden] = (*state.catalog.own_connections, *state.catalog.own_secrets)
    return [each for each in everything if each.schema_name == name]


def _exists(state: MetaState, target: HiddenTarget, *, if_not_exists: bool) -> bool:
    if target.schema_name not in state.catalog.schemas:
        raise UndefinedObject(f'schema "{target.schema_name}" does not exist', sqlstate="3F000")
    if find(state, target) is None:
        return False
    if not if_not_exists:
        raise SqlError(f'{target.kind.noun} "{target.name}" already exists', sqlstate="42710")
    return True


def _with_catalog(
    state: MetaState,
    *,
    secrets: dict[int, SecretDesc] | None = None,
    connections: dict[int, ConnectionDesc] | None = None,
) -> MetaState:
    catalog = replace(
        state.catalog,
        version=state.catalog.version + 1,
        secrets=state.catalog.secrets if secrets is None else secrets,
        connections=state.catalog.connections if connections is None else connections,
    )
    return replace(state, catalog=catalog)
