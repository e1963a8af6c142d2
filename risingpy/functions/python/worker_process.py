"""The caller's side of worker processes. Each runs one call at a time, is kept between calls, and killed if it hangs.

A worker ends by itself when this process ends, because its input does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

import risingpy
from risingpy.errors import (
    ExternalRoutineError,
    ExternalRoutineLimitExceeded,
    InvalidFunctionDefinition,
    SqlError,
)
from risingpy.functions.python.definition import PythonFunction, definition_of
from risingpy.functions.python.messages import BUILTIN, WALLS, Header, message_parts, read_message
from risingpy.functions.python.printed import PrintedText
from risingpy.functions.python.walls import Wall
from risingpy.memory import STATEMENT_SHARE, share_of_memory
from risingpy.process_priority import lower_priority
from risingpy.statement_limits import look
from risingpy.types import VARCHAR

TIME_LIMIT_SECONDS = 30.0  # for one call: at most ROWS_PER_CALL rows, or the changes of an aggregate in an epoch
MEMORY_LIMIT_BYTES = 1 << 30  # of a worker at most, beyond what Python and Arrow take
ROWS_PER_CALL = 65_536  # so that neither limit depends on the size of an epoch

NICENESS = 5  # of a worker: epochs and short statements get three times as much of a processor that is wanted
_GRACE_SECONDS = 2.0  # code in C that does not return is killed so long after the limit
_LOOKS_EVERY_SECONDS = 0.05  # whether the statement was cancelled
_PIECE = 1 << 20
_MOST_BUSY = 4  # each may take MEMORY_LIMIT_BYTES
_MOST_IDLE = 4  # as many shards as usually run at once
# One arena and one thread: address space counts against the limit, and tasks share the machine.
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # walls are for all threads, or for none
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_OF_CONFINED = {"PATH": "/usr/bin:/bin", "HOME": "/", "TMPDIR": "/var/tmp", "PYTHONDONTWRITEBYTECODE": "1"}
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONHOME")
_ERRORS: dict[str, type[SqlError]] = {
    "definition": InvalidFunctionDefinition,
    "limit": ExternalRoutineLimitExceeded,
    "failure": ExternalRoutineError,
}


def _environment(*, confined: bool) -> dict[str, str]:
    """A worker's. A confined one has nothing of the server's but where Python and libraries are."""
    root = str(Path(risingpy.__file__).parents[1])
    path = [root, *(os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each)]
    kept = {name: value for name, value in os.environ.items() if not confined or name in _KEPT}
    own = {**_ENVIRONMENT, **(_OF_CONFINED if confined else {})}
    return {**kept, **own, "PYTHONPATH": os.pathsep.join(path)}


class _Worker:
    """A process, in a process group of its own, and its pipes."""

    def __init__(self, *, confined: bool) -> None:
        self.confined = confined
        memory = min(MEMORY_LIMIT_BYTES, share_of_memory(STATEMENT_SHARE))
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "risingpy.functions.python.worker",
                str(memory),
                *(("confined",) if confined else ()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=_environment(confined=confined),
            cwd="/",
            start_new_session=True,
        )
        lower_priority(self._process.pid, NICENESS)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None
        self._pipes = (stdin, stdout)
        os.set_blocking(stdin.fileno(), False)
        self._printed = PrintedText(stderr)
        self._calls = 0

    def call(
        self, header: Header, batches: Sequence[pa.RecordBatch], name: str, seconds: float
    ) -> tuple[Header, list[pa.RecordBatch]]:
        """The answer. `name` is that of the function, for its output in the log.

        Raises EOFError if the process has ended, TimeoutError if it does not answer, ValueError if it sends something
        else, QueryCanceled if the statement is cancelled meanwhile.
        """
        deadline = time.monotonic() + seconds + _GRACE_SECONDS
        self._calls += 1
        self._printed.function = name
        requests, answers = (pipe.fileno() for pipe in self._pipes)

        def read(size: int) -> bytes:
            data = bytearray()
            while len(data) < size:
                _wait(answers, select.POLLIN, deadline)
                piece = os.read(answers, min(size - len(data), _PIECE))
                if not piece:
                    raise EOFError
                data += piece
            return bytes(data)

        for part in message_parts({**header, "call": self._calls}, batches):
            _send(requests, part, deadline)
        answer, columns = read_message(read)
        # A process that the function has forked answers too, or answers an earlier call.
        if answer.get("call") != self._calls:
            raise _StaleAnswer
        return answer, columns

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # what the function has started, too
        self._process.wait()
        for pipe in self._pipes:
            pipe.close()
        self._printed.end()


class _StaleAnswer(ValueError):
    """A process answered for an earlier call: a function that ran in it before has forked it."""


def _wait(descriptor: int, event: int, deadline: float) -> None:
    """Waits until it is ready for `event` or closed. Raises TimeoutError at the deadline, or QueryCanceled."""
    poller = select.poll()
    poller.register(descriptor, event)
    while True:
        look()
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if poller.poll(min(left, _LOOKS_EVERY_SECONDS) * 1000):
            return


def _send(descriptor: int, data: bytes | pa.Buffer, deadline: float) -> None:
    rest = memoryview(data)
    while rest:
        _wait(descriptor, select.POLLOUT, deadline)
        try:
            rest = rest[os.write(descriptor, rest[:_PIECE]) :]
        except BlockingIOError:
            continue
        except BrokenPipeError:
            raise EOFError from None


class _Pool:
    """The idle workers of this process, and whose turn it is. A fork of the process begins with none."""

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # the pipes are the parent's, and so may be a held lock

    def _begin(self) -> None:
        self._idle: dict[bool, list[_Worker]] = {True: [], False: []}  # by whether they are confined
        self._guard = threading.Lock()
        self._turns = threading.Semaphore(_MOST_BUSY)

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until fewer than `_MOST_BUSY` calls run. Raises QueryCanceled if the statement is cancelled before."""
        turns = self._turns
        while not turns.acquire(timeout=_LOOKS_EVERY_SECONDS):
            look()
        try:
            yield
        finally:
            turns.release()

    def take(self, *, fresh: bool, confined: bool) -> tuple[_Worker, bool]:
        """A worker, and whether it has run calls before; never if it has to be `fresh`."""
        with self._guard:
            idle = self._idle[confined]
            worker = idle.pop() if idle and not fresh else None
        return (worker, True) if worker is not None else (_Worker(confined=confined), False)

    def give_back(self, worker: _Worker, *, healthy: bool) -> None:
        """Keeps the worker for the next call, or ends it."""
        with self._guard:
            idle = self._idle[worker.confined]
            if healthy and len(idle) < _MOST_IDLE:
                idle.append(worker)
                return
        worker.end()


# The process's: a worker takes a tenth of a second to start, and calls come from wherever an expression is computed.
_WORKERS = _Pool()


def call_worker(
    do: str, definition: str, batches: Sequence[pa.RecordBatch] = (), *, tolerant: bool = False
) -> tuple[Header, list[pa.RecordBatch]]:
    """A worker's answer; see `worker`. Raises ExternalRoutineError, its limits, or InvalidFunctionDefinition."""
    with _WORKERS.turn():
        try:
            answer, columns = _call_idle(do, definition, batches, tolerant=tolerant)
        except _StaleAnswer:  # this call's function is not to blame
            answer, columns = _call_idle(do, definition, batches, tolerant=tolerant, fresh=True)
    if "sqlstate" in answer:
        raise SqlError(answer["error"], sqlstate=answer["sqlstate"])
    if "error" in answer:
        raise _ERRORS[answer["kind"]](answer["error"])
    return answer, columns


def walls() -> Sequence[Wall]:
    """What keeps users' functions in their processes on this machine. Raises as `call_worker`."""
    answer, _ = call_worker(WALLS, PythonFunction("walls", "", (), VARCHAR).to_text())
    return [Wall(*each) for each in answer["walls"]]


def call_builtin(name: str, columns: Sequence[pa.Array]) -> pa.Array:
    """The column of one of our own functions, which may take long. Raises its errors, and those of `call_worker`."""
    shown = name.rstrip("0123456789").rstrip("_")
    definition = PythonFunction(shown, "", (), VARCHAR).to_text()
    batch = pa.record_batch(list(columns), names=[f"a{k}" for k in range(len(columns))])
    _, answered = call_worker(f"{BUILTIN}{name}", definition, [batch])
    return answered[0].column(0)


def _is_confined(do: str) -> bool:
    """Whether a request is for a user's function. Our own need no walls; they need what is compiled, in files."""
    return not do.startswith(BUILTIN)


def _call_idle(
    do: str, definition: str, batches: Sequence[pa.RecordBatch], *, tolerant: bool, fresh: bool = False
) -> tuple[Header, list[pa.RecordBatch]]:
    worker, reused = _WORKERS.take(fresh=fresh, confined=_is_confined(do))
    seconds = TIME_LIMIT_SECONDS
    header = {"do": do, "definition": definition, "seconds": seconds, "tolerant": tolerant}
    name = definition_of(definition).name
    healthy = False
    try:
        answer, columns = worker.call(header, batches, name, seconds)
        healthy = not answer.get("worn")
    except TimeoutError:
        message = f"function {name} took more than {seconds:g} seconds, and was killed"
        raise ExternalRoutineLimitExceeded(message) from None
    except _StaleAnswer:
        if reused:
            raise
        message = f"function {name} answered twice, and was killed"
        raise ExternalRoutineLimitExceeded(message) from None
    except EOFError:
        message = f"function {name} ended its process, or was killed"
        raise ExternalRoutineLimitExceeded(message) from None
    except (ValueError, KeyError, TypeError, struct.error, pa.ArrowException, MemoryError):
        message = f"function {name} broke into what its process says to the server, and was killed"
        raise ExternalRoutineLimitExceeded(message) from None
    finally:
        _WORKERS.give_back(worker, healthy=healthy)
    return answer, columns
