"""One job that is set aside: its process, its step, and when it may join the others again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from risingpy.errors import OutOfMemory
from risingpy.executors.epoch.handed_over import Pieces
from risingpy.executors.own_pace.messages import Step, StepDone, StepFailed
from risingpy.executors.own_pace.process import OwnPaceProcess
from risingpy.process_priority import FairShare, may_raise_priorities

FIRST_REST_SECONDS = 5.0  # a job whose last changes were too much for an epoch rests so long before it may rejoin
LONGEST_REST_SECONDS = 3600.0
LEAST_ROWS, FIRST_ROWS, MOST_ROWS = 2, 4096, 1 << 20
FEWER_ROWS = 64  # so many times, after a step that lacked memory
LARGE_STEP_BYTES = 32 << 20  # others wait while the shards take them over: a fifth of a second
PIECE_BYTES = 8 << 20  # of a shard's results: an epoch stores them in less than a tenth of a second
SHORT_STEP_SECONDS, LONG_STEP_SECONDS = 1.0, 5.0
LONG_REST_SECONDS = 15.0  # before a refresh; a process that waits holds some 150 MB


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a finished step hands over to an epoch: its files, what it has told, and which part the epoch takes."""

    directory: Path
    done: StepDone
    pieces: Pieces


@dataclass(frozen=True, slots=True)
class ProcessDied:
    """The process ended in the middle of a step: the job took more memory than there is, most probably."""


@dataclass(slots=True)
class Pace:
    """For the barrier loop's thread, except `answer` and the flags, which the process's listener sets under a guard.

    `rests`: how often it had to leave the shared epochs. `turn` numbers its processes; `broken_turns` are those that
    were ended in the middle of a step, because others waited.
    `refresh_at`: when the next refresh of a view is due that has them at intervals; `refresh_up_to`: the epoch that the
    last one goes up to.
    """

    job_id: int
    rests: int
    process: OwnPaceProcess | None = None
    is_ready: bool = False
    is_pinned: bool = False
    step: Step | None = None
    answer: StepDone | StepFailed | ProcessDied | None = None
    output: Path | None = None  # the directory of the step's results
    pieces_taken: int = 0  # of them, that are stored
    has_died: bool = False  # its process, after it had answered
    number: int = 0
    most_rows: int = FIRST_ROWS
    turn: int = 0
    broken_turns: int = 0
    process_since: float = 0.0
    heavy_until: float = field(default_factory=time.monotonic)
    refresh_at: float = 0.0
    refresh_up_to: int = 0
    share: FairShare = field(default_factory=lambda: FairShare(may_raise=may_raise_priorities()))

    def __post_init__(self) -> None:
        self.rest()

    def rest(self) -> None:
        """Its work was too much for a shared epoch just now."""
        pause = min(FIRST_REST_SECONDS * 2 ** min(self.rests - 1, 16), LONGEST_REST_SECONDS)
        self.heavy_until = time.monotonic() + pause

    def note(self, done: StepDone, limit: float) -> None:
        """Learns from a step: how many rows the next one takes, and whether the job may join the others."""
        if not done.rows:
            return
        if done.seconds > limit / 2:
            self.rest()
        if done.seconds > LONG_STEP_SECONDS or done.size > LARGE_STEP_BYTES:
            self.most_rows = max(LEAST_ROWS, self.most_rows // 4)
        elif done.seconds < SHORT_STEP_SECONDS and done.size < LARGE_STEP_BYTES // 2:
            self.most_rows = min(MOST_ROWS, self.most_rows * 2)

    @property
    def has_lacked_memory(self) -> bool:
        """Whether its step has ended for lack of memory."""
        match self.answer:
            case StepFailed(error=error):
                return isinstance(error, OutOfMemory | MemoryError)
            case ProcessDied():
                return True
        return False

    def take_fewer_rows(self) -> bool:
        """Has the next step take much fewer rows; False if there cannot be fewer."""
        before, self.most_rows = self.most_rows, max(LEAST_ROWS, self.most_rows // FEWER_ROWS)
        return self.most_rows < before

    @property
    def may_rejoin(self) -> bool:
        """Whether its changes of late would have fitted into shared epochs."""
        return time.monotonic() >= self.heavy_until

    def first_refresh(self, seconds: int | None, since: int) -> None:
        """The job was set aside at `since`, in milliseconds since 1970; it has work every so many seconds."""
        if seconds is not None:
            self.refresh_at = time.monotonic() + max(0.0, since / 1000 + seconds - time.time())

    def begin_refresh(self, seconds: int | None, position: int, epoch: int) -> None:
        """A step begins at `position`, of a job that has work every so many seconds (None: always)."""
        if seconds is not None and position >= self.refresh_up_to:
            self.refresh_at, self.refresh_up_to = time.monotonic() + seconds, epoch

    def is_refresh_due(self, position: int) -> bool:
        """Whether the job, which has everything up to `position`, is in the midst of a refresh or begins one now."""
        return position < self.refresh_up_to or time.monotonic() >= self.refresh_at

    @property
    def rests_until_refresh(self) -> bool:
        """Whether its process has nothing to do for longer than it takes to start another."""
        return self.process is not None and self.refresh_at - time.monotonic() > LONG_REST_SECONDS

    def end_process(self) -> None:
        """Kills its process, with the step that it runs."""
        if self.process is not None:
            self.process.end()
        self.process, self.step, self.answer, self.output = None, None, None, None
        self.is_ready = self.is_pinned = self.has_died = False
        self.pieces_taken = 0

    def is_taken_over(self) -> None:
        """The step's results are stored."""
        self.step = self.answer = self.output = None
        self.pieces_taken = 0
        if self.has_died:
            self.end_process()
