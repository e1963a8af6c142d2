"""Worker processes from the outside: kept between calls, one call at a time each, killed when they do not answer.

A worker ends by itself when this process does: its input ends.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

import risingpy
from risingpy.errors import (
    ExternalRoutineError,
    ExternalRoutineLimitExceeded,
    InvalidFunctionDefinition,
    SqlError,
)
from risingpy.executors.python.definition import definition_of
from risingpy.executors.python.messages import Header, read_message, write_message

TIME_LIMIT_SECONDS = 30.0  # for one call: at most ROWS_PER_CALL rows, or the changes of an aggregate in an epoch
MEMORY_LIMIT_BYTES = 1 << 30  # of a worker, beyond what Python and Arrow take
ROWS_PER_CALL = 65_536  # so that neither limit depends on the size of an epoch

_GRACE_SECONDS = 2.0  # code in C that does not return is killed so long after the limit
_MOST_IDLE = 4  # as many shards as usually run at once
# One arena and one thread: address space counts against the limit, and tasks share the machine.
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_ERRORS: dict[str, type[SqlError]] = {
    "definition": InvalidFunctionDefinition,
    "limit": ExternalRoutineLimitExceeded,
    "failure": ExternalRoutineError,
}


class _Worker:
    """A process and its pipes."""

    def __init__(self) -> None:
        root = str(Path(risingpy.__file__).parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "risingpy.executors.python.worker", str(MEMORY_LIMIT_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": path},
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._answers = self._process.stdout.fileno()

    def call(
        self, header: Header, batches: Sequence[pa.RecordBatch], seconds: float
    ) -> tuple[Header, list[pa.RecordBatch]]:
        """The answer. Raises EOFError if the process is gone, TimeoutError if it does not answer."""
        deadline = time.monotonic() + seconds + _GRACE_SECONDS

        def read(size: int) -> bytes:
            data = bytearray()
            while len(data) < size:
                if not select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    raise TimeoutError
                piece = os.read(self._answers, size - len(data))
                if not piece:
                    raise EOFError
                data += piece
            return bytes(data)

        try:
            write_message(self._requests, header, batches)
        except BrokenPipeError:
            raise EOFError from None
        return read_message(read)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._requests.close()
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass(slots=True)
class _Pool:
    """The idle workers of the process `owner`; a fork of it makes its own."""

    owner: int = field(default_factory=os.getpid)
    idle: list[_Worker] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)


_pool = _Pool()


def call_worker(
    do: str, definition: str, batches: Sequence[pa.RecordBatch] = (), *, tolerant: bool = False
) -> tuple[Header, list[pa.RecordBatch]]:
    """What a worker answers; see `worker`. Raises ExternalRoutineError, its limits, or InvalidFunctionDefinition."""
    pool = _own_pool()
    with pool.guard:
        worker = pool.idle.pop() if pool.idle else None
    worker = worker or _Worker()
    seconds = TIME_LIMIT_SECONDS
    header = {"do": do, "definition": definition, "seconds": seconds, "tolerant": tolerant}
    name = definition_of(definition).name
    healthy = False
    try:
        answer, columns = worker.call(header, batches, seconds)
        healthy = True
    except TimeoutError:
        message = f"function {name} took more than {seconds:g} seconds, and was killed"
        raise ExternalRoutineLimitExceeded(message) from None
    except EOFError:
        message = f"function {name} ended its process, or was killed"
        raise ExternalRoutineLimitExceeded(message) from None
    finally:
        _give_back(pool, worker, healthy=healthy)
    if "error" in answer:
        raise _ERRORS[answer["kind"]](answer["error"])
    return answer, columns


def _own_pool() -> _Pool:
    global _pool
    if _pool.owner != os.getpid():
        _pool = _Pool()
    return _pool


def _give_back(pool: _Pool, worker: _Worker, *, healthy: bool) -> None:
    with pool.guard:
        if healthy and len(pool.idle) < _MOST_IDLE:
            pool.idle.append(worker)
            return
    worker.end()
