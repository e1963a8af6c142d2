"""Where a transaction stood at a SAVEPOINT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from risingpy.frontend.constraints.deferral import Deferral
from risingpy.meta.writing.dml_log import TableChange


@dataclass(frozen=True, slots=True)
class SavedPlace:
    """How much was written, and how many tables were held; `restore` undoes the session's other changes.

    `deferral` is what SET CONSTRAINTS had said, and what had been put off. `earlier` are the changes of before it, if
    some of them have got another form since.
    """

    name: str
    changes: int
    held: int
    restore: Callable[[], None]
    deferral: Deferral
    earlier: tuple[TableChange, ...] | None = None
