"""A program that is started on a free port of 127.0.0.1, awaited, and stopped by its process id: for demo and tests."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 30


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str], port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Starts `command`, waits until `port` answers, and kills it afterwards.

    Raises RuntimeError, with the end of its output, if it ends or does not answer within START_SECONDS.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=log.parent)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
