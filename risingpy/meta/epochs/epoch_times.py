"""How long epochs took since the server started, phase by phase, and whether they get on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from risingpy.meta.durations import DurationCounter, Durations
from risingpy.meta.epochs.next_epoch import NextEpoch

KEPT_EPOCHS = 256  # some seconds of a busy database, in a few kilobytes


class EpochPhase(Enum):
    """What the loop does for an epoch, in this order."""

    PLAN = "plan"  # what goes into it; its descriptor is written
    RUN = "run"  # the engine runs all stages; every shard commits its transaction
    COMMIT = "commit"  # the meta store's transaction
    PUBLISH = "publish"  # the new read view opens, and who waits is woken


@dataclass(frozen=True, slots=True)
class EpochTime:
    """A committed epoch: when it began (seconds since 1970), about how many rows it had, and its phases' seconds."""

    epoch: int
    began_at: float
    rows: int
    stages: int
    is_one_task: bool
    phases: Mapping[EpochPhase, float]

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())


class EpochClock:
    """Measures the epoch that the barrier loop works on. For the loop's thread."""

    def __init__(self) -> None:
        self.began_at = time.time()
        self._last = time.perf_counter()
        self.phases: dict[EpochPhase, float] = {}

    def done(self, phase: EpochPhase) -> None:
        """The phase ends, which began when the one before it ended."""
        now = time.perf_counter()
        self.phases[phase] = now - self._last
        self._last = now


class EpochTimes:
    """The barrier loop writes it; any thread reads it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._recent: deque[EpochTime] = deque(maxlen=KEPT_EPOCHS)
        self._phases = {phase: DurationCounter() for phase in EpochPhase}
        self._rows = 0
        self._failures = 0
        self._failing: str | None = None
        self._busy_since: float | None = None  # time.monotonic

    # For the barrier loop

    def begin(self) -> EpochClock:
        """The loop has something to do."""
        self._busy_since = time.monotonic()
        return EpochClock()

    def committed(self, epoch: NextEpoch, clock: EpochClock) -> None:
        """The epoch is durable."""
        descriptor = epoch.descriptor
        done = EpochTime(
            descriptor.epoch, clock.began_at, epoch.rows, epoch.stages.depth, descriptor.single_task, dict(clock.phases)
        )
        with self._guard:
            self._recent.append(done)
            self._rows += epoch.rows
            for phase, seconds in clock.phases.items():
                self._phases[phase].add(seconds)

    def published(self, clock: EpochClock) -> None:
        """The committed epoch can be read."""
        clock.done(EpochPhase.PUBLISH)
        with self._guard:
            self._recent[-1] = replace(self._recent[-1], phases=clock.phases)
            self._phases[EpochPhase.PUBLISH].add(clock.phases[EpochPhase.PUBLISH])

    def rest(self, failure: str | None = None) -> None:
        """The loop has finished what it had to do, or has failed."""
        with self._guard:
            self._failures += failure is not None
        self._failing = failure
        self._busy_since = None

    # For all

    def recent(self) -> Sequence[EpochTime]:
        """The last committed epochs, the oldest first."""
        with self._guard:
            return list(self._recent)

    def phases(self) -> Mapping[EpochPhase, Durations]:
        with self._guard:
            return {phase: counter.durations() for phase, counter in self._phases.items()}

    @property
    def rows(self) -> int:
        """About how many rows all epochs had."""
        return self._rows

    @property
    def failures(self) -> int:
        """How many tries of an epoch have failed."""
        return self._failures

    @property
    def failing(self) -> str | None:
        """Why the last try of an epoch failed; None if it did not."""
        return self._failing

    @property
    def busy_seconds(self) -> float:
        """For how long the loop has been working on the same epoch; 0 while it sleeps."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since
