"""A commit that nobody waits for: the thread of the group commits logs it in its turn, and tells when that is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from risingpy.errors import SqlError
from risingpy.meta.writing.coming_rows import TransactionRows, Written
from risingpy.meta.writing.kept_rows import KeptRows
from risingpy.meta.writing.table_locks import HeldLock, HeldRows
from risingpy.meta.writing.writes import Writes

_Ended = Callable[[SqlError | None, int], Callable[[], None]]
"""With the error, or up to which position the log has the rows. What it returns wakes who waits."""


def committed_later(
    writes: Writes,
    kept: KeptRows,
    followed: Iterable[TransactionRows],
    held: Iterable[HeldLock | HeldRows],
    ended: _Ended,
) -> Callable[[], None]:
    """Adds a transaction's rows to the next group, and passes the locks of its rows on; the result begins the group.

    The order counts: who gets such a lock finds the rows among those that come.
    """

    def done(written: Written | None) -> Callable[[], None]:
        return ended(rows.error, 0 if written is None else written.lsn)

    rows = TransactionRows(kept, tuple(followed), done)
    writes.group_commit.add(rows)
    writes.locks.pass_on(each for each in held if isinstance(each, HeldLock) and each.key is not None)
    return writes.group_commit.begin
