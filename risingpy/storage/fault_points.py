"""The steps on the way to durable state, by name: where a test kills the process or has the disk fail.

    RISINGPY_FAULT_POINTS="shard.commit=kill@3, log.block.sync=eio@1"

kills the process when it is about to commit a shard for the third time, and fails its first sync of the log.
Actions are `kill` (as kill -9), `eio` and `enospc` (what `reach` then raises, once). It is for tests: nothing else
sets the variable, and while nothing is armed, a point is a look at an empty dictionary.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections import Counter
from dataclasses import dataclass

POINTS = (
    "log.segment.make",  # a new file of the log is about to be made,
    "log.segment.name",  # to get its name,
    "log.segment.sync",  # and its name to be synced
    "log.block.write",  # statements are about to be written,
    "log.block.sync",  # and synced,
    "log.block.acknowledge",  # and their clients to be told
    "log.file.remove",  # a file whose rows are all in committed epochs is about to go
    "store.name",  # a new LMDB environment is about to get its name
    "format.note",  # a data directory is about to note which formats it has
    "graph.write",  # a changed stream graph is about to be written for the tasks
    "change.log",  # a schema change and its rows are durable, and the log is about to get the rows
    "change.publish",  # a schema change is durable and about to be seen
    "epoch.describe",  # an epoch is about to run
    "shard.commit",  # a task is about to commit its shard,
    "shard.committed",  # and has, of which nobody knows yet
    "meta.commit",  # the meta store is about to commit: of an epoch, this is the moment that counts
    "epoch.publish",  # an epoch is durable and about to be read
    "sink.deliver",  # a sink is about to deliver an epoch,
    "sink.delivered",  # and the other side has it, of which nobody knows yet,
    "sink.noted",  # and now the meta store does
    "shard.undo",  # after a crash, a shard is about to go back to the committed epoch
)
STATE_POINTS = (  # with --state only
    "journal.put",  # a record of the journal is about to be put,
    "journal.acknowledge",  # and those who wait for it to be told
    "object.write",  # an object of shared storage is about to be written,
    "object.link",  # to get its name,
    "object.sync",  # and its name to be synced
)
VARIABLE = "RISINGPY_FAULT_POINTS"
_ENTRY = re.compile(r"([\w.]+)=(kill|eio|enospc)@(\d+)")
_ERRORS = {"eio": errno.EIO, "enospc": errno.ENOSPC}


@dataclass(frozen=True, slots=True)
class _Fault:
    action: str
    nth: int


class FaultPoints:
    """What is armed, and in `reached` how often each point was, since something was armed."""

    def __init__(self, text: str = "") -> None:
        self._armed: dict[str, _Fault] = {}
        self.reached: Counter[str] = Counter()
        self.arm(text)

    def arm(self, text: str) -> None:
        """Replaces what is armed. ValueError if the text is none that the module's docstring describes."""
        self._armed.clear()
        self.reached.clear()
        for entry in filter(None, (part.strip() for part in text.split(","))):
            found = _ENTRY.fullmatch(entry)
            if found is None or found[1] not in (*POINTS, *STATE_POINTS):
                names = ", ".join((*POINTS, *STATE_POINTS))
                raise ValueError(f"{VARIABLE}: {entry!r} is not a point's name=kill|eio|enospc@N; names: {names}")
            self._armed[found[1]] = _Fault(found[2], int(found[3]))

    def reach(self, name: str) -> None:
        """Tells that the step is about to be taken. OSError if it is to fail."""
        if self._armed:
            self._strike(name)

    def _strike(self, name: str) -> None:
        self.reached[name] += 1
        fault = self._armed.get(name)
        if fault is None or self.reached[name] != fault.nth:
            return
        if fault.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        number = _ERRORS[fault.action]
        raise OSError(number, os.strerror(number))


# A fault strikes the process, which got the variable from whoever started it: a server, a command, a worker of Spark's.
# Nothing that these share could own it, and passing it on to each step would lead a test's thread through the product.
of_this_process = FaultPoints(os.environ.get(VARIABLE, ""))
reach = of_this_process.reach
