"""The results of a run, as data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.records import Location


@dataclass(frozen=True, slots=True)
class Failure:
    """A record whose answer is wrong. `detail` is for people: the SQL, then a diff or the error."""

    location: Location
    summary: str
    detail: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A record, or one of its answers, that this mode cannot ask for, and why."""

    location: Location
    reason: str


@dataclass(frozen=True, slots=True)
class FileResult:
    """A file's run. `checked` counts answers that were compared: in stream mode a query has two."""

    path: Path
    mode: Mode
    checked: int
    failures: tuple[Failure, ...]
    skips: tuple[Skip, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.failures
