"""How long the loops of a shuffled epoch may take: all others wait, and each repetition costs its exchanges."""

from __future__ import annotations

import time
from collections.abc import Sequence

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.job_watch import ELAPSED_FACTOR, JobTookTooLong
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.epoch.turn import Turn
from risingpy.plan.recursion.loops import Loop, Stages

EXCHANGE_SECONDS = 0.12  # per exchange: two more Python tasks, and Spark's planning of them
MOST_WAITED = 1.0  # seconds for exchanges alone: then a loop must have spent more on its work


class ExchangesCostMore(Exception):
    """The loops of an epoch have spent more time on exchanges than on work: it is to be run as one task."""


class LoopTime:
    """For one attempt at an epoch. `else_one_task`: the epoch could be run as one, without exchanges."""

    def __init__(self, descriptor: EpochDescriptor, *, else_one_task: bool) -> None:
        self._allowed = descriptor.job_seconds * ELAPSED_FACTOR
        self._else_one_task = else_one_task
        self._began: dict[int, float] = {}  # by the loop's last stage
        self._waited = 0.0  # for exchanges, and for the job that a repetition is

    def check(self, turns: Sequence[Turn], stages: Stages) -> None:
        """Before the next turns. Raises ExchangesCostMore; FragmentFailed with JobTookTooLong for a job set aside."""
        turn = turns[0]
        loop = stages.ending_at(turn.loop)
        if not turn.repetition or loop is None:
            return
        took = time.monotonic() - self._began.setdefault(loop.last, time.monotonic())
        if self._else_one_task and self._waited > max(MOST_WAITED, took / 2):
            raise ExchangesCostMore
        self._waited += EXCHANGE_SECONDS * stages.exchanges_of_repetition
        if self._allowed and took > self._allowed:
            self._refuse(turn, loop, stages, took)

    def _refuse(self, turn: Turn, loop: Loop, stages: Stages, took: float) -> None:
        for fragment_id, level in turn.levels.items():
            job_id = loop.members[fragment_id]
            if job_id in stages.may_be_set_aside:
                error = JobTookTooLong(
                    f"level {level} of its recursion came after {took:.1f} s of an epoch on Spark",
                    hint="ALTER SYSTEM SET job_epoch_ms allows more; every other view waits so much longer.",
                )
                raise FragmentFailed(job_id, fragment_id, error)
