"""When the loops of a shuffled epoch are given up: for one task, or for a process of the job's own."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.job_watch import JobTookTooLong
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.epoch.turn import Turn
from risingpy.executors.spark import loop_time
from risingpy.executors.spark.loop_time import ExchangesCostMore, LoopTime
from risingpy.plan.recursion.loops import Loop, Stages

STAGES = Stages(4, (Loop(1, 2, {5: 8}),), frozenset({8}))
DESCRIPTOR = EpochDescriptor(epoch=2, committed=1, graph_version=1, shards=2, log_after=0, log_up_to=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(loop_time, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def repeated(time: LoopTime, clock: list[float], seconds: float, times: int, stages: Stages = STAGES) -> None:
    for repetition in range(1, times + 1):
        time.check([Turn(1, repetition, 2, {5: repetition}), Turn(2, repetition, 2, {5: repetition})], stages)
        clock[0] += seconds


def test_many_short_repetitions_are_given_up_for_one_task(clock: list[float]) -> None:
    with pytest.raises(ExchangesCostMore):
        repeated(LoopTime(DESCRIPTOR, else_one_task=True), clock, 0.4, 5)
    repeated(LoopTime(DESCRIPTOR, else_one_task=False), clock, 0.4, 50)


def test_long_repetitions_are_worth_their_exchanges(clock: list[float]) -> None:
    repeated(LoopTime(DESCRIPTOR, else_one_task=True), clock, 2.0, 50)


def test_a_recursion_that_takes_too_long_is_named(clock: list[float]) -> None:
    limited = replace(DESCRIPTOR, job_seconds=1.0)
    with pytest.raises(FragmentFailed) as failure:
        repeated(LoopTime(limited, else_one_task=True), clock, 2.0, 50)
    assert (failure.value.job_id, failure.value.fragment_id) == (8, 5)
    assert isinstance(failure.value.error, JobTookTooLong)
    # A job that nothing else can run goes on.
    repeated(LoopTime(limited, else_one_task=True), clock, 2.0, 50, replace(STAGES, may_be_set_aside=frozenset()))
