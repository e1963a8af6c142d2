"""What the store asks of LMDB: the two bindings, `native_lmdb` and `py_lmdb`, each have it.

Keys and values are as they are stored. Databases of an environment are known by their names, and the first of them is
meant where none is named. Errors are py-lmdb's: `lmdb.Error`, `lmdb.MapFullError` where the map has no room,
`lmdb.MapResizedError` where another process has made it larger. After an error of a write the transaction must be
aborted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.storage.codec.column_buffers import Integers
from risingpy.storage.engine.ranges import Batch, Direction, Directions, Ranges

Mask = npt.NDArray[np.bool_]


class StoreTransaction(Protocol):
    """For one thread at a time; one that writes, for the thread that began it."""

    @property
    def id(self) -> int:
        """The number of the committed state that it sees, or of the one that it makes."""
        ...

    def get(self, key: bytes, *, db: bytes) -> bytes | None:
        """The value of a key."""
        ...

    def get_each(self, keys: Sequence[bytes], *, db: bytes) -> list[bytes | None]:
        """The values of a few keys."""
        ...

    def first_row(self, start: bytes, *, db: bytes | None, beyond: bool = False) -> tuple[bytes, bytes] | None:
        """The first key from `start`, which is not empty, on, or `beyond` it, and its value; None if there is none."""
        ...

    def are_there(self, keys: Sequence[bytes], *, db: bytes, whole: bool) -> list[bool]:
        """Whether each of a few keys, none of them empty, is there; without `whole`: whether a key begins with it."""
        ...

    def put(self, key: bytes, value: bytes | pa.Buffer, *, db: bytes) -> None:
        """Sets the value of a key."""
        ...

    def delete(self, key: bytes, *, db: bytes) -> None:
        """Deletes a key; harmless if there is none."""
        ...

    def entries(self, db: bytes) -> int:
        """How many keys a database has."""
        ...

    def stored_value(self, key: bytes, *, db: bytes) -> pa.Buffer:
        """What is under a key that is there; where it can be, not a copy but the store's memory.

        That holds until the transaction ends, or writes this key.
        """
        ...

    def get_values(self, keys: pa.BinaryArray, *, db: bytes | None = None) -> pa.BinaryArray:
        """The value of each key, NULL where there is none. Fastest if the keys ascend."""
        ...

    def write_rows(self, keys: pa.BinaryArray, values: pa.BinaryArray, *, db: bytes | None = None) -> None:
        """Puts the values; a NULL one deletes its key. The keys ascend."""
        ...

    def replace_rows(self, keys: pa.BinaryArray, values: pa.BinaryArray, new: Mask | None) -> pa.BinaryArray:
        """As `write_rows`, and returns what was there under each key, NULL where nothing was.

        Each key is searched for once. Those that are `new` are surely not there.
        """
        ...

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
        """The rows of each range, `page_rows` at a time at most.

        Of each range at most the first `limits[i]`, of all together at most the first `most`. Of a range that is read
        backward, as all are or those that `direction` marks, the last row is the first. Without values, those that
        come are empty. Nothing may be written until the last batch was taken.
        """
        ...

    def commit(self) -> None:
        """Makes the writes durable; whatever comes of it, the transaction is over."""
        ...

    def abort(self) -> None:
        """Ends it without writing. Harmless if it is over."""
        ...


def scan(transaction: StoreTransaction, prefix: bytes, *, db: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What follows the prefix in each key that begins with it, and the value, in key order. For notes: few."""
    row = transaction.first_row(prefix or b"\0", db=db)
    while row is not None and row[0].startswith(prefix):
        yield row[0][len(prefix) :], row[1]
        row = transaction.first_row(row[0], db=db, beyond=True)


class Handle(Protocol):
    """An open environment."""

    @property
    def map_bytes(self) -> int: ...

    @property
    def used_bytes(self) -> int:
        """Bytes that the data file must have at least."""
        ...

    def open_databases(self, names: Sequence[bytes]) -> None:
        """Makes those that are missing; the first is the default of the transactions that begin later."""
        ...

    def begin(self, *, write: bool = False) -> StoreTransaction: ...

    def set_map_bytes(self, size: int) -> None:
        """Moves the map; 0: to the size that the file says. Transactions that are open can only be ended then."""
        ...

    def copy(self, directory: Path, transaction: StoreTransaction) -> None:
        """Writes what the transaction sees, without free space, as an environment in an empty directory."""
        ...

    def sync(self) -> None: ...

    def close(self) -> None:
        """Ends what is open."""
        ...

    def leave_to_parent(self) -> None:
        """In a forked child: nothing of it is touched any more, not even by its end."""
        ...
