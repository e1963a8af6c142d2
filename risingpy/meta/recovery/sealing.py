"""Seals the passwords that earlier versions stored in clear, and checks that the key of the others is there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.connectors.secrets.opened_options import sealed
from risingpy.connectors.secrets.vault import SecretKeyUnavailable, Vault
from risingpy.executors.epoch.descriptor import run_directory
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, CreatedRelation, ExternalSource, Sink, Table
from risingpy.plan.catalog.secrets import hidden_options_of
from risingpy.storage.durable_directory import sync_directory
from risingpy.storage.engine.meta_store import MetaStore

LOG = logging.getLogger(__name__)


def check_key(catalog: Catalog, vault: Vault) -> None:
    """Raises SecretKeyUnavailable if the catalog has sealed values and there is no key.

    A key that does not open all of them is a warning: the others work, and ALTER sets those again.
    """
    boxes = list(_boxes(catalog))
    if not boxes:
        return
    try:
        lost = sum(not vault.opens(box) for box in boxes)
    except SecretKeyUnavailable as error:
        raise SecretKeyUnavailable(
            f"the data directory has {len(boxes)} secrets, and their key is not there: {error}",
            hint="Restore the key file, or name it with --secret-key-file. If the key is lost for ever, make another "
            "one (openssl rand -hex 32), and set the secrets again: ALTER SECRET, ALTER … CONNECTOR WITH.",
        ) from error
    if lost:
        LOG.warning("%d of %d secrets were sealed with another key than that of %s", lost, len(boxes), vault.key_file)


def with_passwords_sealed(state: MetaState, vault: Vault) -> MetaState:
    """`state` in which no option of a relation has a password in clear; the same object if none had."""
    relations = {key: _sealed(relation, vault) for key, relation in state.catalog.relations.items()}
    if all(relations[key] is relation for key, relation in state.catalog.relations.items()):
        return state
    return replace(state, catalog=replace(state.catalog, relations=relations))


def begin_sealing(data_dir: Path) -> None:
    """Notes, durably, that files may still have passwords in clear. Before the commit of their sealed form."""
    _note(data_dir).touch()
    sync_directory(data_dir)


def finish_sealing(data_dir: Path, meta_store: MetaStore) -> None:
    """Removes what files have of passwords in clear, also if an earlier start did not come so far.

    That is the meta store's free pages, and stream graphs, which no task of a server that has ended reads.
    """
    if not _note(data_dir).exists():
        return
    meta_store.rewrite()
    for path in run_directory(data_dir).glob("graph-*"):
        path.unlink()
    sync_directory(run_directory(data_dir))
    _note(data_dir).unlink()
    LOG.info("the passwords of sources and sinks are sealed: make new backups, earlier ones have them in clear")


def _note(data_dir: Path) -> Path:
    return data_dir / "sealing"


def _sealed(relation: CreatedRelation, vault: Vault) -> CreatedRelation:
    match relation:
        case Table(source=ExternalSource() as source):
            renewed = _sealed(source, vault)
            assert isinstance(renewed, ExternalSource)
            return relation if renewed is source else replace(relation, source=renewed)
        case ExternalSource() | Sink():
            before = StoredOptions(relation.options, relation.message_format, relation.hidden)
            after = sealed(vault, before)
            if after is before:
                return relation
            return replace(relation, options=after.options, message_format=after.message_format, hidden=after.hidden)
    return relation


def _boxes(catalog: Catalog) -> Iterator[bytes]:
    """All sealed values."""
    yield from (secret.box for secret in catalog.secrets.values())
    for connection in catalog.connections.values():
        yield from (each.box for each in connection.hidden.sealed)
    for relation in catalog.relations.values():
        yield from (each.box for each in hidden_options_of(relation).sealed)
