"""How processes of Spark talk to the barrier loop, over a Unix socket: which epoch is open, and how one went.

A request begins with a byte, and the last epoch that the asker has seen (u64); the answer is an epoch (u64).

`W`, of the source: the answer is the epoch that was opened and not reported yet, at once if it is newer, else the one
that was seen, after `POLL_SECONDS`, so that Spark can notice that the query was stopped. `N`, of the task that runs
epoch after epoch: the same, but it waits for an epoch as long as it takes, and gets the one that it has seen if it
is to end. `R`, of that task: its epoch, with a length (u32) and the report; the answer is that epoch.
"""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import struct
import threading
from collections.abc import Callable
from pathlib import Path

POLL_SECONDS = 10.0
_EPOCH = struct.Struct("!Q")
_WAIT, _NEXT, _REPORT = b"W", b"N", b"R"
_REPORT_HEAD = struct.Struct("!cQI")
_REQUEST = struct.Struct("!cQ")
_LENGTH = struct.Struct("!I")


class EpochChannel:
    """The server's side: `open_epoch` lets whoever waits go; `on_report` gets (epoch, report) of a task."""

    def __init__(self, path: Path, first_epoch: int, on_report: Callable[[int, bytes], None]) -> None:
        self.path = path
        self._epoch = first_epoch
        self._reported = 0
        self._task_has_come = False
        self._on_report = on_report
        self._dismissed = False
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
        threading.Thread(target=self._server.serve_forever, args=(0.5,), name=path.stem, daemon=True).start()

    @property
    def task_has_come(self) -> bool:
        """True as soon as a task has asked for an epoch."""
        return self._task_has_come

    def open_epoch(self, epoch: int) -> None:
        with self._changed:
            self._epoch = epoch
            self._dismissed = False
            self._changed.notify_all()

    def dismiss_task(self) -> None:
        """Has the task that runs epoch after epoch end, until the next epoch is opened."""
        with self._changed:
            self._dismissed = True
            self._changed.notify_all()

    def close(self) -> None:
        """Answers whoever waits, and ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _wait_beyond(self, seen: int, *, is_task: bool) -> int:
        with self._changed:
            self._task_has_come |= is_task
            done = max(seen, self._reported)
            self._changed.wait_for(
                lambda: self._epoch > done or self._closed or (is_task and self._dismissed),
                None if is_task else POLL_SECONDS,
            )
            return self._epoch if self._epoch > done else seen

    def _take_report(self, epoch: int, report: bytes) -> None:
        with self._changed:
            self._reported = max(self._reported, epoch)
        self._on_report(epoch, report)

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                kind, epoch = _REQUEST.unpack(_receive(connection, _REQUEST.size))
                if kind == _REPORT:
                    length = _LENGTH.unpack(_receive(connection, _LENGTH.size))[0]
                    self._take_report(epoch, _receive(connection, length))
                else:
                    epoch = self._wait_beyond(epoch, is_task=kind == _NEXT)
                connection.sendall(_EPOCH.pack(epoch))


class EpochClient:
    """The side of Spark's processes: one connection, opened when first needed. Not for several threads at once."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: socket.socket | None = None

    def newest(self, seen: int) -> int:
        """The open epoch; waits a while for one beyond `seen`. Returns `seen` if there is none, or no server."""
        return self._wait(_WAIT, seen)

    def next_epoch(self, seen: int) -> int:
        """The next epoch that the asking task is to run; waits for it. Returns `seen` if the task is to end."""
        return self._wait(_NEXT, seen)

    def report(self, epoch: int, report: bytes) -> None:
        """Tells how the epoch went. OSError or EOFError if the server is gone."""
        self._ask(_REPORT_HEAD.pack(_REPORT, epoch, len(report)) + report)

    def _wait(self, kind: bytes, seen: int) -> int:
        try:
            return self._ask(_REQUEST.pack(kind, seen))
        except (OSError, EOFError):
            return seen

    def _ask(self, request: bytes) -> int:
        try:
            if self._connection is None:
                self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._connection.connect(self._path)
            self._connection.sendall(request)
            return int(_EPOCH.unpack(_receive(self._connection, _EPOCH.size))[0])
        except (OSError, EOFError):
            self._connection = None
            raise


def _receive(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise EOFError("the other side of the epoch channel is gone")
    return data
