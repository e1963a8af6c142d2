"""The contents of a `.slt` file as data: one frozen record per block.

The format is that of sqllogictest-rs, which RisingWave's own tests use
(https://github.com/risinglightdb/sqllogictest-rs), narrowed to row-wise results.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file, counted from 1."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class SortMode(Enum):
    """How both sides are sorted before they are compared."""

    NOSORT = "nosort"
    ROWSORT = "rowsort"
    VALUESORT = "valuesort"


@dataclass(frozen=True, slots=True)
class Condition:
    """`skipif LABEL` or `onlyif LABEL` above a record."""

    label: str
    only: bool

    def holds(self, labels: frozenset[str]) -> bool:
        """True if a run with these labels executes the record."""
        return (self.label in labels) == self.only


@dataclass(frozen=True, slots=True)
class Retry:
    """`retry TIMES backoff SECONDS`: a record that fails is tried again so many times."""

    times: int
    backoff: float


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """An error that must come: by SQLSTATE, by regular expression, by whole text; all None means any."""

    sqlstate: str | None = None
    pattern: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of the file, counted from 1 and both included, that hold a record's expected result."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Record:
    """What every record has. `connection` is None for the file's first connection."""

    location: Location
    conditions: tuple[Condition, ...] = ()
    connection: str | None = None

    def runs_under(self, labels: frozenset[str]) -> bool:
        return all(condition.holds(labels) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class StatementRecord(Record):
    """SQL whose rows do not matter: it must succeed, succeed with a row count, or fail with the expected error."""

    sql: str = ""
    error: ExpectedError | None = None
    count: int | None = None
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class QueryRecord(Record):
    """SQL whose rows matter.

    `types` has a letter per column: T text, I whole number, R number compared by value, B boolean, D date or time,
    `?` any. Only R changes a comparison. `sort` None means the file's default. `expected` holds the lines as
    written; `lines` their place, None if the record expects nothing (as `query` without `----`).
    """

    sql: str = ""
    types: str = ""
    sort: SortMode | None = None
    label: str | None = None
    error: ExpectedError | None = None
    expected: tuple[str, ...] = ()
    lines: Lines | None = None
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class System(Record):
    """A shell command that must exit with 0, and print `expected` if that is given."""

    command: str = ""
    expected: tuple[str, ...] | None = None
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class Sleep(Record):
    """A pause of the whole file, in seconds."""

    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Halt(Record):
    """Ends the file here."""


@dataclass(frozen=True, slots=True)
class Subtest(Record):
    """A name for the following records, for reports."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class HashThreshold(Record):
    """Results of more than so many values are compared by their MD5; 0 turns that off."""

    values: int = 0


@dataclass(frozen=True, slots=True)
class SetSortMode(Record):
    """`control sortmode`: the sort of queries that name none."""

    sort: SortMode = SortMode.NOSORT


@dataclass(frozen=True, slots=True)
class SetSubstitution(Record):
    """`control substitution on|off`."""

    on: bool = False


AnyRecord = (
    StatementRecord | QueryRecord | System | Sleep | Halt | Subtest | HashThreshold | SetSortMode | SetSubstitution
)
