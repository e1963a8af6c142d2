"""A server that is killed while clients work, when each of them has done enough."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from risingpy.server_process import ServerProcess


class Works(Protocol):
    """A client: `run` releases `enough` once, and ends when the server is gone."""

    def run(self, server: ServerProcess, enough: threading.Semaphore) -> None: ...


def kill_at_work(server: ServerProcess, clients: Sequence[Works]) -> None:
    """Returns when the server is dead and no client works any more."""
    enough = threading.Semaphore(0)
    threads = [threading.Thread(target=each.run, args=(server, enough)) for each in clients]
    for thread in threads:
        thread.start()
    for _ in clients:
        assert enough.acquire(timeout=120)
    server.kill()
    for thread in threads:
        thread.join(30)
