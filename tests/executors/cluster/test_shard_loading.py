"""Shards are loaded in one job at a time, beside the epochs; what failed is tried again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from risingpy.executors.cluster.placement import Placement, SparkExecutor
from risingpy.executors.cluster.shard_loading import HostShards, ShardLoading

A, B = SparkExecutor("a", "0"), SparkExecutor("b", "1")


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_epochs_go_on_where_the_shards_are_while_they_are_loaded() -> None:
    placement, loading, may_end = Placement(), ShardLoading(), threading.Event()
    begun: list[HostShards] = []

    def load(by_host: HostShards) -> None:
        begun.append(by_host)
        assert may_end.wait(30)

    def place() -> list[SparkExecutor | None]:
        for shard, host in loading.done():
            placement.loaded(shard, host)
        placed = placement.place([A, B], 4)
        loading.begin(placement.to_load(), load)
        return placed

    placement.place([A], 4)
    assert all(place() == [A] * 4 for _ in range(3))
    wait_until(lambda: begun)
    may_end.set()
    wait_until(lambda: place() == [A, A, B, B])
    assert begun == [{"b": (2, 3)}]


def test_a_job_that_fails_is_tried_again_and_the_shards_stay() -> None:
    loading, tries = ShardLoading(pause_seconds=0.01), [0]

    def load(_: HostShards) -> None:
        tries[0] += 1
        if tries[0] < 3:
            raise ConnectionError("lost again\n  at some.java.Class")

    def loaded() -> list[tuple[int, str]]:
        loading.begin({1: "b"}, load)
        return loading.done()

    wait_until(lambda: loaded() == [(1, "b")])
    assert tries == [3]
    assert loading.done() == []
