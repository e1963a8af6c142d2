"""What a process that runs tasks reads of external sources.

It keeps connections from one epoch to the next. Within an epoch, views at the same position share the decoded messages:
the first that asks reads and decodes them.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.chunk_decoding import decoded_chunk
from risingpy.connectors.formats.decoder import Decoded, MessageFormat
from risingpy.connectors.included_columns import included_column, included_of_rows
from risingpy.connectors.registry import connector_of
from risingpy.connectors.secrets.opened_options import opened
from risingpy.connectors.secrets.vault import Vault
from risingpy.connectors.seekable import MessageReader, SeekableConnector
from risingpy.errors import IoError
from risingpy.executors.change_chunk import make_chunk
from risingpy.executors.epoch.descriptor import SplitRange
from risingpy.plan.catalog import ColumnDesc, ExternalSource

# The low bits of a row id are the row's position in its split, the bits above are the split's ordinal.
ROW_POSITION_BITS, MESSAGE_POSITION_BITS = 40, 46
SAMPLES = 100  # of bad messages, of one read
SAMPLE_BYTES = 1_000  # of a bad message's text


class SourceFailed(Exception):
    """The system behind a source does not answer. The epoch can run without the source."""

    def __init__(self, source_id: int, reason: str) -> None:
        super().__init__(source_id, reason)
        self.source_id = source_id
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class RejectedMessage:
    """A message that does not decode: where it stands, its text (the beginning) and why."""

    split: str
    position: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The bad messages that a job met in an epoch: how many, and some of them."""

    source_id: int
    job_id: int
    count: int
    samples: tuple[RejectedMessage, ...]


@dataclass(frozen=True, slots=True)
class SourceRows:
    """What was read of a range: changes with the columns that were asked for, and the bad messages."""

    changes: pa.Table
    rejected: int = 0
    samples: tuple[RejectedMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class _ReadRange:
    """What was read of a range: rows by the positions of the source's columns, and where each stands in its split."""

    ops: pa.Array
    columns: Mapping[int, pa.Array]
    positions: pa.Array
    position_bits: int
    rejected: int = 0
    samples: tuple[RejectedMessage, ...] = ()

    def without(self, left_out: pa.BooleanArray, samples: Sequence[RejectedMessage]) -> _ReadRange:
        """The range without some of its rows, which count as bad messages."""
        kept = pc.invert(left_out)
        return _ReadRange(
            self.ops.filter(kept),
            {k: column.filter(kept) for k, column in self.columns.items()},
            self.positions.filter(kept),
            self.position_bits,
            self.rejected + pc.sum(left_out).as_py(),
            (*self.samples, *samples)[:SAMPLES],
        )

    def rows(self, ordinal: int, columns: Sequence[int]) -> SourceRows:
        """The columns that a view wants; the position after the last one is the row id."""
        ids = pc.add(self.positions, pa.scalar(ordinal << self.position_bits, pa.int64()))
        changes = make_chunk(self.ops, [self.columns.get(k, ids) for k in columns])
        return SourceRows(changes, self.rejected, self.samples)


class SourceReading:
    """The open sources of a process. Several threads may use it.

    `machine`: its name, for errors, if it is another one than the server's.
    """

    def __init__(self, vault: Vault, machine: str = "") -> None:
        self._vault = vault
        self._machine = machine
        self._guard = threading.Lock()
        self._open: dict[int, _OpenRows | _OpenMessages] = {}
        self._epoch = 0
        self._read: dict[tuple[object, ...], Future[_ReadRange]] = {}

    def rows(self, epoch: int, source: ExternalSource, part: SplitRange, columns: tuple[int, ...]) -> SourceRows:
        """The rows of a range, at the positions `columns` of the source's columns.

        Raises SourceFailed if the other side does not answer.
        """
        with self._guard:
            if epoch != self._epoch:
                self._epoch, self._read = epoch, {}
            opened = self._opened(source)
            key = (source.relation_id, part.split, part.start, part.end, opened.read_columns(columns))
            found = self._read.get(key)
            mine = found is None
            if found is None:
                found = self._read[key] = Future()
        if mine:
            try:
                found.set_result(_without_nulls(source, part, opened.read(part, columns)))
            except IoError as error:  # SourceUnavailable, or a file that is gone
                found.set_exception(self._failed(source, error))
            except BaseException as error:
                found.set_exception(error)
        return found.result().rows(part.ordinal, columns)

    def close(self) -> None:
        """Closes the connections. Another use opens them again."""
        with self._guard:
            for opened in self._open.values():
                opened.close()
            self._open.clear()

    def _failed(self, source: ExternalSource, error: IoError) -> SourceFailed:
        return SourceFailed(source.relation_id, f"on {self._machine}: {error}" if self._machine else str(error))

    def _opened(self, source: ExternalSource) -> _OpenRows | _OpenMessages:
        known = self._open.get(source.relation_id)
        if known is not None and known.source is not source and known.source != source:  # it was altered
            known.close()
            known = None
        if known is None:
            try:
                options = opened(self._vault, source)
            except IoError as error:
                raise self._failed(source, error) from error
            connector = connector_of(options.options, options.message_format)
            known = self._open[source.relation_id] = (
                _OpenMessages(source, connector, options.message_format)
                if connector.gives_messages
                else _OpenRows(source, connector)
            )
        return known


class _OpenRows:
    """A source whose data has columns already: only those that a view wants are read."""

    def __init__(self, source: ExternalSource, connector: SeekableConnector) -> None:
        self.source = source
        self._reader = connector.row_reader()

    def read_columns(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        return columns

    def read(self, part: SplitRange, columns: Sequence[int]) -> _ReadRange:
        own = self.source.columns[:-1]
        included = {column.column_id: column for column in self.source.included}
        wanted = [k for k in columns if k < len(own) and own[k].column_id not in included]
        arrays = self._reader.read(part.split, part.start, part.end, [(own[k].name, own[k].type) for k in wanted])
        if any(len(array) != part.end - part.start for array in arrays):
            raise SourceFailed(self.source.relation_id, f'"{part.split}" gives other rows than it was asked for')
        found = dict(zip(wanted, arrays, strict=True))
        positions = pa.array(np.arange(part.start, part.end, dtype=np.int64))
        for k in columns:
            if k < len(own) and own[k].column_id in included:
                found[k] = included_of_rows(included[own[k].column_id], positions, part.split)
        ops = pa.repeat(pa.scalar(1, pa.int8()), len(positions))
        return _ReadRange(ops, found, positions, ROW_POSITION_BITS)

    def close(self) -> None:
        self._reader.close()


class _GivesMessages(Protocol):
    """The part of a `SeekableConnector` that gives messages."""

    def message_reader(self) -> MessageReader: ...


class _OpenMessages:
    """A source of messages. All columns are decoded, so that every view leaves out the same messages."""

    def __init__(self, source: ExternalSource, connector: _GivesMessages, message_format: MessageFormat | None) -> None:
        assert message_format is not None
        self.source = source
        self._included = {column.column_id: column for column in source.included}
        self._guard = threading.Lock()  # a reader stands at one position
        self._reader = connector.message_reader()
        key = [source.columns[k] for k in source.table_key or ()]
        nullable = [column.name for column in key if column.null_in_key]
        columns = [(column.name, column.type) for _, column in self._decoded()]
        self._decoder = decoder_of(message_format, columns, [column.name for column in key], nullable)

    def read_columns(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def read(self, part: SplitRange, columns: Sequence[int]) -> _ReadRange:
        with self._guard:
            messages = self._reader.read(part.split, part.start, part.end)
        _check_positions(self.source, part, messages["offset"])
        found = decoded_chunk(lambda chunk: self._with_included(chunk, part.split), messages)
        offsets = messages["offset"].combine_chunks()
        places = [k for k, _ in self._decoded()] + [k for k, _ in self._included_columns()]
        arrays = dict(zip(places, found.columns, strict=True))
        samples = tuple(
            RejectedMessage(part.split, offsets[bad.index].as_py(), bad.reason, _text(messages["payload"][bad.index]))
            for bad in found.bad[:SAMPLES]
        )
        positions = offsets.take(found.messages)
        return _ReadRange(found.ops, arrays, positions, MESSAGE_POSITION_BITS, len(found.bad), samples)

    def close(self) -> None:
        self._reader.close()

    def _with_included(self, messages: pa.Table, split: str) -> Decoded:
        """The decoder's rows, with the included columns after its own."""
        found = self._decoder.decode(messages)
        if not self._included:
            return found
        of_rows = messages.take(found.messages)
        included = [
            included_column(self._included[column.column_id], column.type, of_rows, split)
            for _, column in self._included_columns()
        ]
        return replace(found, columns=[*found.columns, *included])

    def _included_columns(self) -> list[tuple[int, ColumnDesc]]:
        """The columns of INCLUDE, by position."""
        return [(k, c) for k, c in enumerate(self.source.columns) if c.column_id in self._included]

    def _decoded(self) -> list[tuple[int, ColumnDesc]]:
        """The columns that the decoder makes, by position: not the row id, nor those of INCLUDE, nor generated ones."""
        own = enumerate(self.source.columns[:-1])
        return [(k, c) for k, c in own if c.column_id not in self._included and c.generated is None]


class GivenMessages:
    """Decodes messages that a pushed connector has, as a source reads its own."""

    def __init__(self, source: ExternalSource, message_format: MessageFormat) -> None:
        self._source = source
        self._messages = pa.table({})
        self._open = _OpenMessages(source, self, message_format)

    def rows(self, messages: pa.Table, columns: Sequence[int]) -> SourceRows:
        """The rows, at the positions `columns` of the source's columns. Raises SourceUnavailable."""
        self._messages = messages
        numbers = messages["offset"]
        first, end = numbers[0].as_py(), numbers[-1].as_py() + 1
        part = SplitRange(0, self._source.relation_id, "", first, end, 0)
        return _without_nulls(self._source, part, self._open.read(part, ())).rows(0, columns)

    def message_reader(self) -> GivenMessages:
        return self

    def read(self, split: str, start: int, end: int) -> pa.Table:
        return self._messages

    def close(self) -> None: ...


def _check_positions(source: ExternalSource, part: SplitRange, positions: pa.ChunkedArray) -> None:
    """Raises SourceFailed for messages that nobody asked for: they would be read twice, or out of order."""
    found = positions.to_numpy()
    if len(found) and (found[0] < part.start or found[-1] >= part.end or (np.diff(found) <= 0).any()):
        asked = f"those from {part.start} up to {part.end}"
        raise SourceFailed(source.relation_id, f'"{part.split}" gives other messages than {asked}')


def _without_nulls(source: ExternalSource, part: SplitRange, read: _ReadRange) -> _ReadRange:
    """What was read without the rows that have NULL where the table that they feed takes none. They are bad messages.

    Of a deletion only the key counts.
    """
    if source.table_key is None:
        return read
    inserted = pc.greater(read.ops, 0)
    for k, column in enumerate(source.columns):
        array = read.columns.get(k)
        if array is None or not array.null_count or not column.refuses_null(in_key=k in source.table_key):
            continue
        lacking = pc.is_null(array) if k in source.table_key else pc.and_(pc.is_null(array), inserted)
        positions = read.positions.filter(lacking)
        if len(positions):
            reason = f'null value in column "{column.name}" violates not-null constraint'
            samples = [RejectedMessage(part.split, place.as_py(), reason, "") for place in positions[:SAMPLES]]
            return _without_nulls(source, part, read.without(lacking, samples))
    return read


def _text(payload: pa.Scalar) -> str:
    """The beginning of a message, for people."""
    found = payload.as_py()
    return "" if found is None else found[:SAMPLE_BYTES].decode("utf-8", "backslashreplace")
