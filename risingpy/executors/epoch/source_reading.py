"""What a process that runs tasks reads of external sources.

It keeps connections from one epoch to the next. Within an epoch, views at the same position share what was read: the
first that asks reads and decodes it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import Decoder
from risingpy.connectors.included_columns import included_column
from risingpy.connectors.registry import connector_of
from risingpy.connectors.seekable import MessageReader, RowReader
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


class SourceReading:
    """The open sources of a process. Several threads may use it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: dict[int, _OpenSource] = {}
        self._epoch = 0
        self._read: dict[tuple[object, ...], Future[SourceRows]] = {}

    def rows(self, epoch: int, source: ExternalSource, part: SplitRange, columns: tuple[int, ...]) -> SourceRows:
        """The rows of a range, at the positions `columns` of the source's columns.

        Raises SourceFailed if the other side does not answer.
        """
        key = (source.relation_id, part.split, part.start, part.end, part.ordinal, columns)
        with self._guard:
            if epoch != self._epoch:
                self._epoch, self._read = epoch, {}
            found = self._read.get(key)
            mine = found is None
            if found is None:
                found = self._read[key] = Future()
            opened = self._opened(source)
        if mine:
            try:
                found.set_result(opened.rows(part, columns))
            except IoError as error:  # SourceUnavailable, or a file that is gone
                found.set_exception(SourceFailed(source.relation_id, str(error)))
            except BaseException as error:
                found.set_exception(error)
        return found.result()

    def close(self) -> None:
        with self._guard:
            for opened in self._open.values():
                opened.close()
            self._open.clear()

    def _opened(self, source: ExternalSource) -> _OpenSource:
        known = self._open.get(source.relation_id)
        if known is not None and known.source is not source and known.source != source:  # it was altered
            known.close()
            known = None
        if known is None:
            known = self._open[source.relation_id] = _OpenSource(source)
        return known


class _OpenSource:
    """The reader of one source, and what makes rows of its messages."""

    def __init__(self, source: ExternalSource) -> None:
        self.source = source
        self._guard = threading.Lock()
        self._reader: MessageReader | RowReader | None = None
        self._decoder: Decoder | None = None

    def rows(self, part: SplitRange, columns: Sequence[int]) -> SourceRows:
        connector = connector_of(dict(self.source.options))
        if not connector.gives_messages:
            with self._guard:
                reader = self._reader = self._reader or connector.row_reader()
            return self._plain_rows(reader, part, columns)  # type: ignore[arg-type]
        with self._guard:  # a reader stands at one position
            messages_reader = self._reader = self._reader or connector.message_reader()
            messages = messages_reader.read(part.split, part.start, part.end)  # type: ignore[call-arg]
            if self._decoder is None:
                self._decoder = self._made_decoder()
        assert isinstance(messages, pa.Table)
        return self._decoded(self._decoder, messages, part, columns)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    @property
    def _columns(self) -> Sequence[ColumnDesc]:
        """All but the row id."""
        return self.source.columns[:-1]

    def _plain_rows(self, reader: RowReader, part: SplitRange, columns: Sequence[int]) -> SourceRows:
        wanted = [k for k in columns if k < len(self._columns)]
        read = reader.read(
            part.split, part.start, part.end, [(self._columns[k].name, self._columns[k].type) for k in wanted]
        )
        arrays = dict(zip(wanted, read, strict=True))
        positions = np.arange(part.start, part.end, dtype=np.int64)
        ids = pa.array((part.ordinal << ROW_POSITION_BITS) + positions)
        ops = pa.repeat(pa.scalar(1, pa.int8()), len(positions))
        return SourceRows(make_chunk(ops, [arrays.get(k, ids) for k in columns]))

    def _made_decoder(self) -> Decoder:
        assert self.source.message_format is not None
        included = {column.column_id for column in self.source.included}
        own = [(c.name, c.type) for c in self._columns if c.column_id not in included and c.generated is None]
        return decoder_of(self.source.message_format, own, ())

    def _decoded(self, decoder: Decoder, messages: pa.Table, part: SplitRange, columns: Sequence[int]) -> SourceRows:
        decoded = decoder.decode(messages)
        offsets = messages["offset"].combine_chunks()
        included = {column.column_id: column for column in self.source.included}
        left = iter(decoded.columns)
        arrays: dict[int, pa.Array] = {}
        of_rows = messages.take(decoded.messages) if included else messages
        for k, column in enumerate(self._columns):
            found = included.get(column.column_id)
            if found is not None:
                arrays[k] = included_column(found, column.type, of_rows, part.split)
            elif column.generated is None:
                arrays[k] = next(left)
        ids = pc.add(offsets.take(decoded.messages), part.ordinal << MESSAGE_POSITION_BITS)
        samples = tuple(
            RejectedMessage(part.split, offsets[bad.index].as_py(), bad.reason, _text(messages["payload"][bad.index]))
            for bad in decoded.bad[:SAMPLES]
        )
        changes = make_chunk(decoded.ops, [arrays.get(k, ids) for k in columns])
        return SourceRows(changes, len(decoded.bad), samples)


def _text(payload: pa.Scalar) -> str:
    """The beginning of a message, for people."""
    found = payload.as_py()
    return "" if found is None else found[:SAMPLE_BYTES].decode("utf-8", "backslashreplace")
