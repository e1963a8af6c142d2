"""Sends a statement's result: rows, COPY data, and the tag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from risingpy.frontend.portals import row_stream
from risingpy.frontend.results import CopyIn, CopyOut, Result, ResultField
from risingpy.frontend.wire.copy_in import receive_copy
from risingpy.frontend.wire.copy_out import send_copy
from risingpy.frontend.wire.data_row import encode_batch
from risingpy.frontend.wire.responder import Responder


def send_rows(
    responder: Responder,
    rows: Iterable[pa.RecordBatch],
    fields: Sequence[ResultField],
    formats: Sequence[int],
    *,
    live: bool = False,
) -> int:
    """Sends DataRow messages; returns their number. `live`: see `Result`."""
    time_zone = responder.session.time_zone()
    write = responder.write
    sent = 0
    for batch in rows:
        if live and not batch.num_rows:
            responder.channel.flush()
        for piece in encode_batch(batch, fields, formats, time_zone):
            responder.check_cancelled()
            write(piece)
        sent += batch.num_rows
    return sent


def send_without_rows(responder: Responder, result: Result) -> None:
    """Runs the COPY of a result, if it has one, and completes the command."""
    count = 0
    match result.copy:
        case CopyIn():
            count = receive_copy(responder, result.copy)
        case CopyOut():
            assert result.batches is not None
            count = send_copy(responder, result.copy, row_stream(result), live=result.is_live)
        case None:
            pass
    responder.complete(result.tag, count)
