"""Shards on a machine that runs tasks. They are caches: whatever is missing or wrong comes from shared storage.

    ROOT/<cluster>/<boot>/shards/<k>-of-<n>   LMDB, not synced: so it counts only in the boot it was written in
    ROOT/<cluster>/<boot>/<k>-of-<n>.lock     held while a task uses the shard

A task finds a shard in one of these states, and `ShardCaches.use` brings it to the one that the task needs:

1. It is missing, or was being loaded: it is loaded as a whole.
2. It is at the epoch before the committed one, and has the attempts that were committed since: they count from now on.
3. It is behind, or has other attempts: these are taken back, and what was committed is taken from the journal.
4. It has attempts at the task's own epoch. Those of earlier stages that the task's input comes from stay, and missing
   ones are written. All others are taken back: their tasks have failed, or Spark has repeated them elsewhere.

What cannot be taken back (purged rows of an attempt that does not count) means that the shard is loaded anew.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from risingpy.executors.cluster.order import EpochOrder
from risingpy.executors.epoch.descriptor import EpochIsOver
from risingpy.formats import IncompatibleStore
from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.durable_directory import make_private
from risingpy.storage.engine.lmdb_environment import DamagedStore
from risingpy.storage.engine.shard_basis import ShardBasis, drop_attempts, write_committed
from risingpy.storage.engine.shard_store import ShardStore, shard_directory, shards_directory
from risingpy.storage.journal.delta import ShardDeltas, decode_batches, read_batches
from risingpy.storage.journal.entries import Delta
from risingpy.storage.journal.loading import load_shard
from risingpy.storage.journal.reading import follow, read_version
from risingpy.storage.journal.record import DamagedState
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import StoreTuning

LOG = logging.getLogger(__name__)
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class ShardCaches:
    """The shards that a process has open. For one thread."""

    def __init__(self, root: Path, cluster: str, objects: ObjectStore, tuning: StoreTuning) -> None:
        boot = _BOOT.read_text().strip() if _BOOT.exists() else f"pid-{os.getpid()}"
        self.directory = root / cluster / boot
        for path in (root, root / cluster, self.directory):
            make_private(path)
        for old in (root / cluster).iterdir():
            if old.name != boot:
                shutil.rmtree(old, ignore_errors=True)
        self._objects = objects
        self._deltas = ShardDeltas(objects)
        self._tuning = replace(tuning, synced=False)
        self._stores: dict[tuple[int, int], ShardStore] = {}
        self._version: Version | None = None
        self._shards = 0  # the number of shards that the others were deleted for

    @contextmanager
    def use(self, order: EpochOrder, shard: int, earlier: Mapping[int, Delta]) -> Iterator[ShardStore]:
        """The shard as a stage must find it. Nobody else on this machine uses it meanwhile.

        `earlier`: what the stages before have changed on this shard, in the attempts that the task's input comes from.
        """
        shards = order.descriptor.shards
        self._delete_other_layouts(shards)
        with self._locked(shard, shards):
            store = self._settled(order, shard, earlier)
            yield store

    def load(self, shard: int, shards: int) -> None:
        """Brings the shard to the newest committed epoch, for the tasks that are to come to this machine."""
        with self._locked(shard, shards):
            version = self._newest(at_least=0)
            if version.epoch and version.shards != shards:
                raise DamagedState(f"{self._objects.uri} has {version.shards} shards, not {shards}")
            store = self._open(shard, shards)
            try:
                if store is not None and self._is_at(store, version, shard):
                    return
            except (CorruptData, DamagedStore, IncompatibleStore) as error:
                LOG.warning("%s of %s is loaded anew: %s", shard, shards, error)
            self._load(version, shard, shards)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()

    @contextmanager
    def _locked(self, shard: int, shards: int) -> Iterator[None]:
        with (self.directory / f"{shard}-of-{shards}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _delete_other_layouts(self, shards: int) -> None:
        """Deletes the shards of another number of shards, once: no task of a server that leads asks for them again.

        A task of a server that has been overtaken may still have one open. It finds that the file is another one.
        """
        if self._shards == shards:
            return
        self._shards = shards
        for (shard, count), store in list(self._stores.items()):
            if count != shards:
                store.close()
                del self._stores[shard, count]
        for path in shards_directory(self.directory).glob("*-of-*"):
            shard, count = map(int, path.name.split("-of-"))
            if count != shards:
                with self._locked(shard, count):
                    shutil.rmtree(path, ignore_errors=True)

    def _settled(self, order: EpochOrder, shard: int, earlier: Mapping[int, Delta]) -> ShardStore:
        store = self._open(shard, order.descriptor.shards)
        try:
            if store is not None and self._try_to_settle(store, order, shard, earlier):
                return store
        except (CorruptData, DamagedStore, IncompatibleStore) as error:
            LOG.warning("%s is loaded anew: %s", store.path if store is not None else shard, error)
        store = self._load(self._version_of(order), shard, order.descriptor.shards)
        if not self._try_to_settle(store, order, shard, earlier):
            raise DamagedState(f"{store.path} cannot be brought to epoch {order.descriptor.committed}")
        return store

    def _try_to_settle(self, store: ShardStore, order: EpochOrder, shard: int, earlier: Mapping[int, Delta]) -> bool:
        """False if the shard must be loaded anew."""
        basis = self._at_committed(store, order, shard, store.basis())
        if basis is None:
            return False
        epoch = order.descriptor.epoch
        attempts = basis.beyond()
        kept = {s for s, delta in earlier.items() if attempts.get(s) == (epoch, delta.name)}
        dropped = (attempts.keys() | basis.ahead) - kept
        if not _can_be_dropped(basis, dropped):
            return False
        if dropped:
            store.change(lambda rows: drop_attempts(rows, dropped, basis))
        for other, delta in earlier.items():
            if other not in kept:
                self._adopt(store, order, other, delta)
        return True

    def _at_committed(self, store: ShardStore, order: EpochOrder, shard: int, basis: ShardBasis) -> ShardBasis | None:
        committed = order.descriptor.committed
        if basis.committed is None or basis.committed > committed:
            return None
        if basis.committed == committed:
            return basis
        winners = order.winners(shard)
        attempts = {stage: attempt for stage, attempt in basis.beyond().items() if attempt[0] <= committed}
        names = {stage: name for stage, (_, name) in attempts.items()}
        if winners == (basis.committed, names) and all(epoch == committed for epoch, _ in attempts.values()):
            store.change(lambda rows: write_committed(rows.transaction, committed))
            return store.basis()
        return store.basis() if self._follow(store, self._version_of(order), shard, basis) else None

    def _is_at(self, store: ShardStore, version: Version, shard: int) -> bool:
        """Brings the shard to the version. False if it must be loaded anew; a later one needs nothing."""
        basis = store.basis()
        if basis.committed is None or basis.committed >= version.epoch:
            return basis.committed is not None
        return self._follow(store, version, shard, basis)

    def _follow(self, store: ShardStore, version: Version, shard: int, basis: ShardBasis) -> bool:
        """Takes back what is ahead of the basis, and takes from the journal what was committed since."""
        assert basis.committed is not None
        ahead = basis.beyond().keys() | basis.ahead
        if not _can_be_dropped(basis, ahead) or basis.committed < version.complete_after:
            return False
        store.change(lambda rows: drop_attempts(rows, ahead, basis))
        load_shard(self._objects, version, shard, store, basis.committed)
        store.change(lambda rows: write_committed(rows.transaction, version.epoch))
        return True

    def _adopt(self, store: ShardStore, order: EpochOrder, stage: int, delta: Delta) -> None:
        """Writes what an earlier stage has changed on another machine."""
        plain = self._make(store.path, store.shard, store.shards, None)
        try:
            descriptor = order.descriptor
            if delta.inline is not None:
                batches = decode_batches(delta.name, delta.inline)
            else:
                batches = read_batches(self._objects, delta.name)
            with plain.begin(descriptor.epoch, stage, committed=descriptor.committed) as transaction:
                transaction.adopt(delta.name, batches)
                transaction.commit()
        finally:
            plain.close()

    def _load(self, version: Version, shard: int, shards: int) -> ShardStore:
        """Loads the shard as a whole. It counts only when its note is written, at the end."""
        opened = self._stores.pop((shard, shards), None)
        if opened is not None:
            opened.close()
        path = shard_directory(self.directory, shard, shards)
        shutil.rmtree(path, ignore_errors=True)
        store = self._make(path, shard, shards, self._deltas)
        try:
            rows = load_shard(self._objects, version, shard, store, None) if version.epoch else 0
            store.change(lambda each: write_committed(each.transaction, version.epoch))
        except BaseException:
            store.close()
            raise
        LOG.info("%s: %d rows loaded, epoch %d", path, rows, version.epoch)
        self._stores[shard, shards] = store
        return store

    def _open(self, shard: int, shards: int) -> ShardStore | None:
        """The shard, if it is there; what another process has replaced is opened again."""
        path = shard_directory(self.directory, shard, shards)
        opened = self._stores.get((shard, shards))
        if opened is not None and opened.is_replaced:
            self._stores.pop((shard, shards)).close()
            opened = None
        if opened is None and (path / "data.mdb").exists():
            opened = self._stores[shard, shards] = self._make(path, shard, shards, self._deltas)
        return opened

    def _make(self, path: Path, shard: int, shards: int, deltas: ShardDeltas | None) -> ShardStore:
        return ShardStore(path, shard=shard, shards=shards, cast=cast_stored, tuning=self._tuning, deltas=deltas)

    def _version_of(self, order: EpochOrder) -> Version:
        """What the journal says, which must be the committed epoch of the order."""
        version = self._newest(at_least=order.descriptor.committed)
        if version.epoch > order.descriptor.committed:
            raise EpochIsOver(f"epoch {order.descriptor.epoch} is over: {version.epoch} is committed")
        if version.epoch != order.descriptor.committed:
            raise DamagedState(f"{self._objects.uri} is at epoch {version.epoch}, not {order.descriptor.committed}")
        if version.epoch and version.shards != order.descriptor.shards:
            raise DamagedState(f"{self._objects.uri} has {version.shards} shards, not {order.descriptor.shards}")
        return version

    def _newest(self, at_least: int) -> Version:
        """What the journal says. It is read anew if it seems not to know of the epoch."""
        version = self._version
        try:
            if version is not None:
                follow(self._objects, version)
        except DamagedState:  # a vacuum has taken the next slots meanwhile
            version = None
        if version is None or version.epoch < at_least:
            version = read_version(self._objects)
        self._version = version
        return version


def _can_be_dropped(basis: ShardBasis, stages: set[int] | frozenset[int]) -> bool:
    """Whether undo records take back what the stages have: purged rows have none."""
    return all(stage in basis.ahead for stage in stages if stage in basis.beyond())
