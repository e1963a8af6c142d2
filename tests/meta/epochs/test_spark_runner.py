"""Who runs an epoch, Spark or the server's own process: the other one has no store open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.stage_runner import StageReport
from risingpy.executors.epoch.task import Purged
from risingpy.executors.spark.stage_task import TaskReport
from risingpy.meta.epochs.runner import EpochReport
from risingpy.meta.epochs.shape import EpochShape
from risingpy.meta.epochs.spark_runner import SparkRunner
from risingpy.plan.recursion.loops import Stages

ONE_TASK = EpochDescriptor(1, 0, 0, 1, 0, 0)
WIDE = replace(ONE_TASK, single_task=False)


class _Party:
    """One of the driver, the server's own runner and the replica; `told` is what all of them were told."""

    def __init__(self, name: str, told: list[str]) -> None:
        self._name, self._told = name, told
        self.is_warm = False

    def look_for_java(self) -> None: ...

    def run(self, descriptor: EpochDescriptor, depth: int) -> Any:
        self._told.append(f"{self._name} runs")
        return [TaskReport((StageReport(),), Purged(frozenset()), 0.0)] if self._name == "spark" else EpochReport()

    def fill(self, descriptor: EpochDescriptor, deltas: object) -> None:
        self._told.append(f"{self._name} follows")

    def close(self) -> None:
        self._told.append(f"{self._name} closes")


class _Runner:
    """A SparkRunner over parties."""

    def __init__(self, *, on_cluster: bool) -> None:
        self.told: list[str] = []
        parties: list[Any] = [_Party(name, self.told) for name in ("spark", "server", "replica")]
        self.spark, meanwhile, replica = parties
        self.runner = SparkRunner(self.spark, EpochShape(), meanwhile, replica if on_cluster else None)

    def run(self, descriptor: EpochDescriptor) -> list[str]:
        """What the parties are told because of this epoch."""
        before = len(self.told)
        self.runner.run(descriptor, Stages(1))
        return self.told[before:]

    def close(self) -> list[str]:
        before = len(self.told)
        self.runner.close()
        return self.told[before:]


def test_a_cluster_that_is_lost_is_stood_in_for_until_it_is_there_again() -> None:
    runner = _Runner(on_cluster=True)
    assert runner.run(ONE_TASK) == ["server runs"]
    assert runner.run(WIDE) == ["server closes", "spark runs", "replica follows"]
    assert runner.run(WIDE) == ["spark runs", "replica follows"]
    assert runner.run(ONE_TASK) == ["replica closes", "server runs"]
    assert runner.run(ONE_TASK) == ["server runs"]
    assert runner.run(WIDE) == ["server closes", "spark runs", "replica follows"]
    assert runner.close() == ["replica closes"]


def test_a_local_spark_that_is_lost_is_stood_in_for_until_it_is_there_again() -> None:
    runner = _Runner(on_cluster=False)
    assert runner.run(ONE_TASK) == ["server runs"]
    runner.spark.is_warm = True
    assert runner.run(ONE_TASK) == ["server closes", "spark runs"]
    assert runner.run(WIDE) == ["spark runs"]
    runner.spark.is_warm = False  # lost
    assert runner.run(ONE_TASK) == ["server runs"]
    assert runner.run(WIDE) == ["server closes", "spark runs"]  # it waits for Spark
    assert runner.run(ONE_TASK) == ["server runs"]
    runner.spark.is_warm = True
    assert runner.run(ONE_TASK) == ["server closes", "spark runs"]
    assert runner.close() == []


@pytest.mark.parametrize("on_cluster", [False, True])
def test_the_server_closes_its_stores_if_spark_has_never_come(on_cluster: bool) -> None:
    runner = _Runner(on_cluster=on_cluster)
    runner.run(ONE_TASK)
    assert "server closes" in runner.close()
