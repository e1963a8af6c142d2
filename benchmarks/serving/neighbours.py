"""What runs beside point reads: a loop of scans, a loop of COPY, many clients that scan. In a process of its own.

    python -m benchmarks.serving.neighbours PORT scan|copy|scanners

Prints `ready` when all of it runs. When its input ends, it prints how often it was done since, and how many errors
there were.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg

from risingpy.server_process import HOST

KINDS = {"scan": "a loop of scans", "copy": "a loop of COPY", "scanners": "200 clients that scan"}
SCANNED_ROWS = 3_000_000
SETUP = (
    "CREATE TABLE scanned (g int, x bigint)",
    f"INSERT INTO scanned SELECT i % 100, i FROM generate_series(1, {SCANNED_ROWS}) AS t(i)",
    "CREATE TABLE copied (g int, x bigint)",
    "FLUSH",
)
_SCAN = "SELECT g, count(*), sum(x) FROM scanned GROUP BY g"
_SCANNERS = 200
_COPIED_ROWS, _COPIES = 20_000, 20  # in a piece, and pieces in a COPY


@dataclass
class _Work:
    """What the threads share."""

    port: int
    ready: threading.Barrier
    guard: threading.Lock = field(default_factory=threading.Lock)
    done: int = 0
    errors: int = 0


def _scan(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute(_SCAN).fetchall()


def _copy(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    piece = b"".join(b"%d\t%d\n" % (i % 100, i) for i in range(_COPIED_ROWS))
    with connection.cursor().copy("COPY copied FROM STDIN") as copy:
        for _ in range(_COPIES):
            copy.write(piece)


def _repeat(work: _Work, run: Callable[[psycopg.Connection[tuple[object, ...]]], None]) -> None:
    connection = psycopg.connect(host=HOST, port=work.port, user="root", dbname="dev", autocommit=True)
    with connection:
        work.ready.wait()
        while True:
            try:
                run(connection)
            except psycopg.Error as error:
                print(error, file=sys.stderr)
                with work.guard:
                    work.errors += 1
            else:
                with work.guard:
                    work.done += 1


def main(port: int, kind: str) -> None:
    """Runs one kind of neighbour until the input ends."""
    clients = _SCANNERS if kind == "scanners" else 1
    work = _Work(port, threading.Barrier(clients + 1))
    run = _copy if kind == "copy" else _scan
    for _ in range(clients):
        threading.Thread(target=_repeat, args=(work, run), daemon=True).start()
    work.ready.wait()
    before = work.done
    print("ready", flush=True)
    sys.stdin.read()
    print(work.done - before, work.errors, flush=True)  # what still runs ends with this process


@dataclass
class Outcome:
    """How often the neighbour was done meanwhile, and its errors."""

    done: int = 0
    errors: int = 0


@contextlib.contextmanager
def neighbour(port: int, kind: str) -> Iterator[Outcome]:
    """Runs it within the block; the outcome is known at its end."""
    outcome = Outcome()
    command = [sys.executable, "-m", "benchmarks.serving.neighbours", str(port), kind]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("what was to run beside has not begun")
        yield outcome
        process.stdin.close()
        outcome.done, outcome.errors = map(int, process.stdout.readline().split())
        process.wait(60)
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
