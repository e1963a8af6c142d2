"""COPY … FROM STDIN: decodes the client's data messages and passes the rows to the session's sink."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, assert_never

import pyarrow as pa

from risingpy.errors import QueryCanceled
from risingpy.frontend.results import CopyFormat, CopyIn
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.client_messages import CopyData, CopyDone, CopyFail
from risingpy.frontend.wire.copy_binary import BinaryDecoder
from risingpy.frontend.wire.copy_decode import DelimitedDecoder
from risingpy.frontend.wire.responder import Responder


class CopyDecoder(Protocol):
    """Bytes in, batches out."""

    def feed(self, data: bytes) -> Iterator[pa.RecordBatch]: ...

    def finish(self) -> Iterator[pa.RecordBatch]: ...


def make_decoder(copy: CopyIn, time_zone: str) -> CopyDecoder:
    """The decoder of the COPY's format."""
    if copy.options.format is CopyFormat.BINARY:
        return BinaryDecoder(copy.relation, copy.fields)
    return DelimitedDecoder(copy.relation, copy.fields, copy.options, time_zone)


def receive_copy(responder: Responder, copy: CopyIn) -> int:
    """Runs the copy-in mode until CopyDone; returns the number of rows. On any error it calls the sink's `abort`."""
    binary = copy.options.format is CopyFormat.BINARY
    columns = len(copy.fields)
    responder.write(server_messages.copy_response(server_messages.COPY_IN_RESPONSE, columns, binary=binary))
    responder.channel.flush()
    responder.channel.begin_copy()
    try:
        with copy.limit:
            try:
                count = 0
                for batch in _batches(responder, make_decoder(copy, responder.session.time_zone())):
                    responder.check_cancelled()
                    count += copy.sink.write(batch)
                responder.check_cancelled()
            except BaseException:
                copy.sink.abort()
                raise
            copy.sink.finish()
    finally:
        responder.channel.end_copy()
    return count


def _batches(responder: Responder, decoder: CopyDecoder) -> Iterator[pa.RecordBatch]:
    while True:
        message = responder.channel.next_copy_message(responder.check_cancelled)
        responder.check_cancelled()
        match message:
            case CopyData():
                yield from decoder.feed(message.data)
            case CopyDone():
                yield from decoder.finish()
                return
            case CopyFail():
                raise QueryCanceled(f"COPY from stdin failed: {message.reason}")
            case _:
                assert_never(message)
