"""Sources that send rows once, and must be told that they have arrived: change data capture, MQTT.

A thread of the server runs the connector. It commits groups of rows, and the offset after them, to the write-ahead log
in one fsync each, and acknowledges them upstream afterwards. So a crash between the two repeats what is in the log
already, and the connector leaves that out: it begins with the last offset in the log.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class PushedColumn:
    """A column of a table that copies one of the other side."""

    name: str
    type: SqlType
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class PushedTable:
    """A table that copies one of the other side. `key` has the positions of its primary key, which is never empty.

    An `is_new` one has no rows yet, and nobody can read it: the connector gives it the other side's present rows, and
    calls `taken_in` when it is as far as the other tables of the source. `shape` is that of `UpstreamDescription` when
    the table was created (empty: nothing is known), and `all_columns` says that it was to have all columns.
    """

    table_id: int
    upstream: str
    columns: tuple[PushedColumn, ...]
    key: tuple[int, ...]
    is_new: bool
    shape: str = ""
    all_columns: bool = False


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column that a copy gets because the other side's table got it. Rows from before have the value `missing`."""

    name: str
    type: SqlType
    missing: object


@dataclass(frozen=True, slots=True)
class AlteredOriginal:
    """What a copy has to become because the other side's table was altered: first columns go, then columns come.

    It was found by the copy's `shape`; `new_shape` is the one that belongs to the columns then.
    """

    table_id: int
    shape: str
    new_shape: str
    dropped: tuple[str, ...]
    added: tuple[AddedColumn, ...]


@dataclass(frozen=True, slots=True)
class UpstreamColumn:
    """A column of a table of the other side: the type that takes all its values here, and what it is called there."""

    name: str
    type: SqlType
    shown_type: str
    not_null: bool


@dataclass(frozen=True, slots=True)
class UpstreamDescription:
    """A table of the other side: its whole name, its columns, and the names of its key's columns.

    `shape` is a text of the connector's own: from it, and the table as it is later, the connector tells what has been
    altered.
    """

    name: str
    columns: tuple[UpstreamColumn, ...]
    key: tuple[str, ...]
    shape: str = ""


class PushedGroup(Protocol):
    """Changes that take effect together, whole transactions of the other side. For the connector's own thread.

    A change chunk has `op` (int8, ±1), and as `c0`… the table's columns. An insertion replaces the row of its key, and
    of a deletion only the key counts. The order is that of the calls.
    """

    def add(self, table_id: int, chunk: pa.Table) -> None:
        """Adds changes of a table."""
        ...

    def add_messages(self, table_id: int, messages: pa.Table) -> None:
        """Adds the rows of messages (`seekable.MESSAGES`, numbered on from those before), as the source decodes them.

        Bad ones are left out and counted. Raises SourceUnavailable if a schema registry does not answer.
        """
        ...

    def delete_all(self, table_id: int) -> None:
        """Deletes every row of a table, those of this group too."""
        ...

    def current(self, table_id: int, keys: Sequence[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
        """The rows of these keys after the group so far: whether each is there, and all columns, in the keys' order.

        It waits until an epoch has what is logged, so it is for the few rows of which the other side sends a part.
        """
        ...

    def commit(self, offset: str | None) -> None:
        """Logs the group, and the offset after it if there is one: durable when it returns.

        It waits while too many rows of the log wait for epochs. Afterwards the group is empty, and can be used again.
        """
        ...

    def discard(self) -> None:
        """Forgets the group's changes. It can be used again."""
        ...


class PushedRows(Protocol):
    """Where a pushed connector puts its rows, and what it says about itself. For the connector's own thread."""

    def last_offset(self) -> str | None:
        """The offset of the last group that is durable; None if there is none."""
        ...

    def tables(self) -> Sequence[PushedTable]:
        """The tables that copy from this source now. Cheap; the same object until they change."""
        ...

    def group(self) -> PushedGroup:
        """An empty group."""
        ...

    def taken_in(self, table_id: int) -> None:
        """A new table has the other side's rows as of the last offset in the log."""
        ...

    def refused(self, table_id: int, reason: str) -> None:
        """A new table cannot have the other side's rows: its CREATE TABLE fails, and the table goes.

        Does nothing for a table that was taken in.
        """
        ...

    def alter(self, altered: AlteredOriginal) -> str | None:
        """Gives a copy the columns that its original has now; returns why it cannot have them.

        It waits until an epoch has what is logged. `tables` has the copy's new form afterwards, and open groups are to
        be discarded. A copy that has it already stays as it is. Raises SqlError if it cannot be altered yet.
        """
        ...

    def noted(self, reasons: Mapping[int, str]) -> None:
        """Why tables of these ids get no more changes, or what they lack. It replaces what was noted before.

        The source goes on with its other tables. What must outlast a restart is in the connector's offset.
        """
        ...

    def rejected(self, table: PushedTable, count: int, samples: Sequence[tuple[int, str, str]]) -> None:
        """So many rows did not fit into the table and were left out. Samples are (position, reason, text)."""
        ...

    def asked(self) -> int:
        """How many questions there have been where the other side's rows end: a FLUSH waits for the answer."""
        ...

    def progress(self, position: int, end: int, answered: int) -> None:
        """The other side answers; how far the log has its rows and where they end, in units of the connector.

        `end` is not older than the question of that number. For each tenth of a second, or more often.
        """
        ...


def sends_messages(connector: PushedConnector) -> bool:
    """Whether it is for CREATE TABLE … WITH (…) FORMAT …, which decodes its messages, and not for tables that copy."""
    return bool(getattr(connector, "gives_messages", False))


class PushedConnector(Protocol):
    """One connector of the table in `connectors/registry.py`. Its options are checked; it holds no connection."""

    name: str

    def options_at_creation(self) -> Mapping[str, str]:
        """Options that a new source gets beside its own: what this connector chooses once, and keeps."""
        ...

    def check(self, *, is_followed: bool = False) -> None:
        """Reaches the other side, as CREATE does. Raises within 5 s: SourceUnavailable, InvalidParameterValue.

        `is_followed`: the source exists, and its options are altered.
        """
        ...

    def describe(self, upstream: str) -> UpstreamDescription:
        """A table of the other side, made ready to be copied. Raises within 5 s, as `check` does."""
        ...

    def run(self, rows: PushedRows, stopping: threading.Event) -> None:
        """Receives until `stopping` is set. Raises SourceUnavailable; the engine starts it again, with back-off."""
        ...

    def forget(self) -> None:
        """The source is dropped: the other side need keep nothing for it. Raises SourceUnavailable within 5 s."""
        ...
