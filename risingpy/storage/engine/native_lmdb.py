"""LMDB by its own C functions: environments, transactions and cursors are ours, and kernels go through many keys in one
call, without the interpreter (decision 034).

Two shards that read and write at the same time would wait for each other if each key took the interpreter's lock.
A transaction keeps a cursor for each database that it went through; LMDB moves them as the transaction writes.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from risingpy.errors import InternalError
from risingpy.storage.codec.column_buffers import Integers, address, buffers_of, joined_bytes
from risingpy.storage.engine.copied_rows import OldValues, copied_rows, copied_values
from risingpy.storage.engine.lmdb_library import (
    COMPACT,
    CREATE,
    NO_READ_AHEAD,
    NO_SYNC,
    NO_THREAD_SLOTS,
    NOT_FOUND,
    READ_ONLY,
    EnvironmentInfo,
    Library,
    Statistics,
)
from risingpy.storage.engine.ranges import Batch, Direction, Directions, Ranges
from risingpy.storage.engine.transactions import Mask, StoreTransaction
from risingpy.storage.kernels import key_probing, lmdb_calls, lmdb_ranges, lmdb_writes
from risingpy.storage.tuning import StoreTuning

_FILE_MODE = 0o644
_NO_LIMIT = 1 << 62
_SMALL_BYTES = 1 << 16  # of a value that is put without giving the interpreter's lock up
_FEW_KEYS = 16  # that are looked up without giving the interpreter's lock up
_START = [0, 0, 0, 0]  # of a read: the range, rows given of it, length and address of their last key


class NativeHandle:
    """An environment that was opened with LMDB's functions."""

    def __init__(
        self, library: Library, path: Path, *, map_bytes: int, databases: int, readers: int, tuning: StoreTuning
    ) -> None:
        """Opens the environment in a directory. lmdb.Error if it cannot."""
        self.library = library
        self.tuning = tuning
        self.numbers: dict[bytes, int] = {}
        self.transactions: WeakSet[NativeTransaction] = WeakSet()
        self.page_bytes = 0
        own = ctypes.c_void_p()
        library.call("env_create", ctypes.byref(own))
        self._own: int | None = own.value
        try:
            library.call("env_set_mapsize", own, map_bytes)
            library.call("env_set_maxdbs", own, databases)
            library.call("env_set_maxreaders", own, readers)
            flags = NO_READ_AHEAD | NO_THREAD_SLOTS | (0 if tuning.synced else NO_SYNC)
            library.call("env_open", own, os.fsencode(path), flags, _FILE_MODE)
            self.page_bytes = self._statistics().page_bytes
        except BaseException:
            self.close()
            raise

    @property
    def own(self) -> int:
        """LMDB's environment. InternalError if it is closed."""
        if self._own is None:
            raise InternalError("a store is used after it was closed")
        return self._own

    @property
    def is_open(self) -> bool:
        return self._own is not None

    @property
    def map_bytes(self) -> int:
        return int(self._info().map_bytes)

    @property
    def used_bytes(self) -> int:
        return (int(self._info().last_page) + 1) * self.page_bytes

    def open_databases(self, names: Sequence[bytes]) -> None:
        """See `Handle`."""
        transaction = self.begin()
        try:
            found = [self._open_database(transaction, name, 0) for name in names]
            transaction.commit()
        finally:
            transaction.abort()
        if not all(found):
            transaction = self.begin(write=True)
            try:
                for name in names:
                    self._open_database(transaction, name, CREATE)
                transaction.commit()
            finally:
                transaction.abort()
        self.numbers = {name: self.numbers[name] for name in names}

    def _open_database(self, transaction: NativeTransaction, name: bytes, flags: int) -> bool:
        number = ctypes.c_uint()
        status = self.library.functions["dbi_open"](transaction.own, name, flags, ctypes.byref(number))
        if status == NOT_FOUND:
            return False
        self.library.check(status, "dbi_open")
        self.numbers[name] = number.value
        return True

    def begin(self, *, write: bool = False) -> NativeTransaction:
        """See `Handle`."""
        own = ctypes.c_void_p()
        begin, flags = ("txn_begin", 0) if write else ("read_begin", READ_ONLY)
        self.library.call(begin, self.own, None, flags, ctypes.byref(own))
        transaction = NativeTransaction(self, own.value or 0, "txn_abort" if write else "read_abort")
        self.transactions.add(transaction)
        return transaction

    def set_map_bytes(self, size: int) -> None:
        """See `Handle`."""
        self.library.call("env_set_mapsize", self.own, size)

    def copy(self, directory: Path, transaction: StoreTransaction) -> None:
        """See `Handle`."""
        assert isinstance(transaction, NativeTransaction)
        self.library.call("env_copy3", self.own, os.fsencode(directory), COMPACT, transaction.own)

    def sync(self) -> None:
        """See `Handle`."""
        self.library.call("env_sync", self.own, 1)

    def close(self) -> None:
        """See `Handle`."""
        if self._own is not None:
            for transaction in list(self.transactions):
                transaction.abort()
            self.library.functions["env_close"](self._own)
            self._own = None

    def leave_to_parent(self) -> None:
        """See `Handle`. Transactions look here before they end."""
        self._own = None

    def _info(self) -> EnvironmentInfo:
        info = EnvironmentInfo()
        self.library.call("env_info", self.own, ctypes.byref(info))
        return info

    def _statistics(self) -> Statistics:
        statistics = Statistics()
        self.library.call("env_stat", self.own, ctypes.byref(statistics))
        return statistics


class NativeTransaction:
    """A transaction of LMDB's. One that nobody holds any more is aborted."""

    def __init__(self, handle: NativeHandle, own: int, abort: str) -> None:
        """`abort` is the function that ends it."""
        self._handle = handle
        self._abort = abort
        self._library = handle.library
        self._own: int | None = own
        self._cursors: dict[int, int] = {}
        # What calls take and give, first the key and the value (length, address), and places for the rows of a small
        # page. To make it for each call would take a read of one row longer than to find the row.
        self._few_rows = handle.tuning.first_page_rows
        self._frame: Any = (ctypes.c_int64 * (lmdb_ranges.FRAME_WORDS + lmdb_ranges.ROW_WORDS * self._few_rows))()
        self._frame_at = ctypes.addressof(self._frame)

    @property
    def own(self) -> int:
        """LMDB's transaction. InternalError if it is over."""
        if self._own is None or not self._handle.is_open:
            raise InternalError("a transaction of the store is used after its end")
        return self._own

    @property
    def id(self) -> int:
        return int(self._library.functions["txn_id"](self.own))

    def get(self, key: bytes, *, db: bytes) -> bytes | None:
        """See `StoreTransaction`."""
        return ctypes.string_at(self._frame[3], self._frame[2]) if self._find(key, db) else None

    def get_each(self, keys: Sequence[bytes], *, db: bytes) -> list[bytes | None]:
        """See `StoreTransaction`."""
        # As often `get`, without what it does for each key anew.
        own, number, get = self.own, self._handle.numbers[db], self._library.functions["get"]
        frame, place, buffer, string_at = self._frame, self._frame_at, pa.py_buffer, ctypes.string_at
        found = list[bytes | None]()
        for key in keys:
            held = buffer(key)
            frame[0], frame[1] = held.size, held.address
            status = get(own, number, place, place + 16)
            if status == NOT_FOUND:
                found.append(None)
            else:
                self._library.check(status, "get")
                found.append(string_at(frame[3], frame[2]))
        return found

    def first_row(self, start: bytes, *, db: bytes | None, beyond: bool = False) -> tuple[bytes, bytes] | None:
        """See `StoreTransaction`."""
        cursor, frame = self._cursor(db), self._frame
        get = self._library.functions["cursor_get"]
        keys = pa.py_buffer(start)
        frame[:2] = [keys.size, keys.address]
        status = get(cursor, self._frame_at, self._frame_at + 16, lmdb_calls.SET_RANGE)
        if status == 0 and beyond and ctypes.string_at(frame[1], frame[0]) == start:
            status = get(cursor, self._frame_at, self._frame_at + 16, lmdb_calls.NEXT)
        if status == NOT_FOUND:
            return None
        self._library.check(status, "cursor_get")
        return ctypes.string_at(frame[1], frame[0]), ctypes.string_at(frame[3], frame[2])

    def are_there(self, keys: Sequence[bytes], *, db: bytes, whole: bool) -> list[bool]:
        """See `StoreTransaction`. Others get their turn after some keys: a page may have to come from the disk."""
        get, cursor, there = self._library.cursor_get, self._cursor(db), list[bool]()
        for first in range(0, len(keys), _FEW_KEYS):
            some = keys[first : first + _FEW_KEYS]
            data, offsets = joined_bytes(some)
            key, found = pa.py_buffer(data), bytearray(len(some))
            where = key.address, offsets.buffer_info()[0], len(some), int(whole)
            status = key_probing.find_few(get, cursor, *where, self._frame_at, pa.py_buffer(found).address)
            self._library.check(status, "cursor_get")
            there += map(bool, found)
        return there

    def stored_value(self, key: bytes, *, db: bytes) -> pa.Buffer:
        """See `StoreTransaction`."""
        if not self._find(key, db):
            raise KeyError(key)
        return pa.foreign_buffer(self._frame[3], self._frame[2], base=self)

    def put(self, key: bytes, value: bytes | pa.Buffer, *, db: bytes) -> None:
        """See `StoreTransaction`."""
        keys, values = pa.py_buffer(key), pa.py_buffer(value)
        self._frame[:4] = [keys.size, keys.address, values.size, values.address]
        put = "short_put" if values.size <= _SMALL_BYTES else "put"
        self._library.call(put, self.own, self._handle.numbers[db], self._frame_at, self._frame_at + 16, 0)

    def delete(self, key: bytes, *, db: bytes) -> None:
        """See `StoreTransaction`."""
        keys = pa.py_buffer(key)
        self._frame[:2] = [keys.size, keys.address]
        status = self._library.functions["del"](self.own, self._handle.numbers[db], self._frame_at, None)
        self._library.check(0 if status == NOT_FOUND else status, "del")

    def entries(self, db: bytes) -> int:
        """See `StoreTransaction`."""
        statistics = Statistics()
        self._library.call("stat", self.own, self._handle.numbers[db], ctypes.byref(statistics))
        return int(statistics.entries)

    def get_values(self, keys: pa.BinaryArray, *, db: bytes | None = None) -> pa.BinaryArray:
        """See `StoreTransaction`."""
        n = len(keys)
        key = buffers_of(keys)
        places: Integers = np.empty(2 * n, np.int64)
        at = address(places)
        self._library.check(
            lmdb_calls.find_values(
                self._library.cursor_get, self._cursor(db), key.data, key.offsets, n, self._frame_at, at
            ),
            "cursor_get",
        )
        return copied_values(places, at, (places[::2] != 0).view(np.uint8))

    def write_rows(self, keys: pa.BinaryArray, values: pa.BinaryArray, *, db: bytes | None = None) -> None:
        """See `StoreTransaction`."""
        self._write(keys, values, db, 0, 0, 0, 0, 0)

    def replace_rows(self, keys: pa.BinaryArray, values: pa.BinaryArray, new: Mask | None) -> pa.BinaryArray:
        """See `StoreTransaction`."""
        old, done = OldValues(len(keys), values.nbytes), 0
        marks = None if new is None else np.ascontiguousarray(new)
        is_new = 0 if marks is None else address(marks)
        while done < len(keys):
            self._write(keys, values, None, done, is_new, *old.more_room(done))
            done, used = self._frame[4:6]
            old.has_taken(used)
        return old.values()

    def _write(self, keys: pa.BinaryArray, values: pa.BinaryArray, db: bytes | None, first: int, *kept: int) -> None:
        """See `lmdb_writes.write_rows`, of which `kept` are the last arguments."""
        key, value, page_bytes = buffers_of(keys), buffers_of(values), self._handle.page_bytes
        tail = np.empty(lmdb_writes.TAIL_PAGES * page_bytes, np.uint8)
        library = self._library
        library.check(lmdb_writes.write_rows(
            library.cursor_get, library.cursor_put, library.cursor_delete, self._cursor(db), key.data, key.offsets,
            value.data, value.offsets, value.validity, value.bit_offset, first, len(keys),
            self._frame_at, address(tail), page_bytes, *kept,
        ), "cursor_put")  # fmt: skip

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
        """See `StoreTransaction`. The first page is small, and the next ones grow: the number of rows is not known."""
        n = len(ranges)
        tuning = self._handle.tuning
        largest = page_rows or tuning.page_rows
        missing = _NO_LIMIT if most is None else most
        room = min(largest, max(tuning.first_page_rows, tuning.rows_per_range * n)) if most is None else largest
        start, stop = buffers_of(ranges.starts), buffers_of(ranges.stops)
        limit_at = 0 if limits is None else address(limits)
        all_backward, backward_at = int(direction is Direction.BACKWARD), 0
        if not isinstance(direction, Direction):
            backward_at = address(direction)
        # A page is found first, as addresses in LMDB's memory, and copied when its size is known: the caller may keep
        # it while the transaction goes on. The places of its rows are noted in the transaction's own room if they are
        # few, and another read may use that room before the next page is asked for. So each read keeps its own place,
        # and goes on by searching for the last key that it gave, which it has in its copy.
        place = _START
        while place[0] < n and missing > 0:
            room = min(room, missing)
            rows_at, noted = self._room(room)
            self._frame[4:8] = place
            found = lmdb_ranges.find_in_ranges(
                self._library.cursor_get, self._cursor(db), start.data, start.offsets, stop.data, stop.offsets,
                limit_at, n, all_backward, backward_at, int(with_values), room, self._frame_at, rows_at,
            )  # fmt: skip
            status, place = self._frame[0], self._frame[4:8]
            if status:
                raise self._library.error(status, "mdb_cursor_get")
            missing -= found
            if found:
                batch = copied_rows(rows_at, found, *self._frame[8 : lmdb_ranges.FRAME_WORDS])
                if place[0] < n:  # goes on after a key of ours: LMDB's may move
                    last = buffers_of(batch.keys.slice(found - 1))
                    place[2:] = int(last.ends[0] - last.starts[0]), last.data + int(last.starts[0])
                yield batch
            del noted
            room = min(largest, tuning.page_growth * room)

    def _room(self, rows: int) -> tuple[int, object]:
        """Where a page of so many rows can be noted, and what owns the place: for few, one that is always there."""
        if rows <= self._few_rows:
            return self._frame_at + 8 * lmdb_ranges.FRAME_WORDS, None
        room = np.empty(lmdb_ranges.ROW_WORDS * rows, np.int64)
        return address(room), room

    def commit(self) -> None:
        """See `StoreTransaction`."""
        own = self.own
        self._close_cursors()
        self._own = None
        self._library.call("txn_commit", own)

    def abort(self) -> None:
        """See `StoreTransaction`."""
        own, self._own = self._own, None
        if own is not None and self._handle.is_open:
            self._close_cursors()
            self._library.functions[self._abort](own)

    def __del__(self) -> None:
        self.abort()

    def _find(self, key: bytes, db: bytes) -> bool:
        keys, frame = pa.py_buffer(key), self._frame
        frame[0], frame[1] = keys.size, keys.address
        get, place = self._library.functions["get"], self._frame_at
        status = get(self.own, self._handle.numbers[db], place, place + 16)
        self._library.check(0 if status == NOT_FOUND else status, "get")
        return bool(status == 0)

    def _cursor(self, db: bytes | None) -> int:
        """LMDB's cursor in a database, the default one if none is named."""
        numbers = self._handle.numbers
        number = next(iter(numbers.values())) if db is None else numbers[db]
        own = self.own
        found = self._cursors.get(number)
        if found is None:
            cursor = ctypes.c_void_p()
            self._library.call("cursor_open", own, number, ctypes.byref(cursor))
            found = self._cursors[number] = cursor.value or 0
        return found

    def _close_cursors(self) -> None:
        for cursor in self._cursors.values():
            self._library.functions["cursor_close"](cursor)
        self._cursors = {}
