"""Who uses the memory map of an environment at the moment: it moves only while nobody does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class MapUse:
    """A context manager that keeps a map where it is; for any number of threads, of which none may enter it twice.

    An epoch enters it dozens of times, so it is no generator, which takes three times as long. `changed` is the lock
    that guards it: who holds that keeps the map where it is, too, for a moment.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._users = 0
        self._is_moving = False

    @property
    def is_wanted(self) -> bool:
        """Whether somebody moves the map, or waits for its users."""
        return self._is_moving

    def __enter__(self) -> None:
        with self.changed:
            while self._is_moving:
                self.changed.wait()
            self._users += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.changed:
            self._users -= 1
            if self._is_moving:
                self.changed.notify_all()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """A context manager in which the map may move: it begins when the last user has left, and nobody new comes."""
        with self.changed:
            self._is_moving = True
            try:
                while self._users:
                    self.changed.wait()
                yield
            finally:
                self._is_moving = False
                self.changed.notify_all()
