"""Brings a data directory to a version: the shards by snapshots and deltas, then the log, and last the meta store.

The order matters after a crash: until the meta store notes the version, the next start does all of it again from what
the store has noted before, and deltas may be applied twice.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.storage.engine.meta_store import CACHED, MetaStore
from risingpy.storage.engine.shard_store import ShardStore, shard_directory, shards_directory
from risingpy.storage.journal.entries import LogEntry
from risingpy.storage.journal.loading import load_shard
from risingpy.storage.journal.reading import read_log, read_spill
from risingpy.storage.journal.record import record_name
from risingpy.storage.journal.version import Version
from risingpy.storage.log.segment import LogRecord, Segment
from risingpy.storage.log.spill import spill_path
from risingpy.storage.log.write_ahead_log import WriteAheadLog, log_directory
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.tuning import StoreTuning

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CachedVersion:
    """What the stores of a data directory have: the slot of the meta store's last transaction, and the last epoch."""

    slot: int
    epoch: int

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def renew(
    data_dir: Path,
    meta_store: MetaStore,
    objects: ObjectStore,
    version: Version,
    tuning: StoreTuning,
    *,
    with_log: bool = True,
) -> None:
    """Makes the directory's stores those of the version. Nobody else may use them meanwhile.

    `with_log`: also the rows that no epoch has yet, for a server that will run the next one.
    Raises DamagedState, StateUnavailable, IoError.
    """
    if version.meta_slot < 0:
        return  # a new database
    began, cached = time.monotonic(), _cached(meta_store)
    known = cached if cached is not None and _leads_to(cached, version, data_dir) else None
    if known is None:
        shutil.rmtree(shards_directory(data_dir), ignore_errors=True)
    rows = 0
    if version.epoch:
        with ThreadPoolExecutor(min(version.shards, 4)) as pool:
            rows = sum(
                pool.map(
                    lambda shard: _renew_shard(data_dir, objects, version, shard, known, tuning), range(version.shards)
                )
            )
    _renew_log(log_directory(data_dir), version, tuning, read_log(objects, version) if with_log else (), objects)
    meta_store.replace_all(version.meta, CachedVersion(version.meta_slot, version.epoch).encode())
    LOG.info(
        "%s is at slot %d, epoch %d: %s rows taken from %s in %.1f s",
        data_dir, version.slot, version.epoch, f"{rows:,}", objects.uri, time.monotonic() - began,
    )  # fmt: skip


def _cached(meta_store: MetaStore) -> CachedVersion | None:
    with meta_store.transaction() as txn:
        noted = txn.get(CACHED)
    return None if noted is None else CachedVersion(**json.loads(noted))


def _leads_to(cached: CachedVersion, version: Version, data_dir: Path) -> bool:
    """Whether the deltas that the version still has bring the stores there."""
    if cached.slot > version.meta_slot or cached.epoch > version.epoch:
        LOG.warning(
            "%s is ahead of its shared storage, which was replaced by an earlier state: it is renewed", data_dir
        )
        return False
    there = all(shard_directory(data_dir, shard, version.shards).exists() for shard in range(version.shards))
    return cached.epoch >= version.complete_after and (there or not cached.epoch)


def _renew_shard(
    data_dir: Path, objects: ObjectStore, version: Version, shard: int, known: CachedVersion | None, tuning: StoreTuning
) -> int:
    directory = shard_directory(data_dir, shard, version.shards)
    store = ShardStore(directory, shard=shard, shards=version.shards, cast=cast_stored, tuning=tuning)
    try:
        if known is not None:
            store.undo_beyond(known.epoch)
        return load_shard(objects, version, shard, store, None if known is None else known.epoch)
    finally:
        store.close()


def _renew_log(
    directory: Path, version: Version, tuning: StoreTuning, blocks: Iterable[LogEntry], objects: ObjectStore
) -> None:
    """Writes the log anew: what the version's epoch does not have."""
    shutil.rmtree(directory, ignore_errors=True)
    log = WriteAheadLog(directory, segment_bytes=tuning.log_segment_bytes, first_lsn=version.lsn + 1)
    try:
        for entry in blocks:
            records = [record for record in _records(entry) if record.lsn > version.lsn]
            for record in records:
                if record.spill is not None:
                    with spill_path(directory, record.spill).open("wb") as file:
                        for piece in read_spill(objects, record.spill, entry.spills[record.spill]):
                            file.write(piece)
            log.append(records)
    finally:
        log.close()


def _records(entry: LogEntry) -> list[LogRecord]:
    segment = Segment(
        Path(record_name(0)), entry.first_lsn, entry.salt, memoryview(entry.block), pa.py_buffer(entry.block)
    )
    block = segment.block_at(0)
    return [] if block is None else list(segment.records_of(block))
