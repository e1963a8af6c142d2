"""A statement's `cancelled` event as a function, for code that must not know threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum

from risingpy.errors import Check, QueryCanceled, unchecked

Cancelled = threading.Event | None


class WaitEvent(Enum):
    """What a session waits for: PostgreSQL's type of the event, and its name."""

    CLIENT = ("Client", "ClientRead")
    TABLE_LOCK = ("Lock", "relation")
    ADVISORY_LOCK = ("Lock", "advisory")
    EPOCH = ("IPC", "EpochCommit")
    TURN = ("IPC", "QueryAdmission")


class CancelFlag(threading.Event):
    """An event that also calls others when it is set, so that who waits for two things need not look every moment."""

    def __init__(self, lock_timeout: Callable[[], int] = lambda: 0) -> None:
        """`lock_timeout` gives the milliseconds that the statement may wait for one lock; 0: any time."""
        super().__init__()
        self.lock_timeout = lock_timeout
        self._calls: tuple[Callable[[], None], ...] = ()  # replaced as a whole: another thread may set the flag
        self.waits_for: WaitEvent | None = None  # for others to see

    def set(self) -> None:
        super().set()
        for call in self._calls:
            call()

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """Within the block, `call` is called when the flag is set. For the thread that waits; blocks may nest."""
        self.call_when_set(call)
        try:
            yield
        finally:
            self.forget_call(call)

    def call_when_set(self, call: Callable[[], None]) -> None:
        """The same without a block, until `forget_call`: for who waits without a thread."""
        self._calls = (*self._calls, call)

    def forget_call(self, call: Callable[[], None]) -> None:
        """It is not called any more."""
        self._calls = tuple(each for each in self._calls if each != call)


def waiting(cancelled: Cancelled, event: WaitEvent) -> AbstractContextManager[None]:
    """A context manager in which the statement, if `cancelled` is one's flag, is seen to wait for the event."""
    return _waiting(cancelled, event) if isinstance(cancelled, CancelFlag) else nullcontext()


@contextmanager
def _waiting(flag: CancelFlag, event: WaitEvent) -> Iterator[None]:
    before, flag.waits_for = flag.waits_for, event
    try:
        yield
    finally:
        flag.waits_for = before


def check_of(cancelled: Cancelled) -> Check:
    """A function that raises QueryCanceled once the event is set."""
    if cancelled is None:
        return unchecked

    def check() -> None:
        if cancelled.is_set():
            raise QueryCanceled("canceling statement due to user request")

    return check
