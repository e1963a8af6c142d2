"""LMDB through py-lmdb, a key at a time: what takes over where LMDB's own functions are not exported, and what tests
compare the kernels with."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

import lmdb
import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import Integers, whole
from risingpy.storage.engine.ranges import Batch, Direction, Directions, Ranges, is_backward
from risingpy.storage.engine.transactions import Mask, StoreTransaction
from risingpy.storage.tuning import StoreTuning

Row = tuple[int, bytes, bytes]


class PyLmdbHandle:
    """An environment of py-lmdb's."""

    def __init__(self, path: Path, *, map_bytes: int, databases: int, readers: int, tuning: StoreTuning) -> None:
        """Opens the environment in a directory. lmdb.Error if it cannot."""
        self.tuning = tuning
        options: dict[str, Any] = {"readahead": False, "sync": tuning.synced}
        self.own = lmdb.open(str(path), map_size=map_bytes, max_dbs=databases, max_readers=readers, **options)
        self.databases: dict[bytes, Any] = {}
        self._transactions: WeakSet[PyLmdbTransaction] = WeakSet()

    @property
    def map_bytes(self) -> int:
        return int(self.own.info()["map_size"])

    @property
    def used_bytes(self) -> int:
        return int((self.own.info()["last_pgno"] + 1) * self.own.stat()["psize"])

    def open_databases(self, names: Sequence[bytes]) -> None:
        """See `Handle`."""
        self.databases = {name: self.own.open_db(name) for name in names}

    def begin(self, *, write: bool = False) -> PyLmdbTransaction:
        """See `Handle`."""
        transaction = PyLmdbTransaction(self, self.own.begin(next(iter(self.databases.values())), write=write))
        self._transactions.add(transaction)
        return transaction

    def set_map_bytes(self, size: int) -> None:
        """See `Handle`."""
        self.own.set_mapsize(size)

    def copy(self, directory: Path, transaction: StoreTransaction) -> None:
        """See `Handle`."""
        assert isinstance(transaction, PyLmdbTransaction)
        self.own.copy(str(directory), compact=True, txn=transaction.own)

    def sync(self) -> None:
        """See `Handle`."""
        self.own.sync(True)

    def close(self) -> None:
        """See `Handle`."""
        self.own.close()

    def leave_to_parent(self) -> None:
        """See `Handle`."""
        for mine in (self.own, *(transaction.own for transaction in self._transactions)):
            # A reference that nobody gives back: not even the end of the process frees the object.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(mine))


class PyLmdbTransaction:
    """A transaction of py-lmdb's."""

    def __init__(self, handle: PyLmdbHandle, own: lmdb.Transaction) -> None:
        self._handle = handle
        self.own = own

    @property
    def id(self) -> int:
        return int(self.own.id())

    def get(self, key: bytes, *, db: bytes) -> bytes | None:
        """See `StoreTransaction`."""
        return cast("bytes | None", self.own.get(key, db=self._handle.databases[db]))

    def get_each(self, keys: Sequence[bytes], *, db: bytes) -> list[bytes | None]:
        """See `StoreTransaction`."""
        return [self.get(key, db=db) for key in keys]

    def first_row(self, start: bytes, *, db: bytes | None, beyond: bool = False) -> tuple[bytes, bytes] | None:
        """See `StoreTransaction`."""
        with self.own.cursor(self._database(db)) as cursor:
            there = cursor.set_range(start)
            if there and beyond and cursor.key() == start:
                there = cursor.next()
            return cast("tuple[bytes, bytes]", cursor.item()) if there else None

    def are_there(self, keys: Sequence[bytes], *, db: bytes, whole: bool) -> list[bool]:
        """See `StoreTransaction`."""
        if whole:
            return [self.get(key, db=db) is not None for key in keys]
        first = [(self.first_row(key, db=db), key) for key in keys]
        return [row is not None and row[0].startswith(key) for row, key in first]

    def stored_value(self, key: bytes, *, db: bytes) -> pa.Buffer:
        """See `StoreTransaction`. It is a copy."""
        value = self.get(key, db=db)
        if value is None:
            raise KeyError(key)
        return pa.py_buffer(value)

    def put(self, key: bytes, value: bytes | pa.Buffer, *, db: bytes) -> None:
        """See `StoreTransaction`."""
        self.own.put(key, value, db=self._handle.databases[db])

    def delete(self, key: bytes, *, db: bytes) -> None:
        """See `StoreTransaction`."""
        self.own.delete(key, db=self._handle.databases[db])

    def entries(self, db: bytes) -> int:
        """See `StoreTransaction`."""
        return int(self.own.stat(self._handle.databases[db])["entries"])

    def _database(self, db: bytes | None) -> Any:
        return None if db is None else self._handle.databases[db]

    def get_values(self, keys: pa.BinaryArray, *, db: bytes | None = None) -> pa.BinaryArray:
        """See `StoreTransaction`."""
        database = self._database(db)
        return whole(pa.array([self.own.get(key, db=database) for key in keys.to_pylist()], pa.binary()))

    def write_rows(self, keys: pa.BinaryArray, values: pa.BinaryArray, *, db: bytes | None = None) -> None:
        """See `StoreTransaction`."""
        database = self._database(db)
        for key, value in zip(keys.to_pylist(), values.to_pylist(), strict=True):
            if value is None:
                self.own.delete(key, db=database)
            else:
                self.own.put(key, value, db=database)

    def replace_rows(self, keys: pa.BinaryArray, values: pa.BinaryArray, new: Mask | None) -> pa.BinaryArray:
        """See `StoreTransaction`."""
        old = self.get_values(keys)
        self.write_rows(keys, values)
        return old

    def read(
        self,
        ranges: Ranges,
        limits: Integers | None = None,
        direction: Direction | Directions = Direction.FORWARD,
        *,
        most: int | None = None,
        page_rows: int | None = None,
        db: bytes | None = None,
        with_values: bool = True,
    ) -> Iterator[Batch]:
        """See `StoreTransaction`."""
        rows = islice(self._rows(ranges, limits, direction, db), most)
        while page := list(islice(rows, page_rows or self._handle.tuning.page_rows)):
            numbers, keys, values = zip(*page, strict=True)
            if not with_values:
                values = (b"",) * len(keys)
            yield Batch(np.array(numbers, np.int64), pa.array(keys, pa.binary()), pa.array(values, pa.binary()))

    def _rows(
        self, ranges: Ranges, limits: Integers | None, direction: Direction | Directions, db: bytes | None
    ) -> Iterator[Row]:
        with self.own.cursor(self._database(db)) as cursor:
            for number in range(len(ranges)):
                start, stop = ranges.bounds(number)
                limit = None if limits is None else int(limits[number])
                step = _backward if is_backward(direction, number) else _forward
                pairs = step(cursor, start, stop)
                yield from ((number, key, value) for key, value in islice(pairs, limit))

    def commit(self) -> None:
        """See `StoreTransaction`."""
        self.own.commit()

    def abort(self) -> None:
        """See `StoreTransaction`."""
        self.own.abort()


def _forward(cursor: lmdb.Cursor, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
    if cursor.set_range(start):
        for key, value in cast("Iterator[tuple[bytes, bytes]]", cursor.iternext()):
            if key >= stop:
                return
            yield key, value


def _backward(cursor: lmdb.Cursor, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
    if cursor.prev() if cursor.set_range(stop) else cursor.last():
        for key, value in cast("Iterator[tuple[bytes, bytes]]", cursor.iterprev()):
            if key < start:
                return
            yield key, value
