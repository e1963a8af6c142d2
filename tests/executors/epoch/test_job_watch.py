"""The watch ends the work of a job that takes too much memory, though nothing counts it; and what a job may write."""

from __future__ import annotations

import time

import pytest

from risingpy.errors import OutOfMemory
from risingpy.executors.epoch.job_watch import JobWatch
from risingpy.memory import JOB_GROWTH_SHARE, JOB_OPERATOR_SHARE, share_of_memory
from risingpy.memory_guard import can_measure
from risingpy.statement_limits import check_written, current_limits, look

PATIENCE_SECONDS = 30.0


def work_until_told(block: bytearray | None) -> None:
    """What a job does that has taken a block of memory."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        look()
        time.sleep(0.01)
    raise AssertionError(f"nobody ended it, with {len(block or b'')} bytes")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISINGPY_MEMORY", "512MB")


@pytest.mark.skipif(not can_measure(), reason="this system does not say what a process has in memory")
def test_a_work_that_grows_beyond_its_memory_is_ended(small: None) -> None:
    watch = JobWatch(alone=True)
    try:
        with pytest.raises(OutOfMemory, match="would take more than 32MB"), watch.limited(1000.0, 0, lambda: None):
            work_until_told(bytearray(b"x") * (share_of_memory(JOB_GROWTH_SHARE) * 2))
        with watch.limited(1000.0, 0, lambda: None):
            pass  # what comes next is measured anew
    finally:
        watch.close()


def test_an_operator_may_collect_less_in_an_epoch_that_all_share(small: None) -> None:
    watch = JobWatch()
    try:
        before = current_limits().memory
        with watch.limited(1000.0, 10, lambda: None):
            assert share_of_memory(JOB_OPERATOR_SHARE) < current_limits().memory < before
        with watch.limited(1000.0, 1 << 40, lambda: None):
            assert current_limits().memory == before  # what is in proportion to the epoch's rows is allowed
        assert current_limits().memory == before
    finally:
        watch.close()


def test_what_a_job_may_write_follows_from_its_time(small: None) -> None:
    """Storing a large result costs as much time as computing it, and comes after the operators."""
    watch = JobWatch()
    try:
        with watch.limited(0.03, 1000, lambda: None):
            check_written(2 << 20, "v")
            with pytest.raises(OutOfMemory, match='changes of table "v" would take 4MB; the limit is 2MB'):
                check_written(4 << 20, "v")
        with watch.limited(0.25, 1000, lambda: None):
            check_written(4 << 20, "v")
        with watch.limited(1000.0, 1000, lambda: None), pytest.raises(OutOfMemory, match="limit is 8MB"):
            check_written(12 << 20, "v")  # time is not all: it is kept until the commit
    finally:
        watch.close()
