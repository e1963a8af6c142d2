"""LMDB's C functions, as the library that py-lmdb was built with exports them, for ctypes and for kernels.

They are declared once per process and never change. Where they are not exported (another build of py-lmdb, another
system), there are none, and the store goes through py-lmdb itself (`py_lmdb`).
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from dataclasses import dataclass
from typing import Any

import lmdb

# They take a microsecond. To get the interpreter's lock back after one may take half a millisecond where others wait
# for it, and a small epoch calls a hundred of them.
_SHORT = (
    *("strerror", "version", "env_info", "env_stat", "txn_id", "stat"),
    *("get", "del", "cursor_open", "cursor_close", "cursor_get"),
)
_PREFIX = "mdb09_"  # py-lmdb has LMDB 0.9, whose format is that of our stores, and 1.0 in one library
_NEEDED = (0, 9)

NO_SYNC = 0x10000  # MDB_NOSYNC
NO_READ_AHEAD, NO_THREAD_SLOTS = 0x800000, 0x200000  # MDB_NORDAHEAD, MDB_NOTLS
READ_ONLY, CREATE, COMPACT = 0x20000, 0x40000, 0x01  # MDB_RDONLY, MDB_CREATE, MDB_CP_COMPACT
NOT_FOUND = -30798  # MDB_NOTFOUND
_ERRORS: tuple[tuple[int, type[lmdb.Error]], ...] = (
    (-30796, lmdb.CorruptedError),
    (-30794, lmdb.VersionMismatchError),
    (-30793, lmdb.InvalidError),
    (-30792, lmdb.MapFullError),
    (-30790, lmdb.ReadersFullError),
    (-30785, lmdb.MapResizedError),
)


class EnvironmentInfo(ctypes.Structure):
    """MDB_envinfo"""

    _fields_ = (
        ("map_address", ctypes.c_void_p),
        ("map_bytes", ctypes.c_size_t),
        ("last_page", ctypes.c_size_t),
        ("last_transaction", ctypes.c_size_t),
        ("most_readers", ctypes.c_uint),
        ("readers", ctypes.c_uint),
    )


class Statistics(ctypes.Structure):
    """MDB_stat"""

    _fields_ = (
        ("page_bytes", ctypes.c_uint),
        ("depth", ctypes.c_uint),
        ("branch_pages", ctypes.c_size_t),
        ("leaf_pages", ctypes.c_size_t),
        ("overflow_pages", ctypes.c_size_t),
        ("entries", ctypes.c_size_t),
    )


@dataclass(frozen=True, slots=True)
class Library:
    """The functions by their names in LMDB without `mdb_`; of those that kernels call, also the addresses.

    Those in `_SHORT` keep the interpreter's lock, as do `read_begin`, `read_abort` and `short_put`: `txn_begin` and
    `txn_abort` of a transaction that reads, and `put` of a small value.
    """

    functions: dict[str, Any]
    cursor_get: int
    cursor_put: int
    cursor_delete: int

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function that returns a status. lmdb.Error, of the kind that py-lmdb raises, if it is not 0."""
        status = self.functions[name](*arguments)
        if status:
            raise self.error(status, f"mdb_{name}")

    def check(self, status: int, name: str) -> None:
        """Raises the error of a status that a kernel has returned, if it is one."""
        if status:
            raise self.error(status, f"mdb_{name}")

    def error(self, status: int, operation: str) -> lmdb.Error:
        """What py-lmdb raises for a status."""
        text = self.functions["strerror"](status).decode()
        return dict(_ERRORS).get(status, lmdb.Error)(f"{operation}: {text}")


@functools.cache
def find_library() -> Library | None:
    """That of this process; None if it hides its functions, or is of another version."""
    module = sys.modules.get("lmdb.cpython")
    return None if module is None else library_at(str(module.__file__))


def library_at(path: str) -> Library | None:
    """The functions in a shared library; None if it has not all of them."""
    if struct.calcsize("P") != 8 or sys.byteorder != "little":  # the kernels write words of 8 bytes
        return None
    try:
        return _declared(ctypes.CDLL(path), ctypes.PyDLL(path))
    except (AttributeError, OSError):
        return None


def _declared(library: ctypes.CDLL, with_lock: ctypes.PyDLL) -> Library | None:
    pointer, number, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
    status = ctypes.c_int
    functions: dict[str, Any] = {}

    def declare(name: str, result: Any, *arguments: Any, short: str | None = None) -> None:
        """`short` is what the function that keeps the interpreter's lock is called, if there are both."""
        for called, source in ((name, with_lock if name in _SHORT else library), (short, with_lock)):
            if called is not None:
                functions[called] = found = source[f"{_PREFIX}{name}"]
                found.restype, found.argtypes = result, arguments

    declare("strerror", ctypes.c_char_p, status)
    declare("version", ctypes.c_char_p, pointer, pointer, pointer)
    declare("env_create", status, pointer)
    declare("env_set_mapsize", status, pointer, size)
    declare("env_set_maxdbs", status, pointer, number)
    declare("env_set_maxreaders", status, pointer, number)
    declare("env_open", status, pointer, ctypes.c_char_p, number, number)
    declare("env_info", status, pointer, pointer)
    declare("env_stat", status, pointer, pointer)
    declare("env_sync", status, pointer, status)
    declare("env_copy3", status, pointer, ctypes.c_char_p, number, pointer)
    declare("env_close", None, pointer)
    declare("txn_begin", status, pointer, pointer, number, pointer, short="read_begin")
    declare("txn_id", size, pointer)
    declare("txn_commit", status, pointer)
    declare("txn_abort", None, pointer, short="read_abort")
    declare("dbi_open", status, pointer, ctypes.c_char_p, number, pointer)
    declare("stat", status, pointer, number, pointer)
    declare("get", status, pointer, number, pointer, pointer)
    declare("put", status, pointer, number, pointer, pointer, number, short="short_put")
    declare("del", status, pointer, number, pointer, pointer)
    declare("cursor_open", status, pointer, number, pointer)
    declare("cursor_close", None, pointer)
    declare("cursor_get", status, pointer, pointer, pointer, number)
    declare("cursor_put", status)
    declare("cursor_del", status)
    version = (ctypes.c_int * 3)()
    at = ctypes.addressof(version)
    functions["version"](at, at + 4, at + 8)
    if tuple(version)[:2] != _NEEDED:
        return None
    return Library(functions, *(_address(functions[name]) for name in ("cursor_get", "cursor_put", "cursor_del")))


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
