"""What every object store can do for us, and how it fails.

An object is created whole, once, and never changed: `put` refuses a name that is taken. A put whose answer is lost may
have happened, now or later. Its caller finds out by reading the name: who needs to know whether an object is its own
writes something into it that nobody else has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from risingpy.errors import IoError

Bytes = bytes | memoryview
T = TypeVar("T")
TRIES = 9  # of a request whose outcome is not known: 5 s in all, after what the client library has tried itself
FIRST_PAUSE = 0.02  # seconds; each pause is twice as long as the one before


class StateUnavailable(IoError):
    """Shared storage does not answer, or refuses us: the operator looks at the URI, the credentials, the network.

    A put that failed so may have happened.
    """


class ObjectExists(Exception):
    """The name is taken: by somebody else, or by an earlier try of ours whose answer was lost."""


class ObjectMissing(Exception):
    """There is no object of this name."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object in a listing; `modified` is in seconds since 1970, by the storage's clock."""

    name: str
    size: int
    modified: float


class ObjectStore(Protocol):
    """For any thread. Names are relative to the URI, of ASCII letters, digits and `-._`, with `/` between parts."""

    uri: str

    def put(self, name: str, data: Bytes) -> None:
        """Creates the object, durably. Raises ObjectExists, or StateUnavailable if it may or may not be there."""
        ...

    def get(self, name: str) -> bytes:
        """The whole object. Raises ObjectMissing, StateUnavailable."""
        ...

    def list(self, prefix: str) -> Iterator[FoundObject]:
        """The objects whose names begin with `prefix`, which is empty or ends in `/`, in the order of their names."""
        ...

    def delete(self, name: str) -> None:
        """Deletes the object; harmless if it is not there."""
        ...

    def delete_unfinished(self, before: float) -> int:
        """Removes what interrupted puts have left, of before a time in seconds since 1970; returns how many."""
        ...


def put_own(objects: ObjectStore, name: str, data: Bytes) -> None:
    """Creates an object under a name that nobody else takes, trying again; StateUnavailable when that is no use."""
    pause = FIRST_PAUSE
    for left in reversed(range(TRIES)):
        try:
            objects.put(name, data)
            return
        except ObjectExists:
            return  # an earlier try of ours
        except StateUnavailable:
            if not left:
                raise
            time.sleep(pause)
            pause *= 2


def get_surely(objects: ObjectStore, name: str) -> bytes:
    """Reads an object, trying again. Raises ObjectMissing at once, StateUnavailable when trying is no use."""
    return _tried_again(lambda: objects.get(name))


def list_surely(objects: ObjectStore, prefix: str) -> list[FoundObject]:
    """Lists objects, trying again. Raises StateUnavailable when trying is no use."""
    return _tried_again(lambda: list(objects.list(prefix)))


def _tried_again(read: Callable[[], T]) -> T:
    pause = FIRST_PAUSE
    for _ in range(TRIES - 1):
        try:
            return read()
        except StateUnavailable:
            time.sleep(pause)
            pause *= 2
    return read()
