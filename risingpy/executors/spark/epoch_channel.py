"""The Unix socket on which Spark's processes ask the barrier loop for the open epoch, and report how one went.

A request is a byte, an epoch (u64), and a length (u32) with so many bytes. The answer is an epoch, and likewise bytes.

    W  seen            The source asks for an open epoch after `seen` that is not reported yet. After POLL_SECONDS
                       without one the answer is `seen`: Spark then notices a stopped query.
    N  seen            The task of the narrow query asks likewise, and waits as long as it takes. The answer has the
                       epoch's order, the pickled descriptor; the answer `seen` tells the task to end.
    R  epoch  report   That task reports an epoch. The answer is that epoch.
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
_WAIT, _NEXT, _REPORT = b"W", b"N", b"R"
_REQUEST = struct.Struct("!cQI")
_ANSWER = struct.Struct("!QI")


class EpochChannel:
    """The server's side. `open_epoch` answers those who wait; `on_report` is called with a task's epoch and report."""

    def __init__(self, path: Path, first_epoch: int, on_report: Callable[[int, bytes], None]) -> None:
        self.path = path
        self._epoch = first_epoch
        self._order = b""  # what the task needs to run that epoch
        self._reported = 0
        self._task_has_come = False
        self._waiting_tasks = 0
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

    @property
    def task_waits(self) -> bool:
        """Whether a task would take the next epoch at once."""
        return self._waiting_tasks > 0 and not self._dismissed

    def open_epoch(self, epoch: int, order: bytes = b"") -> None:
        """Gives out an epoch, and `order` to a task."""
        with self._changed:
            self._epoch, self._order = epoch, order
            self._dismissed = False
            self._changed.notify_all()

    def dismiss_task(self) -> None:
        """Tells the narrow query's task to end, and so any other that comes until the next epoch is opened."""
        with self._changed:
            self._dismissed = True
            self._changed.notify_all()

    def forget_task(self) -> None:
        """The task is gone with its Spark, or is about to notice that it must end: another one is waited for."""
        self.dismiss_task()
        self._task_has_come = False

    def close(self) -> None:
        """Answers all who wait, and closes the socket."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def _wait_beyond(self, seen: int, *, is_task: bool) -> tuple[int, bytes]:
        with self._changed:
            self._task_has_come |= is_task
            self._waiting_tasks += is_task
            done = max(seen, self._reported)
            self._changed.wait_for(
                lambda: self._epoch > done or self._closed or (is_task and self._dismissed),
                None if is_task else POLL_SECONDS,
            )
            self._waiting_tasks -= is_task
            return (self._epoch, self._order if is_task else b"") if self._epoch > done else (seen, b"")

    def _take_report(self, epoch: int, report: bytes) -> None:
        with self._changed:
            self._reported = max(self._reported, epoch)
        self._on_report(epoch, report)

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                kind, epoch, length = _REQUEST.unpack(_receive(connection, _REQUEST.size))
                order = b""
                if kind == _REPORT:
                    self._take_report(epoch, _receive(connection, length))
                else:
                    epoch, order = self._wait_beyond(epoch, is_task=kind == _NEXT)
                connection.sendall(_ANSWER.pack(epoch, len(order)) + order)


class EpochClient:
    """The side of Spark's processes: one connection, opened at the first request. For one thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: socket.socket | None = None

    def newest(self, seen: int) -> int:
        """The open epoch; waits up to POLL_SECONDS for one after `seen`. Returns `seen` if none comes, or no server."""
        return self._wait(_WAIT, seen)[0]

    def next_epoch(self, seen: int) -> tuple[int, bytes]:
        """Waits for the next epoch that the asking task must run: it, and its order. `seen` if the task must end."""
        return self._wait(_NEXT, seen)

    def report(self, epoch: int, report: bytes) -> None:
        """Reports how the epoch went. Raises OSError or EOFError if the server is gone."""
        self._ask(_REPORT, epoch, report)

    def _wait(self, kind: bytes, seen: int) -> tuple[int, bytes]:
        try:
            return self._ask(kind, seen)
        except (OSError, EOFError):
            return seen, b""

    def _ask(self, kind: bytes, epoch: int, report: bytes = b"") -> tuple[int, bytes]:
        try:
            if self._connection is None:
                self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._connection.connect(self._path)
            self._connection.sendall(_REQUEST.pack(kind, epoch, len(report)) + report)
            epoch, length = _ANSWER.unpack(_receive(self._connection, _ANSWER.size))
            return epoch, _receive(self._connection, length) if length else b""
        except (OSError, EOFError):
            self._connection = None
            raise


def _receive(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise EOFError("the other side of the epoch channel is gone")
    return data
