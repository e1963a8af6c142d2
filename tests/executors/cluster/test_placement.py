"""Shards stay where they are; the platform and attempts are checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from risingpy.executors.cluster.placement import Placement, SparkExecutor
from risingpy.executors.cluster.platform import PlatformDiffers, refuse_other_platform, this_platform
from risingpy.executors.cluster.task import MixedAttempts, StageDone, check_attempts
from risingpy.executors.epoch.stage_runner import StageReport

A, B, C = SparkExecutor("a", "0"), SparkExecutor("b", "1"), SparkExecutor("a", "2")


def test_shards_are_spread_and_stay() -> None:
    placement = Placement()
    first = placement.place([A, B], 4)
    assert {first.count(A), first.count(B)} == {2}
    assert placement.place([B, A], 4) == first


def test_a_lost_executor_is_replaced_on_its_own_machine() -> None:
    placement = Placement()
    first = placement.place([A, B], 4)
    assert placement.place([B], 4) == [B] * 4
    placement = Placement()
    placement.place([A, B], 4)
    assert placement.place([B, C], 4) == [C if each == A else B for each in first]


def test_a_shard_moves_to_a_machine_that_joins_when_it_is_loaded_there() -> None:
    placement = Placement()
    assert placement.place([A], 4) == [A] * 4
    assert placement.to_load() == {}
    assert placement.place([A, B], 4) == [A] * 4
    assert placement.to_load() == {2: "b", 3: "b"}
    placement.loaded(3, "b")
    assert placement.place([A, B], 4) == [A, A, A, B]
    assert placement.to_load() == {2: "b"}
    placement.loaded(2, "b")
    assert placement.place([A, B], 4) == [A, A, B, B]
    assert placement.to_load() == {}
    assert placement.place([B, C], 4) == [C, C, B, B], "at once, for it is the same machine"


def test_what_a_machine_has_loaded_is_forgotten_when_it_goes() -> None:
    placement = Placement()
    placement.place([A], 2)
    placement.place([A, B], 2)
    placement.loaded(1, "b")
    assert placement.place([A], 2) == [A] * 2
    assert placement.place([A, B], 2) == [A] * 2
    assert placement.to_load() == {1: "b"}
    assert placement.place([B], 2) == [B] * 2, "nobody else is there"
    assert placement.to_load() == {}


def test_without_executors_spark_waits_for_any() -> None:
    assert Placement().place([], 2) == [None, None]


def test_another_version_is_named() -> None:
    here = this_platform()
    refuse_other_platform(here, here, "w")
    other = tuple((name, "0.1" if name == "pyarrow" else value) for name, value in here)
    with pytest.raises(PlatformDiffers, match=r"the worker on w has pyarrow 0\.1 instead of"):
        refuse_other_platform(here, other, "w")


def test_an_epoch_of_mixed_attempts_does_not_count() -> None:
    done = [StageDone(s, k, f"{s}{k}", frozenset(), StageReport(), None, {}, 0.0) for s in (0, 1) for k in (0, 1)]
    assert check_attempts(reversed(done), shards=2, turns=range(2)) == done
    with pytest.raises(MixedAttempts, match="3 of 4"):
        check_attempts(done[:3], shards=2, turns=range(2))
    done[3] = replace(done[3], seen=frozenset(["00", "an earlier 01"]))
    with pytest.raises(MixedAttempts, match="1 attempts"):
        check_attempts(done, shards=2, turns=range(2))
