"""Lowers the priority of a process that serves few, so that what everybody waits for has the processors first.

A low priority is a promise to the others, and no end of the process's own work: on a machine that is always busy, the
niceness 10 leaves a process a tenth of what another one gets. So `FairShare` gives the priority back in steps while the
process gets far less than it asks for.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 1.0
_NICENESSES = (10, 5, 0)  # the scheduler's weights are about 1 : 3 : 9
_STARVED = 3.0  # waits for a processor so many times as long as it has one
_STARVED_LOOKS = 5  # in a row, before the next step
_FED_LOOKS = 30  # in a row, in which it waited for less time than it ran, before one step back


def lower_priority(pid: int, niceness: int) -> None:
    """Gives a child process that niceness, for as long as it runs. Does nothing if it has ended, or on other systems.

    Where Linux shares processors between sessions ("autogroup"), a niceness counts only within the session. A child
    that leads a session of its own would get as much as all of ours together: its group gets the niceness, too.
    """
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        if os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness))


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Seconds of all threads of a process: with a processor, and ready to run without one."""

    ran: float
    waited: float


def processor_time(pid: int) -> ProcessorTime | None:
    """What Linux counts; None if the process has ended, and on other systems."""
    ran = waited = 0
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError):  # a thread that has just ended
                words = (thread / "schedstat").read_text().split()
                ran, waited = ran + int(words[0]), waited + int(words[1])
    except (OSError, IndexError, ValueError):
        return None
    return ProcessorTime(ran / 1e9, waited / 1e9) if ran else None


class FairShare:
    """The priority of the child processes that do one work, one after the other: low, until the work starves.

    `niceness` is beyond this process's own, and follows what `look` is told, each `LOOK_SECONDS`. Many seconds of
    plenty take one step back, so that a short rest of the others changes nothing. Only root may raise a priority again;
    for others the middle step stands for all.
    """

    def __init__(self, *, may_raise: bool) -> None:
        self._steps = _NICENESSES if may_raise else _NICENESSES[1:2]
        self._step = 0
        self._last = ProcessorTime(0.0, 0.0)
        self._starved = self._fed = 0

    @property
    def niceness(self) -> int:
        return self._steps[self._step]

    def begin(self, pid: int) -> None:
        """Gives a new process its priority."""
        self._last = ProcessorTime(0.0, 0.0)
        lower_priority(pid, _own_niceness() + self.niceness)

    def look_at(self, pid: int) -> None:
        """Gives the process another priority if it is time. Does nothing where the system does not count."""
        now = processor_time(pid)
        if now is not None and self.look(now):
            _set_niceness(pid, _own_niceness() + self.niceness)

    def look(self, now: ProcessorTime) -> bool:
        """Takes the process's times so far. True: the niceness is another one now."""
        ran, waited = max(now.ran - self._last.ran, 0.0), max(now.waited - self._last.waited, 0.0)  # threads end
        self._last = now
        self._starved = self._starved + 1 if waited > _STARVED * ran else 0
        self._fed = self._fed + 1 if waited <= ran else 0
        before = self._step
        if self._starved >= _STARVED_LOOKS:
            self._step = min(before + 1, len(self._steps) - 1)
            self._starved = 0
        elif self._fed >= _FED_LOOKS:
            self._step = max(before - 1, 0)
            self._fed = 0
        return self._step != before


def may_raise_priorities() -> bool:
    """Whether the system lets this process give a priority back that it has lowered."""
    try:
        return os.geteuid() == 0
    except AttributeError:  # Windows
        return False


def _own_niceness() -> int:
    try:
        return os.getpriority(os.PRIO_PROCESS, 0)
    except AttributeError:
        return 0


def _set_niceness(pid: int, niceness: int) -> None:
    """Sets it for every thread of a process, for Linux has one for each. Does nothing if it is refused."""
    with suppress(OSError, AttributeError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, int(thread), niceness)
