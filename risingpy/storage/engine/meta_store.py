"""The database's own small data: catalog, committed epoch, offsets. Its synced commit is the commit point.

In and out: text keys with bytes as values. One server process at a time holds a data directory.

Where shared storage has the truth (`MetaTruth`), a transaction is first made durable there, which is the commit point,
and the store is a cache: under `CACHED` it notes the slot of its last transaction, and the last epoch.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from risingpy.errors import SqlError
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.durable_directory import make_private, sync_directory
from risingpy.storage.engine.lmdb_environment import Environment, Snapshot, open_environment
from risingpy.storage.engine.transactions import StoreTransaction, scan
from risingpy.storage.fault_points import reach
from risingpy.storage.journal.entries import EpochCommit, Layout
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

MAP_BYTES = 1 << 34
CACHED = "cached"  # the key under which a cache says what it is of: JSON
_DATABASE = b"meta"


class MetaTruth(Protocol):
    """Where transactions of the meta store become durable, if not in the data directory."""

    def commit(self, written: Mapping[str, bytes | None], epoch: EpochCommit | Layout | None) -> bytes:
        """Makes a transaction durable; returns what the store is to note under `CACHED`. Raises SqlError."""
        ...

    def fail(self, error: SqlError) -> None:
        """The store could not follow: nothing may be committed any more, and the server ends."""


def meta_directory(data_dir: Path) -> Path:
    """Where the meta store of a data directory lies."""
    return data_dir / "meta"


class DataDirectoryInUse(SqlError):
    """Another server has the data directory: the operator stops it, or names another directory."""

    sqlstate = "55006"
    severity = "FATAL"


class MetaStore:
    """Transactions on the meta data, for any thread, one after the other."""

    def __init__(
        self,
        data_dir: Path,
        *,
        map_size: int = MAP_BYTES,
        tuning: StoreTuning = DEFAULT_TUNING,
        truth: Callable[[], MetaTruth | None] = lambda: None,
    ) -> None:
        """Takes the data directory. DataDirectoryInUse if somebody has it, IoError if it cannot be written.

        `truth` is called when nobody else can have the directory, and before the store is opened.
        """
        try:
            make_private(data_dir)
            self._lock = _lock_directory(data_dir)
        except OSError as error:
            raise disk_failure(f"cannot use the data directory {data_dir}", error) from error
        self._data_dir, self._map_size, self._tuning = data_dir, map_size, tuning
        try:
            self._truth = truth()
            self._environment = self._open(meta_directory(data_dir))
        except BaseException:
            os.close(self._lock)
            raise
        self._turn = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[MetaTransaction]:
        """Commits, synced, when the block ends; writes nothing if it raises.

        Callers take turns: what a block reads nobody changes until it ends.
        """
        with self._turn:
            snapshot = self._environment.snapshot()
            try:
                transaction = MetaTransaction(self._environment, snapshot, self._truth)
                yield transaction
            finally:
                snapshot.close()
            transaction.write()

    def replace_all(self, keys: Mapping[str, bytes], noted: bytes) -> None:
        """Takes these keys and no others from shared storage, and notes what they are of."""
        with self._turn:
            snapshot = self._environment.snapshot()
            try:
                transaction = MetaTransaction(self._environment, snapshot)
                for key, _ in transaction.scan():
                    transaction.delete(key)
                for key, value in {**keys, CACHED: noted}.items():
                    transaction.put(key, value)
            finally:
                snapshot.close()
            transaction.write()

    def take(self, written: Mapping[str, bytes | None], noted: bytes) -> None:
        """Takes changes that another server has made durable in shared storage, and notes what they lead to."""
        with self._turn:
            snapshot = self._environment.snapshot()
            try:
                transaction = MetaTransaction(self._environment, snapshot)
                for key, value in {**written, CACHED: noted}.items():
                    if value is None:
                        transaction.delete(key)
                    else:
                        transaction.put(key, value)
            finally:
                snapshot.close()
            transaction.write()

    @contextmanager
    def pinned(self) -> Iterator[Snapshot]:
        """The newest committed state, as long as the block lasts."""
        snapshot = self._environment.snapshot()
        try:
            yield snapshot
        finally:
            snapshot.close()

    def rewrite(self) -> None:
        """Writes all keys into a new file: free pages, and the gaps of others, may still have what was replaced.

        Only while nobody else uses the store. IoError if the disk refuses; the store is as it was then.
        """
        directory = meta_directory(self._data_dir)
        with self._turn, TemporaryDirectory(dir=self._data_dir, prefix="meta-") as scratch:
            self._copy_keys(Path(scratch))
            self._environment.close()
            try:
                os.replace(Path(scratch) / "data.mdb", directory / "data.mdb")
                sync_directory(directory)
            finally:
                self._environment = self._open(directory)

    def _open(self, directory: Path) -> Environment:
        return open_environment(directory, databases=[_DATABASE], map_size=self._map_size, tuning=self._tuning)

    def _copy_keys(self, directory: Path) -> None:
        renewed = self._open(directory)
        snapshot = self._environment.snapshot()
        try:
            transaction = MetaTransaction(renewed, snapshot)
            for key, value in transaction.scan():
                transaction.put(key, value)
            transaction.write()
        finally:
            snapshot.close()
            renewed.close()

    def close(self) -> None:
        """Gives the data directory free."""
        with self._turn:
            self._environment.close()
            os.close(self._lock)


class MetaTransaction:
    """Reads and writes of one transaction. It sees its own writes."""

    def __init__(self, environment: Environment, snapshot: Snapshot, truth: MetaTruth | None = None) -> None:
        self._environment = environment
        self._snapshot = snapshot
        self._truth = truth
        self._epoch: EpochCommit | Layout | None = None
        self._written: dict[bytes, bytes | None] = {}

    def get(self, key: str) -> bytes | None:
        name = key.encode()
        if name in self._written:
            return self._written[name]
        with self._snapshot.use() as transaction:
            return transaction.get(name, db=_DATABASE)

    def put(self, key: str, value: bytes) -> None:
        """Keys have 1 to 511 bytes (ValueError)."""
        name = key.encode()
        if not 1 <= len(name) <= 511:
            raise ValueError(f"a meta key of {len(name)} bytes: {key[:40]!r}")
        self._written[name] = bytes(value)

    def delete(self, key: str) -> None:
        """Harmless if there is no such key."""
        self._written[key.encode()] = None

    def commits(self, epoch: EpochCommit | Layout) -> None:
        """The transaction commits an epoch: what its tasks have changed is durable with it, in shared storage."""
        self._epoch = epoch

    def scan(self, prefix: str = "") -> list[tuple[str, bytes]]:
        """All keys that start with `prefix`, in byte order, and their values."""
        start = prefix.encode()
        found: dict[bytes, bytes | None] = {}
        with self._snapshot.use() as transaction:
            found.update((start + rest, value) for rest, value in scan(transaction, start, db=_DATABASE))
        found.update({key: value for key, value in self._written.items() if key.startswith(start)})
        return [(key.decode(), value) for key, value in sorted(found.items()) if value is not None]

    def write(self) -> None:
        """Makes the writes durable, together. IoError if the disk refuses; then nothing is written."""
        if not self._written:
            return
        if self._truth is None:
            self._environment.write(self._write_into)
            return
        written = {key.decode(): value for key, value in self._written.items()}
        self._written[CACHED.encode()] = self._truth.commit(written, self._epoch)
        try:
            self._environment.write(self._write_into)
        except SqlError as error:
            self._truth.fail(error)
            raise

    def _write_into(self, transaction: StoreTransaction) -> None:
        reach("meta.commit")
        for key, value in self._written.items():
            if value is None:
                transaction.delete(key, db=_DATABASE)
            else:
                transaction.put(key, value, db=_DATABASE)


def _lock_directory(data_dir: Path) -> int:
    """Locks the directory until the descriptor is closed, by `close` or by the end of the process."""
    descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise DataDirectoryInUse(
            f"data directory {data_dir} is in use by another server" + (f" (process {owner})" if owner else "")
        ) from None
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
