"""Where a transaction stood at a SAVEPOINT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from risingpy.meta.writing.dml_log import TableChange


@dataclass(frozen=True, slots=True)
class SavedPlace:
    """How much was written, and how many tables were held; `restore` undoes the session's other changes.

    `earlier` are the changes of before it, if some of them have got another form since.
    """

    name: str
    changes: int
    held: int
    restore: Callable[[], None]
    earlier: tuple[TableChange, ...] | None = None
