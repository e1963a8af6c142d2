"""The counters of identity columns. They count from 1, and give no number twice, even after a crash."""

from __future__ import annotations

import threading
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.functions.topics import identities
from risingpy.storage.engine.meta_store import MetaStore


class IdentityCounters:
    """A counter per column, from which the expression `next_number` takes its numbers. For all threads.

    Like row ids, numbers are reserved in the meta store in blocks, so that only one in `BLOCK` numbers pays for a
    commit. If the server dies, the rest of a block is never used.
    """

    BLOCK = 1 << 10

    def __init__(self, store: MetaStore, data_directory: Path) -> None:
        self._store = store
        self._directory = str(data_directory)
        self._guard = threading.Lock()
        self._next: dict[int, int] = {}
        self._limits: dict[int, int] = {}
        identities.numbers_come_from(self._directory, self.take)

    def take(self, counter: int, count: int, greatest: int) -> int:
        """The first of `count` consecutive numbers. Raises 2200H if one of them would be above `greatest`."""
        with self._guard:
            first = self._known(counter)
            if first + count - 1 > greatest:
                raise SqlError(f"nextval: reached maximum value of sequence ({greatest})", sqlstate="2200H")
            self._advance(counter, first + count)
            return first

    def pass_by(self, counter: int, number: int) -> None:
        """A row was given this number: from now on, the counter gives only greater ones."""
        with self._guard:
            if number >= self._known(counter):
                self._advance(counter, number + 1)

    def close(self) -> None:
        """Gives the rest of the blocks back."""
        identities.forget(self._directory)
        with self._guard, self._store.transaction() as txn:
            for counter, start in self._next.items():
                txn.put(_key(counter), str(start).encode())

    def _known(self, counter: int) -> int:
        if counter not in self._next:
            with self._store.transaction() as txn:
                value = txn.get(_key(counter))
            self._next[counter] = self._limits[counter] = int(value) if value is not None else 1
        return self._next[counter]

    def _advance(self, counter: int, following: int) -> None:
        if following > self._limits[counter]:
            limit = following + self.BLOCK
            with self._store.transaction() as txn:
                txn.put(_key(counter), str(limit).encode())
            self._limits[counter] = limit
        self._next[counter] = following


def _key(counter: int) -> str:
    return f"identity/{counter}"
