"""Locks as catalogs show them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeenLock:
    """A lock that a session has, or waits for. `since`: since when, in seconds since 1970.

    `key` is that of a row, or a name or an advisory lock's (the table is then no table's id); None for a whole table.
    `mode` is PostgreSQL's name for a lock of that strength. `blocked_by` are the sessions that this one waits for. A
    process id of 0 is the group commit's, which writes for many sessions.
    """

    table_id: int
    key: Hashable
    process_id: int
    mode: str
    since: float
    is_granted: bool = True
    is_awaited: bool = False
    blocked_by: tuple[int, ...] = ()

    @property
    def waits_since(self) -> float | None:
        return None if self.is_granted else self.since

    @property
    def is_row(self) -> bool:
        return self.key is not None
