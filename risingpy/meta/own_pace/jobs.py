"""Directs the jobs that are set aside: starts their steps between two shared epochs, and gives their results to them.

A step reads what is committed at the moment it starts, and computes beside the shared epochs, in another process. Its
result is rows to store and the change of its relation. The next shared epoch takes both over in its own transaction:
undo, recovery and read views know nothing of it. Two processes run at a time; other jobs take turns with them.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from risingpy.errors import OutOfMemory, SqlError
from risingpy.executors.epoch.descriptor import run_directory
from risingpy.executors.epoch.handed_over import Pieces
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.own_pace.messages import Answer, Pinned, StepDone, StepFailed
from risingpy.executors.own_pace.process import OwnPaceProcess
from risingpy.executors.own_pace.step import kept_done
from risingpy.memory import EPOCH_SHARE, share_of_memory
from risingpy.memory_guard import can_measure, memory_left
from risingpy.meta.own_pace.pace import Pace, ProcessDied, StepResult
from risingpy.meta.own_pace.set_aside import may_be_partial, next_step
from risingpy.meta.state import MetaState
from risingpy.plan.set_aside import root_fragment

LOG = logging.getLogger(__name__)

MOST_PROCESSES = 2
PIN_SECONDS = 2.0  # pinning takes a millisecond or two; a process that needs longer is started anew
START_SECONDS = 60.0  # a process that needs longer to start is started anew, if others wait
TURN_SECONDS = 10.0  # since it has started, after which a process is given to a job that waits for one
IDLE_TURN_SECONDS = 2.0  # of a job that has nothing to do just now; to start a process for another one takes a second
LOOK_SECONDS = 1.0
LEAST_STEP_SHARE = 1 / 16  # of the server's memory, which a step may take however little is left
REJOINING_SHARE = 0.25  # of what a job may take of a shared epoch: so long the others wait for its last step


class OwnPaceJobs:
    """For the barrier loop's thread."""

    def __init__(self, data_dir: Path, state: MetaState, wake: Callable[[], None]) -> None:
        """`wake` is called, in any thread, when a step has ended. `state` may have partly stored results."""
        self._data_dir = data_dir
        self._directory = run_directory(data_dir) / "own-pace"
        self._wake = wake
        self._changed = threading.Condition()
        self._paces: dict[int, Pace] = {}
        self._times_set_aside: dict[int, int] = {}
        self._results = data_dir / "handed-over"
        shutil.rmtree(self._directory, ignore_errors=True)  # of an earlier run: the shards have what was taken over
        needed = {aside.taking.directory for aside in state.set_aside.values() if aside.taking is not None}
        for directory in self._results.glob("*"):
            if str(directory.name) not in needed:
                shutil.rmtree(directory, ignore_errors=True)

    def follow(self, state: MetaState) -> None:
        """Ends what is no longer set aside, and begins with what is."""
        for job_id in self._paces.keys() - state.set_aside.keys():
            self._paces.pop(job_id).end_process()
            shutil.rmtree(self._directory / str(job_id), ignore_errors=True)
        for job_id in state.set_aside.keys() - self._paces.keys():
            self._times_set_aside[job_id] = times = self._times_set_aside.get(job_id, 0) + 1
            self._paces[job_id] = pace = self._with_results(Pace(job_id, times), state)
            pace.first_refresh(state.refresh_seconds(job_id), state.set_aside[job_id].since)
        for job_id in self._times_set_aside.keys() - state.jobs.keys():
            del self._times_set_aside[job_id]

    def is_due(self, state: MetaState) -> bool:
        """Whether the loop has something to do for them now."""
        if not self._paces and not state.set_aside:
            return False
        if self._paces.keys() != state.set_aside.keys():
            return True
        return any(
            pace.answer is not None
            or (pace.step is None and pace.is_ready and _has_work(state, pace))
            or (_waits(state, pace) and self._has_room())
            or self._could_rejoin(state, pace)
            for pace in self._paces.values()
        ) or (self._holder_whose_turn_is_over(state) is not None)

    def seconds_left(self) -> float | None:
        """After how long to look again, at the latest; None: never."""
        return LOOK_SECONDS if self._paces else None

    def start_steps(self, state: MetaState) -> int | None:
        """Starts the steps that are due. To be called between two epochs, at the committed state.

        Returns a job that has reached the committed epoch meanwhile, if one may join the others: until the next epoch
        it has everything.
        """
        if not state.set_aside:
            return None
        self._take_turns(state)
        for pace in self._paces.values():
            if pace.step is not None or pace.answer is not None:
                continue
            if not _has_work(state, pace):
                if pace.rests_until_refresh:
                    pace.end_process()
                continue
            if pace.process is None and self._has_room():
                self._start_process(pace, state.shards)
            if not (pace.is_ready and self._start_step(state, pace)):
                continue
            if self._may_join(state, pace) and self._waits_for(pace, state):
                return pace.job_id
        return next((pace.job_id for pace in self._paces.values() if self._could_rejoin(state, pace)), None)

    def finished(self, state: MetaState, *, whole: bool) -> Mapping[int, StepResult]:
        """By job, what has finished and has something to hand over to the next epoch.

        Large results are taken over in pieces, of one job at a time, unless the next epoch is to have them `whole`.
        """
        found = {}
        in_pieces = state.partial
        for pace in self._paces.values():
            done = pace.answer
            if not (isinstance(done, StepDone) and done.changed and pace.output is not None):
                continue
            first = pace.pieces_taken
            if whole or done.pieces == 1 or not may_be_partial(state, pace.job_id):
                after = done.pieces
            elif in_pieces in (None, pace.job_id):
                in_pieces, after = pace.job_id, first + 1
            else:
                continue
            part = Pieces(first, after, done.pieces, done.piece_bytes)
            found[pace.job_id] = StepResult(pace.output, done, part)
        return found

    def has_results(self, job_id: int) -> bool:
        """Whether a job has something to hand over."""
        answer = self._paces[job_id].answer
        return isinstance(answer, StepDone) and answer.changed

    def unchanged(self) -> Mapping[int, int]:
        """By job, the epoch that it has reached without a change. These steps are over."""
        found = {}
        for pace in self._paces.values():
            if isinstance(pace.answer, StepDone) and not pace.answer.changed:
                found[pace.job_id] = pace.answer.up_to
                pace.is_taken_over()
        return found

    def failure(self, state: MetaState) -> FragmentFailed | None:
        """A job that has failed, if one has. One that lacked memory first tries with fewer rows, in a new process."""
        for pace in self._paces.values():
            if pace.has_lacked_memory and pace.take_fewer_rows():
                pace.end_process()
            fragment_id = root_fragment(state.jobs[pace.job_id]).fragment_id if pace.job_id in state.jobs else 0
            match pace.answer:
                case StepFailed(error=error):
                    return FragmentFailed(pace.job_id, pace.answer.fragment_id or fragment_id, error)
                case ProcessDied():
                    reason = "out of memory: its process was killed"
                    error = OutOfMemory(reason, hint="Have less in memory at a time, or raise the server's --memory.")
                    return FragmentFailed(pace.job_id, fragment_id, error)
        return None

    def taken_over(self, results: Mapping[int, StepResult], limit: float) -> None:
        """An epoch that has taken these over is committed."""
        for job_id, result in results.items():
            pace = self._paces.get(job_id)
            if not result.pieces.are_last:
                if pace is not None:
                    pace.pieces_taken = result.pieces.after
                continue
            if pace is not None:
                pace.note(result.done, limit)
                pace.is_taken_over()
            shutil.rmtree(result.directory, ignore_errors=True)

    def begin_anew(self) -> None:
        """Ends all processes, and forgets what they have not handed over: the shards that they read will be others.

        Nothing is stored in part then.
        """
        for pace in self._paces.values():
            output = pace.output
            pace.end_process()
            shutil.rmtree(self._directory / str(pace.job_id), ignore_errors=True)
            if output is not None:
                shutil.rmtree(output, ignore_errors=True)
        self._paces.clear()

    def close(self) -> None:
        """Ends all processes."""
        for pace in self._paces.values():
            pace.end_process()

    def _could_rejoin(self, state: MetaState, pace: Pace) -> bool:
        aside = state.set_aside.get(pace.job_id)
        if aside is None or pace.step is not None or not self._may_join(state, pace):
            return False
        return aside.position == state.committed.epoch

    def _may_join(self, state: MetaState, pace: Pace) -> bool:
        return pace.may_rejoin and not _is_creating(state, pace.job_id) and state.refresh_seconds(pace.job_id) is None

    def _has_room(self) -> bool:
        return sum(pace.process is not None for pace in self._paces.values()) < MOST_PROCESSES

    def _take_turns(self, state: MetaState) -> None:
        """Gives the process of a job that has had its turn to the one that has waited for the longest."""
        holder = self._holder_whose_turn_is_over(state)
        if holder is not None:
            holder.broken_turns += holder.step is not None
            holder.end_process()
            waiting = (pace for pace in self._paces.values() if pace is not holder and _waits(state, pace))
            self._start_process(min(waiting, key=lambda pace: pace.process_since), state.shards)

    def _holder_whose_turn_is_over(self, state: MetaState) -> Pace | None:
        """The job that has had a process for the longest of those that had it long enough, if others wait for one."""
        if self._has_room() or not any(_waits(state, pace) for pace in self._paces.values()):
            return None
        holders = [p for p in self._paces.values() if p.process is not None and p.answer is None]
        over = [p for p in holders if time.monotonic() - p.process_since > _turn_seconds(state, p)]
        return min(over, key=lambda pace: pace.process_since, default=None)

    def _with_results(self, pace: Pace, state: MetaState) -> Pace:
        """The pace, with the results that an earlier run of the server has partly stored."""
        taking = state.set_aside[pace.job_id].taking
        if taking is None:
            return pace
        pace.output, pace.pieces_taken = self._results / taking.directory, taking.pieces
        try:
            pace.answer = kept_done(pace.output)
        except OSError as error:
            pace.answer = StepFailed(0, 0, SqlError(f"the rest of what it had done is gone: {error}"))
        return pace

    def _start_process(self, pace: Pace, shards: int) -> None:
        pace.process_since = time.monotonic()
        pace.turn += 1
        pace.process = OwnPaceProcess(self._data_dir, shards, partial(self._take, pace, pace.turn), pace.share)

    def _start_step(self, state: MetaState, pace: Pace) -> bool:
        """Has the process pin the committed epoch, and run a step from there. False if it does not pin it."""
        assert pace.process is not None
        pace.number += 1
        store = self._directory / str(pace.job_id)
        output = self._results / f"{pace.job_id}-{state.committed.epoch}-{pace.number}"
        shutil.rmtree(output, ignore_errors=True)
        step = next_step(
            state,
            pace.job_id,
            number=pace.number,
            most_rows=pace.most_rows,
            memory=_memory_for_step(),
            store=store,
            output=output,
        )
        pace.begin_refresh(state.refresh_seconds(pace.job_id), step.position, state.committed.epoch)
        pace.step, pace.output, pace.is_pinned = step, output, False
        pace.process.start(step)
        with self._changed:
            if self._changed.wait_for(lambda: pace.is_pinned or pace.answer is not None, PIN_SECONDS):
                return True
        LOG.warning("the process of job %d does not answer: it is started anew", pace.job_id)
        pace.end_process()
        return False

    def _waits_for(self, pace: Pace, state: MetaState) -> bool:
        """Waits for a step, while all others wait too; whether the job has the committed epoch then."""
        with self._changed:
            self._changed.wait_for(lambda: pace.answer is not None, state.job_epoch_seconds * REJOINING_SHARE)
        done = pace.answer
        return isinstance(done, StepDone) and done.up_to == state.committed.epoch and done.pieces == 1

    def _take(self, pace: Pace, turn: int, answer: Answer | None) -> None:
        """Takes an answer, in the thread that listens to the process of this turn."""
        with self._changed:
            if pace.turn != turn or pace.process is None:
                return  # of a process that was ended meanwhile
            match answer:
                case Pinned(0):
                    pace.is_ready, pace.process_since = True, time.monotonic()
                case Pinned():
                    pace.is_pinned = True
                case None if isinstance(pace.answer, StepDone):
                    pace.has_died = True  # its results are there
                case None:
                    pace.answer = ProcessDied()
                case _:
                    pace.answer = answer
            self._changed.notify_all()
        self._wake()


def _memory_for_step() -> int:
    """Half of what is left, so that the other process and the statements have some; and enough for a small step."""
    least, most = share_of_memory(LEAST_STEP_SHARE), share_of_memory(EPOCH_SHARE)
    return max(least, min(most, memory_left() // 2)) if can_measure() else most


def _waits(state: MetaState, pace: Pace) -> bool:
    return pace.process is None and _has_work(state, pace)


def _turn_seconds(state: MetaState, holder: Pace) -> float:
    """How long a job may keep its process while others wait for one."""
    # On a machine that has too much to do, a process may take longer to start than a turn: then no job would get on.
    if not holder.is_ready:
        return START_SECONDS
    # A statement may wait for each of the others, one after the other: a job that has nothing to do gives way sooner.
    if holder.step is None and not _has_work(state, holder):
        return IDLE_TURN_SECONDS
    # A step that takes longer than a turn must give way, and gets twice as long the next time, or it never ends.
    return TURN_SECONDS * (1 << min(holder.broken_turns, 10))


def _is_creating(state: MetaState, job_id: int) -> bool:
    return state.catalog.relations[job_id].is_being_created


def _has_work(state: MetaState, pace: Pace) -> bool:
    """Whether a step of the job would find something that it has not looked at."""
    aside = state.set_aside.get(pace.job_id)
    if aside is None or pace.step is not None or pace.answer is not None:
        return False
    if state.backfill_limits.get(pace.job_id) == 0:
        return False
    if pace.job_id in state.fresh_jobs or _is_creating(state, pace.job_id):
        return True
    if aside.position >= state.committed.epoch:
        return False
    is_refreshed = state.refresh_seconds(pace.job_id) is not None
    return not is_refreshed or aside.position < aside.wanted or pace.is_refresh_due(aside.position)
