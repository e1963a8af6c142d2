"""How the epoch source, in a process of its own, waits for the barrier loop: a long poll over a Unix socket.

Request: the last epoch that the source has seen (u64). Answer: the newest epoch that was opened (u64), at once if it is
newer, else after `POLL_SECONDS`, so that Spark can notice that the query was stopped.
"""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import struct
import threading
from pathlib import Path

POLL_SECONDS = 10.0
_EPOCH = struct.Struct("!Q")


class EpochChannel:
    """The server's side: `open_epoch` lets the waiting source go."""

    def __init__(self, path: Path, first_epoch: int) -> None:
        self.path = path
        self._epoch = first_epoch
        self._closed = False
        self._changed = threading.Condition()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        channel = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                channel._answer(self.request)

        self._server = socketserver.ThreadingUnixStreamServer(str(path), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(target=self._server.serve_forever, args=(0.5,), name="epoch-channel", daemon=True).start()

    def open_epoch(self, epoch: int) -> None:
        with self._changed:
            self._epoch = epoch
            self._changed.notify_all()

    def close(self) -> None:
        """Answers every waiting source and ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _wait_beyond(self, seen: int) -> None:
        self._changed.wait_for(lambda: self._epoch > seen or self._closed, POLL_SECONDS)

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                request = connection.recv(_EPOCH.size)
                if len(request) < _EPOCH.size:
                    return
                seen = _EPOCH.unpack(request)[0]
                with self._changed:
                    self._wait_beyond(seen)
                    epoch = self._epoch
                connection.sendall(_EPOCH.pack(epoch))


class EpochWaiter:
    """The source's side: one connection, opened when first needed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: socket.socket | None = None

    def newest(self, seen: int) -> int:
        """The newest epoch; waits a while for one beyond `seen`. Returns `seen` if the server is gone."""
        try:
            if self._connection is None:
                self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._connection.connect(self._path)
            self._connection.sendall(_EPOCH.pack(seen))
            answer = self._connection.recv(_EPOCH.size, socket.MSG_WAITALL)
        except OSError:
            answer = b""
        if len(answer) < _EPOCH.size:
            self._connection = None
            return seen
        return max(seen, int(_EPOCH.unpack(answer)[0]))
