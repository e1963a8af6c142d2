"""Answers a client's bytes at once, if they are a read of one row by its key, prepared or in a text that recurs.

So it does searches of vectors that an index answers.

    B "" s1 … | 42 | … D E S   →   2 T… D… C"SELECT 1" Z

A statement that writes a few rows is understood as fast, and its answer follows when its rows are durable.

The bytes must be all that the client has sent, and the session must be at rest, or in a transaction between statements.
Whatever is unusual, a wrong value above all, is left to the conversation, which answers the same bytes. Nothing has
changed then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from buenavista.postgres import ServerResponse

from risingpy.errors import SqlError
from risingpy.frontend.portals import PreparedEntry
from risingpy.frontend.results import (
    BINARY,
    TEXT,
    Awaits,
    Begin,
    CommandTag,
    Prepared,
    ResultField,
    ShortControl,
    ShortRead,
    ShortWrite,
    TakesLonger,
)
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.parameters import expand_formats
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.short_path.datum_forms import datum_encoder, parameter_reader
from risingpy.frontend.wire.short_path.series import (
    BIND,
    PARSE,
    QUERY,
    SeriesForm,
    cut_parse,
    cut_series,
    form_of,
    parsed_text,
    query_text,
)

_MOST_SHAPES = 128  # of a connection; drivers have some for each statement
_LONGEST = 1 << 16  # bytes of a request that may be a short one
_NULL = b"\xff\xff\xff\xff"
_PARSE_COMPLETE = server_messages.message(ServerResponse.PARSE_COMPLETE)
_IDLE, _IN_TRANSACTION = b"I", b"T"
_READY = {status: server_messages.ready_for_query(status) for status in (_IDLE, _IN_TRANSACTION)}

_LEFT_TO_OTHERS = (TakesLonger, SqlError, ValueError, OverflowError)  # errors that the conversation has again

_Encoders = Sequence[Callable[[bytes], bytes]]


@dataclass(frozen=True, slots=True)
class _ReadShape:
    """What is known of a SELECT with these formats. `readers` are for its parameters.

    All that is sent goes before ReadyForQuery. `goes_on`: the portal may be asked for more in the same transaction.
    """

    source: PreparedEntry | Prepared  # while the name, or the text, means this
    statement: ShortRead
    readers: Sequence[Callable[[bytes], object]]
    encoders: _Encoders
    before: bytes
    after: bytes
    none: bytes  # the whole answer without a row
    count: bytes
    goes_on: bool


@dataclass(frozen=True, slots=True)
class _WriteShape:
    """The same of a statement that writes."""

    source: PreparedEntry | Prepared
    statement: ShortWrite
    readers: Sequence[Callable[[bytes], object]]
    answers: Mapping[int, bytes]  # by the number of rows


@dataclass(frozen=True, slots=True)
class _ControlShape:
    """The same of BEGIN, COMMIT or ROLLBACK. `answer` is all that is sent."""

    source: PreparedEntry | Prepared
    statement: ShortControl
    readers: Sequence[Callable[[bytes], object]]
    answer: bytes


_Shape = _ReadShape | _WriteShape | _ControlShape

_SeriesKey = tuple[bytes, bytes, int]
"""Head, tail, and how many bytes of the tail are Bind's."""


@dataclass(frozen=True, slots=True)
class _Parsed:
    """The unnamed statement of a Parse, and the shapes of the series that come with it."""

    entry: PreparedEntry
    shapes: dict[_SeriesKey, _Shape]


@dataclass(frozen=True, slots=True)
class Later:
    """What is answered when something has happened: rows are durable, or a lock is there.

    `begin` is that of `ShortWrite`. `answer` gives the answer, by the number of rows; it may have to wait once more.
    None: the same bytes are to be answered again.
    """

    begin: Begin
    answer: Callable[[int], bytes | Later | None]


class ShortPath:
    """For one session. Not for several threads at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shapes: dict[_SeriesKey, _Shape] = {}
        self._parsed: dict[bytes, _Parsed] = {}  # by the Parse that comes with a series
        self._texts: dict[str, _Shape] = {}  # by the text of the statement that a text recurs as

    def answer(self, data: bytes) -> bytes | Later | None:
        """The answer to all that a client at rest has sent; None if the conversation must find it.

        Never blocks. What comes `Later` has not begun yet.
        """
        if len(data) > _LONGEST:
            return None
        try:
            if data[0] == BIND:
                return self._answer_series(data, self._shapes)
            if data[0] == PARSE:
                return self._answer_parse(data)
            return self._answer_text(data) if data[0] == QUERY else None
        except _LEFT_TO_OTHERS:
            return None

    def _answer_parse(self, data: bytes) -> bytes | Later | None:
        cut = cut_parse(data)
        if cut is None:
            return None
        parse, series = cut
        known = self._parsed.get(parse)
        if known is None:
            text, oids = parsed_text(parse)
            prepared = self._session.parsed_before(text, oids)
            if prepared is None:
                return None
            if len(self._parsed) >= _MOST_SHAPES:
                self._parsed.clear()
            known = self._parsed[parse] = _Parsed(PreparedEntry(prepared, text), {})
        self._session.statements[""] = known.entry
        answer = self._answer_series(series, known.shapes)
        if answer is None:
            del self._parsed[parse]
            return None
        return _after_parse(answer)

    def _answer_series(self, data: bytes, shapes: dict[_SeriesKey, _Shape]) -> bytes | Later | None:
        cut = cut_series(data)
        if cut is None:
            return None
        head, values, tail, tail_of_bind = cut
        key = head, tail, tail_of_bind
        shape = shapes.get(key)
        if shape is None or shape.statement.is_stale or not self._is_current(head, shape):
            shape = self._shape_of_series(*key)
            if shape is None:
                return None
            if len(shapes) >= _MOST_SHAPES:
                shapes.clear()
            shapes[key] = shape
        parameters = [None if value is None else read(value) for read, value in zip(shape.readers, values, strict=True)]
        return self._answer_of(shape, parameters)

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
        if text is None:
            return None
        control = self._session.short_control(text)
        if control is not None:
            answer = _controlled(control, _answer_to(control, None))
            self._session.statements.pop("", None)
            return answer
        found = self._session.known_recurring(text)
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
        answer = self._answer_of(shape, values)
        self._session.statements.pop("", None)  # as a simple query does
        return answer

    def _shape(self, source: PreparedEntry | Prepared, prepared: Prepared, form: SeriesForm | None) -> _Shape | None:
        """What is to be known of a statement; without a `form`, of one in the simple protocol."""
        fields = prepared.fields
        if fields is None:
            control = self._session.short_control(prepared)
            if control is not None:
                return _ControlShape(source, control, (), _answer_to(control, form))
            write = self._session.short_write(prepared)
            readers = None if write is None else self._readers(prepared, form)
            if write is None or readers is None:
                return None
            before = _bound(form) + _nothing_described(form)
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
        after = server_messages.message(ServerResponse.PORTAL_SUSPENDED) if is_suspended else one
        goes_on = form is not None and form.limit > 0
        if goes_on and not read.finds_one:
            return None
        return _ReadShape(source, read, readers, known, before, after, none, len(fields).to_bytes(2), goes_on)

    def _answer_of(self, shape: _Shape, parameters: Sequence[object | None]) -> bytes | Later:
        try:
            return self._answer_now(shape, parameters)
        except Awaits as lock:
            return Later(lock.begin, partial(self._answer_again, lock.end, shape, parameters))

    def _answer_again(
        self, end: Callable[[], None], shape: _Shape, parameters: Sequence[object | None], rows: int
    ) -> bytes | Later | None:
        """What was waited for has happened. Who has looked at the bytes need not do so again."""
        end()
        try:
            return self._answer_of(shape, parameters)
        except _LEFT_TO_OTHERS:
            return None

    def _answer_now(self, shape: _Shape, parameters: Sequence[object | None]) -> bytes | Later:
        status = self._session.transaction_status()
        if status != _IDLE:
            if isinstance(shape, _ReadShape) and shape.goes_on:
                raise TakesLonger
            self._session.portals.close("")  # which Bind, or Query, ends; outside of transactions the last Sync has
        match shape:
            case _WriteShape() if status == _IDLE:
                begin = partial(shape.statement.begin, parameters)
                return Later(begin, lambda rows: shape.answers[rows] + _READY[_IDLE])
            case _WriteShape():
                return shape.answers[shape.statement.run(parameters)] + _READY[status]
            case _ControlShape():
                return _controlled(shape.statement, shape.answer)
            case _ReadShape():
                return _answered(shape, parameters, _READY[status])
            case _:
                assert_never(shape)

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


def _nothing_described(form: SeriesForm | None) -> bytes:
    return server_messages.message(ServerResponse.NO_DATA) if form is not None and form.describes else b""


def _answer_to(control: ShortControl, form: SeriesForm | None) -> bytes:
    ready = server_messages.ready_for_query(control.status)
    return _bound(form) + _nothing_described(form) + _complete(control.tag) + ready


def _controlled(control: ShortControl, answer: bytes) -> bytes | Later:
    begin = control.run()
    if begin is None:
        return answer

    def ended(rows: int) -> bytes:
        control.end()
        return answer

    return Later(begin, ended)


def _after_parse(answer: bytes | Later) -> bytes | Later:
    if not isinstance(answer, Later):
        return _PARSE_COMPLETE + answer
    later = answer

    def ended(rows: int) -> bytes | Later | None:
        found = later.answer(rows)
        return None if found is None else _after_parse(found)

    return Later(later.begin, ended)


def _selected(rows: int) -> str:
    return CommandTag("SELECT", counts_rows=True).text(rows)


def _complete(tag: str) -> bytes:
    return server_messages.command_complete(tag)


def _answered(shape: _ReadShape, parameters: Sequence[object | None], ready: bytes) -> bytes:
    rows = shape.statement.rows(parameters)
    if not rows:
        return shape.none + ready
    parts = [shape.before]
    for row in rows:
        values = []
        for encode, datum in zip(shape.encoders, row, strict=True):
            if datum is None:
                values.append(_NULL)
            else:
                value = encode(datum)
                values.append(len(value).to_bytes(4))
                values.append(value)
        body = b"".join(values)
        parts += (b"D", (len(body) + 6).to_bytes(4), shape.count, body)
    parts.append(shape.after if len(rows) == 1 else _complete(_selected(len(rows))))
    parts.append(ready)
    return b"".join(parts)
