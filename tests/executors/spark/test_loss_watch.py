"""A job is ended when an executor that it was placed on is gone, and not when another one is."""

from __future__ import annotations

import threading

from risingpy.executors.cluster.placement import SparkExecutor
from risingpy.executors.spark.loss_watch import LossWatch

A, B, C = SparkExecutor("a", "0"), SparkExecutor("b", "1"), SparkExecutor("b", "2")


class Cluster:
    """What Spark tells at each look, and then for ever."""

    def __init__(self, *looks: list[SparkExecutor]) -> None:
        self.looks = list(looks)
        self.seen = 0
        self.over = threading.Event()  # the job's end, however it comes

    def executors(self) -> list[SparkExecutor]:
        self.seen += 1
        if self.seen > len(self.looks):
            self.over.set()
        return self.looks[min(self.seen, len(self.looks)) - 1]


def is_lost(cluster: Cluster, *placed: SparkExecutor) -> bool:
    cancelled: list[bool] = []

    def cancel() -> None:
        cancelled.append(True)
        cluster.over.set()

    with LossWatch(placed, cluster.executors, cancel, look_seconds=0.001) as watch:
        assert cluster.over.wait(30)
    assert watch.lost == bool(cancelled)
    return watch.lost


def test_a_loss_ends_the_job() -> None:
    assert is_lost(Cluster([A, B], [A, B], [A]), A, B)
    assert is_lost(Cluster([A, B], [A, C]), A, B), "a new executor of the same machine is another one"


def test_what_the_job_does_not_need_may_go_and_come() -> None:
    assert not is_lost(Cluster([A, B], [A], [A, C]), A)
    assert not is_lost(Cluster([A], []))


def test_a_job_that_ends_with_java_is_not_ended_by_us() -> None:
    over = threading.Event()

    def no_java() -> list[SparkExecutor]:
        over.set()
        raise ConnectionError("Java is gone")

    with LossWatch([A], no_java, over.clear, look_seconds=0.001) as watch:
        assert over.wait(30)
    assert not watch.lost
