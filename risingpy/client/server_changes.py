"""The changes of a view or table of a server, as they come: COPY (SUBSCRIBE …) TO STDOUT.

COPY's answer begins before its first row, so that whoever has a stream knows that it misses nothing from there on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from selectors import EVENT_READ, DefaultSelector

import psycopg
import pyarrow as pa

from risingpy.client.interface import Change, ChangeStream
from risingpy.client.python_values import python_rows
from risingpy.client.received_rows import result_fields
from risingpy.client.server_connection import checked, description, encoded, open_connection, translated
from risingpy.errors import SqlError
from risingpy.frontend.results import CopyFormat, CopyOptions
from risingpy.frontend.wire.copy_decode import DelimitedDecoder

_LEADING = 2  # rw_epoch and op stand before the relation's columns
_BLOCK_BYTES = 1 << 20


class ServerChanges(ChangeStream):
    """The changes that a SUBSCRIBE statement gives, in a connection of its own."""

    def __init__(self, url: str, text: str) -> None:
        """`text` is a SUBSCRIBE statement. Raises SqlError."""
        self._connection = open_connection(url)
        try:
            self._fields = result_fields(description(self._connection, text))
            with translated():
                checked(self._connection.pgconn.exec_(encoded(f"COPY ({text}) TO STDOUT")))
        except BaseException:
            self._connection.close()
            raise
        self._changes = self._all()

    def _cancel(self) -> None:
        try:
            self._connection.cancel_safe()
        except psycopg.Error:  # there is no server: the iteration has noticed, or does so now
            self._connection.close()

    def _release(self) -> None:
        self._connection.close()

    def _all(self) -> Generator[Change]:
        names = [field.name for field in self._fields[_LEADING:]]
        types = [field.type for field in self._fields]
        try:
            for block in self._blocks():
                for epoch, op, *values in python_rows(types, self._read(block)):
                    yield Change(op, dict(zip(names, values, strict=True)), epoch)
        except SqlError:
            if not self._closed:
                raise
        finally:
            self._release()

    def _blocks(self) -> Iterator[bytes]:
        """Whole rows, as many as have come."""
        pgconn = self._connection.pgconn
        parts: list[memoryview] = []
        size = 0
        while True:
            with translated():
                length, data = pgconn.get_copy_data(1)
            if length > 0:
                parts.append(data)
                size += length
            if parts and (length <= 0 or size >= _BLOCK_BYTES):
                yield b"".join(parts)
                parts, size = [], 0
            if length < 0:
                with translated():
                    while (result := pgconn.get_result()) is not None:
                        checked(result)
                return
            if length == 0:
                with DefaultSelector() as selector:  # select() takes no descriptor over 1,023
                    selector.register(pgconn.socket, EVENT_READ)
                    selector.select()
                with translated():
                    pgconn.consume_input()

    def _read(self, block: bytes) -> pa.Table:
        zone = self._connection.info.parameter_status("TimeZone") or "UTC"
        decoder = DelimitedDecoder("changes", self._fields, CopyOptions(CopyFormat.TEXT), zone)
        return pa.Table.from_batches([*decoder.feed(block), *decoder.finish()])
