"""A real `risingpy serve` in a process of its own, on a free port: for the demo, the benchmarks and the tests."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

HOST = "127.0.0.1"
START_SECONDS = 60
STOP_SECONDS = 30
WARM_SECONDS = 180
_READY = re.compile(r"psql -h (\S+) -p (\d+)")
_METRICS = re.compile(r"metrics: http://\S+:(\d+)/metrics")
_WARM, _LOST = "Spark has taken over", "Spark is lost"


class ServerProcess:
    """Starts in the constructor and accepts connections when that returns."""

    def __init__(
        self,
        data_dir: Path,
        *,
        engine: str = "spark",
        parallelism: int = 2,
        port: int = 0,
        log_level: str = "warning",
        flags: Sequence[str] = (),
        environ: dict[str, str] | None = None,
        prefix: Sequence[str] = (),
        host: str = HOST,
    ) -> None:
        """`prefix` is a command that runs the server's own, and `host` where `connect` finds it then."""
        self.data_dir = data_dir
        self.port = 0
        self._host = host
        self.http_port: int | None = None  # of its metrics, if the flags ask for them
        self.output: list[str] = []
        options = {"data-dir": data_dir, "port": port, "parallelism": parallelism, "engine": engine}
        named = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        command = [*prefix, sys.executable, "-m", "risingpy", "serve", *named, "--log-level", log_level, *flags]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environ,
        )
        self._ready = threading.Event()
        self._warm = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        if not self._ready.wait(START_SECONDS) or not self.port:
            self.kill()
            raise RuntimeError("the server did not start:\n" + "".join(self.output))
        self.ready_seconds = time.monotonic() - self.started

    def connect(self, **options: Any) -> Connection[Any]:
        """A psycopg connection, in autocommit."""
        import psycopg  # noqa: PLC0415 - to start a server needs no client

        return psycopg.connect(host=self._host, port=self.port, user="root", dbname="dev", autocommit=True, **options)

    def wait_for_spark(self) -> None:
        """Returns when epochs run on Spark; until then the server runs them itself."""
        if not self._warm.wait(WARM_SECONDS):
            raise RuntimeError("Spark did not start:\n" + "".join(self.output))

    def kill(self) -> None:
        """kill -9: the server flushes nothing, and tells no client."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Sends SIGTERM, and returns the exit code. After STOP_SECONDS kills the server and raises TimeoutExpired."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def _read(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # the pipe was closed under us
            for line in self.process.stdout:
                self.output.append(line)
                found = _READY.search(line)
                if found:
                    self.port = int(found[2])
                    self._ready.set()
                if found := _METRICS.search(line):
                    self.http_port = int(found[1])
                if line.startswith(_WARM):
                    self._warm.set()
                elif line.startswith(_LOST):
                    self._warm.clear()
        self._ready.set()
