"""A stage of an epoch on a shard, as a task of a cluster: elements come in, elements go out, each to a shard.

    SentRows   rows for a fragment of a later stage, with the attempt that has made them
    StageDone  a task's report. It goes to the same shard in every later stage, and from the last one to the driver
    StageFailed  a failure of a job, a source or a platform, which would be the same if Spark repeated the task

So a task knows exactly the attempts whose rows it has. If Spark repeats a task whose output others have taken already,
attempts would be mixed: `check_attempts` finds that, and the epoch is run again.
"""

from __future__ import annotations

import gc
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from risingpy.executors.cluster.order import EpochOrder
from risingpy.executors.cluster.platform import PlatformDiffers, refuse_other_platform, this_platform
from risingpy.executors.cluster.worker import ClusterWorker
from risingpy.executors.epoch.source_reading import SourceFailed
from risingpy.executors.epoch.stage_runner import FragmentFailed, StageReport
from risingpy.executors.epoch.task import Purged
from risingpy.executors.epoch.turn import Turn
from risingpy.memory_guard import MemoryGuard
from risingpy.storage.journal.entries import Delta
from risingpy.storage.objects.state_format import IncompatibleState


@dataclass(frozen=True, slots=True)
class SentRows:
    """Rows for `port`, from an attempt at a task."""

    port: int
    payload: bytes
    attempt: str


@dataclass(frozen=True, slots=True)
class StageDone:
    """`turn`: its number. `seen`: the attempts whose rows the task has had. `deltas`: by turn, what it has changed."""

    turn: int
    shard: int
    attempt: str
    seen: frozenset[str]
    report: StageReport
    purged: Purged | None
    deltas: Mapping[int, Delta]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class StageFailed:
    """What no other try would change."""

    error: Exception


Sent = SentRows | StageDone | StageFailed


class MixedAttempts(Exception):
    """Tasks of an epoch have had rows of different attempts at one task: the epoch must be run again."""


class _Process:
    """What a process of Spark keeps from one task to the next. It runs one task at a time."""

    def __init__(self) -> None:
        self._guard = MemoryGuard()
        self._worker: tuple[str, ClusterWorker] | None = None
        self._frozen: tuple[str, int] | None = None

    def worker(self, order: EpochOrder) -> ClusterWorker:
        self._guard.look()
        if self._worker is None or self._worker[0] != order.run:
            if self._worker is not None:
                self._worker[1].close()
                self._worker = None
            refuse_other_platform(order.platform, this_platform(), os.uname().nodename)
            self._worker = order.run, ClusterWorker(order)
        return self._worker[1]

    def settle(self, order: EpochOrder) -> None:
        """Excludes a graph's operators from the collection of garbage after every task."""
        if self._frozen != (order.run, order.descriptor.graph_version):
            self._frozen = order.run, order.descriptor.graph_version
            gc.collect()
            gc.freeze()


@cache
def _process() -> _Process:
    """Spark calls functions and reuses the process, so there is no object that could own it."""
    return _Process()


def run_stage_on_shard(
    order: EpochOrder, graph: bytes, log: Mapping[int, bytes], turn: Turn, shard: int, received: Iterable[Sent]
) -> Iterator[tuple[int, Sent]]:
    """Yields (target shard, element)."""
    began = time.process_time()
    rows: list[SentRows] = []
    earlier: dict[int, Delta] = {}
    failed = False
    for element in received:
        match element:
            case SentRows():
                rows.append(element)
            case StageDone():
                earlier.update(element.deltas)
                yield shard, element
            case StageFailed():
                failed = True
                yield shard, element
    if failed:
        return
    process, attempt = _process(), f"{turn.number}-{shard}-{secrets.token_hex(6)}"
    try:
        worker = process.worker(order)
        payloads = [(each.port, each.payload) for each in rows]
        output, purged, deltas = worker.run(order, graph, log, turn, shard, payloads, earlier)
    except (FragmentFailed, SourceFailed, PlatformDiffers, IncompatibleState) as error:
        yield shard, StageFailed(error)
        return
    except MemoryError:
        yield shard, StageFailed(MemoryError(f"out of memory in stage {turn.stage} of shard {shard}"))
        return
    seen = frozenset(each.attempt for each in rows)
    for target, port, payload in output.payloads:
        yield target, SentRows(port, payload, attempt)
    cpu_seconds = time.process_time() - began
    yield shard, StageDone(turn.number, shard, attempt, seen, output.report, purged, deltas, cpu_seconds)
    process.settle(order)


def load_shards(order: EpochOrder, shards: Iterable[int]) -> None:
    """Brings shards to this machine, before their tasks come. Raises what keeps it from running them."""
    worker = _process().worker(order)
    for shard in shards:
        worker.load(shard, order.descriptor.shards)


def check_attempts(done: Iterable[StageDone], *, shards: int, turns: Iterable[int]) -> list[StageDone]:
    """The reports by turn and shard. Raises MixedAttempts if one is missing, or twice, or others' rows were taken."""
    found = sorted(done, key=lambda each: (each.turn, each.shard))
    expected = [(turn, shard) for turn in sorted(turns) for shard in range(shards)]
    if [(each.turn, each.shard) for each in found] != expected:
        raise MixedAttempts(f"{len(found)} of {len(expected)} tasks of the epoch have reported")
    others = frozenset().union(*(each.seen for each in found)) - {each.attempt for each in found}
    if others:
        raise MixedAttempts(f"rows of {len(others)} attempts were taken that do not count")
    return found
