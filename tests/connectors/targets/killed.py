"""Kills a delivery with kill -9 between any two steps of its protocol.

A child process delivers, and a trace function counts the lines that it runs in the target's own module. At the given
line it sends itself SIGKILL. So there is a kill before every line of the module, in the order in which they run, and
the product needs no fault points for it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pyarrow as pa

from risingpy.connectors.targets.target import SinkTarget

_MODULES = ("postgres", "kafka", "files", "object_storage", "iceberg", "delta", "redis")
_CHILDREN = multiprocessing.get_context("forkserver")
"""Children come of a process without threads: librdkafka and tokio do not survive a fork of this one."""

# What is missing here is left out, and each child need not import the rest.
_CHILDREN.set_forkserver_preload(
    ["pyiceberg.catalog.sql", *(f"risingpy.connectors.targets.{name}" for name in _MODULES)]
)


def delivered_unless_killed(
    make: Callable[[], SinkTarget], epoch: int, changes: Sequence[pa.Table], *, line: int, pause: float = 0
) -> bool:
    """Opens a target in a child and delivers an epoch; the child dies before the `line`-th line that it runs.

    `make` is pickled. Before the kill the child pauses, so that threads of a client library get to what they were told.
    Returns True if the delivery was done before that line came. Raises AssertionError if the child failed.
    """
    child = _CHILDREN.Process(target=_deliver, args=(make, epoch, changes, line, pause))
    child.start()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL), "the child that delivers failed"
    return child.exitcode == 0


def _deliver(make: Callable[[], SinkTarget], epoch: int, changes: Sequence[pa.Table], line: int, pause: float) -> None:
    target = make()
    target.open()
    _die_at(line, pause, sys.modules[type(target).__module__].__file__ or "")
    target.deliver(epoch, changes)
    sys.settrace(None)
    os._exit(0)  # a library's threads need not end


def _die_at(line: int, pause: float, file: str) -> None:
    seen = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal seen
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            seen += 1
            if seen >= line:
                time.sleep(pause)
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)  # what the target does in threads of its own counts, too
    sys.settrace(trace)


def kill_everywhere(
    make: Callable[[], SinkTarget],
    changes_of_epoch: Callable[[int], Sequence[pa.Table]],
    check: Callable[[int], None],
    *,
    first_epoch: int = 1,
    step: int = 1,
    pause: float = 0,
) -> int:
    """Kills deliveries at each `step`-th line, one epoch for each, and delivers the epoch again after each kill.

    The engine's part is the same as after a crash: it opens the target, and skips what that says it has. `check` gets
    the epoch after which the other side must have each epoch once. Returns the number of kills.
    """
    epoch, line, kills = first_epoch, 1, 0
    while True:
        changes = changes_of_epoch(epoch)
        done = delivered_unless_killed(make, epoch, changes, line=line, pause=pause)
        target = make()
        try:
            delivered = target.open()
            if delivered is None or delivered < epoch:
                target.deliver(epoch, changes)
        finally:
            target.close()
        check(epoch)
        if done:
            return kills
        epoch, line, kills = epoch + 1, line + step, kills + 1
