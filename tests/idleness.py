"""Tests of whole databases and servers assert at their end that an idle one commits no epoch and takes no CPU."""

from __future__ import annotations

import contextlib
import os
import time

import psutil

from risingpy.meta.database import Database
from risingpy.server_process import ServerProcess

# How long nothing may happen, at the end of each of 500 tests: a loop that does not rest commits every few
# milliseconds. `make engines-test` waits for longer.
QUIET_SECONDS = float(os.environ.get("RISINGPY_QUIET_SECONDS", "0.1"))
SETTLE_SECONDS = 30.0  # for what is still to be done: a purge, a compaction


def assert_falls_idle(database: Database) -> None:
    """Waits until nothing is left to do and no epoch has been committed for `QUIET_SECONDS`; fails if that never comes.

    Epochs that only time asks for (filters on now()) are a second apart, at least: they are no failure.
    """
    if database.stalled is not None:
        return
    began = quiet_since = time.monotonic()
    seen, epochs = database.reads.committed_epoch, 0
    while time.monotonic() < quiet_since + QUIET_SECONDS:
        time.sleep(0.02)
        state = database.reads.state
        if database.reads.committed_epoch != seen or state.purge or state.compactions:
            epochs += database.reads.committed_epoch != seen
            seen = database.reads.committed_epoch
            quiet_since = time.monotonic()
            left = f"to purge {sorted(state.purge)}, to compact {dict(state.compactions)}, fresh {state.fresh_jobs}"
            assert quiet_since < began + SETTLE_SECONDS, f"{epochs} epochs of an idle database; {left}"


# Of a whole server with its Java: how long it is watched, and how much of a core it may take meanwhile.
WATCHED_SECONDS = float(os.environ.get("RISINGPY_WATCHED_SECONDS", "3"))
IDLE_CORE = 0.01
TICK_SECONDS = 0.01  # in which the kernel counts a process's time
TRIES = 20  # Java compiles and collects for a while after it was busy


def assert_server_falls_idle(server: ServerProcess) -> None:
    """Waits until the server, with all its processes, commits nothing and takes no more than `IDLE_CORE` of a core."""
    measured: list[str] = []
    for _ in range(TRIES):
        epoch, began = _committed_epoch(server), time.monotonic()
        before = _cpu_seconds(server)
        time.sleep(WATCHED_SECONDS)
        used, seconds = _cpu_seconds(server) - before, time.monotonic() - began
        epochs = _committed_epoch(server) != epoch
        measured.append(f"{used:.2f} s of CPU in {seconds:.1f} s, epochs: {epochs}")
        if not epochs and used <= IDLE_CORE * seconds + 2 * TICK_SECONDS:
            return
    raise AssertionError("the server does not fall idle: " + "; ".join(measured))


def _committed_epoch(server: ServerProcess) -> int:
    with server.connect() as connection:
        row = connection.execute("SELECT committed_epoch FROM rw_catalog.rw_state_store").fetchone()
    assert row is not None
    return int(row[0])


def _cpu_seconds(server: ServerProcess) -> float:
    total = 0.0
    root = psutil.Process(server.process.pid)
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total
