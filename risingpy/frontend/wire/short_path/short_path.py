"""Answers a client's bytes at once, if they are a read of one row by its key, prepared or in a text that recurs.

    B "" s1 … | 42 | … D E S   →   2 T… D… C"SELECT 1" Z

A statement that writes a few rows is understood as fast, and its answer follows when its rows are durable.

The bytes must be all that the client has sent, and the session must be at rest. Whatever is unusual, a wrong value
above all, is left to the conversation, which answers the same bytes. Nothing has changed then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from buenavista.postgres import ServerResponse

from risingpy.errors import SqlError
from risingpy.frontend.portals import PreparedEntry
from risingpy.frontend.results import (
    BINARY,
    TEXT,
    CommandTag,
    Prepared,
    ResultField,
    ShortRead,
    ShortWrite,
    TakesLonger,
)
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.parameters import expand_formats
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.short_path.datum_forms import datum_encoder, parameter_reader
from risingpy.frontend.wire.short_path.series import BIND, QUERY, SeriesForm, cut_series, form_of, query_text

_MOST_SHAPES = 128  # of a connection; drivers have some for each statement
_LONGEST = 1 << 16  # bytes of a request that may be a short one
_NULL = b"\xff\xff\xff\xff"
_READY = server_messages.ready_for_query(b"I")

_Encoders = Sequence[Callable[[bytes], bytes]]


@dataclass(frozen=True, slots=True)
class _ReadShape:
    """What is known of a SELECT with these formats. `readers` are for its parameters."""

    source: PreparedEntry | Prepared  # while the name, or the text, means this
    statement: ShortRead
    readers: Sequence[Callable[[bytes], object]]
    encoders: _Encoders
    before: bytes
    after: bytes
    none: bytes  # the whole answer without a row
    count: bytes


@dataclass(frozen=True, slots=True)
class _WriteShape:
    """The same of a statement that writes."""

    source: PreparedEntry | Prepared
    statement: ShortWrite
    readers: Sequence[Callable[[bytes], object]]
    answers: Mapping[int, bytes]  # by the number of rows


_Shape = _ReadShape | _WriteShape


@dataclass(frozen=True, slots=True)
class Later:
    """A statement that writes, and its answers by the number of rows. `begin` is that of `ShortWrite`."""

    answers: Mapping[int, bytes]
    _write: ShortWrite
    _parameters: Sequence[object | None]

    def begin(self, done: Callable[[int | None], Callable[[], None]]) -> Callable[[], None]:
        return self._write.begin(self._parameters, done)


class ShortPath:
    """For one session. Not for several threads at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shapes: dict[tuple[bytes, bytes, int], _Shape] = {}
        self._texts: dict[str, _Shape] = {}  # by the text of the statement that a text recurs as

    def answer(self, data: bytes) -> bytes | Later | None:
        """The answer to all that a client at rest has sent; None if the conversation must find it. Never blocks.

        What comes `Later` has not begun yet.
        """
        if len(data) > _LONGEST:
            return None
        try:
            if data[0] == BIND:
                return self._answer_series(data)
            return self._answer_text(data) if data[0] == QUERY else None
        except (TakesLonger, SqlError, ValueError, OverflowError):
            return None

    def _answer_series(self, data: bytes) -> bytes | Later | None:
        cut = cut_series(data)
        if cut is None:
            return None
        head, values, tail, tail_of_bind = cut
        key = head, tail, tail_of_bind
        shape = self._shapes.get(key)
        if shape is None or shape.statement.is_stale or not self._is_current(head, shape):
            shape = self._shape_of_series(*key)
            if shape is None:
                return None
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[key] = shape
        parameters = [None if value is None else read(value) for read, value in zip(shape.readers, values, strict=True)]
        return _answer_of(shape, parameters)

    def _is_current(self, head: bytes, shape: _Shape) -> bool:
        name = head[1 : head.index(0, 1)].decode()
        return self._session.statements.get(name) is shape.source

    def _shape_of_series(self, head: bytes, tail: bytes, tail_of_bind: int) -> _Shape | None:
        form = form_of(head, tail, tail_of_bind)
        entry = None if form is None else self._session.statements.get(form.statement)
        if form is None or entry is None or entry.prepared is None:
            return None
        return self._shape(entry, entry.prepared, form)

    def _answer_text(self, data: bytes) -> bytes | Later | None:
        text = query_text(data)
        found = None if text is None else self._session.known_recurring(text)
        if found is None:
            return None
        prepared, values = found
        assert prepared.statement is not None
        shape = self._texts.get(prepared.statement.text)
        if shape is None or shape.source is not prepared or shape.statement.is_stale:
            shape = self._shape(prepared, prepared, None)
            if shape is None:
                return None
            if len(self._texts) >= _MOST_SHAPES:
                self._texts.clear()
            self._texts[prepared.statement.text] = shape
        answer = _answer_of(shape, values)
        self._session.statements.pop("", None)  # as a simple query does
        return answer

    def _shape(self, source: PreparedEntry | Prepared, prepared: Prepared, form: SeriesForm | None) -> _Shape | None:
        """What is to be known of a statement; without a `form`, of one in the simple protocol."""
        fields = prepared.fields
        if fields is None:
            write = self._session.short_write(prepared)
            readers = None if write is None else self._readers(prepared, form)
            if write is None or readers is None:
                return None
            described = server_messages.message(ServerResponse.NO_DATA) if form is not None and form.describes else b""
            before = _bound(form) + described
            answers = {rows: before + _complete(tag) for rows, tag in write.tags.items()}
            return _WriteShape(source, write, readers, answers)
        read = self._session.short_read(prepared)
        readers = None if read is None else self._readers(prepared, form)
        if read is None or readers is None:
            return None
        zone = self._session.time_zone()
        formats = _formats(form.result_formats if form else [], len(fields))
        encoders = [datum_encoder(f.type, zone, binary=b == BINARY) for f, b in zip(fields, formats, strict=True)]
        known = [e for e in encoders if e is not None]
        if len(known) < len(encoders):
            return None
        before = _before(fields, formats, form)
        # As in PostgreSQL, whoever takes as many rows as there are does not learn that these are all.
        is_suspended = form is not None and form.limit == 1
        one, none = _complete(_selected(1)), before + _complete(_selected(0))
        after = server_messages.message(ServerResponse.PORTAL_SUSPENDED) + _READY if is_suspended else one
        return _ReadShape(source, read, readers, known, before, after, none, len(fields).to_bytes(2))

    def _readers(self, prepared: Prepared, form: SeriesForm | None) -> list[Callable[[bytes], object]] | None:
        """For each parameter; None if one has a type that is not read in short."""
        zone, types = self._session.time_zone(), prepared.parameter_types
        formats = _formats(form.parameter_formats if form else [], len(types))
        readers = [parameter_reader(t, zone, binary=b == BINARY) for t, b in zip(types, formats, strict=True)]
        known = [reader for reader in readers if reader is not None]
        return known if len(known) == len(readers) else None


def _formats(formats: Sequence[int], count: int) -> list[int]:
    return expand_formats(formats, count, "formats") if formats else [TEXT] * count


def _before(fields: Sequence[ResultField], formats: Sequence[int], form: SeriesForm | None) -> bytes:
    described = server_messages.row_description(fields, formats) if form is None or form.describes else b""
    return _bound(form) + described


def _bound(form: SeriesForm | None) -> bytes:
    return b"" if form is None else server_messages.message(ServerResponse.BIND_COMPLETE)


def _selected(rows: int) -> str:
    return CommandTag("SELECT", counts_rows=True).text(rows)


def _complete(tag: str) -> bytes:
    return server_messages.command_complete(tag) + _READY


def _answer_of(shape: _Shape, parameters: Sequence[object | None]) -> bytes | Later:
    match shape:
        case _WriteShape():
            return Later(shape.answers, shape.statement, parameters)
        case _ReadShape():
            return _answered(shape, parameters)
        case _:
            assert_never(shape)


def _answered(shape: _ReadShape, parameters: Sequence[object | None]) -> bytes:
    row = shape.statement.row(parameters)
    if row is None:
        return shape.none
    parts = []
    for encode, datum in zip(shape.encoders, row, strict=True):
        if datum is None:
            parts.append(_NULL)
        else:
            value = encode(datum)
            parts.append(len(value).to_bytes(4))
            parts.append(value)
    body = b"".join(parts)
    return b"".join((shape.before, b"D", (len(body) + 6).to_bytes(4), shape.count, body, shape.after))
