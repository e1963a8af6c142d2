"""What a process and all its children use: CPU seconds and memory (PSS, which counts a shared page once)."""

from __future__ import annotations

import contextlib

import psutil


def tree(pid: int) -> list[psutil.Process]:
    """The process and its descendants."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(pid: int) -> float:
    """User and system time of the tree so far, ended children that were waited for included."""
    total = 0.0
    for process in tree(pid):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def pss_bytes(pid: int) -> int:
    """Proportional set size of the tree."""
    total = 0
    for process in tree(pid):
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


def machine_cpu_seconds() -> float:
    """CPU time that everything on the machine has used since it started."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)
