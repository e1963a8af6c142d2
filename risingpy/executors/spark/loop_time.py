"""How long the loops of a shuffled epoch may take: all others wait, and each repetition costs its exchanges."""

from __future__ import annotations

import time
from collections.abc import Sequence

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.job_watch import ELAPSED_FACTOR, JobTookTooLong
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.epoch.turn import Turn
from risingpy.plan.loops import Stages


class LoopTime:
    """For one attempt at an epoch. A job that can be set aside goes on in a process, without exchanges."""

    def __init__(self, descriptor: EpochDescriptor) -> None:
        self._allowed = descriptor.job_seconds * ELAPSED_FACTOR
        self._began: dict[int, float] = {}  # by the loop's last stage

    def check(self, turns: Sequence[Turn], stages: Stages) -> None:
        """Raises FragmentFailed with JobTookTooLong if the loop of the next turns has taken longer than it may."""
        turn = turns[0]
        loop = stages.ending_at(turn.loop)
        if not turn.repetition or loop is None or not self._allowed:
            return
        took = time.monotonic() - self._began.setdefault(loop.last, time.monotonic())
        if took <= self._allowed:
            return
        for fragment_id in turn.levels:
            job_id = loop.members[fragment_id]
            if job_id in stages.may_be_set_aside:
                error = JobTookTooLong(
                    f"level {turn.levels[fragment_id]} of its recursion came after {took:.1f} s of an epoch on Spark",
                    hint="ALTER SYSTEM SET job_epoch_ms allows more; every other view waits so much longer.",
                )
                raise FragmentFailed(job_id, fragment_id, error)
