"""What the server and a process that runs a job at its own pace tell each other, over a pipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from risingpy.executors.epoch.stage_runner import StageReport
from risingpy.plan.codec import decode, encode
from risingpy.plan.graph import StreamGraph
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class InputChangelog:
    """The changelog that keeps a table's changes for the job; `types` and `distribution` are those of its columns."""

    table_id: int
    types: tuple[SqlType, ...]
    distribution: tuple[int, ...]
    changelog: TableSchema


@dataclass(frozen=True, slots=True)
class Step:
    """An epoch of the job's own: the changes of its feeds after `position`, up to the committed `epoch` at most.

    `graph` has the job alone. `most_rows`: about how many changes to take at the most; while the job is `backfilling`
    it takes all, since it also reads its upstreams as they are at `epoch`. `fresh`: the job's first epoch.
    `memory`: bytes that the process may take beyond what it has when the step begins.
    `output` is the directory for what the step hands over, `store` the one for the job's own state. `piece_bytes`: of a
    shard's results, what a shared epoch may take over.
    """

    number: int
    graph: StreamGraph
    epoch: int
    position: int
    feeds: tuple[InputChangelog, ...]
    fresh: bool
    backfilling: bool
    watermarks: tuple[tuple[int, int], ...]
    most_rows: int
    memory: int
    store: Path
    output: Path
    piece_bytes: int

    def __reduce__(self) -> tuple[Callable[..., Step], tuple[object, ...]]:
        """The graph travels as it is stored: pickle cannot write all of its constants, such as intervals."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return _read_step, tuple({**values, "graph": encode(self.graph)}.values())


def _read_step(number: int, graph: bytes, *others: Any) -> Step:
    return Step(number, decode(graph), *others)


@dataclass(frozen=True, slots=True)
class Pinned:
    """The process has pinned the step's epoch: the next one may be written. Number 0: it has started."""

    number: int


@dataclass(frozen=True, slots=True)
class StepDone:
    """The step's results lie in its output directory; the job is now as of the epoch `up_to`.

    `rows`: the changes that it took and the snapshot rows that it read. `changed`: there is something to hand over,
    which has `size` bytes, and which shared epochs take over in so many `pieces` of
    `piece_bytes`.
    """

    number: int
    up_to: int
    rows: int
    seconds: float
    changed: bool
    size: int = 0
    pieces: int = 1
    piece_bytes: int = 1
    reports: tuple[StageReport, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class StepFailed:
    """The job's own computation failed, with `error`, in one of its fragments."""

    number: int
    fragment_id: int
    error: BaseException


Answer = Pinned | StepDone | StepFailed
