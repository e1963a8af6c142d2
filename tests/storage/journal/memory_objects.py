"""An object store in memory, which fails on cue: late, refused, applied without an answer."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator

from risingpy.storage.objects.object_store import Bytes, FoundObject, ObjectExists, ObjectMissing, StateUnavailable


class MemoryObjects:
    """See `ObjectStore`. `before` is called with each operation and name, and may raise; puts that it lets through
    are applied. `lost_puts`: of so many puts in a thousand the answer is lost, before or after it is applied.
    """

    def __init__(self, chance: random.Random | None = None, *, failures: int = 0, lost_puts: int = 0) -> None:
        self.uri = "memory:"
        self.stored: dict[str, bytes] = {}
        self.before: Callable[[str, str], None] = lambda operation, name: None
        self._chance = chance or random.Random(0)
        self._failures, self._lost_puts = failures, lost_puts
        self._guard = threading.Lock()

    def be_reliable(self) -> None:
        """From now on, nothing fails."""
        self._failures = self._lost_puts = 0

    def put(self, name: str, data: Bytes) -> None:
        self._begin("put", name)
        fate = self._chance.randrange(1000)
        if fate < self._lost_puts // 2:
            raise StateUnavailable("timed out, and was not applied")
        with self._guard:
            if name in self.stored:
                raise ObjectExists(name)
            self.stored[name] = bytes(data)
        if fate < self._lost_puts:
            raise StateUnavailable("timed out, but was applied")

    def get(self, name: str) -> bytes:
        self._begin("get", name)
        with self._guard:
            if name not in self.stored:
                raise ObjectMissing(name)
            return self.stored[name]

    def list(self, prefix: str) -> Iterator[FoundObject]:
        self._begin("list", prefix)
        with self._guard:
            found = sorted(name for name in self.stored if name.startswith(prefix))
        return (FoundObject(name, len(self.stored[name]), 0.0) for name in found if name in self.stored)

    def delete(self, name: str) -> None:
        self._begin("delete", name)
        with self._guard:
            self.stored.pop(name, None)

    def delete_unfinished(self, before: float) -> int:
        return 0

    def _begin(self, operation: str, name: str) -> None:
        self.before(operation, name)
        if self._chance.randrange(1000) < self._failures:
            raise StateUnavailable("503 Slow Down")
