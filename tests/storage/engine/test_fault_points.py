"""Named points: what arms them, and that nothing happens while they are not."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from risingpy.storage import fault_points
from risingpy.storage.fault_points import arm, reach


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    arm("")


def test_a_point_strikes_once_at_its_turn() -> None:
    arm("shard.commit=eio@2, log.block.sync=enospc@1")
    reach("shard.commit")
    with pytest.raises(OSError, match="No space left") as full:
        reach("log.block.sync")
    assert full.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="Input/output error"):
        reach("shard.commit")
    reach("shard.commit")
    assert fault_points.reached["shard.commit"] == 3


def test_nothing_is_counted_while_none_is_armed() -> None:
    arm("")
    reach("shard.commit")
    assert not fault_points.reached


@pytest.mark.parametrize("text", ["shard.comit=kill@1", "shard.commit=kill", "shard.commit=burn@1", "kill"])
def test_a_typo_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="RISINGPY_FAULT_POINTS"):
        arm(text)
