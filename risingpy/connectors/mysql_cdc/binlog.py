"""A connection that receives the binary log, as a replica's does (COM_BINLOG_DUMP)."""

from __future__ import annotations

import random
import ssl
import struct
import time

import pymysql

from risingpy.connectors.mysql_cdc.options import MysqlCdcOptions
from risingpy.connectors.mysql_cdc.positions import Position
from risingpy.errors import SourceUnavailable
from risingpy.sockets import is_readable

HEARTBEAT_SECONDS = 5.0  # how often the server says that nothing has come
SILENT_SECONDS = 30.0  # after which it is taken for dead
_DUMP = 0x12
_LONGEST = 0xFFFFFF  # of a packet; a longer event is in several
_READ_BYTES = 1 << 20


class BinlogStream:
    """The events of the log from a position on. For one thread."""

    def __init__(self, connection: pymysql.Connection, options: MysqlCdcOptions, start: Position) -> None:
        """Takes the connection over. `has_checksums` says whether each event ends with one at the beginning."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@global.binlog_checksum")
            (checksum,) = cursor.fetchone()
            self.has_checksums = checksum != "NONE"
            cursor.execute("SET @master_binlog_checksum = @@global.binlog_checksum")
            cursor.execute("SET @source_binlog_checksum = @@global.binlog_checksum")
            cursor.execute("SET @mariadb_slave_capability = 4")
            cursor.execute(f"SET @master_heartbeat_period = {int(HEARTBEAT_SECONDS * 1e9)}")
            cursor.execute(f"SET @source_heartbeat_period = {int(HEARTBEAT_SECONDS * 1e9)}")
        name = start.file.encode()
        server_id = random.randrange(2**31, 2**32) if options.server_id is None else options.server_id
        body = struct.pack("<BIHI", _DUMP, start.place, 0, server_id) + name
        self._socket = connection._sock
        self._socket.sendall(struct.pack("<I", len(body)) + body)  # the packet's number is 0, above its length
        self._socket.setblocking(False)
        self._buffer = bytearray()
        self._taken = 0
        self._heard = time.monotonic()

    def next(self) -> bytes | None:
        """The next event; None if none has come yet. Raises SourceUnavailable at the end, and for a dead server."""
        packet = self._packet()
        if packet is None:
            self._receive()
            packet = self._packet()
        if packet is None:
            if time.monotonic() > self._heard + SILENT_SECONDS:
                raise SourceUnavailable("the server has not said anything for half a minute")
            return None
        match packet[0]:
            case 0:
                return packet[1:]
            case 0xFF:
                (code,) = struct.unpack_from("<H", packet, 1)
                said = packet[3:].decode(errors="replace")
                raise SourceUnavailable(
                    f"the binary log cannot be read: {said[6:] if said[:1] == '#' else said} ({code})"
                )
            case _:
                raise SourceUnavailable("the server has ended the stream")

    def wait(self, seconds: float) -> None:
        """Until something comes, or so long."""
        if not (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()):
            is_readable(self._socket, seconds)

    def _packet(self) -> bytes | None:
        """The next whole packet of the buffer, or the packets of which one event consists."""
        at, parts = self._taken, []
        while True:
            if len(self._buffer) < at + 4:
                return None
            length = int.from_bytes(self._buffer[at : at + 3], "little")
            if len(self._buffer) < at + 4 + length:
                return None
            parts.append(bytes(self._buffer[at + 4 : at + 4 + length]))
            at += 4 + length
            if length < _LONGEST:
                break
        self._taken = at
        if at == len(self._buffer) or at > _READ_BYTES:
            del self._buffer[:at]
            self._taken = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError as error:
            raise SourceUnavailable(f"the stream broke off: {error}") from error
        if not data:
            raise SourceUnavailable("the server has ended the stream")
        self._buffer += data
        self._heard = time.monotonic()
