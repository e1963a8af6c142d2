"""Servers that are forked from a process which has imported everything: they start in a tenth of the time.

A campaign that kills a server hundreds of times would otherwise spend most of its time on imports. The process reads a
data directory a line, forks, and the child is a `risingpy serve` as any other: it opens the directory, recovers, and is
killed by its own id. Nothing has been opened before the fork, and no thread of ours has begun.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg

from risingpy.cli import main
from risingpy.server_imports import imported_server

HOST = "127.0.0.1"


class ForkedServer:
    """A server that accepts connections; it is killed, and never stopped."""

    def __init__(self, process_id: int, port: int) -> None:
        self._process_id, self._port = process_id, port

    def connect(self) -> psycopg.Connection[Any]:
        """A connection in autocommit."""
        return psycopg.connect(host=HOST, port=self._port, user="root", dbname="dev", autocommit=True)

    def kill(self) -> None:
        """kill -9; returns when the process has gone, and its locks with it."""
        try:
            os.kill(self._process_id, signal.SIGKILL)
            while True:
                os.kill(self._process_id, 0)
        except ProcessLookupError:
            return


class ForkingServers:
    """The process that has imported everything, for one thread."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", __name__]
        both = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self._process: subprocess.Popen[str] = subprocess.Popen(command, text=True, **both)  # type: ignore[call-overload]

    def start(self, directory: Path) -> ForkedServer:
        """A server on this data directory. Raises RuntimeError, with what it has said, if it does not start."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{directory}\n")
        self._process.stdin.flush()
        said, process_id = "", 0
        for line in self._process.stdout:
            said += line
            words = line.split()
            if words[:1] == ["forked"]:
                process_id = int(words[1])
            if words[:1] == ["psql"]:
                return ForkedServer(process_id, int(words[words.index("-p") + 1]))
            if words[:1] == ["refused"]:
                break
        raise RuntimeError(said)

    def close(self) -> None:
        self._process.communicate()


def _serve_forked() -> None:
    imported_server()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who is killed is gone at once
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(sys.stdin.fileno())
            options = {"data-dir": line.strip(), "port": "0", "parallelism": "2", "engine": "inprocess"}
            words = [word for name, value in options.items() for word in (f"--{name}", value)]
            try:
                main(["serve", *words, "--log-level", "warning"])
            finally:
                print("refused", flush=True)
                os._exit(1)
        print("forked", child, flush=True)


if __name__ == "__main__":
    _serve_forked()
