"""A session's advisory locks: those that it keeps until it gives them up, and those of its transaction.

    pg_advisory_lock(7)         until as many pg_advisory_unlock(7), or until the session ends; ROLLBACK keeps it
    pg_advisory_xact_lock(7)    until the transaction ends, or goes back to a savepoint of before

Both may be held at once, by one session, and conflict with those of other sessions only.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.frontend.transaction import Transaction
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.database import Database
from risingpy.meta.writing.advisory_locks import ADVISORY, AdvisoryKey, key_of
from risingpy.meta.writing.table_locks import HeldLock, LockMode


class SessionAdvisoryLocks:
    """A session's `AdvisoryLocks`: see `statement_limits.py`. `warn` sends the client a warning."""

    def __init__(
        self,
        database: Callable[[], Database],
        transaction: Transaction,
        cancelled: CancelFlag,
        warn: Callable[[str], None],
    ) -> None:
        self._database = database
        self._transaction = transaction
        self._cancelled = cancelled
        self._warn = warn
        self._held: dict[tuple[AdvisoryKey, LockMode], list[HeldLock]] = {}  # once for each time that it was taken

    def lock(self, numbers: tuple[int, ...], *, shared: bool, transaction: bool, wait: bool) -> bool:
        """Takes a lock, once more if it is there. Without `wait`, false if others have it.

        Raises what `TableLocks.acquire` does: 57014, 40P01, 55P03.
        """
        key, mode, process_id = self._key(numbers), _mode(shared), self._transaction.process_id
        locks = self._database().writes.locks
        held: HeldLock | None
        if wait:
            held = locks.acquire(ADVISORY, mode, self._cancelled, key=key, process_id=process_id)
        else:
            held = locks.take(ADVISORY, mode, key, process_id=process_id, follows=False)
            if held is None:
                return False
        if transaction:
            self._transaction.adopt(held)
        else:
            self._held.setdefault((key, mode), []).append(held)
        return True

    def unlock(self, numbers: tuple[int, ...], *, shared: bool) -> bool:
        """Gives up what the session has taken once; false, with a warning, if it does not have it."""
        key, mode = self._key(numbers), _mode(shared)
        held = self._held.get((key, mode))
        if held is None:
            self._warn(f"you don't own a lock of type {mode.value}")
            return False
        held.pop().release()
        if not held:
            del self._held[key, mode]
        return True

    def unlock_all(self) -> None:
        """Gives up all that are not the transaction's, however often they were taken."""
        held = [each for several in self._held.values() for each in several]
        self._held.clear()
        self._database().writes.locks.release_all(held)

    def _key(self, numbers: tuple[int, ...]) -> AdvisoryKey:
        return key_of(self._database().reads.catalog.database_id, numbers)


def _mode(shared: bool) -> LockMode:
    return LockMode.SHARED if shared else LockMode.ALONE
