"""Named points: what arms them, and that nothing happens while they are not."""

from __future__ import annotations

import errno

import pytest

from risingpy.storage.fault_points import FaultPoints


def test_a_point_strikes_once_at_its_turn() -> None:
    points = FaultPoints("shard.commit=eio@2, log.block.sync=enospc@1")
    points.reach("shard.commit")
    with pytest.raises(OSError, match="No space left") as full:
        points.reach("log.block.sync")
    assert full.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="Input/output error"):
        points.reach("shard.commit")
    points.reach("shard.commit")
    assert points.reached["shard.commit"] == 3


def test_nothing_is_counted_while_none_is_armed() -> None:
    points = FaultPoints()
    points.reach("shard.commit")
    assert not points.reached


@pytest.mark.parametrize("text", ["shard.comit=kill@1", "shard.commit=kill", "shard.commit=burn@1", "kill"])
def test_a_typo_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RISINGPY_FAULT_POINTS"):
        FaultPoints(text)
