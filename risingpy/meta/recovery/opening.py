"""Opens a data directory for writing, in the state of its last commit.

1. The meta store says which epoch is committed, and how many shards there are. A wanted rescaling is done now.
2. What only a client of before read is removed. Views in creation stay: their backfills go on.
3. Each shard undoes what it has of a later epoch, by its undo records. All shards are then at the committed epoch.
4. Identity columns that an earlier version made get their sequences.
5. Passwords that an earlier version stored in clear are sealed, and nothing of them stays in a file.
6. What an earlier version wrote is written in the present formats, which `format.json` notes (`present_formats.py`).
7. The log has all acknowledged rows after that epoch: `DmlLog` finds them, and they are in the next epoch.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from risingpy.connectors.secrets.vault import Vault
from risingpy.executors.epoch.descriptor import run_directory, write_key_file
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.meta.durable_state import DurableState, without_unfinished
from risingpy.meta.following.followed_state import FollowedState
from risingpy.meta.recovery.earlier_identities import with_sequences_of_identities
from risingpy.meta.recovery.present_formats import write_in_present_formats
from risingpy.meta.recovery.rescale import remove_other_shards, rescale_opened
from risingpy.meta.recovery.sealing import begin_sealing, check_key, finish_sealing, with_passwords_sealed
from risingpy.meta.schema.objects.temporary import without_temporary_schemas
from risingpy.meta.shared_state.cache import refuse_cache
from risingpy.meta.shared_state.shared_state import SharedState
from risingpy.meta.state import MetaState
from risingpy.storage.durable_directory import make_private
from risingpy.storage.engine.lmdb_environment import DamagedStore
from risingpy.storage.engine.meta_store import MetaStore, meta_directory
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import shards_directory
from risingpy.storage.format_note import read_note, write_note
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedDirectory:
    """The stores of a data directory, and their state."""

    meta_store: MetaStore
    states: DurableState
    state: MetaState
    store: StateStore
    shared: SharedState | None = None
    followed: FollowedState | None = None


def open_followed(data_dir: Path, vault: Vault, uri: str, tuning: StoreTuning = DEFAULT_TUNING) -> OpenedDirectory:
    """Opens `data_dir` as a cache of the database in shared storage, which another server leads: nothing is changed.

    Raises DataDirectoryInUse, IncompatibleState, StateUnavailable, SecretKeyUnavailable.
    """
    make_private(data_dir)
    read_note(data_dir)
    tuning = replace(tuning, synced=False)
    read: list[FollowedState] = []

    def follow() -> FollowedState:
        read.append(FollowedState(uri, data_dir))
        return read[0]

    meta_store = MetaStore(data_dir, tuning=tuning, truth=follow)
    try:
        (followed,) = read
        followed.renew(data_dir, meta_store, tuning)
        states = DurableState(meta_store)
        state = states.load(0)
        check_key(state.catalog, vault)
        store = StateStore(data_dir, state.shards, cast=cast_stored, tuning=tuning)
        store.recover(state.committed.epoch)
        return OpenedDirectory(meta_store, states, state, store, followed=followed)
    except BaseException:
        meta_store.close()
        raise


def open_directory(
    data_dir: Path,
    parallelism: int,
    vault: Vault,
    tuning: StoreTuning = DEFAULT_TUNING,
    state_uri: str | None = None,
) -> OpenedDirectory:
    """Opens `data_dir`, which gets `parallelism` shards if it is new, and undoes changes that were not committed.

    With a `state_uri`, the truth is in shared storage, of which this server becomes the leader; the directory is
    brought to what is committed there. Raises DataDirectoryInUse if another server has it, IncompatibleStore if it has
    formats that this version does not read, DamagedStore or IoError if a file is missing or damaged,
    SecretKeyUnavailable if it has secrets and their key is not there.
    """
    make_private(data_dir)
    read_note(data_dir)
    if state_uri is not None:
        return _open_cache(data_dir, parallelism, vault, replace(tuning, synced=False), state_uri)
    refuse_cache(data_dir)
    if shards_directory(data_dir).exists() and not meta_directory(data_dir).exists():
        raise DamagedStore(f"{data_dir} has shards and no meta store, which says what is in them")
    meta_store = MetaStore(data_dir)
    try:
        return _opened(data_dir, meta_store, parallelism, vault, tuning)
    except BaseException:
        meta_store.close()
        raise


def _open_cache(data_dir: Path, parallelism: int, vault: Vault, tuning: StoreTuning, uri: str) -> OpenedDirectory:
    shared: list[SharedState] = []

    def lead() -> SharedState:
        shared.append(SharedState(uri, data_dir))
        return shared[0]

    meta_store: MetaStore | None = None
    try:
        meta_store = MetaStore(data_dir, tuning=tuning, truth=lead)
        shared[0].renew(data_dir, meta_store, tuning)
        opened = _opened(data_dir, meta_store, parallelism, vault, tuning, shared[0].objects)
        return replace(opened, shared=shared[0])
    except BaseException:
        if meta_store is not None:
            meta_store.close()
        for each in shared:
            each.close()
        raise


def _opened(
    data_dir: Path,
    meta_store: MetaStore,
    parallelism: int,
    vault: Vault,
    tuning: StoreTuning,
    objects: ObjectStore | None = None,
) -> OpenedDirectory:
    states = _rescaled(data_dir, meta_store, parallelism, tuning, objects)
    state = _recovered(data_dir, meta_store, states, parallelism, vault)
    store = StateStore(data_dir, state.shards, cast=cast_stored, tuning=tuning)
    try:
        store.recover(state.committed.epoch)
        write_note(data_dir)
    except BaseException:
        store.close()
        raise
    return OpenedDirectory(meta_store, states, state, store)


def _rescaled(
    data_dir: Path, meta_store: MetaStore, parallelism: int, tuning: StoreTuning, objects: ObjectStore | None
) -> DurableState:
    """The states of a directory that has the number of shards which was wanted, and no other shards."""
    states = DurableState(meta_store)
    stored = states.load(parallelism)
    if stored.wanted_shards:
        rescale_opened(data_dir, meta_store, stored.wanted_shards, LOG.info, tuning, objects)
    else:
        remove_other_shards(data_dir, stored.shards)
    return states


def _recovered(
    data_dir: Path, meta_store: MetaStore, states: DurableState, parallelism: int, vault: Vault
) -> MetaState:
    """The state of the last commit, without what was not finished then."""
    run_directory(data_dir).mkdir(exist_ok=True)
    stored = states.load(parallelism)
    state = without_temporary_schemas(without_unfinished(stored))
    state = replace(state, graph_version=stored.graph_version + 1)
    check_key(state.catalog, vault)
    write_key_file(data_dir, vault.key_file)
    state = with_sequences_of_identities(state, meta_store)
    unsealed, state = state, with_passwords_sealed(state, vault)
    if state is not unsealed:
        begin_sealing(data_dir)
    states.commit(stored, state, partial(write_in_present_formats, state=state))
    finish_sealing(data_dir, meta_store)
    return state
