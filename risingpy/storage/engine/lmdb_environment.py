"""LMDB environments of this process: one object per directory, shared by whoever reads and writes it.

LMDB wants an environment to be opened once per process, so `open_environment` hands out the same object again
until everybody has closed it. Three things are settled here, once:

* The map is 256 GiB of address space and seldom fills. When it does, `grow` makes it larger; snapshots
  of the newest state live on, older ones end (`SnapshotEnded`). It is so too when another process has grown it.
* A snapshot is used by one thread at a time, and never while the map moves. It can be cut from under its holder
  (`SnapshotTooOld`), between two uses.
* After a fork the child must not touch the environment: even closing it would free the parent's snapshots in
  the shared lock file. The child's copies are kept for ever, and opening the directory there is refused. So
  processes that fork workers do it before they open a store.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from weakref import WeakSet

import lmdb

from risingpy.errors import InternalError, IoError, SerializationFailure, SqlError
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.durable_directory import make_directory, sync_directory
from risingpy.storage.engine.lmdb_library import find_library
from risingpy.storage.engine.map_use import MapUse
from risingpy.storage.engine.native_lmdb import NativeHandle
from risingpy.storage.engine.py_lmdb import PyLmdbHandle
from risingpy.storage.engine.transactions import Handle, StoreTransaction
from risingpy.storage.fault_points import reach
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning

MAP_BYTES = 1 << 38  # address space only: the file is as large as what is in it; a process has room for 500
_SMALL_MAP_BYTES = 1 << 20
MAX_READERS = 2048  # snapshots of all processes together

# How LMDB is called: `native`, by its own functions where they are exported, which is the default, or `py-lmdb`.
BINDING_VARIABLE = "RISINGPY_LMDB"


class DamagedStore(IoError):
    """A file of LMDB's is not whole: the operator restores it. (Reading it would kill the process.)"""

    sqlstate = "XX001"


class SnapshotEnded(SerializationFailure):
    """The state store had to grow while an old snapshot was read: the client tries again."""


class SnapshotReleased(InternalError):
    """A snapshot is read after nobody holds it any more: a defect, but of a read that holds none (`Snapshot.get`)."""


class SnapshotTooOld(SqlError):
    """A query read an outdated epoch for longer than `old_snapshot_threshold` allows. The client, or the operator."""

    sqlstate = "72000"


def open_environment(
    path: Path, *, databases: Sequence[bytes], map_size: int = MAP_BYTES, tuning: StoreTuning = DEFAULT_TUNING
) -> Environment:
    """The environment of a directory, made if there is none. Everybody who opens it closes it.

    Who opens it while it is open gets it as it is, with the other's size and tuning.
    """
    return _of_this_process.open(path, databases, map_size, tuning)


class OpenEnvironments:
    """What a process has open: one environment per directory."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: dict[str, Environment] = {}
        self._parents: set[str] = set()

    def open(self, path: Path, databases: Sequence[bytes], map_size: int, tuning: StoreTuning) -> Environment:
        """See `open_environment`."""
        key = os.path.realpath(path)
        with self._guard:
            if key in self._parents:
                raise IoError(f"the store in {path} was opened before this process was forked")
            environment = self._open.get(key)
            if environment is None:
                environment = self._open[key] = Environment(self, path, databases, map_size, tuning)
            environment.users += 1
            return environment

    def let_go(self, environment: Environment) -> None:
        """One user less; the last one of this process closes it."""
        key = os.path.realpath(environment.path)
        with self._guard:
            environment.users -= 1
            if environment.users == 0 and self._open.get(key) is environment:  # the parent's is not here
                del self._open[key]
                environment.handle.close()

    def leave_to_parent(self) -> None:
        """In a forked child: nothing is open here, and what the parent has open is not touched."""
        self._guard = threading.Lock()  # a thread that the child does not have may have held it
        for environment in self._open.values():
            environment.leave_to_parent()
        self._parents.update(self._open)
        self._open.clear()


# LMDB's locks are POSIX locks, which belong to the process: who opens a directory a second time and closes it takes the
# locks from the first. So what is open is known to the process, whoever asks; nobody else could own it.
_of_this_process = OpenEnvironments()
os.register_at_fork(after_in_child=_of_this_process.leave_to_parent)


class Environment:
    """An open LMDB environment; `databases` are its named databases, the first being the default."""

    def __init__(
        self,
        opened_in: OpenEnvironments,
        path: Path,
        databases: Sequence[bytes],
        map_size: int,
        tuning: StoreTuning = DEFAULT_TUNING,
    ) -> None:
        self.path = path
        self.databases = databases
        self.tuning = tuning
        self._data_file = os.fspath(path / "data.mdb")
        self._file_bytes = 0  # that it has at least
        self._opened_in = opened_in
        self.users = 0
        self.snapshots: WeakSet[Snapshot] = WeakSet()
        self._writer = threading.Lock()
        self._writing_thread: int | None = None
        self._is_parents = False
        self._map = MapUse()
        self.usable = self._map.changed
        try:
            if not (path / "data.mdb").exists():
                _make(path, databases)
            _refuse_empty(path)
            self.handle = _open_handle(path, databases, map_size, tuning)
            try:
                self._refuse_cut()
                self.handle.open_databases(databases)
            except BaseException:
                self.handle.close()
                raise
        except (OSError, lmdb.Error) as error:
            raise disk_failure(f"cannot open the store in {path}", error) from error

    def _refuse_cut(self) -> None:
        """DamagedStore if the file is shorter than LMDB's header says."""
        needed = self.handle.used_bytes
        if self.size_bytes < needed:
            raise DamagedStore(f"{self.path / 'data.mdb'} is damaged: {self.size_bytes} bytes are left of {needed}")

    def extend_file(self) -> None:
        """Makes the file as long as LMDB's header says.

        LMDB does not write pages that one transaction has taken at the file's end and freed again, as a transaction of
        many deletions may. Without them an opening could not tell the file from one that was cut (`_refuse_cut`).
        """
        needed = self.handle.used_bytes
        if needed > self._file_bytes:  # an open file does not become shorter: it need not be asked each time
            self._file_bytes = self.size_bytes
            if self._file_bytes < needed:
                os.truncate(self._data_file, needed)
                self._file_bytes = needed

    def close(self) -> None:
        """Closes the environment when its last user does."""
        self._opened_in.let_go(self)

    @property
    def size_bytes(self) -> int:
        """Bytes of the data file."""
        return os.stat(self._data_file).st_size

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One thread of this process at a time; the same thread may not come twice."""
        if self._writing_thread == threading.get_ident():
            raise InternalError(f"this thread writes to {self.path} already")
        with self._writer:
            self._writing_thread = threading.get_ident()
            try:
                yield
            finally:
                self._writing_thread = None

    def write(self, body: Callable[[StoreTransaction], object]) -> None:
        """One durable write transaction around `body`, which runs again if the map has to grow for it.

        IoError if the disk refuses; then nothing is written.
        """
        with self.writing():
            while True:
                transaction = self.begin_write()
                try:
                    body(transaction)
                    transaction.commit()
                    self.extend_file()
                    return
                except lmdb.MapFullError:
                    transaction.abort()
                    self.grow()
                except (OSError, lmdb.Error) as error:
                    raise disk_failure(f"cannot write the store in {self.path}", error) from error
                finally:
                    transaction.abort()

    def begin_write(self) -> StoreTransaction:
        """A write transaction, for a thread that is `writing`. Waits for writers in other processes."""
        while True:
            try:
                with self.in_use():
                    return self.handle.begin(write=True)
            except lmdb.MapResizedError:
                self.grow(0)
            except lmdb.Error as error:
                raise disk_failure(f"cannot write the store in {self.path}", error) from error

    def snapshot(self) -> Snapshot:
        """Pins the newest committed state."""
        while True:
            try:
                with self.in_use():
                    snapshot = Snapshot(self, self.handle.begin())
                    self.snapshots.add(snapshot)
                    return snapshot
            except lmdb.MapResizedError:
                self.grow(0)
            except lmdb.Error as error:
                raise disk_failure(f"cannot read the store in {self.path}", error) from error

    def in_use(self) -> AbstractContextManager[None]:
        """A context manager that keeps the map where it is. Not to be entered twice by a thread."""
        if self._is_parents:
            raise InternalError(f"{self.path} was opened before this process was forked")
        return self._map

    def leave_to_parent(self) -> None:
        """In a forked child: whatever is open stays open for ever, and cannot be used."""
        self._is_parents = True
        self.handle.leave_to_parent()
        for snapshot in self.snapshots:
            snapshot.leave_to_parent()

    def grow(self, size: int | None = None) -> None:
        """Doubles the map, or adopts the size that another process gave it if `size` is 0.

        The caller has no transaction open.
        """
        with self._map.moving():
            pinned = [snapshot for snapshot in self.snapshots if snapshot.is_open]
            self.handle.set_map_bytes(2 * self.handle.map_bytes if size is None else size)
            for snapshot in pinned:
                snapshot.renew(self.handle.begin())


def _refuse_empty(path: Path) -> None:
    # LMDB would take it for a new one. We give a new one its name when it is whole (`_make`).
    if (path / "data.mdb").stat().st_size == 0:
        raise DamagedStore(f"{path / 'data.mdb'} is damaged: it is empty")


def _open_handle(path: Path, databases: Sequence[bytes], map_size: int, tuning: StoreTuning) -> Handle:
    library = None if os.environ.get(BINDING_VARIABLE) == "py-lmdb" else find_library()
    n = len(databases)
    if library is None:
        return PyLmdbHandle(path, map_bytes=map_size, databases=n, readers=MAX_READERS, tuning=tuning)
    return NativeHandle(library, path, map_bytes=map_size, databases=n, readers=MAX_READERS, tuning=tuning)


def _make(path: Path, databases: Sequence[bytes]) -> None:
    """Makes the environment under another name, whole: reading a file that is half there would kill the process."""
    unfinished = path.with_name(f"{path.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    make_directory(unfinished)
    handle = _open_handle(unfinished, databases, _SMALL_MAP_BYTES, DEFAULT_TUNING)
    try:
        handle.open_databases(databases)
        handle.sync()
    finally:
        handle.close()
    sync_directory(unfinished)
    reach("store.name")
    unfinished.rename(path)
    sync_directory(path.parent)


class Snapshot:
    """A read transaction: the state as it was when it began, whatever is written since."""

    def __init__(self, environment: Environment, transaction: StoreTransaction) -> None:
        self.environment = environment
        self._transaction: StoreTransaction | None = transaction
        self._id = transaction.id
        self._ended: SqlError | None = None
        self._guard = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._transaction is not None

    @property
    def ended(self) -> SqlError | None:
        """Why it is no more, if it has ended before it was closed."""
        return self._ended

    @contextmanager
    def use(self) -> Iterator[StoreTransaction]:
        """The transaction, for this thread alone.

        SnapshotEnded or SnapshotTooOld if it is no more.
        """
        with self._guard, self.environment.in_use():
            yield self._open_transaction()

    def get(self, key: bytes, *, db: bytes) -> bytes | None:
        """The value of one key: as within `use`, whose context managers take longer than the lookup.

        The map cannot move meanwhile: `Environment.grow` needs the lock that this takes.
        """
        with self._guard, self.environment.usable:
            return self._open_transaction().get(key, db=db)

    def get_each(self, keys: Sequence[bytes], *, db: bytes) -> list[bytes | None]:
        """The value of each key, likewise."""
        with self._guard, self.environment.usable:
            return self._open_transaction().get_each(keys, db=db)

    def are_there(self, keys: Sequence[bytes], *, db: bytes, whole: bool) -> list[bool]:
        """Whether each of the keys is there, likewise; without `whole`: whether a key begins with it."""
        with self._guard, self.environment.usable:
            return self._open_transaction().are_there(keys, db=db, whole=whole)

    def _open_transaction(self) -> StoreTransaction:
        if self._transaction is None:
            raise self._ended or SnapshotReleased("a snapshot is read after it was released")
        return self._transaction

    def copy_to(self, directory: Path) -> None:
        """Writes the state, without free space in it, as an environment in a new directory. IoError if it cannot."""
        make_directory(directory)
        with self.use() as transaction:
            try:
                self.environment.handle.copy(directory, transaction)
            except lmdb.Error as error:
                raise disk_failure(f"cannot copy {self.environment.path} to {directory}", error) from error
        sync_directory(directory)

    def renew(self, transaction: StoreTransaction) -> None:
        """Goes on with `transaction`, after the map has moved, if it sees the same state."""
        if self._transaction is not None:
            self._transaction.abort()
        if transaction.id == self._id:
            self._transaction = transaction
        else:
            transaction.abort()
            self._transaction = None
            self._ended = SnapshotEnded("the state store had to grow and dropped this query's snapshot, try again")

    def cut(self, reason: SqlError) -> bool:
        """Lets go of the state though somebody holds it, who gets `reason`. False if it is being read at the moment."""
        if not self._guard.acquire(blocking=False):
            return False
        try:
            self._end(reason)
            return True
        finally:
            self._guard.release()

    def close(self) -> None:
        """Lets go of the state. Harmless if done before."""
        with self._guard:
            self._end(None)

    def _end(self, reason: SqlError | None) -> None:
        if self._transaction is not None:
            with self.environment.in_use():
                self._transaction.abort()
                self._transaction, self._ended = None, reason

    def leave_to_parent(self) -> None:
        """See `Environment.leave_to_parent`."""
        self._transaction = None
        self._guard = threading.Lock()  # a thread that the child does not have may have held it
