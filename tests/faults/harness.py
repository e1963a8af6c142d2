"""Runs a workload in processes whose disk fails on cue, that die at a named point, or whose every write is recorded.

`python -m tests.faults.harness …` is such a process; for failing and recording writes it preloads `shim.c`. It imports
everything once and forks for each run, so that a run costs a tenth of a second of start. The tests only read what it
prints: one JSON document.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import risingpy.frontend.session  # noqa: F401 - imported before forking
from risingpy.meta.database import Database
from risingpy.meta.epochs.barrier_loop import EpochRetries
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.meta.recovery.check import check_opened
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Relation, StoredRelation
from risingpy.storage import fault_points
from risingpy.storage.engine.read_views import ReadView
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.storage.kernels.compile import load as load_kernels
from risingpy.storage.tuning import DEFAULT_TUNING, StoreTuning
from tests.eager_runs import EAGER_RUNS
from tests.faults.workload import STATEMENTS, VIEW, Rows, client_of, rows_after, view_of
from tests.meta.sinks.epoch_files import added_up, file_sink

SOURCE = Path(__file__).with_name("shim.c")
_KILLED_ONLY = ("change.publish",)  # nothing that could fail comes after it
SMALL_SEGMENT = 1 << 14  # so that the workload fills several
SHORT_PAUSES = EpochRetries(first_pause=0.001, longest_pause=0.01)
SINK, DELIVERED = "s", "delivered"  # the sink of a workload that delivers, and its directory
RUNS = "--runs"  # what the tables' rows go through first, wherever that can be
RUNS_VARIABLE = "RISINGPY_TEST_RUNS"


def compiled_shim(directory: Path) -> Path | None:
    """The shim as a library; None if there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    library = directory / "shim.so"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-pthread"], check=True
    )
    return library


def run_harness(*arguments: str, timeout: float, preloaded: Path | None = None, runs: bool = False) -> Any:
    """What a process of this module's found."""
    environment = {**os.environ, **({"LD_PRELOAD": str(preloaded)} if preloaded else {})}
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.harness", *([RUNS] if runs else []), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


class Shim:
    """The library that is preloaded into this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.shim_operations.restype = ctypes.c_long

    def watch(self, directory: Path, descriptor: int = -1) -> None:
        """From now on, what happens below `directory` counts, and is recorded to the descriptor."""
        self._library.shim_watch(str(directory).encode(), descriptor)

    def fail(self, nth: int, number: int, *, lasting: bool) -> None:
        """The nth operation from now on fails with errno `number`; with `lasting`, all later ones too."""
        self._library.shim_fail(ctypes.c_long(nth), number, int(lasting))

    def note(self, text: str) -> None:
        """A line in the record."""
        self._library.shim_note(text.encode())

    @property
    def operations(self) -> int:
        return int(self._library.shim_operations())


def tuning() -> StoreTuning:
    """Small files of the log, and runs if the process is to have them."""
    return replace(EAGER_RUNS if RUNS_VARIABLE in os.environ else DEFAULT_TUNING, log_segment_bytes=SMALL_SEGMENT)


def prepare() -> None:
    """Everything dear is loaded, and nothing is opened."""
    load_kernels()
    logging.disable()  # expected failures would be logged by the dozen


def forked(body: Callable[[], Any]) -> Any:
    """What `body` returns in a child, as JSON; None if it is killed. The child ends as after kill -9."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            answer = {"answer": body()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with open(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    os.waitpid(process, 0)
    if not text:
        return None
    found = json.loads(text)
    if "error" in found:
        raise RuntimeError(found["error"])
    return found["answer"]


def run_with_failure(shim: Shim, directory: Path, nth: int, number: int, lasting: bool) -> dict[str, Any]:
    """Runs the workload with a disk that fails: see `run_script`."""
    shim.watch(directory)
    shim.fail(nth, number, lasting=lasting)
    return {**run_script(directory), "operations": shim.operations}


def run_script(
    directory: Path, acknowledge: Callable[[], object] = lambda: None, *, delivers: bool = False, waits: bool = False
) -> dict[str, Any]:
    """Runs the workload up to the first statement that fails: how many were acknowledged, and why it ended.

    If it `delivers`, a sink follows the view into files, which a run that `waits` sees complete.
    """
    try:
        database = Database(directory / "data", parallelism=2, tuning=tuning())
        runner = InProcessRunner(directory / "data", tuning())
        database.start(runner, SHORT_PAUSES)
    except Exception as error:
        return {"acknowledged": 0, "ended": _told(error), "reads": True}
    runner.start()
    client = client_of(database)
    acknowledged, ended, reads = 0, None, True
    for statement in STATEMENTS:
        try:
            client(statement)
            if delivers and statement == VIEW:
                client(file_sink(SINK, "FROM m", directory / DELIVERED))
        except Exception as error:
            ended = _told(error)
            break
        acknowledged += 1
        acknowledge()
    else:
        if waits:
            client(f"WAIT SINK {SINK}")
    if acknowledged > 2:  # the table and its view are there: the last epoch must be readable, whatever happened
        client("ROLLBACK")  # where a statement of a transaction has failed
        client("SET visibility_mode TO checkpoint")
        try:
            client("SELECT count(*) FROM t")
        except Exception:
            reads = False
    return {"acknowledged": acknowledged, "ended": ended, "reads": reads}


def _told(error: Exception) -> tuple[str, str]:
    return getattr(error, "sqlstate", "not an SQL error"), f"{type(error).__name__}: {error}"


def reopened(directory: Path) -> tuple[Rows | None, Rows | None, list[str]]:
    """The table and the view after a restart and the first epoch (None if they are not there), and what check says.

    The rows come from the store as a query reads them, without the DuckDB that it needs for more than that.
    """
    database = Database(directory / "data", parallelism=2, tuning=tuning())
    runner = InProcessRunner(directory / "data", tuning())
    database.start(runner, SHORT_PAUSES)
    runner.start()
    database.reads.flush()
    snapshot = database.reads.snapshot()
    relations = {relation.name: relation for relation in snapshot.catalog.relations.values()}
    table, view = (_stored(relations[name], snapshot.view) if name in relations else None for name in ("t", "m"))
    snapshot.view.release()
    problems: list[str] = []
    if SINK in relations:
        client_of(database)(f"WAIT SINK {SINK}")
        delivered = added_up(directory / DELIVERED)
        if delivered != Counter(map(tuple, view or [])):
            problems.append(f"the sink has delivered {delivered}")

    def look(state: MetaState) -> MetaState:
        problems.extend(check_opened(directory / "data", state).problems)
        return state

    database.ddl.change(look)  # between two epochs, when nothing writes
    database.close()
    return table, view, problems


def _stored(relation: Relation, view: ReadView) -> Rows:
    assert isinstance(relation, StoredRelation)
    visible = [index for index, column in enumerate(relation.columns) if not column.hidden]
    batches = StorageTable(relation.table, view).scan(visible)
    return sorted(list(row) for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))


def violation(directory: Path, acknowledged: int) -> str | None:
    """What is wrong after a restart with so many statements acknowledged; the next one may have happened or not."""
    table, view, problems = reopened(directory)
    if problems:
        return f"check: {problems}"
    if view is not None and view != view_of(table or []):
        return f"the view is {view}, its query gives {view_of(table or [])}"
    for count in (acknowledged, acknowledged + 1):
        expected_table, expected_view = rows_after(count)
        if (table, view is not None) == (expected_table, expected_view):
            return None
    return f"{acknowledged} statements were acknowledged, and the table is {table}, view there: {view is not None}"


def fail_each(numbers: list[int], first: int, step: int, lasting: bool) -> dict[str, Any]:
    """Fails the first, first + step, … operation of the workload, with each errno, until it ends before that."""
    shim = Shim()
    violations: list[str] = []
    states: dict[str, int] = {}
    runs = 0
    for number in numbers:
        nth = first
        while True:
            with tempfile.TemporaryDirectory(dir=_fast_directory()) as scratch:
                directory = Path(scratch)
                found = forked(partial(run_with_failure, shim, directory, nth, number, lasting))
                if nth > found["operations"]:
                    break
                runs += 1
                sqlstate = found["ended"][0] if found["ended"] else "none"
                states[sqlstate] = states.get(sqlstate, 0) + 1
                where = f"operation {nth}, {os.strerror(number)}, lasting {lasting}: {found['ended']}"
                if not found["reads"]:
                    violations.append(f"{where}: the last epoch could not be read")
                if sqlstate not in ("none", "58000", "58030", "53100", "57P03"):
                    violations.append(f"{where}: an unexpected error")
                wrong = forked(partial(violation, directory, found["acknowledged"]))
                if wrong is not None:
                    violations.append(f"{where}: {wrong}")
            nth += step
    return {"runs": runs, "states": states, "violations": violations}


def walk_points(actions: list[str], most: int) -> dict[str, Any]:
    """Kills or fails each named point, at up to `most` of the times that the workload reaches it."""
    counts: dict[str, int] = forked(_counted_points)
    violations = [f"{name} is never reached" for name in fault_points.POINTS if not counts.get(name)]
    outcomes: Counter[str] = Counter()
    for name, action in itertools.product(counts, actions):
        if action != "kill" and name in _KILLED_ONLY:
            continue
        step = max(1, counts[name] // most)
        for nth in list(range(1, counts[name] + 1, step))[:most]:
            armed = f"{name}={action}@{nth}"
            with tempfile.TemporaryDirectory(dir=_fast_directory()) as scratch:
                outcome, wrong = _struck(Path(scratch), armed, action == "kill")
            outcomes[outcome] += 1
            if wrong is not None:
                violations.append(f"{armed}, {outcome}: {wrong}")
    return {"points": counts, "outcomes": outcomes, "violations": violations}


def _counted_points() -> dict[str, int]:
    """How often an undisturbed run reaches each point."""
    with tempfile.TemporaryDirectory(dir=_fast_directory()) as scratch:
        fault_points.of_this_process.arm("shard.commit=kill@1000000")
        run_script(Path(scratch), delivers=True, waits=True)
        return dict(fault_points.of_this_process.reached)


def _struck(directory: Path, armed: str, kill: bool) -> tuple[str, str | None]:
    """How a run with an armed point ended, and what is wrong with it, or after a restart, if anything.

    After a kill, the first restart is killed too, while it takes back what was not committed.
    """
    acknowledged = directory / "acknowledged"
    acknowledged.touch()

    def run() -> dict[str, Any]:
        descriptor = os.open(acknowledged, os.O_WRONLY | os.O_APPEND)
        fault_points.of_this_process.arm(armed)
        return run_script(directory, lambda: os.write(descriptor, b"."), delivers=True, waits=kill)

    def restart() -> None:
        fault_points.of_this_process.arm("shard.undo=kill@2")
        reopened(directory)

    found = forked(run)
    if kill and forked(restart) is not None:
        return "killed", "the restart was not killed"
    outcome = "killed" if found is None else found["ended"][0] if found["ended"] else "unharmed"
    if outcome not in ("killed", "unharmed", "58000", "58030", "53100", "57P03"):
        return outcome, f"an unexpected error: {found['ended']}"
    if found is not None and not found["reads"]:
        return outcome, "the last epoch could not be read"
    count = len(acknowledged.read_bytes())
    return outcome, forked(lambda: violation(directory, count))


def recorded(directory: Path, record: Path) -> int:
    """Runs the whole workload with every operation recorded; returns how many there were."""
    shim = Shim()

    def run() -> int:
        descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        shim.watch(directory, descriptor)
        database = Database(directory / "data", parallelism=2, tuning=tuning())
        runner = InProcessRunner(directory / "data", tuning())
        database.start(runner, SHORT_PAUSES)
        runner.start()
        client = client_of(database)
        for number, statement in enumerate(STATEMENTS):
            client(statement)
            shim.note(str(number + 1))
            time.sleep(0.01)  # so that most statements have an epoch of their own
        return shim.operations

    return int(forked(run))


def _fast_directory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main(arguments: list[str]) -> None:
    prepare()
    if arguments[0] == RUNS:
        os.environ[RUNS_VARIABLE] = "1"  # forks have it too
        arguments = arguments[1:]
    what, *rest = arguments
    if what == "fail":
        numbers, first, step, lasting = rest
        found: object = fail_each([int(n) for n in numbers.split(",")], int(first), int(step), lasting == "lasting")
    elif what == "points":
        actions, most = rest
        found = walk_points(actions.split(","), int(most))
    else:
        from tests.faults.power_loss import explore

        seed, states = rest
        with tempfile.TemporaryDirectory(dir=_fast_directory()) as scratch:
            directory = Path(scratch) / "run"
            directory.mkdir()
            recorded(directory, Path(scratch) / "record")
            found = explore(Path(scratch) / "record", directory, Path(scratch) / "state", int(seed), int(states))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
