"""Sends what a statement gave: rows, COPY data, and the tag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from risingpy.frontend.wire.copy_in import receive_copy
from risingpy.frontend.wire.copy_out import send_copy
from risingpy.frontend.wire.data_row import encode_batch
from risingpy.frontend.wire.portal import RowStream
from risingpy.frontend.wire.session_protocol import CopyIn, CopyOut, Field, Result

if TYPE_CHECKING:
    from risingpy.frontend.wire.connection import Connection, Context


def send_rows(
    connection: Connection,
    ctx: Context,
    rows: Iterable[pa.RecordBatch],
    fields: Sequence[Field],
    formats: Sequence[int],
) -> int:
    """DataRows; returns how many."""
    time_zone = ctx.session.time_zone()
    write = connection.wfile.write
    sent = 0
    for batch in rows:
        for piece in encode_batch(batch, fields, formats, time_zone):
            connection.check_cancelled()
            write(piece)
        sent += batch.num_rows
    return sent


def send_without_rows(connection: Connection, ctx: Context, result: Result) -> None:
    """Runs the COPY of a result, if it has one, and completes the command."""
    count = 0
    match result.copy:
        case CopyIn():
            count = receive_copy(connection, ctx, result.copy)
        case CopyOut():
            assert result.batches is not None
            count = send_copy(connection, ctx, result.copy, RowStream(result.batches))
        case None:
            pass
    connection.complete(ctx, tag_of(result, count))


def tag_of(result: Result, count: int) -> str:
    return result.tag.replace("{n}", str(count))
