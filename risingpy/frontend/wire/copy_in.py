"""COPY … FROM STDIN: takes the client's data messages to the session's sink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from buenavista.postgres import ClientCommand

from risingpy.errors import ProtocolViolation, QueryCanceled
from risingpy.frontend.wire import messages
from risingpy.frontend.wire.copy_binary import BinaryDecoder
from risingpy.frontend.wire.copy_decode import DelimitedDecoder
from risingpy.frontend.wire.endings import Fatal
from risingpy.frontend.wire.session_protocol import CopyFormat, CopyIn

if TYPE_CHECKING:
    from risingpy.frontend.wire.connection import Connection, Context

_COPY_DATA, _COPY_DONE, _COPY_FAIL = b"d", b"c", b"f"


class CopyDecoder(Protocol):
    """Bytes in, batches out."""

    def feed(self, data: bytes) -> Iterator[pa.RecordBatch]: ...

    def finish(self) -> Iterator[pa.RecordBatch]: ...


def make_decoder(copy: CopyIn, time_zone: str) -> CopyDecoder:
    """The decoder of the COPY's format."""
    if copy.options.format is CopyFormat.BINARY:
        return BinaryDecoder(copy.relation, copy.fields)
    return DelimitedDecoder(copy.relation, copy.fields, copy.options, time_zone)


def receive_copy(connection: Connection, ctx: Context, copy: CopyIn) -> int:
    """Runs the copy-in mode up to CopyDone; returns how many rows came. On any error the sink is told to abort."""
    binary = copy.options.format is CopyFormat.BINARY
    connection.wfile.write(messages.copy_response(messages.COPY_IN_RESPONSE, len(copy.fields), binary=binary))
    connection.wfile.flush()
    with copy.limit:
        try:
            count = 0
            for batch in _batches(connection, make_decoder(copy, ctx.session.time_zone())):
                connection.check_cancelled()
                copy.sink.write(batch)
                count += batch.num_rows
            connection.check_cancelled()
        except BaseException:
            copy.sink.abort()
            raise
        copy.sink.finish()
    return count


def _batches(connection: Connection, decoder: CopyDecoder) -> Iterator[pa.RecordBatch]:
    while True:
        kind, body = connection.read_message(within_statement=True)
        connection.check_cancelled()
        if kind == _COPY_DATA:
            yield from decoder.feed(body)
        elif kind == _COPY_DONE:
            yield from decoder.finish()
            return
        elif kind == _COPY_FAIL:
            reason = body.rstrip(b"\0").decode(errors="replace")
            raise QueryCanceled(f"COPY from stdin failed: {reason}")
        elif kind not in (ClientCommand.FLUSH, ClientCommand.SYNC):
            raise Fatal(ProtocolViolation(f"unexpected message type 0x{kind[0]:02X} during COPY from stdin"))
