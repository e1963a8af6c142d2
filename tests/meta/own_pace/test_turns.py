"""Two processes serve all jobs that are set aside: which of them must give its process to one that waits."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from risingpy.meta.own_pace.jobs import IDLE_TURN_SECONDS, START_SECONDS, TURN_SECONDS, OwnPaceJobs
from risingpy.meta.own_pace.pace import Pace
from risingpy.meta.state import MetaState

EPOCH = 5
WAITING = 3  # the job without a process


class Turns:
    """Three jobs, of which the first two have processes."""

    def __init__(self, directory: Path) -> None:
        self.positions = {job_id: SimpleNamespace(position=EPOCH, taking=None, since=0) for job_id in (1, 2, WAITING)}
        made = SimpleNamespace(is_being_created=False)
        state = SimpleNamespace(
            set_aside=self.positions,
            committed=SimpleNamespace(epoch=EPOCH),
            jobs={},
            fresh_jobs=(),
            backfill_limits={},
            refresh_seconds=lambda job_id: None,
            catalog=SimpleNamespace(relations=dict.fromkeys(self.positions, made)),
        )
        self.state = cast(MetaState, state)
        self.jobs = OwnPaceJobs(directory, self.state, lambda: None)
        self.jobs.follow(self.state)
        self.has_work(WAITING)

    def has_work(self, job_id: int) -> None:
        self.positions[job_id].position = EPOCH - 1

    def holds(self, job_id: int, seconds: float, *, starts: bool = False, step: bool = False, broken: int = 0) -> Pace:
        """The job has had its process for so long; it starts, or runs a step, or else has nothing to do."""
        pace = self.jobs._paces[job_id]
        pace.process, pace.step = cast(Any, object()), cast(Any, object() if step else None)
        pace.is_ready, pace.broken_turns = not starts, broken
        pace.process_since = time.monotonic() - seconds
        return pace

    def over(self) -> Pace | None:
        return self.jobs._holder_whose_turn_is_over(self.state)


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path)


def test_who_has_nothing_to_do_gives_way_soon(turns: Turns) -> None:
    turns.holds(1, IDLE_TURN_SECONDS / 2)
    turns.holds(2, IDLE_TURN_SECONDS / 4)
    assert turns.over() is None
    idle = turns.holds(2, IDLE_TURN_SECONDS + 1)
    assert turns.over() is idle
    turns.has_work(2)
    assert turns.over() is None
    assert turns.holds(2, TURN_SECONDS + 1) is turns.over()


def test_a_process_that_starts_is_not_ended_for_that(turns: Turns) -> None:
    turns.holds(1, START_SECONDS / 2, starts=True)
    turns.holds(2, IDLE_TURN_SECONDS / 2)
    assert turns.over() is None
    assert turns.holds(1, START_SECONDS + 1, starts=True) is turns.over()


def test_a_step_that_was_broken_off_gets_twice_as_long(turns: Turns) -> None:
    turns.holds(1, 1.5 * TURN_SECONDS, step=True, broken=1)
    turns.holds(2, TURN_SECONDS / 2, step=True)
    assert turns.over() is None
    other = turns.holds(2, TURN_SECONDS + 1, step=True)
    assert turns.over() is other, "the other one's turn is over, though it began later"


def test_nobody_gives_way_for_nobody(turns: Turns) -> None:
    turns.holds(1, START_SECONDS)
    turns.holds(2, START_SECONDS)
    turns.positions[WAITING].position = EPOCH
    assert turns.over() is None
