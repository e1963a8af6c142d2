"""LMDB's C functions on py-lmdb's transactions: many keys in one call, without the interpreter.

py-lmdb goes through Python objects and the interpreter's lock for each key: two shards that read and write at the same
time mostly wait for each other. Its library has LMDB's functions in it, and a transaction object holds LMDB's own
transaction. Where that stands in the object is found out once per process, with a transaction whose number and
environment are known: nothing is read but what the system says can be read, and only a place of which everything fits
is taken. Where it is not found (another build or version of py-lmdb, another system), everything goes the slow way.

py-lmdb must have no cursor open in a transaction while rows are written so: it would not learn of it.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import logging
import os
import struct
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import lmdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import BinaryOutput, address, buffers_of, whole
from risingpy.storage.kernels import lmdb_calls

LOG = logging.getLogger(__name__)

FEWEST_ROWS = 64  # fewer are faster one by one (measured): the call alone takes 15 µs
_MAP_FULL = -30792
_ROOM_PER_RANGE, _ROOM_GROWTH = 4, 8  # rows that the first page has room for, and how it grows
_WORD = 8
# struct MDB_txn of LMDB 0.9: parent, child, next page, number, environment.
_NUMBER_AT, _ENVIRONMENT_AT = 3 * _WORD, 4 * _WORD


@dataclass(frozen=True, slots=True)
class _Functions:
    """LMDB's functions, as ctypes has them."""

    get: Any
    put: Any
    delete: Any
    open_cursor: Any
    close_cursor: Any
    number_of: Any
    environment_of: Any
    path_of: Any
    open_database: Any
    find: Any
    error_text: Any


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where in a transaction object LMDB's transaction stands."""

    offset: int


_layouts: list[_Layout | None] = []  # none: not looked for yet


@dataclass(frozen=True, slots=True)
class _Opened:
    """The numbers of an environment's databases, the first being the default, and the bytes of a page."""

    databases: dict[bytes, int]
    page_bytes: int

    @property
    def default(self) -> int:
        return next(iter(self.databases.values()))


_opened: dict[int, _Opened] = {}  # by the address of LMDB's environment


def prepare(environment: lmdb.Environment, databases: Sequence[bytes]) -> None:
    """Learns an environment that was just opened; its transactions are begun with the first of the databases."""
    functions = _functions()
    if functions is None or environment.lib_version()[:2] != (0, 9):
        return
    transaction = environment.begin()
    try:
        if not _layouts:
            _layouts.append(_find_layout(functions, environment, transaction))
            if _layouts == [None]:
                LOG.info("LMDB's own transactions are not found in py-lmdb's: batches go through py-lmdb, more slowly")
        own = _own_transaction(transaction)
        if own:
            numbers = {name: _database_number(functions, own, name) for name in databases}
            _opened[functions.environment_of(own)] = _Opened(numbers, environment.stat()["psize"])
    finally:
        transaction.abort()


def get_values(transaction: lmdb.Transaction, keys: pa.BinaryArray) -> pa.BinaryArray:
    """The value of each key in the default database, NULL where there is none. Best if the keys ascend."""
    with _cursor(transaction, len(keys)) as (cursor, _):
        if cursor is None:
            return whole(pa.array(list(map(transaction.get, keys.to_pylist())), pa.binary()))
        functions = _known_functions()
        n = len(keys)
        key = buffers_of(keys)
        words = np.empty(4, np.int64)
        places = np.empty((n, 2), np.int64)
        _check(lmdb_calls.find_values(
            _at(functions.get), cursor, key.data, key.offsets, n, address(words), address(places)
        ), "mdb_cursor_get")  # fmt: skip
        output = BinaryOutput(pa.binary(), np.ascontiguousarray(places[:, 1]))
        lmdb_calls.copy_values(address(places), n, output.data, output.positions)
        return output.finish((places[:, 0] != 0).view(np.uint8))


def read_rows(
    transaction: lmdb.Transaction, start: bytes, stop: bytes, limit: int, *, behind: bool
) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    """Keys and values of at most `limit` rows of the default database from `start` on, or `behind` it, to `stop`."""
    with _cursor(transaction, limit) as (cursor, _):
        if cursor is None:
            return _read_one_by_one(transaction, start, stop, limit, behind=behind)
        words = np.empty(4, np.int64)
        keys, values = np.empty((2, limit, 2), np.int64)
        bounds = pa.py_buffer(start), pa.py_buffer(stop)
        found = lmdb_calls.find_range(
            _at(_known_functions().get), cursor, bounds[0].address, len(start), int(behind),
            bounds[1].address, len(stop), limit, address(words), address(keys), address(values),
        )  # fmt: skip
        _check(int(words[0]), "mdb_cursor_get")
        return _copied(keys[:found]), _copied(values[:found])


def read_ranges(
    transaction: lmdb.Transaction,
    starts: pa.BinaryArray,
    stops: pa.BinaryArray | None,
    limits: npt.NDArray[np.int64] | None,
    page_rows: int,
) -> Iterator[tuple[npt.NDArray[np.int64], pa.BinaryArray, pa.BinaryArray]]:
    """The rows of many ranges of the default database, at most `page_rows` at a time: range, key and value of each.

    A range goes from its start to its stop; if there are no stops, over the keys that begin with its start. Of each
    only the first `limits`, if given. Best if the starts ascend. Only if `is_native`; nothing may be written meanwhile.
    """
    n = len(starts)
    start = buffers_of(starts)
    stop = start if stops is None else buffers_of(stops)
    words = np.empty(4, np.int64)
    state = np.zeros(4, np.int64)
    room = min(page_rows, _ROOM_PER_RANGE * n)
    while state[0] < n:
        numbers, (keys, values) = np.empty(room, np.int64), np.empty((2, room, 2), np.int64)
        with _cursor(transaction, FEWEST_ROWS) as (cursor, _):  # none is open when the caller goes away
            found = lmdb_calls.find_in_ranges(
                _at(_known_functions().get), cursor or 0, start.data, start.offsets,
                0 if stops is None else stop.data, stop.offsets, 0 if limits is None else address(limits), n,
                room, address(words), address(state), address(numbers), address(keys), address(values),
            )  # fmt: skip
            _check(int(words[0]), "mdb_cursor_get")
            copied = _copied(keys[:found]), _copied(values[:found])
        if found:
            yield numbers[:found], *copied
            last = keys[found - 1]
            key = buffers_of(copied[0].slice(found - 1))
            state[2], state[3] = last[1], key.data + int(key.starts[0])
        room = min(page_rows, _ROOM_GROWTH * room)


def is_native(transaction: lmdb.Transaction) -> bool:
    """Whether LMDB's own functions can be called on it."""
    return _own_opened(transaction) is not None


def _copied(places: npt.NDArray[np.int64]) -> pa.BinaryArray:
    output = BinaryOutput(pa.binary(), np.ascontiguousarray(places[:, 1]))
    lmdb_calls.copy_values(address(places), len(places), output.data, output.positions)
    return output.finish(np.empty(len(places), np.uint8), missing=0)


def _read_one_by_one(
    transaction: lmdb.Transaction, start: bytes, stop: bytes, limit: int, *, behind: bool
) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    with transaction.cursor() as cursor:
        there = cursor.set_range(start) and not (behind and cursor.key() == start and not cursor.next())
        pairs = list(itertools.islice(cursor.iternext(), limit)) if there else []
    pairs = pairs[: bisect_left(pairs, (stop,))]
    return pa.array([key for key, _ in pairs], pa.binary()), pa.array([value for _, value in pairs], pa.binary())


def write_rows(transaction: lmdb.Transaction, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    """Puts the values into the default database; a NULL one deletes its key. The keys ascend."""
    with _cursor(transaction, len(keys)) as (cursor, page_bytes):
        if cursor is None:
            _write_one_by_one(transaction, keys, values)
            return
        functions = _known_functions()
        key, value = buffers_of(keys), buffers_of(values)
        words = np.empty(4, np.int64)
        tail = np.empty(lmdb_calls.TAIL_PAGES * page_bytes, np.uint8)
        _check(lmdb_calls.write_rows(
            _at(functions.get), _at(functions.put), _at(functions.delete), cursor, key.data, key.offsets,
            value.data, value.offsets, value.validity, value.bit_offset, len(keys),
            address(words), address(tail), page_bytes,
        ), "mdb_cursor_put")  # fmt: skip


def _write_one_by_one(transaction: lmdb.Transaction, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    if values.null_count:
        list(map(transaction.delete, keys.filter(values.is_null()).to_pylist()))
        kept = values.is_valid()
        keys, values = keys.filter(kept), values.filter(kept)
    if len(keys):
        with transaction.cursor() as cursor:
            cursor.putmulti(zip(keys.to_pylist(), values.to_pylist(), strict=True))


def stored_value(transaction: lmdb.Transaction, database: Any, name: bytes, key: bytes) -> pa.Buffer:
    """What is under a key that is there, of the named database; where it can be, not a copy but the store's memory.

    That holds until the transaction ends, or writes this key.
    """
    own_and_opened = _own_opened(transaction)
    if own_and_opened is None:
        return pa.py_buffer(transaction.get(key, db=database))
    own, opened = own_and_opened
    functions = _known_functions()
    asked = (ctypes.c_size_t * 2)(len(key), ctypes.cast(ctypes.c_char_p(key), ctypes.c_void_p).value or 0)
    found = (ctypes.c_size_t * 2)()
    _check(functions.find(own, opened.databases[name], asked, found), "mdb_get")
    return pa.foreign_buffer(found[1], found[0], base=transaction)


@functools.cache
def _functions() -> _Functions | None:
    """Those of the LMDB that py-lmdb has in it; None if it hides them."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != _WORD:
        return None
    try:
        library = ctypes.CDLL(sys.modules["lmdb.cpython"].__file__)
        return _declared(library)
    except (AttributeError, KeyError, OSError):
        return None


def _declared(library: ctypes.CDLL) -> _Functions:
    pointer, number = ctypes.c_void_p, ctypes.c_uint

    def function(name: str, result: Any, *arguments: Any) -> Any:
        found = library[f"mdb09_{name}"]
        found.restype, found.argtypes = result, arguments
        return found

    return _Functions(
        get=function("cursor_get", ctypes.c_int),
        put=function("cursor_put", ctypes.c_int),
        delete=function("cursor_del", ctypes.c_int),
        open_cursor=function("cursor_open", ctypes.c_int, pointer, number, ctypes.POINTER(pointer)),
        close_cursor=function("cursor_close", None, pointer),
        number_of=function("txn_id", ctypes.c_size_t, pointer),
        environment_of=function("txn_env", pointer, pointer),
        path_of=function("env_get_path", ctypes.c_int, pointer, ctypes.POINTER(ctypes.c_char_p)),
        find=function("get", ctypes.c_int, pointer, number, pointer, pointer),
        open_database=function("dbi_open", ctypes.c_int, pointer, ctypes.c_char_p, number, ctypes.POINTER(number)),
        error_text=function("strerror", ctypes.c_char_p, ctypes.c_int),
    )


def _database_number(functions: _Functions, own: int, name: bytes) -> int:
    number = ctypes.c_uint()
    _check(functions.open_database(own, name, 0, ctypes.byref(number)), "mdb_dbi_open")
    return number.value


def _known_functions() -> _Functions:
    functions = _functions()
    assert functions is not None
    return functions


def _at(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _find_layout(functions: _Functions, environment: lmdb.Environment, transaction: lmdb.Transaction) -> _Layout | None:
    """Looks at each word of the object, but calls LMDB only with one that points at such a transaction."""
    environments = set(_words_of(environment))
    for place, word in enumerate(_words_of(transaction)):
        head = _read(word, _ENVIRONMENT_AT + _WORD)
        if head is None:
            continue
        (number,) = struct.unpack_from("N", head, _NUMBER_AT)
        (owner,) = struct.unpack_from("N", head, _ENVIRONMENT_AT)
        if number != transaction.id() or owner not in environments:
            continue
        path = ctypes.c_char_p()
        fits = functions.number_of(word) == number and functions.environment_of(word) == owner
        if fits and functions.path_of(owner, ctypes.byref(path)) == 0 and path.value is not None:
            return _Layout(place * _WORD) if os.fsdecode(path.value) == environment.path() else None
    return None


def _words_of(thing: object) -> tuple[int, ...]:
    size = type(thing).__basicsize__ // _WORD
    return struct.unpack(f"{size}N", ctypes.string_at(id(thing), size * _WORD))


def _read(place: int, size: int) -> bytes | None:
    """Memory of this process; None where there is none."""
    if not 4096 <= place < 1 << 47:
        return None
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        try:
            found = os.pread(memory.fileno(), size, place)
        except OSError:
            return None
    return found if len(found) == size else None


def _own_transaction(transaction: lmdb.Transaction) -> int | None:
    """LMDB's transaction, if it is known where to look and the transaction has not ended."""
    layout = _layouts[0] if _layouts else None
    if layout is None or type(transaction) is not lmdb.Transaction:
        return None
    return ctypes.c_size_t.from_address(id(transaction) + layout.offset).value or None


def _own_opened(transaction: lmdb.Transaction) -> tuple[int, _Opened] | None:
    """LMDB's transaction, and what is known of its environment."""
    own, functions = _own_transaction(transaction), _functions()
    opened = _opened.get(functions.environment_of(own)) if own and functions is not None else None
    return None if own is None or opened is None else (own, opened)


@contextmanager
def _cursor(transaction: lmdb.Transaction, rows: int) -> Iterator[tuple[int | None, int]]:
    """A cursor of LMDB's in the default database, and the bytes of a page.

    None if there can be no cursor, or it does not pay for so few rows.
    """
    own_and_opened = _own_opened(transaction) if rows >= FEWEST_ROWS else None
    if own_and_opened is None:
        yield None, 0
        return
    own, opened = own_and_opened
    functions = _known_functions()
    cursor = ctypes.c_void_p()
    _check(functions.open_cursor(own, opened.default, ctypes.byref(cursor)), "mdb_cursor_open")
    try:
        yield cursor.value, opened.page_bytes
    finally:
        functions.close_cursor(cursor)


def _check(status: int, operation: str) -> None:
    if status == 0:
        return
    text = f"{operation}: {_known_functions().error_text(status).decode()}"
    raise lmdb.MapFullError(text) if status == _MAP_FULL else lmdb.Error(text)
