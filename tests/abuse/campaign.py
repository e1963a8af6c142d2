"""A campaign: a well-behaved client alone, then together with hostile ones, while a thread watches the memory."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from risingpy.server_process import HOST, ServerProcess
from tests.abuse.hostile import ACTS, Target

MEMORY = 4 << 30  # of the server and of all processes that it starts
LEAST_P99 = 0.05  # seconds: a quiet machine's figures are better than a busy one can hold tenfold
LEAST_MEDIAN = 0.05
_LOOKS_EVERY = 0.05
# What a hostile client gets for its acts; the lack of memory, of time, of a place, of sense.
_EXPECTED = {"53200", "57014", "54000", "53300", "08P01", "42601", "38000", "22003", "42883", "54001", "22023", None}


@dataclass(slots=True)
class GoodClient:
    """Point reads, inserts, and reads of a view that must have the last insert; the seconds that each took."""

    server: ServerProcess
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    rows: int = 0

    def prepare(self) -> None:
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE good (id BIGINT PRIMARY KEY, v INT)")
            connection.execute("CREATE MATERIALIZED VIEW good_count AS SELECT count(*) AS n FROM good")
            connection.execute("CREATE TABLE victims (id BIGINT PRIMARY KEY, s VARCHAR)")
            connection.execute("CREATE TABLE fuel (k INT PRIMARY KEY, g INT)")
            connection.execute("INSERT INTO fuel SELECT x, x % 7 FROM generate_series(1, 2000) AS s(x)")

    def work(self, seconds: float) -> None:
        self.seconds.clear()
        until = time.monotonic() + seconds
        try:
            with self.server.connect() as connection:
                while time.monotonic() < until:
                    self._round(connection)
                    time.sleep(0.01)
        except psycopg.Error as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def _round(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self.rows += 1
        with self._timed("insert"):
            connection.execute("INSERT INTO good VALUES (%s, %s)", (self.rows, self.rows))
        with self._timed("freshness"):
            found = connection.execute("SELECT n FROM good_count").fetchone()
        if found != (self.rows,):
            self.errors.append(f"the view has {found} of {self.rows} rows")
        if self.rows % 10 == 0:
            with self._timed("create"):
                connection.execute(
                    "CREATE MATERIALIZED VIEW passing AS SELECT v % 10 AS d, count(*) FROM good GROUP BY 1"
                )
            with self._timed("drop"):
                connection.execute("DROP MATERIALIZED VIEW passing")
        with self._timed("point read"):
            found = connection.execute("SELECT v FROM good WHERE id = %s", (self.rows,)).fetchone()
        if found != (self.rows,):
            self.errors.append(f"row {self.rows} is {found}")

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[what].append(time.monotonic() - began)

    def median(self) -> dict[str, float]:
        return {what: sorted(each)[len(each) // 2] for what, each in self.seconds.items()}

    def p99(self) -> dict[str, float]:
        return {what: sorted(each)[int(len(each) * 0.99)] for what, each in self.seconds.items()}


@dataclass(slots=True)
class Outcome:
    quiet: dict[str, float]
    abused: dict[str, float]
    quiet_medians: dict[str, float]
    abused_medians: dict[str, float]
    good_errors: list[str]
    unexpected: list[str]
    acts: Counter[str]
    most_memory: dict[str, int]
    alive: bool

    def too_slow(self) -> dict[str, tuple[float, float]]:
        """What took more than tenfold at p99, or threefold at the median: seconds alone and beside the others."""
        worst = {
            what: (self.quiet[what], seconds)
            for what, seconds in self.abused.items()
            if seconds > 10 * max(self.quiet[what], LEAST_P99)
        }
        usual = {
            f"{what}, median": (self.quiet_medians[what], seconds)
            for what, seconds in self.abused_medians.items()
            if seconds > 3 * max(self.quiet_medians[what], LEAST_MEDIAN)
        }
        return worst | usual


def run(directory: Path, *, engine: str, quiet: float, abused: float, clients: int, seed: int) -> Outcome:
    """Runs a campaign of so many seconds on a server of its own."""
    server = ServerProcess(directory, engine=engine, environ={**os.environ, "RISINGPY_MEMORY": str(MEMORY)})
    stop = threading.Event()
    try:
        good = GoodClient(server)
        good.prepare()
        if engine == "spark":
            server.wait_for_spark()
        good.work(quiet / 2)  # what is compiled and made at the first use is made
        good.work(quiet)
        before, medians = good.p99(), good.median()
        acts, unexpected, memory = Counter[str](), list[str](), dict[str, int]()
        hostile = [lambda k=k: _abuse(server, stop, random.Random(seed + k), acts, unexpected) for k in range(clients)]
        threads = [_started(work) for work in hostile]
        threads.append(_started(lambda: _watch(server.process.pid, stop, memory)))
        good.work(abused)
        stop.set()
        for thread in threads:
            thread.join(60)
        alive = server.process.poll() is None
        return Outcome(*(before, good.p99(), medians, good.median()), good.errors, unexpected, acts, memory, alive)
    finally:
        stop.set()
        server.kill()


def memory_of_tree(pid: int) -> dict[str, int]:
    """The bytes that a process and its descendants have in memory of their own, each under its number and command."""
    return {f"{each} {_command(each)}": _own_memory(each) for each in _tree(pid)}


def _abuse(
    server: ServerProcess, stop: threading.Event, chance: random.Random, acts: Counter[str], unexpected: list[str]
) -> None:
    target = Target(HOST, server.port)
    while not stop.is_set():
        act = chance.choice(ACTS)
        acts[act.__name__] += 1
        try:
            act(target, chance)
        except psycopg.Error as error:
            if error.sqlstate not in _EXPECTED:
                unexpected.append(f"{act.__name__}: {error.sqlstate} {str(error)[:300]}")
        except OSError:
            pass  # the server hung up


def _watch(pid: int, stop: threading.Event, most: dict[str, int]) -> None:
    while not stop.wait(_LOOKS_EVERY):
        now = memory_of_tree(pid)
        if sum(now.values()) > sum(most.values()):
            most.clear()
            most.update(now)


def _started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return  # it has ended
    for child in " ".join(lists).split():
        yield from _tree(int(child))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:80]
    except OSError:
        return ""


def _own_memory(pid: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
