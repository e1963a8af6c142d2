"""Sources that can be read again from any position: Kafka, files, generators.

The barrier loop decides which positions of which splits an epoch reads, and tasks read exactly these. The positions are
committed with the epoch, so nothing else has to be durable, and each row is read once.

A connector is one class that implements `SeekableConnector`. It has two sides. The server's side (`Splits`) knows which
splits there are and where each ends. A task's side (`MessageReader` or `RowReader`) reads ranges. Both are made from
the options alone, so they can be in different processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.types import SqlType

MESSAGES = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("payload", pa.binary()),  # NULL: a tombstone
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
"""What a message reader returns: a row for each message, in the order of the split."""
HEADER = b"header"
"""In the metadata of such a table: the first line of the file that the messages are lines of."""


@dataclass(frozen=True, slots=True)
class SplitEnd:
    """How far a split can be read now: positions below `end`. `first` is the lowest position that is still there.

    `start` is where a job begins that begins now (`scan.startup.mode`). `is_final`: a job that has read up to `end` is
    done with the split, whatever becomes of it later. Such splits are read one after the other. `row_positions`: about
    how many positions a row takes, which is more than one where a position is a byte.
    """

    first: int
    end: int
    start: int
    is_final: bool = False
    row_positions: int = 1


class Splits(Protocol):
    """The server's side of a source. One thread uses it; it may block, since the barrier loop does not wait for it."""

    def ends(self) -> Mapping[str, SplitEnd]:
        """Every split and where it ends, in an order that holds. Raises SourceUnavailable if nobody answers."""
        ...

    def close(self) -> None: ...


class MessageReader(Protocol):
    """A task's side of a source of messages, which a decoder makes rows of."""

    def read(self, split: str, start: int, end: int) -> pa.Table:
        """The messages at `start` ≤ position < `end`, as `MESSAGES`; there may be fewer than `end - start`.

        Raises SourceUnavailable if the other side does not answer; then the epoch runs without this source.
        """
        ...

    def close(self) -> None: ...


class RowReader(Protocol):
    """A task's side of a source whose data has columns already: Parquet files, generators. Threads share it."""

    def read(self, split: str, start: int, end: int, columns: Sequence[tuple[str, SqlType]]) -> list[pa.Array]:
        """The rows at `start` ≤ position < `end`: an array for each column, in order, of the types' Arrow types.

        Unlike messages, rows have no gaps: an array has `end - start` values. Raises SourceUnavailable.
        """
        ...

    def close(self) -> None: ...


class SeekableConnector(Protocol):
    """One connector of the table in `connectors/registry.py`, made of its options, which it has checked.

    It holds no connection. `gives_messages` says which reader it has, and so whether it needs FORMAT … ENCODE.
    `name` is the connector's name in SQL.
    """

    name: str
    gives_messages: bool

    def check(self) -> None:
        """Reaches the other side, as CREATE does. Raises within 5 s: SourceUnavailable, InvalidParameterValue."""
        ...

    def splits(self) -> Splits: ...

    def message_reader(self) -> MessageReader:
        """For a connector that gives messages."""
        ...

    def row_reader(self) -> RowReader:
        """For a connector that gives rows."""
        ...


@runtime_checkable
class EncodedFilesConnector(Protocol):
    """A connector whose files may have any of several encodings: FORMAT … ENCODE … says how it reads them."""

    name: str

    def of_format(self, message_format: MessageFormat | None) -> SeekableConnector:
        """The connector of an encoding. Raises FeatureNotSupported, InvalidParameterValue."""
        ...

    def format_at_creation(self, message_format: MessageFormat | None) -> MessageFormat:
        """The format as CREATE SOURCE stores it. Raises as `of_format` does."""
        ...

    def columns(self) -> Sequence[tuple[str, SqlType]]:
        """The columns of files that say what they have. Raises SourceUnavailable, InvalidParameterValue."""
        ...


@runtime_checkable
class GeneratorConnector(SeekableConnector, Protocol):
    """A connector that makes its rows itself. `gives_messages` is false, but CREATE SOURCE takes FORMAT and ENCODE."""

    def check_columns(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        """Raises InvalidParameterValue if the options do not fit the columns, FeatureNotSupported for a type."""
        ...

    def options_at_creation(self) -> Mapping[str, str]:
        """What CREATE SOURCE adds to the source's options, so that rows are the same ever after."""
        ...
