"""Processes that serve few leave the processors to what everybody waits for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.process_priority import FairShare, ProcessorTime, lower_priority, processor_time

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="priorities of sessions are Linux's")


@pytest.fixture(params=[False, True], ids=["our session", "its own session"])
def child(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=request.param
    )
    yield process
    process.kill()
    process.wait()


def test_a_child_has_the_niceness_and_its_session_too(child: subprocess.Popen[bytes]) -> None:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    ours, its = _of_session(os.getpid()), _of_session(child.pid)
    lower_priority(child.pid, 7)
    assert os.getpriority(os.PRIO_PROCESS, child.pid) == 7
    if its and os.getsid(child.pid) == child.pid:
        assert _of_session(child.pid) == "7"
    assert _of_session(os.getpid()) == ours
    assert os.getpriority(os.PRIO_PROCESS, 0) == usual


def test_a_child_that_has_ended_is_nobodys_concern(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    lower_priority(child.pid, 7)


def test_a_process_gets_its_priority_back_in_steps_while_it_starves() -> None:
    share = FairShare(may_raise=True)
    found = [share.niceness]
    for second in range(1, 13):  # each second it runs 0.1 s, and waits for 0.9 s
        share.look(ProcessorTime(0.1 * second, 0.9 * second))
        found.append(share.niceness)
    assert found == [10] * 5 + [5] * 5 + [0] * 3


def test_a_process_that_gets_a_fair_part_keeps_its_low_priority() -> None:
    share = FairShare(may_raise=True)
    changes = [share.look(ProcessorTime(0.3 * second, 0.7 * second)) for second in range(1, 100)]
    assert (any(changes), share.niceness) == (False, 10)


def test_plenty_for_a_long_time_takes_a_step_back_and_a_short_rest_does_not() -> None:
    share = FairShare(may_raise=True)
    now = ProcessorTime(0.0, 0.0)

    def spend(seconds: int, ran: float, waited: float) -> None:
        nonlocal now
        for _ in range(seconds):
            now = ProcessorTime(now.ran + ran, now.waited + waited)
            share.look(now)

    spend(10, 0.1, 0.9)
    assert share.niceness == 0
    for _ in range(5):  # a rest of the others is too short each time
        spend(20, 1.0, 0.0)
        spend(1, 0.4, 0.6)
    assert share.niceness == 0
    spend(60, 1.0, 0.0)
    assert share.niceness == 10
    spend(100, 0.0, 0.0)  # without work it does not starve
    assert share.niceness == 10


def test_who_may_not_raise_priorities_stays_between_the_steps() -> None:
    share = FairShare(may_raise=False)
    changes = [share.look(ProcessorTime(0.1 * second, 0.9 * second)) for second in range(1, 100)]
    assert (any(changes), share.niceness) == (False, 5)


def test_a_new_process_of_the_work_begins_with_the_priority_that_it_had(child: subprocess.Popen[bytes]) -> None:
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    share = FairShare(may_raise=True)
    for second in range(1, 6):
        share.look(ProcessorTime(0.1 * second, 0.9 * second))
    share.begin(child.pid)
    assert os.getpriority(os.PRIO_PROCESS, child.pid) == min(usual + 5, 19)
    assert not share.look(ProcessorTime(0.01, 0.0))  # the new process's times begin anew


def test_linux_counts_what_a_process_ran_and_waited(child: subprocess.Popen[bytes]) -> None:
    before = processor_time(child.pid)
    if before is None:
        pytest.skip("the kernel does not count")
    own = processor_time(os.getpid())
    assert own is not None
    sum(range(3_000_000))
    after = processor_time(os.getpid())
    assert after is not None
    assert after.ran > own.ran
    child.kill()
    child.wait()
    assert processor_time(child.pid) is None


def _of_session(pid: int) -> str:
    """The niceness of the group in which Linux schedules the session of a process, or nothing.

    The file is missing in a kernel without such groups, and empty where the process belongs to no such group (in a
    container whose control group has its own share of the processors).
    """
    file = Path(f"/proc/{pid}/autogroup")
    words = file.read_text().split() if file.exists() else []
    return words[-1] if words else ""
