"""Lowers the priority of a process that serves few, so that what everybody waits for has the processors first."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def lower_priority(pid: int, niceness: int) -> None:
    """Gives a child process that niceness, for as long as it runs. Does nothing if it has ended, or on other systems.

    Where Linux shares processors between sessions ("autogroup"), a niceness counts only within the session. A child
    that leads a session of its own would get as much as all of ours together: its group gets the niceness, too.
    """
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        if os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
