"""Processes that serve few leave the processors to what everybody waits for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.process_priority import lower_priority

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


def _of_session(pid: int) -> str:
    """The niceness of the group in which Linux schedules the session of a process, or nothing.

    The file is missing in a kernel without such groups, and empty where the process belongs to no such group (in a
    container whose control group has its own share of the processors).
    """
    file = Path(f"/proc/{pid}/autogroup")
    words = file.read_text().split() if file.exists() else []
    return words[-1] if words else ""
