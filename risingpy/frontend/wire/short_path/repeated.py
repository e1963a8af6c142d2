"""One INSERT, executed again and again in one series with other values, as drivers do for `executemany`: as one write.

    B E  B E  B E … S   →   2 C  2 C  2 C …

The first Execute runs as any other, so that all is known which the others need. What has arrived after it is answered
together. If that fails, nothing was done: half as many are tried, and at last one is executed alone, which has the
error. So errors come at the right message, and a bad row among n costs log n tries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from buenavista.postgres import ServerResponse

from risingpy.errors import SqlError
from risingpy.frontend.portals import Portal
from risingpy.frontend.results import BINARY, CommandTag, Prepared
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.parameters import expand_formats
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.short_path.datum_forms import parameter_reader
from risingpy.frontend.wire.short_path.series import Repeats

_FEWEST = 2  # executions at once
_NO_LIMIT = 1 << 16

_Values = Sequence[bytes | None]


class RepeatedStatements:
    """Of one conversation."""

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._session = responder.session
        self._limit = _NO_LIMIT

    def answer(self, portal: Portal) -> None:
        """Answers what follows the Execute of this portal, if that is the same statement again, and all goes well."""
        prepared = portal.entry.prepared
        most = 0 if prepared is None else self._session.most_repeated(prepared)
        if prepared is None or most < _FEWEST:
            return
        answered: Repeats | None = None
        while True:
            repeats = self._responder.channel.repeats(min(most, self._limit), answered)
            answered = None
            if repeats is None or len(repeats.ends) < _FEWEST:
                return
            if self._session.statements.get(repeats.form.statement) is not portal.entry:
                return
            tag = self._executed(prepared, repeats)
            if tag is None:
                self._limit = max(len(repeats.ends) // 2, _FEWEST)
                if len(repeats.ends) == _FEWEST:
                    return
                continue
            self._limit = min(self._limit * 2, _NO_LIMIT)
            answered = repeats
            self._responder.send_notices()
            self._responder.write(_answer(repeats, tag) * len(repeats.ends))

    def _executed(self, prepared: Prepared, repeats: Repeats) -> CommandTag | None:
        try:
            rows = self._rows(prepared, repeats)
        except (SqlError, ValueError, OverflowError, pa.ArrowException):  # of a value: whose row is found out later
            return None
        return None if rows is None else self._session.execute_repeated(prepared, rows)

    def _rows(self, prepared: Prepared, repeats: Repeats) -> list[Sequence[object | None]] | None:
        """The values of all executions. They are read column by column: the rows of one have one type and form."""
        types = [self._session.newest_type(each) for each in prepared.parameter_types]
        if len(repeats.values[0]) != len(types):
            return None
        if not types:
            return [() for _ in repeats.ends]
        formats = expand_formats(repeats.form.parameter_formats, len(types), "parameter formats")
        zone = self._session.time_zone()
        columns = []
        for type_, format_, values in zip(types, formats, zip(*repeats.values, strict=True), strict=True):
            read = parameter_reader(type_, zone, binary=format_ == BINARY)
            if read is None:
                return None
            columns.append(_column(values, read))
        return list(zip(*columns, strict=True))


def _column(values: _Values, read: Callable[[bytes], object]) -> list[object | None]:
    return [None if value is None else read(value) for value in values]


def _answer(repeats: Repeats, tag: CommandTag) -> bytes:
    described = server_messages.message(ServerResponse.NO_DATA) if repeats.form.describes else b""
    complete = server_messages.command_complete(tag.text(0))
    return server_messages.message(ServerResponse.BIND_COMPLETE) + described + complete
