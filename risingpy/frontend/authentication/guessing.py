"""Failed logins: whoever has failed a few times from one address with one user's name must wait before the next try.

The wait comes before the password is looked at, so that nobody learns sooner by giving up. Tries of one address and
user wait one after the other, however many connections make them; those of other users, and of other addresses, do not
wait for them. A success forgets the failures.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FREE_FAILURES = 5  # mistyped passwords, and a pool of connections with an old one
FIRST_WAIT_SECONDS = 0.1
LONGEST_WAIT_SECONDS = 5.0
LONGEST_QUEUE_SECONDS = 30.0  # whoever comes then is refused, and whoever waits for their end need not wait longer
FORGOTTEN_AFTER_SECONDS = 600.0
MOST_ENTRIES = 10_000  # the oldest are forgotten first

Key = tuple[str, str]
"""Address and user."""


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0
    next_turn: float = 0.0


class Guessing:
    """The failures of a server's clients. From any thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._failures: OrderedDict[Key, _Failures] = OrderedDict()

    def wait_of(self, key: Key) -> float | None:
        """How many seconds the next try must wait; asking takes a turn. None: too many wait already."""
        with self._lock:
            known, now = self._failures.get(key), self._now()
            if known is None or known.count < FREE_FAILURES:
                return 0.0
            if now - known.last > FORGOTTEN_AFTER_SECONDS:
                del self._failures[key]
                return 0.0
            step = min(FIRST_WAIT_SECONDS * 2 ** min(known.count - FREE_FAILURES, 16), LONGEST_WAIT_SECONDS)
            if known.next_turn - now > LONGEST_QUEUE_SECONDS:
                return None
            known.next_turn = max(known.next_turn, now) + step
            return known.next_turn - now

    def failed(self, key: Key) -> None:
        """A try has failed."""
        with self._lock:
            known = self._failures.setdefault(key, _Failures())
            known.count, known.last = known.count + 1, self._now()
            self._failures.move_to_end(key)
            if len(self._failures) > MOST_ENTRIES:
                self._failures.popitem(last=False)

    def succeeded(self, key: Key) -> None:
        """A try has succeeded."""
        with self._lock:
            self._failures.pop(key, None)
